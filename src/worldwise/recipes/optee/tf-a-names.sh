# SPDX-License-Identifier: BSD-2-Clause
# The names that TF-A's makefiles mention: make ignores any other.
. /in/recipes/common.sh

tar -xf /in/arm-trusted-firmware/*.orig.tar.xz --strip-components=1
find . \( -name Makefile -o -name '*.mk' \) -print0 | xargs -0 grep -hoE '\b[A-Z][A-Z0-9_]+\b' |
	LC_ALL=C sort -u > /out/names
