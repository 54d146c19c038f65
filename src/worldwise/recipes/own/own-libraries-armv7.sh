# SPDX-License-Identifier: BSD-2-Clause
# The shared libraries that the lab's compiler for 32-bit Arm (TRIPLET) brings, each under the name by which programs ask.
. /in/recipes/common.sh

for file in "/usr/$TRIPLET"/lib/*.so.*; do
	[[ ! -f $file || $file == *.py ]] || cp -L "$file" /out/
done
