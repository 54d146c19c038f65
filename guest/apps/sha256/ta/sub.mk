# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . .. ../../common ../../../bench
srcs-y += sha256_ta.c
