/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../bench/message.h"

#define PLACE "linux"
#define SHA256SUM "/bin/sha256sum"
#define FILE_NAME "/tmp/message"

static struct attest_ops *library;

static int hash_at_once(const uint8_t *message, size_t size, uint8_t digest[SHA256_BYTES])
{
	return library->hash(message, size, size, digest);
}

/* Memory that has no pages yet: small ones, so that each is one fault. */
static uint8_t *fresh_memory(size_t size)
{
	uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE))
		bench_fail("no memory for a message of %zu bytes", size);
	return memory;
}

void sha256_case(const struct bench_plan *plan, struct attest_ops *ops)
{
	size_t size = bench_parameter_bytes(plan, "size", 0);
	size_t chunk = bench_parameter_bytes(plan, "chunk", size);
	const char *fault = bench_parameter(plan, "fault");
	struct bench_overhead overhead = bench_calibrate_place(PLACE);
	uint8_t digest[SHA256_BYTES] = { 0 };
	uint8_t *message = NULL;

	if (fault && strcmp(fault, "fresh"))
		bench_fail("unknown fault: %s", fault);
	if (!chunk && size)
		bench_fail("a chunk of 0 bytes");
	library = ops;
	message_known_answer(hash_at_once);

	if (!fault)
		message = message_make(size);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;
		int result;

		if (fault)
			message = fresh_memory(size);
		else
			message_mark(message, size, index);

		span.begin = bench_region_begin();
		result = ops->hash(message, size, chunk, digest);
		span.end = bench_region_end();
		if (result)
			bench_fail("hash %u failed: %#x", (unsigned int)index, (unsigned int)result);
		bench_record_sample(plan, "hash", PLACE, index, span, overhead.count, 0);
		message_record_digest(index, fault ? "zeros" : "blocks", size, digest);
		if (fault && munmap(message, size))
			bench_fail("munmap failed");
	}
	if (!fault)
		free(message);
}

static void write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written <= 0)
			bench_fail("%s: %s", FILE_NAME, strerror(errno));
		bytes += written;
		size -= (size_t)written;
	}
}

/* The message as a file, a block at a time: a large program would make fork dear. */
static void write_message(size_t size)
{
	int fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		bench_fail("%s: %s", FILE_NAME, strerror(errno));
	for (size_t done = 0; done < size; done += MESSAGE_BLOCK)
		write_all(fd, message_block(), size - done < MESSAGE_BLOCK ? size - done : MESSAGE_BLOCK);
	if (close(fd))
		bench_fail("%s: %s", FILE_NAME, strerror(errno));
}

static void mark_message(size_t size, uint32_t index)
{
	uint8_t first[8];
	size_t length = size < sizeof(first) ? size : sizeof(first);
	int fd = open(FILE_NAME, O_WRONLY | O_CLOEXEC);

	message_mark(first, length, index);
	if (fd < 0)
		bench_fail("%s: %s", FILE_NAME, strerror(errno));
	write_all(fd, first, length);
	if (close(fd))
		bench_fail("%s: %s", FILE_NAME, strerror(errno));
}

/* Runs the command and waits for it; what it prints is in `output`, ended by a zero. Returns its status, or -1. */
static int run(char *output, size_t size)
{
	size_t used = 0;
	int ends[2];
	int status;
	ssize_t got;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		if (dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(126);
		(void)close(ends[0]);
		(void)close(ends[1]);
		execl(SHA256SUM, SHA256SUM, FILE_NAME, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	do {
		got = read(ends[0], output + used, size - 1 - used);
		if (got > 0)
			used += (size_t)got;
	} while (got > 0);
	(void)close(ends[0]);
	output[used] = '\0';
	if (waitpid(child, &status, 0) != child || got < 0)
		return -1;
	return status;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* The digest from a line of the command: 64 digits, two spaces, the file's name. */
static void parse(const char *line, uint8_t digest[SHA256_BYTES])
{
	static const char rest[] = "  " FILE_NAME "\n";

	for (size_t i = 0; i < SHA256_BYTES; i++) {
		int high = hex_digit(line[2 * i]);
		int low = high < 0 ? -1 : hex_digit(line[2 * i + 1]);

		if (low < 0)
			bench_fail("%s printed no digest: %.100s", SHA256SUM, line);
		digest[i] = (uint8_t)(high << 4 | low);
	}
	if (strcmp(line + (size_t)2 * SHA256_BYTES, rest))
		bench_fail("%s printed more than a digest: %.100s", SHA256SUM, line);
}

void sha256sum_case(const struct bench_plan *plan)
{
	size_t size = bench_parameter_bytes(plan, "size", 0);
	struct bench_overhead overhead = bench_calibrate_place(PLACE);
	uint8_t digest[SHA256_BYTES];
	char output[200];

	if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL))
		bench_fail("mount of /tmp: %s", strerror(errno));
	write_message(size);
	for (uint32_t index = 0; index < bench_calls(plan); index++) {
		struct bench_span span;
		int status;

		mark_message(size, index);
		span.begin = bench_region_begin();
		status = run(output, sizeof(output));
		span.end = bench_region_end();
		if (status)
			bench_fail("%s ended with status %#x", SHA256SUM, (unsigned int)status);
		bench_record_sample(plan, "hash", PLACE, index, span, overhead.count, 0);
		parse(output, digest);
		message_record_digest(index, "blocks", size, digest);
	}
}
