# SPDX-License-Identifier: BSD-2-Clause
# One library on one curve as a program of plain Linux, linked statically. PLAN says what is compiled and linked, in JSON:
# see plain-programs.py beside this file, which does it. LIBRARIES are packages that have it compiled.
. /in/recipes/common.sh

for package in $PACKAGES; do
	mkdir "$package"
	tar -xf "/in/unpacked-$package/source.tar" -C "$package"
done
cp -r /in/guest guest
# A portable implementation has other parameters than the attestation's programs, whose bytes are to stay as they are.
sed -i '/known\[\] = /s/{ .* }/{ BENCH_PARAMETERS }/; s,^#include "bench.h",&\n#include "../apps/common/parameters.h",' \
	guest/bench/bench.c
grep -q '{ BENCH_PARAMETERS }' guest/bench/bench.c
for package in ${LIBRARIES:-}; do dpkg-deb -x "/in/$package.deb" packages; done

exec python3 /in/recipes/plain-programs.py
