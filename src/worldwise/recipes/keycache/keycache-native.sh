# SPDX-License-Identifier: BSD-2-Clause
# The tool of keycache/ for the root itself.
. /in/recipes/common.sh
. /in/recipes/keycache-build.sh

eval "$(dpkg-architecture -s)"
build_keycache client
mkdir -p /out/bin
cp keycache /out/bin/
