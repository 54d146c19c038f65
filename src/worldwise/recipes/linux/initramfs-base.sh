# SPDX-License-Identifier: BSD-2-Clause
# Of Debian's packages the files that stand in the user space of every machine with OP-TEE.
. /in/recipes/common.sh

for package in libc6 libteec2 tee-supplicant coreutils libssl3t64 libzstd1 zlib1g; do dpkg-deb -x "/in/$package.deb" packages; done
library=packages/usr/lib/aarch64-linux-gnu
cp -L "$library"/{libc.so.6,ld-linux-aarch64.so.1,libteec.so.2,libcrypto.so.3,libz.so.1,libzstd.so.1} \
	packages/usr/bin/sha256sum packages/usr/sbin/tee-supplicant /out/
