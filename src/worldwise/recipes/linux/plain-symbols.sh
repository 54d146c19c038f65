# SPDX-License-Identifier: BSD-2-Clause
# The user space of plain Linux with a program besides that says what is where on the machine (PREFIX: of the cross tools,
# FLAGS: of the architecture). The kernel unpacks two archives, one behind the other.
. /in/recipes/common.sh

cd /in/guest
mkdir -p /build/root/bin
# shellcheck disable=SC2086 # a list of flags
"${PREFIX}gcc" $FLAGS -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -static -no-pie \
	-o /build/root/bin/symbols kernel-symbols/symbols.c bench/record.c bench/semihost.c
cd /build/root
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > /build/more.cpio
cat /in/plain/initramfs.cpio /build/more.cpio > /out/initramfs.cpio
