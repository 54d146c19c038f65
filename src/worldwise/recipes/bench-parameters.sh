# SPDX-License-Identifier: BSD-2-Clause
# The guest's sources, with a bench that takes the parameters of apps and of plain Linux: they are more than those of the
# attestation's programs, whose bytes are to stay as they are.
cp -r /in/guest guest
sed -i '/known\[\] = /s/{ .* }/{ BENCH_PARAMETERS }/; s,^#include "bench.h",&\n#include "../apps/common/parameters.h",' \
	guest/bench/bench.c
grep -q '{ BENCH_PARAMETERS }' guest/bench/bench.c
