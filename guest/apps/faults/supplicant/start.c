/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts tee-supplicant with journal.c loaded into it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	if (!setenv("LD_PRELOAD", "/lib/journal.so", 1))
		execl("/sbin/tee-supplicant", "/sbin/tee-supplicant", (char *)NULL);
	perror("/sbin/tee-supplicant");
	return 1;
}
