# SPDX-License-Identifier: BSD-2-Clause
# What starts a user's own program on a measured machine, and what tells where a signal ended one: static programs, which
# the host brings. They are for AArch64 unless PREFIX, FLAGS and ADDRESS say another architecture; DEFINES has what else
# they are compiled with.
. /in/recipes/common.sh

cd /in/guest
for program in launch crash; do
	# shellcheck disable=SC2086 # a list of flags
	"${PREFIX-aarch64-linux-gnu-}gcc" ${FLAGS-} ${DEFINES-} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -static \
		-no-pie -Wl,-Ttext-segment="${ADDRESS-0x4000000000}" -o "/out/$program" "own/$program.c" linux/idle.c \
		bench/record.c bench/semihost.c
done
