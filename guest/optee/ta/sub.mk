# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . ../../bench ../../ops
srcs-y += attest_ta.c digest.c more.c storage.c
