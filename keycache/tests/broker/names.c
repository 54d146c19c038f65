/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded, it writes into the file that NAMES_FILE names how often a name of a certificate was read in this process. */
#include <dlfcn.h>
#include <openssl/asn1.h>
#include <stdio.h>
#include <stdlib.h>

int ASN1_STRING_to_UTF8(unsigned char **out, const ASN1_STRING *in)
{
	static int (*real)(unsigned char **out, const ASN1_STRING *in);
	static unsigned count;
	const char *path = getenv("NAMES_FILE");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		(void)fprintf(file, "%u\n", ++count);
		(void)fclose(file);
	}
	if (!real)
		/* As POSIX has it, an object's address may be a function's. */
		*(void **)&real = dlsym(RTLD_NEXT, "ASN1_STRING_to_UTF8");
	return real(out, in);
}
