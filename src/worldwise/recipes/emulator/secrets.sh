# SPDX-License-Identifier: BSD-2-Clause
. /in/recipes/common.sh

mkdir include
tar -xf /in/qemu/*.orig.tar.xz -C include --strip-components=3 --wildcards '*/include/qemu/qemu-plugin.h'
# shellcheck disable=SC2046 # a list of flags
gcc -std=c11 -O2 -g -fPIC -fvisibility=hidden -shared -Wall -Wextra -Wpedantic -Werror -isystem include \
	$(pkg-config --cflags glib-2.0 | sed 's/-I/-isystem /g') -o /out/secrets.so /in/secrets/*.c \
	$(pkg-config --libs glib-2.0)
