# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir include
tar -xf /in/qemu/*.orig.tar.xz -C include --strip-components=3 --wildcards '*/include/qemu/qemu-plugin.h'
libraries='glib-2.0 json-c'
shared=''
for name in cores counts decode events functions heap kinds labels stack trace tree; do
	shared="$shared /in/plugin/aarch64/$name.c"
done
# shellcheck disable=SC2046,SC2086 # lists of flags and of files
gcc -std=c11 -O2 -flto=auto -g -fPIC -fvisibility=hidden -shared -Wall -Wextra -Wpedantic -Werror -isystem include \
	$(pkg-config --cflags $libraries | sed 's/-I/-isystem /g') -o /out/flat.so /in/plugin/arm32/*.c $shared \
	/in/plugin/model/*.c $(pkg-config --libs $libraries)
