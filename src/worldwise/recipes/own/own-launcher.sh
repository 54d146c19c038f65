# SPDX-License-Identifier: BSD-2-Clause
# What starts a user's own program on a measured machine: one static program, which the host brings.
. /in/recipes/common.sh

cd /in/guest
aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -O2 -static -no-pie \
	-Wl,-Ttext-segment=0x4000000000 -o /out/launch own/launch.c linux/idle.c bench/record.c bench/semihost.c
