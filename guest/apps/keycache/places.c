/* SPDX-License-Identifier: BSD-2-Clause */
#include "places.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../bench/record.h"
#include "../common/app.h"

struct measured_ta places_take(bool armed)
{
	struct measured_ta measured;
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_MEMREF_TEMP_OUTPUT, TEEC_VALUE_INPUT, TEEC_NONE,
							     TEEC_NONE) };

	op.params[0].tmpref.buffer = &measured;
	op.params[0].tmpref.size = sizeof(measured);
	op.params[1].value.a = armed;
	app_must(TEEC_InvokeCommand(&app_session, MEASURED_TAKE, &op, NULL), "what the TA measured", 0);
	return measured;
}

struct bench_overhead places_calibrate(const char *library)
{
	/* POSIX has dlsym() give functions as data; ISO C has no such conversion. */
	union {
		void *data;
		measured_calibration function;
	} found = { .data = NULL };
	void *opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

	if (opened)
		found.data = dlsym(opened, MEASURED_CALIBRATE);
	if (!found.data)
		bench_fail("%s: %s", library, dlerror());
	return found.function();
}

struct measured *places_map(const char *file)
{
	int fd = open(file, O_RDWR | O_CLOEXEC);
	struct measured *measured;

	if (fd < 0)
		bench_fail("%s is not there: nobody measures", file);
	measured = mmap(NULL, sizeof(*measured), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (measured == MAP_FAILED)
		bench_fail("%s cannot be read", file);
	close(fd);
	return measured;
}

void places_record(const struct bench_plan *plan, const char *measure, const char *place, uint32_t index,
		   const struct measured *measured, uint64_t inner, uint64_t around)
{
	const struct bench_total *total = &measured->total;
	uint64_t overhead = total->spans * measured->overhead.count;

	if (total->busy < overhead + inner)
		bench_fail("%s %u: regions shorter than their own overhead", place, (unsigned int)index);
	record_begin("sample");
	record_text("measure", measure);
	record_text("place", place);
	record_number("index", index);
	record_text("phase", index == 0 ? "first" : index <= plan->warmup ? "warmup" : "sample");
	record_number("begin", total->spans ? total->begin : around);
	record_number("end", total->spans ? total->end : around);
	record_number("spans", total->spans);
	record_number("busy", total->busy);
	if (inner)
		record_number("inner", inner);
	record_number("count", total->busy - overhead - inner);
	record_end();
}

uint64_t places_added(const struct measured *measured)
{
	return measured->total.spans * measured->overhead.nested;
}
