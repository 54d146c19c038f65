# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += theirs/include theirs/src ../measured ../../../bench
srcs-y += measured.c
subdirs-y += theirs/src
