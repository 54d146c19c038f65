# SPDX-License-Identifier: BSD-2-Clause
global-incdirs-y += . ../include
cflags-y += -Wextra -Wpedantic

srcs-y += keycache_ta.c
srcs-y += keys.c
srcs-y += enrol.c
srcs-y += points.c
srcs-y += curve.c
srcs-y += messages.c
srcs-y += cache.c
srcs-y += index.c
srcs-y += store.c
ifeq ($(CFG_KEYCACHE_MEASURING),y)
# What the cache is compared with: no product has it.
cflags-y += -DKEYCACHE_MEASURING
srcs-y += naive.c
endif
srcs-y += records.c
srcs-y += gcm.c
srcs-y += siphash.c
