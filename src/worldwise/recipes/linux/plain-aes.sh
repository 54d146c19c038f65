# SPDX-License-Identifier: BSD-2-Clause
# AES by a library of Linux as a program of plain Linux, linked statically: the program of the app of that name, for TRIPLET
# and its FLAGS. COUNTER has sources that the architecture's counter needs.
. /in/recipes/common.sh

. /in/recipes/plain.sh

strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie"
own() { "$TRIPLET-gcc" ${FLAGS:-} $strict -O2 "$@"; }
mkdir aes-library
for package in $LIBRARIES; do dpkg-deb -x "/in/$package.deb" aes-library; done
. /in/recipes/app-aes.sh
cd guest
# shellcheck disable=SC2086,SC2154 # lists of flags, set there
own -static -no-pie $linux_flags -o /out/linux-bench apps/aes/linux/*.c linux/idle.c linux/load.c $COUNTER bench/*.c \
	$linux_libraries
