# SPDX-License-Identifier: BSD-2-Clause
# TA is the file name of the trusted application; initramfs-base.sh has left Debian's files in /in/base.
. /in/recipes/common.sh

mkdir root
cd root
mkdir -p bin dev etc lib/optee_armtz modules proc sbin sys tmp usr/lib var/lib/tee data/tee
cp /in/base/{libc.so.6,ld-linux-aarch64.so.1,libteec.so.2} lib/
mkdir lib/init lib/measured
cp lib/*.so* lib/init/
cp lib/*.so* lib/measured/
cp /in/base/{libcrypto.so.3,libz.so.1,libzstd.so.1} lib/
cp /in/base/sha256sum bin/
cp /in/base/tee-supplicant sbin/
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
