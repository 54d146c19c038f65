# SPDX-License-Identifier: BSD-2-Clause
# ENGINE is who works: gp for OP-TEE's core by the GlobalPlatform API, portable for a library that LDADD names. CURVE is
# P-256's number in guest/adapters/ops.h, for a library.
global-incdirs-y += . .. $(ENGINE) ../../common ../../../bench ../../../operations
ifneq ($(CURVE),)
cppflags-y += -DOPS_CURVE=$(CURVE)
endif
srcs-y += attestation_ta.c storage.c $(ENGINE)/engine.c
