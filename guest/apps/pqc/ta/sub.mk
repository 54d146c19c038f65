# SPDX-License-Identifier: BSD-2-Clause
# SCHEME is its number in guest/pqc-adapters/pqc.h; LDADD names the library's objects.
global-incdirs-y += . .. ../../common ../../../bench
cppflags-y += -DPQC_SCHEME=$(SCHEME) -DOPS_CURVE=0
srcs-y += pqc_ta.c memory.c
