# SPDX-License-Identifier: BSD-2-Clause
# OP-TEE OS from a user's own folder, with those of our patches that the bench stands on: it counts and draws by them.
. /in/recipes/common.sh

cp -r /in/tree optee
cd optee
for patch in /in/patches/000*.patch; do
	name=${patch##*/}
	say "ours: $name"
	patch --batch --fuzz=2 -p1 < "$patch" || {
		printf 'worldwise: this OP-TEE is too far from 4.10.0: the patch %s of worldwise does not apply to it\n' "$name"
		exit 1
	}
done
# The others are for variants that change OP-TEE: where one does not apply, its variant is as its OP-TEE is.
for patch in /in/patches/001*.patch; do
	if patch --batch --dry-run --quiet --fuzz=0 -p1 < "$patch" > /dev/null; then
		patch --batch --quiet --fuzz=0 -p1 < "$patch"
	else
		say "left out: ${patch##*/}"
	fi
done
find . -name '*.orig' -delete
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/source.tar .
