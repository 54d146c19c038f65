/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads A64 instructions in hexadecimal and names the class of each, with _q for 128 bits. */
#include <stdio.h>

#include "operation.h"

int main(void)
{
	unsigned int word;

	while (scanf("%x", &word) == 1) {
		struct operation operation = a64_operation(word);

		printf("%s%s\n", class_name(operation.class), operation.wide ? "_q" : "");
	}
	return 0;
}
