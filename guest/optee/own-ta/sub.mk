# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . ../../bench ../../ops
# secp256r1, as guest/ops/portable/ops.h numbers it: the attestation's curve.
cppflags-own_ta.c-y += -DOPS_CURVE=4
srcs-y += own_ta.c
