# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir optee
tar -xf /in/optee-os/*.orig.tar.gz -C optee --strip-components=1
tar -xf /in/optee-os/*.debian.tar.xz
cd optee
while read -r patch; do
	case $patch in '' | '#'*) continue ;; esac
	say "Debian: $patch"
	patch --fuzz=0 -p1 < "../debian/patches/$patch"
done < ../debian/patches/series
for patch in /in/patches/*.patch; do
	say "ours: ${patch##*/}"
	patch --fuzz=0 -p1 < "$patch"
done
find . -name '*.orig' -delete
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf /out/source.tar .
