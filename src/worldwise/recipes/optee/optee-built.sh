# SPDX-License-Identifier: BSD-2-Clause
# An OP-TEE that was linked beside the objects which it shares with others.
. /in/recipes/common.sh

cd /in/objects
for file in bl32.bin bl32_extra1.bin bl32_extra2.bin tee.elf ldelf.elf devkit.tar flags.tar; do
	cp "$file" /out/
done
