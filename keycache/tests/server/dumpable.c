/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded, it leaves a server's memory readable for a test that looks for keys in it. */
int prctl(int option, ...);

int prctl(int option, ...)
{
	(void)option;
	return 0;
}
