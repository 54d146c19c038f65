# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir include
tar -xf /in/qemu/*.orig.tar.xz -C include --strip-components=3 --wildcards '*/include/qemu/qemu-plugin.h'
# shellcheck disable=SC2046 # a list of flags
gcc -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -shared -Wall -Wextra -Wpedantic -Werror -isystem include \
	$(pkg-config --cflags glib-2.0 | sed 's/-I/-isystem /g') -o /out/cut.so /in/cut.c
