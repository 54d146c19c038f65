# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . .. ../../common ../../../bench
srcs-y += THIS_APP_ta.c
