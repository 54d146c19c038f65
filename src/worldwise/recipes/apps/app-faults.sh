# SPDX-License-Identifier: BSD-2-Clause
# The app whose storage is tampered with: its Linux program is the client, tee-supplicant is started with a library that
# keeps a journal, and there is a second TA. What is below root/ is laid over the initramfs.
# shellcheck disable=SC2034 # linux_flags and linux_libraries are read by programs-app.sh
linux_flags="-I../sysroot/usr/include -DMAX_STORED_FILES=32"
linux_libraries=../sysroot/usr/lib/aarch64-linux-gnu/libteec.so

say "journal in tee-supplicant, second TA"
mkdir -p /out/root/{etc,lib/optee_armtz,sbin}
own -o /out/root/sbin/tee-supplicant-journal guest/apps/faults/supplicant/start.c
aarch64-linux-gnu-gcc $strict -O2 -fPIC -shared "-DMAX_DATA=(16 * 1024)" -o /out/root/lib/journal.so guest/apps/faults/supplicant/journal.c \
	guest/bench/semihost.c
echo /sbin/tee-supplicant-journal >/out/root/etc/daemons
make -C guest/apps/faults/ta TA_DEV_KIT_DIR=/build/devkit CROSS_COMPILE=aarch64-linux-gnu- \
	"${ta_settings[@]}" O=/build/ta-other FAULTS_OTHER=y
cp ta-other/*-*.ta /out/root/lib/optee_armtz/
