/* SPDX-License-Identifier: BSD-2-Clause */
#include "settle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tee.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEE_DEVICE "/dev/tee0"
#define PARAMETERS 4

/* What an interrupt controller disables, and what it says is enabled: one bit for each interrupt. */
#define ISENABLER 0x100
#define ICENABLER 0x180

int settle_read(const char *text, uint8_t seed[SEED_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != 2 * SEED_BYTES)
		return -1;
	for (size_t i = 0; i < 2 * SEED_BYTES; i++) {
		const char *digit = strchr(digits, text[i]);

		if (!digit)
			return -1;
		seed[i / 2] = (uint8_t)(seed[i / 2] << 4 | (digit - digits));
	}
	return 0;
}

static uint32_t word(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

int settle_seed(const uint8_t seed[SEED_BYTES])
{
	/* PTA_WORLDWISE_SEED_UUID of our patch to OP-TEE, as the bytes of a UUID; opening a session is all that it takes. */
	static const uint8_t uuid[TEE_IOCTL_UUID_LEN] = { 0x2f, 0x0e, 0x6c, 0x4b, 0x5a, 0x1d, 0x4e, 0x83,
							  0x9c, 0x27, 0x73, 0x65, 0x65, 0x64, 0x77, 0x77 };
	union {
		struct tee_ioctl_open_session_arg arg;
		uint8_t room[sizeof(struct tee_ioctl_open_session_arg) + PARAMETERS * sizeof(struct tee_ioctl_param)];
	} call = { .arg = { .clnt_login = TEE_IOCTL_LOGIN_PUBLIC, .num_params = PARAMETERS } };
	struct tee_ioctl_buf_data data = { .buf_ptr = (uintptr_t)&call, .buf_len = sizeof(call) };
	struct tee_ioctl_close_session_arg close_arg;
	int result = -1;
	int tee = open(TEE_DEVICE, O_RDWR | O_CLOEXEC);

	if (tee < 0)
		return errno == ENOENT ? 0 : -1;
	memcpy(call.arg.uuid, uuid, sizeof(uuid));
	for (size_t i = 0; i < PARAMETERS; i++) {
		call.arg.params[i].attr = TEE_IOCTL_PARAM_ATTR_TYPE_VALUE_INPUT;
		call.arg.params[i].a = word(seed + 8 * i);
		call.arg.params[i].b = word(seed + 8 * i + 4);
	}
	if (!ioctl(tee, TEE_IOC_OPEN_SESSION, &data) && !call.arg.ret) {
		close_arg.session = call.arg.session;
		result = ioctl(tee, TEE_IOC_CLOSE_SESSION, &close_arg);
	}
	close(tee);
	return result;
}

/* `masks` are the bits of the words from number 0 on. */
static int mask(off_t controller, const uint32_t *masks, size_t words)
{
	int memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	volatile uint32_t *page;
	int left = 0;

	if (memory < 0)
		return -1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, controller);
	close(memory);
	if (page == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < words; i++) {
		page[ICENABLER / 4 + i] = masks[i];
		left |= (page[ISENABLER / 4 + i] & masks[i]) != 0;
	}
	(void)munmap((void *)(uintptr_t)page, 4096);
	errno = EIO;
	return left ? -1 : 0;
}

#ifdef __aarch64__
int settle_quiet(void)
{
	/* QEMU's virt: the core's own interrupts are in the second frame of its redistributor; 26 to 30 are timers. */
	static const uint32_t timers[] = { 0x7c000000 };

	return mask(0x080b0000, timers, 1);
}
#elif defined(__arm__)
int settle_quiet(void)
{
	/* QEMU's vexpress-a9: 27 and 29 are the core's timers, 34 and 35 those of the board. */
	static const uint32_t timers[] = { 0x28000000, 0x0000000c };

	return mask(0x1e001000, timers, 2);
}
#else
#error "where are this machine's timers?"
#endif /* architecture */
