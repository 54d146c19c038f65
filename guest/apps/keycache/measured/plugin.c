/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the broker's plugin and libkeycache: a region around each request of the key cache (the linker's --wrap). */
#include <keycache.h>

#include "file.h"

typedef enum keycache_error (*relay_function)(struct keycache *handle, const char *from, const void *aad,
					      size_t aad_size, const void *message, size_t message_size,
					      struct keycache_copy *copies, size_t count);

enum keycache_error __real_keycache_relay(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
					  const void *message, size_t message_size, struct keycache_copy *copies,
					  size_t count);
enum keycache_error __wrap_keycache_relay(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
					  const void *message, size_t message_size, struct keycache_copy *copies,
					  size_t count);

static struct measured *measured;
static relay_function relay = __real_keycache_relay;

static enum keycache_error nothing(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
				   const void *message, size_t message_size, struct keycache_copy *copies, size_t count)
{
	__asm__ volatile("" : : "r"(handle), "r"(from), "r"(aad), "r"(message), "r"(copies) : "memory");
	return aad_size + message_size + count ? KEYCACHE_AGAIN : KEYCACHE_OK;
}

__attribute__((visibility("default"))) struct bench_overhead measured_calibrate(void)
{
	volatile struct bench_span store;
	struct bench_overhead overhead = bench_calibrate(&store);
	uint64_t with = UINT64_MAX;
	uint64_t without = UINT64_MAX;

	relay = nothing;
	measured->armed = 1;
	for (int pass = 0; pass < BENCH_CALIBRATION_PASSES; pass++) {
		uint64_t begin = bench_region_begin();
		uint64_t end;

		(void)relay(NULL, NULL, NULL, 0, NULL, 0, NULL, 0);
		end = bench_region_end();
		if (end - begin < without)
			without = end - begin;
		begin = bench_region_begin();
		(void)__wrap_keycache_relay(NULL, NULL, NULL, 0, NULL, 0, NULL, 0);
		end = bench_region_end();
		if (end - begin < with)
			with = end - begin;
	}
	relay = __real_keycache_relay;
	*measured = (struct measured){ 0 };
	overhead.nested = with - without;
	return overhead;
}

__attribute__((constructor)) static void make_file(void)
{
	measured = measured_create(MEASURED_RELAY_FILE);
}

enum keycache_error __wrap_keycache_relay(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
					  const void *message, size_t message_size, struct keycache_copy *copies,
					  size_t count)
{
	enum keycache_error error;
	uint64_t begin;

	if (!measured->armed)
		return relay(handle, from, aad, aad_size, message, message_size, copies, count);
	begin = bench_region_begin();
	error = relay(handle, from, aad, aad_size, message, message_size, copies, count);
	bench_total_add(&measured->total, begin, bench_region_end());
	return error;
}
