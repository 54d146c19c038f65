# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir include
tar -xf /in/qemu/*.orig.tar.xz -C include --strip-components=3 --wildcards '*/include/qemu/qemu-plugin.h'
libraries='glib-2.0 json-c'
# shellcheck disable=SC2046,SC2086 # lists of flags
gcc -std=c11 -O2 -g -fPIC -fvisibility=hidden -shared -Wall -Wextra -Wpedantic -Werror -isystem include \
	$(pkg-config --cflags $libraries | sed 's/-I/-isystem /g') -o /out/worldwise.so \
	/in/plugin/aarch64/*.c /in/plugin/model/*.c /in/plugin/arm32/decode.c $(pkg-config --libs $libraries)
