/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server of the demo: keycached on the machine's network card, with what src/worldwise/families/keycache/demo.py left
 * for it in the emulator's folder. Arguments: the date (seconds since 1970), then options of keycached. It ends when
 * keycached does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../../../bench/record.h"
#include "../../../bench/semihost.h"
#include "../../echo/net.h"

#define SERVER "/sbin/keycached"
#define FOLDER "/etc/keycached/"
#define SHADOW "/var/lib/keycached"
#define MOST_BYTES 16384
#define MOST_OPTIONS 32

static size_t fetch(const char *name, uint8_t *bytes, size_t room)
{
	long handle = semihost_open(name, "r");
	long length = handle < 0 ? -1 : semihost_read(handle, bytes, room);

	if (length <= 0 || (size_t)length == room)
		bench_fail("%s is not there, or too long", name);
	return (size_t)length;
}

static void store(const char *path, int flags, const uint8_t *bytes, size_t size)
{
	int file = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	if (file < 0 || write(file, bytes, size) != (ssize_t)size)
		bench_fail("%s: %s", path, strerror(errno));
	close(file);
}

static void bring(const char *name, const char *path)
{
	static uint8_t bytes[MOST_BYTES];
	size_t size = fetch(name, bytes, sizeof(bytes));

	store(path, O_CREAT | O_TRUNC, bytes, size);
	explicit_bzero(bytes, sizeof(bytes));
}

/* A machine that goes on from a saved state has the random numbers of every other one. */
static void seed(void)
{
	static uint8_t bytes[MOST_BYTES];
	size_t size = fetch("random", bytes, sizeof(bytes));
	int file = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	if (file < 0 || write(file, bytes, size) != (ssize_t)size || ioctl(file, RNDRESEEDCRNG))
		bench_fail("/dev/urandom: %s", strerror(errno));
	close(file);
	explicit_bzero(bytes, sizeof(bytes));
}

static void set_date(const char *text)
{
	struct timespec now = { .tv_sec = strtol(text, NULL, 10) };

	if (clock_settime(CLOCK_REALTIME, &now))
		bench_fail("the date: %s", strerror(errno));
}

static _Noreturn void serve(int count, char **options)
{
	char *words[MOST_OPTIONS] = {
		SERVER,       "--listen",          "0.0.0.0",  "--tls-cert",    FOLDER "server.crt",
		"--tls-key",  FOLDER "server.key", "--tls-ca", FOLDER "ca.crt", "--acl",
		FOLDER "acl", "--shadow",          SHADOW,
	};
	size_t used = 0;

	while (words[used])
		used++;
	if (used + (size_t)count >= MOST_OPTIONS)
		bench_fail("too many options");
	memcpy(&words[used], options, (size_t)count * sizeof(*options));
	execv(SERVER, words);
	bench_fail("%s: %s", SERVER, strerror(errno));
}

int main(int argc, char **argv)
{
	static const char *const files[][2] = { { "server.crt", FOLDER "server.crt" },
						{ "server.key", FOLDER "server.key" },
						{ "ca.crt", FOLDER "ca.crt" },
						{ "acl", FOLDER "acl" } };
	int status;
	pid_t child;

	record_to(semihost_record);
	if (argc < 2)
		bench_fail("usage: keycache-demo DATE [OPTION ...]");
	set_date(argv[1]);
	seed();
	if ((mkdir(FOLDER, 0700) && errno != EEXIST) || (mkdir(SHADOW, 0700) && errno != EEXIST))
		bench_fail("mkdir: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		bring(files[i][0], files[i][1]);
	net_card_up();
	child = fork();
	if (child < 0)
		bench_fail("fork: %s", strerror(errno));
	if (!child)
		serve(argc - 2, argv + 2);
	if (waitpid(child, &status, 0) != child)
		bench_fail("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		bench_fail("keycached was ended by signal %d", WTERMSIG(status));
	bench_fail("keycached ended with status %d", WEXITSTATUS(status));
}
