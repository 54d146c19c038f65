# SPDX-License-Identifier: BSD-2-Clause
# An OP-TEE, or its dev kit alone, that was made elsewhere: beside the objects which it shares with others, or by clang.
. /in/recipes/common.sh

cd /in/objects
for file in bl32.bin bl32_extra1.bin bl32_extra2.bin tee.elf ldelf.elf devkit.tar flags.tar; do
	[[ ! -e $file ]] || cp "$file" /out/
done
