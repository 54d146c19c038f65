# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . .. ../../common ../../../bench
srcs-y += faults_ta.c
ifeq ($(FAULTS_OTHER),y)
cppflags-y += -DFAULTS_OTHER
endif
