/* SPDX-License-Identifier: BSD-2-Clause */
#include "codes.h"

#include <stdio.h>

/* Those of the TEE Internal Core API, which the Client API has some of, and those of the Sockets API. */
const struct code codes[CODES] = {
	{ 0x00000000, "TEE_SUCCESS" },
	{ 0xf0100001, "TEE_ERROR_CORRUPT_OBJECT" },
	{ 0xf0100002, "TEE_ERROR_CORRUPT_OBJECT_2" },
	{ 0xf0100003, "TEE_ERROR_STORAGE_NOT_AVAILABLE" },
	{ 0xf0100004, "TEE_ERROR_STORAGE_NOT_AVAILABLE_2" },
	{ 0xf0100005, "TEE_ERROR_UNSUPPORTED_VERSION" },
	{ 0xf0100006, "TEE_ERROR_CIPHERTEXT_INVALID" },
	{ 0xffff0000, "TEE_ERROR_GENERIC" },
	{ 0xffff0001, "TEE_ERROR_ACCESS_DENIED" },
	{ 0xffff0002, "TEE_ERROR_CANCEL" },
	{ 0xffff0003, "TEE_ERROR_ACCESS_CONFLICT" },
	{ 0xffff0004, "TEE_ERROR_EXCESS_DATA" },
	{ 0xffff0005, "TEE_ERROR_BAD_FORMAT" },
	{ 0xffff0006, "TEE_ERROR_BAD_PARAMETERS" },
	{ 0xffff0007, "TEE_ERROR_BAD_STATE" },
	{ 0xffff0008, "TEE_ERROR_ITEM_NOT_FOUND" },
	{ 0xffff0009, "TEE_ERROR_NOT_IMPLEMENTED" },
	{ 0xffff000a, "TEE_ERROR_NOT_SUPPORTED" },
	{ 0xffff000b, "TEE_ERROR_NO_DATA" },
	{ 0xffff000c, "TEE_ERROR_OUT_OF_MEMORY" },
	{ 0xffff000d, "TEE_ERROR_BUSY" },
	{ 0xffff000e, "TEE_ERROR_COMMUNICATION" },
	{ 0xffff000f, "TEE_ERROR_SECURITY" },
	{ 0xffff0010, "TEE_ERROR_SHORT_BUFFER" },
	{ 0xffff0011, "TEE_ERROR_EXTERNAL_CANCEL" },
	{ 0xffff3001, "TEE_ERROR_TIMEOUT" },
	{ 0xffff300f, "TEE_ERROR_OVERFLOW" },
	{ 0xffff3024, "TEE_ERROR_TARGET_DEAD" },
	{ 0xffff3041, "TEE_ERROR_STORAGE_NO_SPACE" },
	{ 0xffff3071, "TEE_ERROR_MAC_INVALID" },
	{ 0xffff3072, "TEE_ERROR_SIGNATURE_INVALID" },
	{ 0xffff5000, "TEE_ERROR_TIME_NOT_SET" },
	{ 0xffff5001, "TEE_ERROR_TIME_NEEDS_RESET" },
	{ 0xf1007001, "TEE_ISOCKET_ERROR_PROTOCOL" },
	{ 0xf1007002, "TEE_ISOCKET_ERROR_REMOTE_CLOSED" },
	{ 0xf1007003, "TEE_ISOCKET_ERROR_TIMEOUT" },
	{ 0xf1007004, "TEE_ISOCKET_ERROR_OUT_OF_RESOURCES" },
	{ 0xf1007005, "TEE_ISOCKET_ERROR_LARGE_BUFFER" },
	{ 0xf1007006, "TEE_ISOCKET_WARNING_PROTOCOL" },
	{ 0xf1007007, "TEE_ISOCKET_ERROR_HOSTNAME" },
};

int code_index(TEEC_Result code)
{
	for (int i = 0; i < CODES; i++)
		if (codes[i].code == code)
			return i;
	return -1;
}

const char *code_name(TEEC_Result code)
{
	static char number[16];
	int index = code_index(code);

	if (index >= 0)
		return codes[index].name;
	(void)snprintf(number, sizeof(number), "%#x", (unsigned int)code);
	return number;
}
