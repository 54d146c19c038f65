/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server of the demo: keycached on the machine's network card, with what src/worldwise/families/keycache/demo.py left
 * for it in the emulator's folder, and if asked for a broker with the plugin beside it. Arguments: the date (seconds since
 * 1970), whether there is a broker (0 or 1), then options of keycached. It ends when one of them ends by itself.
 *
 * Who wants to see what happens without one of them leaves its name in a file: kill-1, the next time kill-2, and so on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdbool.h>
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
#define BROKER "/bin/mosquitto"
#define BROKER_STATE "/var/lib/mosquitto"
#define MOST_BYTES 16384
#define MOST_OPTIONS 32
#define LOOK_US 100000
#define AWAY_S 2

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

static char *server_words[MOST_OPTIONS] = {
	SERVER,     "--listen",      "0.0.0.0", "--tls-cert", FOLDER "server.crt", "--tls-key", FOLDER "server.key",
	"--tls-ca", FOLDER "ca.crt", "--acl",   FOLDER "acl", "--shadow",          SHADOW,
};
static char *broker_words[] = { BROKER, "-c", FOLDER "mosquitto.conf", NULL };

struct child {
	const char *name;
	char **words;
	pid_t process;
	bool killed;
};

static void start(struct child *child)
{
	child->killed = false;
	child->process = fork();
	if (child->process < 0)
		bench_fail("fork: %s", strerror(errno));
	if (!child->process) {
		execv(child->words[0], child->words);
		bench_fail("%s: %s", child->words[0], strerror(errno));
	}
}

/* Whom somebody wants to be killed now, or NULL. The few files stay open on the host. */
static struct child *condemned(struct child *children, size_t count)
{
	static unsigned int number = 1;
	char file[32];
	char name[32] = "";
	long handle;

	(void)snprintf(file, sizeof(file), "kill-%u", number);
	handle = semihost_open(file, "r");
	if (handle < 0)
		return NULL;
	number++;
	(void)semihost_read(handle, name, sizeof(name) - 1);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, children[i].name))
			return &children[i];
	return NULL;
}

/* Fails if a child has ended by itself. One that was killed is away for a moment, and then comes again. */
static void look_after(struct child *child)
{
	int status;

	if (waitpid(child->process, &status, WNOHANG) != child->process)
		return;
	if (child->killed) {
		sleep(AWAY_S);
		start(child);
	} else if (WIFSIGNALED(status)) {
		bench_fail("%s was ended by signal %d", child->words[0], WTERMSIG(status));
	} else {
		bench_fail("%s ended with status %d", child->words[0], WEXITSTATUS(status));
	}
}

static _Noreturn void serve(bool broker)
{
	struct child children[] = { { .name = "server", .words = server_words },
				    { .name = "broker", .words = broker_words } };
	size_t count = broker ? 2 : 1;

	for (size_t i = 0; i < count; i++)
		start(&children[i]);
	for (;;) {
		struct child *one = condemned(children, count);

		if (one) {
			one->killed = true;
			(void)kill(one->process, SIGKILL);
		}
		for (size_t i = 0; i < count; i++)
			look_after(&children[i]);
		(void)usleep(LOOK_US);
	}
}

static void add_options(int count, char **options)
{
	size_t used = 0;

	while (server_words[used])
		used++;
	if (used + (size_t)count >= MOST_OPTIONS)
		bench_fail("too many options");
	memcpy(&server_words[used], options, (size_t)count * sizeof(*options));
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		bench_fail("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	static const char *const files[][2] = { { "server.crt", FOLDER "server.crt" },
						{ "server.key", FOLDER "server.key" },
						{ "ca.crt", FOLDER "ca.crt" },
						{ "acl", FOLDER "acl" },
						{ "broker.crt", FOLDER "broker.crt" },
						{ "broker.key", FOLDER "broker.key" },
						{ "mosquitto.conf", FOLDER "mosquitto.conf" } };
	const size_t of_server = 4;
	bool broker;

	record_to(semihost_record);
	if (argc < 3)
		bench_fail("usage: keycache-demo DATE BROKER [OPTION ...]");
	broker = !strcmp(argv[2], "1");
	set_date(argv[1]);
	seed();
	make_folder(FOLDER);
	make_folder(SHADOW);
	make_folder(BROKER_STATE);
	for (size_t i = 0; i < (broker ? sizeof(files) / sizeof(files[0]) : of_server); i++)
		bring(files[i][0], files[i][1]);
	net_loopback_up();
	net_card_up();
	add_options(argc - 3, argv + 3);
	serve(broker);
}
