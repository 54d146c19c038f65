# SPDX-License-Identifier: BSD-2-Clause
# The whole user space of plain Linux (PREFIX: of the cross tools, FLAGS: of the architecture): the first process, what
# becomes the measured program, and what a new snapshot is tried with. All are linked statically. COUNTER has sources that
# the architecture's counter needs.
. /in/recipes/common.sh

cd /in/guest
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -static -no-pie"
# Far from where any other program is loaded: the host stops the machine at an address of this one.
# shellcheck disable=SC2086 # lists of flags
"${PREFIX}gcc" $FLAGS $strict -Wl,-Ttext-segment="$ADDRESS" -o /out/init linux/init.c linux/settle.c \
	$COUNTER bench/record.c bench/semihost.c
cd /build
mkdir -p root/bin root/dev root/etc root/proc root/sys root/tmp
cp /out/init root/init
# shellcheck disable=SC2086
"${PREFIX}gcc" $FLAGS $strict -o root/bin/faults /in/guest/linux/faults.c
# shellcheck disable=SC2086
"${PREFIX}gcc" $FLAGS $strict -o root/bin/fetch /in/guest/linux/fetch.c /in/guest/bench/record.c \
	/in/guest/bench/semihost.c
cd root
chmod -R u=rwX,go=rX .
find . -exec touch --no-dereference --date=@0 {} +
find . | LC_ALL=C sort | cpio --quiet --reproducible --create --format=newc --owner=0:0 > /out/initramfs.cpio
