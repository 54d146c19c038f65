# SPDX-License-Identifier: BSD-2-Clause
# OP-TEE OS from a user's own folder, with those of our patches that the bench counts and draws by. Those for variants
# that change OP-TEE are left out: a tree of the user's own is measured as it is.
. /in/recipes/common.sh

cp -r /in/tree optee
cd optee
# The copy in the cache has no modes: scripts are programs by their first line.
grep -rlZ -m1 '^#!' . | xargs -0 chmod +x
for patch in /in/patches/000*.patch; do
	name=${patch##*/}
	say "ours: $name"
	# Of an older release's files some are so different that they have a patch of their own.
	older=/in/older/$name
	if [[ -e $older ]] && ! patch --batch --dry-run --fuzz=3 -p1 < "$patch" > /dev/null; then patch=$older; fi
	patch --batch --fuzz=3 -p1 < "$patch" || {
		printf 'worldwise: this OP-TEE is too far from 4.10.0: the patch %s of worldwise does not apply to it\n' "$name"
		exit 1
	}
done
find . -name '*.orig' -delete
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/source.tar .
