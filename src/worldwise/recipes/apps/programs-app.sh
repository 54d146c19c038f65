# SPDX-License-Identifier: BSD-2-Clause
# The programs of one app (APP): its TA, its client and, if guest/apps/APP/linux is there, what does the same in Linux.
# What an app needs besides is in app-APP.sh beside this file, read before the Linux program is linked: it may set
# `linux_flags` (of the compiler) and `linux_libraries` (of the linker), and `ta_settings` for the TA's make. /in/common has
# what all apps have in common: see programs-common.sh.
. /in/recipes/common.sh
. /in/recipes/unpacked.sh
. /in/recipes/guest.sh
. /in/recipes/app-flags.sh
mkdir sysroot devkit
dpkg-deb -x /in/libteec2.deb sysroot
dpkg-deb -x /in/optee-client-dev.deb sysroot
tar -xf /in/optee/devkit.tar -C devkit

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

# What measures and what waits, of which one file knows the app's parameters.
around=(/in/common/linux-{idle,load}.o bench/bench.c /in/common/bench-{message,record,semihost}.o)

linux_flags=
linux_libraries=
ta_settings=("PYTHON3=python3 /in/recipes/unchecked-key.py")
[[ ! -e /in/recipes/app-$APP.sh ]] || . "/in/recipes/app-$APP.sh"

# They share nothing with the TA, which another processor compiles meanwhile.
linux_programs() {
	say "first process, client, faults, symbols"
	cp /in/common/{init,faults,symbols} /out/
	cd guest
	# shellcheck disable=SC2046 # lists of flags
	own -no-pie $(libraries measured) -I../sysroot/usr/include -o /out/optee-client apps/"$APP"/*.c \
		/in/common/apps-common-*.o "${around[@]}" ../sysroot/usr/lib/aarch64-linux-gnu/libteec.so
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
linked make -C "guest/apps/$APP/ta" TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE=aarch64-linux-gnu- \
	O=/build/ta "${ta_settings[@]}"
cp ta/*-*.ta /out/
for elf in ta/*-*.elf; do case $elf in *.stripped.elf) ;; *) cp "$elf" /out/ ;; esac; done
wait "$for_linux"

if [[ -e guest/apps/$APP/linux ]]; then
	say "Linux program"
	cd guest
	# shellcheck disable=SC2046,SC2086 # lists of flags
	linked own -no-pie $(libraries measured) $linux_flags -o /out/linux-bench apps/"$APP"/linux/*.c "${around[@]}" \
		$linux_libraries
	cd ..
fi
