# SPDX-License-Identifier: BSD-2-Clause
# The program that says which counter a Linux host has (PREFIX: of the cross tools, FLAGS: of the architecture, MORE: sources that
# the counter of a host with a TEE has).
. /in/recipes/common.sh

cd /in/guest
# shellcheck disable=SC2086 # a list of flags
"${PREFIX}gcc" ${FLAGS:-} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -O2 -static -no-pie -o /out/probe \
	board-linux/probe.c board-linux/counter.c board-linux/perf.c ${MORE:-} bench/record.c
