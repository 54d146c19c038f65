/* SPDX-License-Identifier: BSD-2-Clause */
#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = path ? strlen(path) : 0;
	int number;

	if (!size || size >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, size);
	/* A name without a file. */
	if (path[0] == '@')
		address.sun_path[0] = 0;
	number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (number < 0)
		return;
	(void)sendto(number, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
	(void)close(number);
}
