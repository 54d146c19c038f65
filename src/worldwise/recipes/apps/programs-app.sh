# SPDX-License-Identifier: BSD-2-Clause
# The programs of one app (APP): its TA, its client and, if guest/apps/APP/linux is there, what does the same in Linux.
# What an app needs besides is in app-APP.sh beside this file, read before the Linux program is linked: it may set
# `linux_flags` (of the compiler) and `linux_libraries` (of the linker), and `ta_settings` for the TA's make.
. /in/recipes/common.sh
. /in/recipes/unpacked.sh
. /in/recipes/guest.sh
mkdir sysroot devkit
dpkg-deb -x /in/libteec2.deb sysroot
dpkg-deb -x /in/optee-client-dev.deb sysroot
tar -xf /in/optee/devkit.tar -C devkit

strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie"
own() { aarch64-linux-gnu-gcc $strict -O2 "$@"; }
# Copies of the shared libraries of their own: one page of memory is then at one address, in every process that has it,
# which the emulator's plugin relies on.
libraries() { echo "-Wl,--dynamic-linker=/lib/$1/ld-linux-aarch64.so.1 -Wl,-rpath,/lib/$1"; }

# Of an app whose Linux program has the core's crypto library.
# shellcheck disable=SC2034 # read by app-APP.sh
core_library="/in/core-library/adapter.o /in/core-library/core.o /in/core-library/library.a"
# What a linker says of a library that PLAN has is put in plain words.
linked() {
	if [[ -n ${PLAN:-} ]]; then
		"$@" >/build/link.log 2>&1 || python3 /in/recipes/tee_library.py failed /build/link.log
	else
		"$@"
	fi
}

linux_flags=
linux_libraries=
ta_settings=()
[[ ! -e /in/recipes/app-$APP.sh ]] || . "/in/recipes/app-$APP.sh"

# They share nothing with the TA, which another processor compiles meanwhile.
linux_programs() {
	say "first process, client, faults, symbols"
	cd guest
	# Far from where any other program is loaded: the host stops the machine at an address of this one.
	# shellcheck disable=SC2046 # lists of flags
	own -no-pie $(libraries init) -Wl,-Ttext-segment=0x5000000000 -o /out/init linux/init.c linux/settle.c bench/record.c \
		bench/semihost.c
	own -no-pie -o /out/faults linux/faults.c
	own -no-pie -o /out/symbols linux/symbols.c bench/record.c bench/semihost.c
	# shellcheck disable=SC2046
	own -no-pie $(libraries measured) -I../sysroot/usr/include -o /out/optee-client apps/"$APP"/*.c apps/common/*.c \
		linux/idle.c linux/load.c bench/*.c ../sysroot/usr/lib/aarch64-linux-gnu/libteec.so
}
linux_programs &
for_linux=$!

say "trusted application"
# Of what the dev kit reads a TA's folder has what is other than in common/ta. The UUID stands in the app's header.
numbers=$(sed -n 's/^#define [A-Z0-9]*_TA_UUID {\(.*\)}$/\1/p' "guest/apps/$APP"/*.h | head -n 1 | tr '{},' ' ')
# shellcheck disable=SC2086 # eleven numbers
[[ -z $numbers ]] || uuid=$(printf '%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x' $numbers)
for file in Makefile sub.mk user_ta_header_defines.h; do
	[[ -e guest/apps/$APP/ta/$file ]] ||
		sed "s/THIS_APP/$APP/; s/THIS_TA/${APP^^}_TA/; s/THIS_UUID/${uuid:-}/" "guest/apps/common/ta/$file" >"guest/apps/$APP/ta/$file"
done
linked make -C "guest/apps/$APP/ta" TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE=aarch64-linux-gnu- PYTHON3=python3 \
	O=/build/ta "${ta_settings[@]}"
cp ta/*-*.ta /out/
for elf in ta/*-*.elf; do case $elf in *.stripped.elf) ;; *) cp "$elf" /out/ ;; esac; done
wait "$for_linux"

if [[ -e guest/apps/$APP/linux ]]; then
	say "Linux program"
	cd guest
	# shellcheck disable=SC2046,SC2086 # lists of flags
	linked own -no-pie $(libraries measured) $linux_flags -o /out/linux-bench apps/"$APP"/linux/*.c linux/idle.c linux/load.c \
		bench/*.c $linux_libraries
	cd ..
fi
