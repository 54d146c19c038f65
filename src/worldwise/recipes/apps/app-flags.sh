# SPDX-License-Identifier: BSD-2-Clause
# How the Linux programs of apps are compiled.
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -fno-pie"
own() { aarch64-linux-gnu-gcc $strict -O2 "$@"; }
# Copies of the shared libraries of their own: one page of memory is then at one address, in every process that has it,
# which the emulator's plugin relies on.
libraries() { echo "-Wl,--dynamic-linker=/lib/$1/ld-linux-aarch64.so.1 -Wl,-rpath,/lib/$1"; }
