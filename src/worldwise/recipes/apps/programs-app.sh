# SPDX-License-Identifier: BSD-2-Clause
# The programs of one app (APP): its TA, its client and, if guest/apps/APP/linux is there, what does the same in Linux.
# What an app needs besides is in app-APP.sh beside this file, read before the Linux program is linked: it may set
# `linux_flags` (of the compiler) and `linux_libraries` (of the linker), and `ta_settings` for the TA's make.
. /in/recipes/common.sh
# shellcheck disable=SC1091
[[ -z ${PACKAGES:-} ]] || . /in/recipes/packages.sh

. /in/recipes/bench-parameters.sh
mkdir sysroot devkit
dpkg-deb -x /in/libteec2.deb sysroot
dpkg-deb -x /in/optee-client-dev.deb sysroot
tar -xf /in/optee/devkit.tar -C devkit

strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie"
own() { aarch64-linux-gnu-gcc $strict -O2 "$@"; }
# Copies of the shared libraries of their own, as in programs.sh.
libraries() { echo "-Wl,--dynamic-linker=/lib/$1/ld-linux-aarch64.so.1 -Wl,-rpath,/lib/$1"; }

linux_flags=
linux_libraries=
ta_settings=()
[[ ! -e /in/recipes/app-$APP.sh ]] || . "/in/recipes/app-$APP.sh"

say "first process, client, faults, symbols"
cd guest
# shellcheck disable=SC2046 # lists of flags
own -no-pie $(libraries init) -Wl,-Ttext-segment=0x5000000000 -o /out/init linux/init.c bench/record.c bench/semihost.c
own -no-pie -o /out/faults linux/faults.c
own -no-pie -o /out/symbols linux/symbols.c bench/record.c bench/semihost.c
# shellcheck disable=SC2046
own -no-pie $(libraries measured) -I../sysroot/usr/include -o /out/optee-client apps/"$APP"/*.c apps/common/*.c \
	linux/idle.c linux/load.c bench/*.c ../sysroot/usr/lib/aarch64-linux-gnu/libteec.so
cd ..

say "trusted application"
if [[ -e /in/base ]]; then
	# A TA that is measured elsewhere: the very same.
	mkdir ta
	cp /in/base/*-*.ta /in/base/*-*.elf ta/
else
	make -C "guest/apps/$APP/ta" TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE=aarch64-linux-gnu- PYTHON3=python3 \
		O=/build/ta "${ta_settings[@]}"
fi
cp ta/*-*.ta /out/
for elf in ta/*-*.elf; do case $elf in *.stripped.elf) ;; *) cp "$elf" /out/ ;; esac; done

if [[ -e guest/apps/$APP/linux ]]; then
	say "Linux program"
	cd guest
	# shellcheck disable=SC2046,SC2086 # lists of flags
	own -no-pie $(libraries measured) $linux_flags -o /out/linux-bench apps/"$APP"/linux/*.c linux/idle.c linux/load.c \
		bench/*.c $linux_libraries
	cd ..
fi
