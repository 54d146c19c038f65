# SPDX-License-Identifier: BSD-2-Clause
# A program of the validation: our harness with a library, for QEMU's machine "virt" with nothing beneath it. GCC is the
# compiler, CELLS the file with the library's operations. What the libraries take of the C library is Debian's, in the
# variant for processors without an own one: a program of Linux would ask the kernel which processor it is.
. /in/recipes/common.sh

mkdir libc
(
	cd libc
	aarch64-linux-gnu-ar x "$("$GCC" -print-file-name=libc.a)" \
		mem{cpy,set}_generic.o memcmp.o strncmp.o strlen_asimd.o
	for name in mem{cpy,move,set}:generic strlen:asimd; do
		echo "-Wl,--defsym=${name%:*}=__${name/:/_}"
	done >names
)
# By itself: the program has the object's name in it, which is else another each time.
"$GCC" -c -o start.o /in/validation/start.S
"$GCC" -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -fno-stack-protector -static -no-pie -nostdlib \
	-Wl,-Ttext-segment=0x40400000 -I /in/validation -I /in/bench -isystem /in/library/include @libc/names \
	-o /out/program start.o /in/validation/cells.c "/in/validation/$CELLS" /in/bench/semihost.c \
	/in/library/library.a libc/*.o -lgcc
