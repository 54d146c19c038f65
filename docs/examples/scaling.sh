#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# How a run scales on this machine (docs/use/machines.md): N small cases by the tool alone and by 1, 2 and 4 workers, each
# time measured anew. Says wall time, and processor time of the tool and its workers (QEMU's is not in it); then compares
# every file of every case with the first run's, but for times. In the folder of the checkout, on an idle machine:
#
#   WORLDWISE_WITH=dask docs/examples/scaling.sh 2000
#
# A case is a hash or an encryption on a Cortex-M4, by a library at an optimisation, of 1 byte and more: twenty cases for
# each size, so N is rounded up to a multiple of twenty. Their images are those of the suite mcu.
#
# WORLDWISE names the program, WAYS the ways to run it, one a line; of jobs of SLURM processor time is not seen here.
set -eu
sizes=$(((${1:-2000} + 19) / 20))
count=$((20 * sizes))
ways=${WAYS:-"--jobs 2
--on local:1
--on local:2
--on local:4"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/scaling.toml" <<SUITE
format = 1
name = "scaling"
title = "Many small cases: hashes and AES of 1 to $sizes bytes"
samples = 1
warmup = 0

[[cases]]
targets = ["nucleo-f446re"]
operations = ["sha256", "aes128", "aes256"]
implementations = ["bearssl", "mbedtls36", "wolfssl"]
optimisations = ["Os", "O2"]
sizes = [$(seq -s ', ' 1 "$sizes" | sed 's/[0-9][0-9]*/"&B"/g')]

[[cases]]
targets = ["nucleo-f446re"]
operations = ["sha512"]
implementations = ["monocypher"]
optimisations = ["Os", "O2"]
sizes = [$(seq -s ', ' 1 "$sizes" | sed 's/[0-9][0-9]*/"&B"/g')]
SUITE
printf '%s\n' "$ways" >"$work/ways"
number=0
while read -r way; do
	number=$((number + 1))
	began=$(date +%s)
	# The second line of `times` is the processor time of what this shell has waited for; a pipe would be another shell.
	# shellcheck disable=SC2086 # words, on purpose
	spent=$(
		${WORLDWISE:-./worldwise} run "$work/scaling.toml" --fresh $way --runs "$work/runs-$number" </dev/null >/dev/null
		times >"$work/times"
		sed -n 2p "$work/times"
	)
	echo "$way: $count cases in $(($(date +%s) - began)) s; processor time, user and system: $spent"
	[ "$number" -eq 1 ] || diff -r -x run.json -x finished.json -I '"wall_seconds"' \
		"$work"/runs-1/*-scaling/ "$work/runs-$number"/*-scaling/
done <"$work/ways"
echo "the same bytes in all $number runs, but for times"
