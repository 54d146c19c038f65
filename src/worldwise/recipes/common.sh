# SPDX-License-Identifier: BSD-2-Clause
# Shared by the recipes: each runs in the lab, in an empty /build, with its inputs below /in.
set -euo pipefail
umask 022

# One object file may serve two variants: ccache compares what the compiler sees, not where it was asked.
CROSS="ccache aarch64-linux-gnu-"

say() { printf '== %s\n' "$*"; }
