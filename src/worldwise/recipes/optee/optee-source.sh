# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir optee
tar -xf /in/optee-os/*.orig.tar.gz -C optee --strip-components=1
tar -xf /in/optee-os/*.debian.tar.xz -C optee
apply_debian optee
rm -r optee/debian
cd optee
for patch in /in/patches/*.patch; do
	say "ours: ${patch##*/}"
	patch --fuzz=0 -p1 < "$patch"
done
find . -name '*.orig' -delete
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/source.tar .
