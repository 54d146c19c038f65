# SPDX-License-Identifier: BSD-2-Clause
# The guest's sources in /build/guest, with the one file that is made: the header with PARAMETERS, the keys of the
# parameters that the families declare for this program.
cp -r /in/guest guest
{
	printf '/* SPDX-License-Identifier: BSD-2-Clause */\n#define BENCH_PARAMETERS'
	separator=
	for key in $PARAMETERS; do
		printf '%s "%s"' "$separator" "$key"
		separator=,
	done
	printf '\n'
} >guest/bench/parameters.h
