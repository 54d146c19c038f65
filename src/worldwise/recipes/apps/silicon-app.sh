# SPDX-License-Identifier: BSD-2-Clause
# The client of an app (APP) for a host that has OP-TEE: the one of programs-app.sh with the host's counter; and the
# libraries that it runs with there, for the host's own may be others.
. /in/recipes/common.sh

. /in/recipes/guest.sh
for package in libc6 libteec2 optee-client-dev; do dpkg-deb -x "/in/$package.deb" sysroot; done
library=/build/sysroot/usr/lib/aarch64-linux-gnu
cp -L "$library/ld-linux-aarch64.so.1" /out/loader
cp -L "$library/libc.so.6" "$library/libteec.so.2" /out/

cd guest
own() {
	aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie -O2 -DCOUNTER_WITH_KERNEL \
		-I../sysroot/usr/include "$@"
}
for source in counter perf tee; do own -c -o "../$source.o" "board-linux/$source.c"; done
wrapped=(-Wl,--wrap={bench_start,bench_record_overhead,bench_record_sample,record_text})
own -no-pie -include board-linux/region.h "${wrapped[@]}" -o /out/client apps/"$APP"/*.c apps/common/*.c linux/load.c \
	board-linux/host_bench.c bench/{bench,message,record,semihost}.c ../counter.o ../perf.o ../tee.o "$library/libteec.so"
