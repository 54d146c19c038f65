# SPDX-License-Identifier: BSD-2-Clause
# ENGINE is who works: gp for OP-TEE's core by the GlobalPlatform API, portable for a library that LDADD names. CURVE is
# its number in guest/adapters/ops.h, FRAME the definitions that say which operations there are.
global-incdirs-y += . .. ../../common ../../../bench ../../../adapters ../../../operations
cppflags-y += -DOPS_CURVE=$(CURVE) $(FRAME)
srcs-y += crypto_ta.c $(ENGINE).c
ifeq ($(ENGINE),gp)
srcs-y += known.c
endif
