# SPDX-License-Identifier: BSD-2-Clause
# TA is the file name of the trusted application.
. /in/recipes/common.sh

for package in libc6 libteec2 tee-supplicant coreutils libssl3t64 libzstd1 zlib1g; do dpkg-deb -x "/in/$package.deb" packages; done
mkdir root
cd root
mkdir -p bin dev etc lib/optee_armtz modules proc sbin sys tmp usr/lib var/lib/tee data/tee
library=../packages/usr/lib/aarch64-linux-gnu
cp "$library/libc.so.6" "$library/ld-linux-aarch64.so.1" lib/
cp -L "$library/libteec.so.2" lib/
mkdir lib/init lib/measured
cp lib/*.so* lib/init/
cp lib/*.so* lib/measured/
cp -L "$library/libcrypto.so.3" "$library/libz.so.1" "$library/libzstd.so.1" lib/
cp ../packages/usr/bin/sha256sum bin/
cp ../packages/usr/sbin/tee-supplicant sbin/
cp /in/linux/tee.ko /in/linux/optee.ko modules/
printf '/modules/%s\n' tee.ko optee.ko > etc/modules
echo /sbin/tee-supplicant > etc/daemons
cp /in/programs/init init
cp /in/programs/faults /in/programs/symbols /in/programs/optee-client bin/
[[ ! -e /in/programs/linux-bench ]] || cp /in/programs/linux-bench bin/
cp "/in/programs/$TA" lib/optee_armtz/
# What an app lays over all this.
[[ ! -d /in/programs/root ]] || cp -r /in/programs/root/. .
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > /out/initramfs.cpio
