# SPDX-License-Identifier: BSD-2-Clause
# The symbols and debug information of the packaged libraries on the machine, found by the libraries' build ids.
. /in/recipes/common.sh

dpkg-deb -x /in/libc6.deb packages
dpkg-deb -x /in/libc6-dbg.deb debug
for library in libc.so.6 ld-linux-aarch64.so.1; do
	id=$(aarch64-linux-gnu-readelf -n "packages/usr/lib/aarch64-linux-gnu/$library" | sed -n 's/^ *Build ID: //p')
	cp "debug/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" "/out/$id.debug"
	printf '%s %s\n' "$id" "$library"
done > /out/build-ids
