# SPDX-License-Identifier: BSD-2-Clause
# Shared by the recipes: each runs in the lab, in an empty /build, with its inputs below /in.
set -euo pipefail
umask 022

say() { printf '== %s\n' "$*"; }
