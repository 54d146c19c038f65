# SPDX-License-Identifier: BSD-2-Clause
# What all apps have in common, compiled once: the first process and two small programs, and the objects of those files that
# know nothing of their app, each by its path.
. /in/recipes/common.sh
. /in/recipes/app-flags.sh

# Their debug information names the folders that programs-app.sh works in.
dpkg-deb -x /in/optee-client-dev.deb sysroot
cp -r /in/guest guest
cd guest
say "first process, faults, symbols"
# Far from where any other program is loaded: the host stops the machine at an address of this one.
# shellcheck disable=SC2046 # lists of flags
own -no-pie $(libraries init) -Wl,-Ttext-segment=0x5000000000 -o /out/init linux/init.c linux/settle.c bench/record.c \
	bench/semihost.c
own -no-pie -o /out/faults linux/faults.c
own -no-pie -o /out/symbols linux/symbols.c bench/record.c bench/semihost.c
say "objects"
for source in apps/common/*.c linux/{idle,load}.c bench/{message,record,semihost}.c; do
	object=${source%.c}.o
	own -I../sysroot/usr/include -c -o "/out/${object//\//-}" "$source"
done
