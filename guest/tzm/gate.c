/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate of every library, with all of its checks. Part of the file that says what is then done, by carry_out(). */
#include "library.h"

#include <arm_cmse.h>

/* Does it. The caller may use what the request names; whether that is long enough is checked here, by LENGTHS(). */
static int carry_out(const struct library_request *request);

static int may(const void *base, size_t length, int access)
{
	return !length || cmse_check_address_range((void *)(uintptr_t)base, length, CMSE_NONSECURE | access) != NULL;
}

static inline int is_long_enough(const struct library_request *request, const size_t in[LIBRARY_INPUTS],
				 const size_t out[LIBRARY_OUTPUTS])
{
	int enough = 1;

	for (size_t i = 0; i < LIBRARY_INPUTS; i++)
		enough &= request->in[i].length >= in[i];
	for (size_t i = 0; i < LIBRARY_OUTPUTS; i++)
		enough &= request->out[i].length >= out[i];
	return enough;
}

/* Each operation's lengths, as the library's header has them; a message's is its caller's. */
#define LENGTHS(in0, in1, in2, in3, out0, out1)                                                                        \
	is_long_enough(request, (const size_t[]){ in0, in1, in2, in3 }, (const size_t[]){ out0, out1 })

int GATE gate_library(const struct library_request *given)
{
	struct library_request request;

	if (!may(given, sizeof(*given), CMSE_MPU_READ))
		return GATE_REFUSED;
	/* From here on the caller cannot change it. */
	request = *given;
	for (size_t i = 0; i < LIBRARY_INPUTS; i++)
		if (!may(request.in[i].base, request.in[i].length, CMSE_MPU_READ))
			return GATE_REFUSED;
	for (size_t i = 0; i < LIBRARY_OUTPUTS; i++)
		if (!may(request.out[i].base, request.out[i].length, CMSE_MPU_READWRITE))
			return GATE_REFUSED;
	return carry_out(&request);
}
