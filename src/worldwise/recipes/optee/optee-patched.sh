# SPDX-License-Identifier: BSD-2-Clause
# A source of OP-TEE with the patches of a user's stack, in the order of their names.
. /in/recipes/common.sh

mkdir optee
tar -xf /in/source/source.tar -C optee
cd optee
for patch in /in/patches/*; do
	name=${patch##*/}
	say "the stack's: $name"
	patch --fuzz=0 -p1 < "$patch" || {
		printf 'worldwise: the patch %s does not apply\n' "${name#*-}"
		exit 1
	}
done
find . -name '*.orig' -delete
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/source.tar .
