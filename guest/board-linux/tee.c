/* SPDX-License-Identifier: BSD-2-Clause */
#include "tee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tee.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The part of OP-TEE's core that lists TAs, which is in every OP-TEE. Source: lib/libutee/include/pta_device.h. */
static const uint8_t device_list[16] = { 0x70, 0x11, 0xa6, 0x88, 0xdd, 0xde, 0x40, 0x53,
					 0xa5, 0xa9, 0x7b, 0x3c, 0x4d, 0xdf, 0x13, 0xb8 };

int tee_pass(void)
{
	static int device = -1;
	struct tee_ioctl_open_session_arg opening = { .clnt_login = TEE_IOCTL_LOGIN_PUBLIC };
	struct tee_ioctl_buf_data given = { .buf_ptr = (uintptr_t)&opening, .buf_len = sizeof(opening) };
	struct tee_ioctl_close_session_arg closing;

	if (device < 0)
		device = open("/dev/tee0", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return -1;
	memcpy(opening.uuid, device_list, sizeof(device_list));
	if (ioctl(device, TEE_IOC_OPEN_SESSION, &given))
		return -1;
	if (opening.ret) {
		errno = ENOENT;
		return -1;
	}
	closing.session = opening.session;
	return ioctl(device, TEE_IOC_CLOSE_SESSION, &closing);
}
