/* SPDX-License-Identifier: BSD-2-Clause */
#include "counted.h"

#include <dlfcn.h>
#include <pkcs11.h>
#include <string.h>

#ifndef __aarch64__
#error "the stubs below are of AArch64"
#endif /* !__aarch64__ */

/* In the order of the list. */
static const char *const names[COUNTED_FUNCTIONS] = {
	"Initialize",
	"Finalize",
	"GetInfo",
	"GetFunctionList",
	"GetSlotList",
	"GetSlotInfo",
	"GetTokenInfo",
	"GetMechanismList",
	"GetMechanismInfo",
	"InitToken",
	"InitPIN",
	"SetPIN",
	"OpenSession",
	"CloseSession",
	"CloseAllSessions",
	"GetSessionInfo",
	"GetOperationState",
	"SetOperationState",
	"Login",
	"Logout",
	"CreateObject",
	"CopyObject",
	"DestroyObject",
	"GetObjectSize",
	"GetAttributeValue",
	"SetAttributeValue",
	"FindObjectsInit",
	"FindObjects",
	"FindObjectsFinal",
	"EncryptInit",
	"Encrypt",
	"EncryptUpdate",
	"EncryptFinal",
	"DecryptInit",
	"Decrypt",
	"DecryptUpdate",
	"DecryptFinal",
	"DigestInit",
	"Digest",
	"DigestUpdate",
	"DigestKey",
	"DigestFinal",
	"SignInit",
	"Sign",
	"SignUpdate",
	"SignFinal",
	"SignRecoverInit",
	"SignRecover",
	"VerifyInit",
	"Verify",
	"VerifyUpdate",
	"VerifyFinal",
	"VerifyRecoverInit",
	"VerifyRecover",
	"DigestEncryptUpdate",
	"DecryptDigestUpdate",
	"SignEncryptUpdate",
	"DecryptVerifyUpdate",
	"GenerateKey",
	"GenerateKeyPair",
	"WrapKey",
	"UnwrapKey",
	"DeriveKey",
	"SeedRandom",
	"GenerateRandom",
	"GetFunctionStatus",
	"CancelFunction",
	"WaitForSlotEvent",
};

typedef void (*function)(void);

/* How often a function was called, and the function itself: read by the stubs, 16 bytes each. */
struct counted {
	uint64_t calls;
	function theirs;
};

extern struct counted counted_functions[COUNTED_FUNCTIONS] __attribute__((visibility("hidden")));
struct counted counted_functions[COUNTED_FUNCTIONS];

/* The stubs, one behind the other: each counts its call and goes on to the function with all arguments as they are. */
extern const uint8_t counted_stubs[] __attribute__((visibility("hidden")));
#define STUB_BYTES 24
__asm__(".pushsection .text\n"
	".balign 8\n"
	".global counted_stubs\n"
	".hidden counted_stubs\n"
	"counted_stubs:\n"
	".set entry, 0\n"
	".rept 68\n"
	"	adrp	x9, counted_functions + entry\n"
	"	add	x9, x9, :lo12:counted_functions + entry\n"
	"	ldp	x10, x16, [x9]\n"
	"	add	x10, x10, #1\n"
	"	str	x10, [x9]\n"
	"	br	x16\n"
	".set entry, entry + 16\n"
	".endr\n"
	".popsection\n");

/* Behind its version the list is as many pointers. */
static CK_FUNCTION_LIST list;
_Static_assert(sizeof(list) - offsetof(CK_FUNCTION_LIST, C_Initialize) == COUNTED_FUNCTIONS * sizeof(function),
	       "the list has as many functions as there are names");

void counted_take(uint64_t calls[COUNTED_FUNCTIONS])
{
	for (size_t i = 0; i < COUNTED_FUNCTIONS; i++) {
		calls[i] = counted_functions[i].calls;
		counted_functions[i].calls = 0;
	}
}

const char *counted_name(size_t function)
{
	return names[function];
}

/* What the provider looks for in its module; libckteec, which the client is linked with behind this, has the same. */
CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR out)
{
	void *next = dlsym(RTLD_NEXT, "C_GetFunctionList");
	CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR) = NULL;
	CK_FUNCTION_LIST_PTR theirs = NULL;

	memcpy(&get, &next, sizeof(get));
	if (!out || !get || get(&theirs) != CKR_OK)
		return CKR_GENERAL_ERROR;
	list.version = theirs->version;
	for (size_t i = 0; i < COUNTED_FUNCTIONS; i++) {
		size_t at = offsetof(CK_FUNCTION_LIST, C_Initialize) + i * sizeof(function);
		uintptr_t stub = (uintptr_t)&counted_stubs[i * STUB_BYTES];

		memcpy(&counted_functions[i].theirs, (const uint8_t *)theirs + at, sizeof(function));
		memcpy((uint8_t *)&list + at, &stub, sizeof(stub));
	}
	*out = &list;
	return CKR_OK;
}
