# SPDX-License-Identifier: BSD-2-Clause
# The user space of a machine with OP-TEE (/in/initramfs), with what becomes a program that the host brings.
. /in/recipes/common.sh

mkdir root
cd root
cpio --quiet --extract --make-directories </in/initramfs/initramfs.cpio
aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -static -no-pie -o bin/fetch \
	/in/guest/linux/fetch.c /in/guest/bench/record.c /in/guest/bench/semihost.c
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > /out/initramfs.cpio
