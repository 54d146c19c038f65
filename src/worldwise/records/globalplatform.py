# SPDX-License-Identifier: BSD-2-Clause
"""Names of a TEE's result codes. Source: GlobalPlatform TEE Internal Core API Specification 1.3.1, 3.3.3."""

import re

# A result code in a text.
_CODE = re.compile(r"0x[0-9a-f]{8}\b")
RESULTS = {
    0xF0100001: "TEE_ERROR_CORRUPT_OBJECT",
    0xF0100003: "TEE_ERROR_STORAGE_NOT_AVAILABLE",
    0xFFFF0000: "TEE_ERROR_GENERIC",
    0xFFFF0001: "TEE_ERROR_ACCESS_DENIED",
    0xFFFF0002: "TEE_ERROR_CANCEL",
    0xFFFF0003: "TEE_ERROR_ACCESS_CONFLICT",
    0xFFFF0004: "TEE_ERROR_EXCESS_DATA",
    0xFFFF0005: "TEE_ERROR_BAD_FORMAT",
    0xFFFF0006: "TEE_ERROR_BAD_PARAMETERS",
    0xFFFF0007: "TEE_ERROR_BAD_STATE",
    0xFFFF0008: "TEE_ERROR_ITEM_NOT_FOUND",
    0xFFFF0009: "TEE_ERROR_NOT_IMPLEMENTED",
    0xFFFF000A: "TEE_ERROR_NOT_SUPPORTED",
    0xFFFF000B: "TEE_ERROR_NO_DATA",
    0xFFFF000C: "TEE_ERROR_OUT_OF_MEMORY",
    0xFFFF000D: "TEE_ERROR_BUSY",
    0xFFFF000E: "TEE_ERROR_COMMUNICATION",
    0xFFFF000F: "TEE_ERROR_SECURITY",
    0xFFFF0010: "TEE_ERROR_SHORT_BUFFER",
    0xFFFF3024: "TEE_ERROR_TARGET_DEAD: the TA panicked",
    0xFFFF3041: "TEE_ERROR_STORAGE_NO_SPACE",
    0xFFFF3071: "TEE_ERROR_MAC_INVALID",
    0xFFFF3072: "TEE_ERROR_SIGNATURE_INVALID",
}


def name_results(text: str) -> str:
    """The text with every known result code followed by its name in brackets."""

    def named(match: re.Match[str]) -> str:
        name = RESULTS.get(int(match[0], 16))
        return f"{match[0]} ({name})" if name else match[0]

    return _CODE.sub(named, text)


def name_codes(text: str) -> str:
    """The text with each known result code replaced by its name."""

    def named(match: re.Match[str]) -> str:
        return RESULTS.get(int(match[0], 16), match[0]).partition(":")[0]

    return _CODE.sub(named, text)
