/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of libntruprime, as its speed program calls them. */
#include <ntruprime.h>

#include "cells.h"

#define HASHED 3595
/* The speed program lets no buffer of a message be smaller. */
#define MESSAGE 65536

#define DISPATCH(NAME)                                                                                                 \
	static cells_function function_##NAME(long long number)                                                        \
	{                                                                                                              \
		return (cells_function)ntruprime_dispatch_##NAME(number);                                              \
	}

#define OPERATION(NAME, LENGTH, OUT, FIRST, SECOND, CALL)                                                              \
	{ #NAME,                                                                                                       \
	  LENGTH,                                                                                                      \
	  { OUT, FIRST, SECOND, 0 },                                                                                   \
	  ntruprime_numimpl_##NAME,                                                                                    \
	  function_##NAME,                                                                                             \
	  ntruprime_dispatch_##NAME##_implementation,                                                                  \
	  ntruprime_dispatch_##NAME##_compiler,                                                                        \
	  NULL,                                                                                                        \
	  CALL }

#define CORE(NAME)                                                                                                     \
	OPERATION(core_##NAME, ntruprime_core_##NAME##_OUTPUTBYTES, ntruprime_core_##NAME##_OUTPUTBYTES,               \
		  ntruprime_core_##NAME##_INPUTBYTES, ntruprime_core_##NAME##_KEYBYTES, cells_call_o012)

/* The published length of a decoding is that of what comes out, of an encoding too. */
#define DECODE(NAME)                                                                                                   \
	OPERATION(decode_##NAME, ntruprime_decode_##NAME##_ITEMS *ntruprime_decode_##NAME##_ITEMBYTES,                 \
		  ntruprime_decode_##NAME##_ITEMS *ntruprime_decode_##NAME##_ITEMBYTES,                                \
		  ntruprime_decode_##NAME##_STRBYTES, 0, cells_call_o0)

#define ENCODE(NAME)                                                                                                   \
	OPERATION(encode_##NAME, ntruprime_encode_##NAME##_STRBYTES, ntruprime_encode_##NAME##_STRBYTES,               \
		  ntruprime_encode_##NAME##_ITEMS *ntruprime_encode_##NAME##_ITEMBYTES, 0, cells_call_o0)

DISPATCH(core_inv3sntrup761)
DISPATCH(core_inv3sntrup1277)
DISPATCH(core_invsntrup761)
DISPATCH(core_invsntrup1277)
DISPATCH(core_mult3sntrup761)
DISPATCH(core_mult3sntrup1277)
DISPATCH(core_multsntrup761)
DISPATCH(core_multsntrup1277)
DISPATCH(core_scale3sntrup761)
DISPATCH(core_scale3sntrup1277)
DISPATCH(core_weightsntrup761)
DISPATCH(core_weightsntrup1277)
DISPATCH(core_wforcesntrup1277)
DISPATCH(decode_761x1531)
DISPATCH(decode_761x4591)
DISPATCH(encode_761x1531)
DISPATCH(encode_761x1531round)
DISPATCH(encode_761x4591)
DISPATCH(hash_sha512)
DISPATCH(hashblocks_sha512)
DISPATCH(sort_int32)
DISPATCH(sort_uint32)

const struct cells_operation cells_operations[] = {
	CORE(inv3sntrup761),
	CORE(inv3sntrup1277),
	CORE(invsntrup761),
	CORE(invsntrup1277),
	CORE(mult3sntrup761),
	CORE(mult3sntrup1277),
	CORE(multsntrup761),
	CORE(multsntrup1277),
	CORE(scale3sntrup761),
	CORE(scale3sntrup1277),
	CORE(weightsntrup761),
	CORE(weightsntrup1277),
	CORE(wforcesntrup1277),
	DECODE(761x1531),
	DECODE(761x4591),
	ENCODE(761x1531),
	ENCODE(761x1531round),
	ENCODE(761x4591),
	OPERATION(hash_sha512, HASHED, 64, MESSAGE, 0, cells_call_o0l),
	OPERATION(hashblocks_sha512, HASHED, 64, MESSAGE, 0, cells_call_o0l),
	OPERATION(sort_int32, HASHED, MESSAGE, 0, 0, cells_call_ol),
	OPERATION(sort_uint32, HASHED, MESSAGE, 0, 0, cells_call_ol),
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
