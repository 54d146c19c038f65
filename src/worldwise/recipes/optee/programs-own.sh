# SPDX-License-Identifier: BSD-2-Clause
# The TA and the Linux program that call a portable implementation. PLAN says what is compiled, in JSON: see
# programs-own.py beside this file. All else is as in /in/base, the programs of the OP-TEE that the TA runs on.
. /in/recipes/common.sh
. /in/recipes/packages.sh

cp -r /in/guest guest
mkdir devkit ta-objects linux-objects
tar -xf /in/optee/devkit.tar -C devkit
for name in init faults symbols optee-client; do cp "/in/base/$name" /out/; done

say "the library, for the TA and for Linux"
python3 /in/recipes/programs-own.py

say "trusted application"
make -C guest/optee/own-ta TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE=aarch64-linux-gnu- PYTHON3=python3 O=/build/ta \
	LDADD="$(echo /build/ta-objects/*.o)" > ta.log 2>&1 || python3 /in/recipes/programs-own.py failed ta.log
cp ta/*-*.ta /out/
for elf in ta/*-*.elf; do case $elf in *.stripped.elf) ;; *) cp "$elf" /out/ ;; esac; done

say "Linux program"
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie -O2"
for source in guest/bench/*.c guest/linux/{bench,entropy,idle,load,sha256}.c; do
	# shellcheck disable=SC2086 # a list of flags
	aarch64-linux-gnu-gcc $strict -c "$source" -o "frame-$(basename "$source" .c)-$(basename "$(dirname "$source")").o"
done
aarch64-linux-gnu-gcc -no-pie -Wl,--dynamic-linker=/lib/measured/ld-linux-aarch64.so.1 -Wl,-rpath,/lib/measured \
	-Wl,--gc-sections -o /out/linux-bench ./frame-*.o linux-objects/*.o > linux.log 2>&1 ||
	python3 /in/recipes/programs-own.py failed linux.log
