/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that are killed: the server, and tee-supplicant, with which the TA may go. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../faults/journal.h"
#include "../preload/stop.h"
#include "../server.h"
#include "campaign.h"
#include "scene.h"
#include "supplicant.h"

#define CLIENTS 12u

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* --- the server --- */

#define SERVER_KILLS 25
/* Far less than a start takes, and some SETs long. */
#define MOST_US 60000
/* What a request to tee-supplicant takes at most, and its end. */
#define SUPPLICANT_US 50000

static void on_alarm(int signal)
{
	(void)signal;
	(void)kill(server_pid(), SIGKILL);
}

/*
 * tee-supplicant, if it has ended itself: Linux refuses the answer to a request whose client was killed, and it takes that
 * for the end (optee_client, issue 423). A service manager starts it again.
 */
static bool supplicant_again(void)
{
	(void)usleep(SUPPLICANT_US);
	if (supplicant_process())
		return false;
	supplicant_start(WITH_STOP);
	return true;
}

/* Whether a server comes up: another one than the scene's, which would end the program if it did not. */
static bool comes_up(const struct scene *scene)
{
	const char *const words[] = { "/sbin/keycached",
				      "--tls-cert",
				      SERVER_FOLDER "/server.crt",
				      "--tls-key",
				      SERVER_FOLDER "/server.key",
				      "--tls-ca",
				      SERVER_FOLDER "/ca.crt",
				      "--port",
				      "0",
				      "--storage",
				      scene->rpmb ? "rpmb" : "ree",
				      "--allow-get",
				      NULL };
	char byte;
	int ends[2];
	pid_t child;
	bool up;

	if (pipe(ends) || (child = fork()) < 0)
		bench_fail("a process: %s", strerror(errno));
	if (!child) {
		(void)dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* The words are not written to: execv() has its type from before there was const. */
		(void)execv(words[0], (char *const *)(uintptr_t)words);
		_exit(1);
	}
	close(ends[1]);
	/* It says on its output where it listens, and nothing else. */
	up = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	(void)kill(child, SIGTERM);
	(void)waitpid(child, NULL, 0);
	return up;
}

/*
 * The server after one that was killed. One thread of tee-supplicant may know that it is to end while another still waits for a
 * request: then the next request is its last, the server that made it waits in vain, and both are started again.
 */
static void start_again(struct scene *scene, unsigned int *ended)
{
	*ended += supplicant_again();
	if (!scene->rpmb && !comes_up(scene))
		*ended += supplicant_again();
	scene_start(scene, NULL, NULL);
}

/*
 * The server is killed at some time between changes: of known clients, new ones and removed ones. With RPMB it is killed while
 * it answers from the TA's memory: within a change OP-TEE gives the device up, see server_within().
 */
static void kill_server(struct scene *scene)
{
	struct sigaction action = { .sa_handler = on_alarm };
	unsigned int confirmed = 0;
	unsigned int done = 0;
	unsigned int ended = 0;

	(void)sigaction(SIGALRM, &action, NULL);
	scene_start(scene, NULL, NULL);
	for (int kill = 0; kill < SERVER_KILLS; kill++) {
		struct itimerval timer = { .it_value = { .tv_usec = 1 + (suseconds_t)scene_chance(MOST_US) } };
		enum keycache_error error = KEYCACHE_OK;
		uint32_t client = scene_chance(CLIENTS);

		campaign_progress();
		if (scene->rpmb) {
			server_must(scene_set(scene, client), scene->admin, "SET", client);
			confirmed++;
		}
		(void)setitimer(ITIMER_REAL, &timer, NULL);
		while (!error) {
			if (scene->rpmb) {
				error = scene_seal(scene, client);
				continue;
			}
			client = scene_chance(CLIENTS);
			error = scene->have[client] && !scene_chance(4) ? scene_delete(scene, client)
									: scene_set(scene, client);
			confirmed += !error;
		}
		if (error != KEYCACHE_NETWORK && error != KEYCACHE_TLS)
			scene_wrong(scene, "error", "%s", keycache_text(scene->rpmb ? scene->broker : scene->admin));
		server_kill(SIGKILL);
		scene_disconnect(scene);
		start_again(scene, &ended);
		scene_check(scene, CLIENTS);
		done += scene->have[client] == scene->maybe[client];
	}
	if (server_count(scene->admin, "forged_records"))
		scene_wrong(scene, "wrong", "records do not open");
	scene_say(scene, "%d kills, %u changes confirmed", SERVER_KILLS, confirmed);
	if (!scene->rpmb)
		scene_say(scene, "of %d in flight %u were done", SERVER_KILLS, done);
	scene_say(scene, "tee-supplicant ended itself %u times", ended);
	scene_stop(scene);
}

/* --- tee-supplicant --- */

/* More requests than a change takes. */
#define MANY_REQUESTS 100000u
/* How often tee-supplicant, or the server, is ended within a SET, and the server's --tee-timeout meanwhile. */
#define ENDS 12u
#define TEE_SECONDS "2"
/* With RPMB: after a request that failed OP-TEE gives the device up, and with it every TA, until it is started anew. */
#define NEEDS_REBOOT "needs a reboot"
#define PAUSE_MS 3000u
#define PATIENCE_MS 2000u

/* A server whose tee-supplicant can be stopped at a request. */
static void start_with_stop(struct scene *scene)
{
	supplicant_kill();
	supplicant_start(WITH_STOP);
	scene_start(scene, NULL, NULL);
	scene_fill(scene, CLIENTS);
	scene_check(scene, CLIENTS);
}

static void say_restarts(struct scene *scene)
{
	scene_say(scene, "the TA was loaded anew %u times", (unsigned int)server_count(scene->admin, "tee_restarts"));
}

/* It ends while it has nothing to do, and is gone for a while. */
static void supplicant_idle(struct scene *scene)
{
	enum keycache_error error;
	double begin;
	pid_t guard;

	start_with_stop(scene);
	guard = supplicant_guard(scene->rpmb, PAUSE_MS);
	if (kill(supplicant_process(), SIGSTOP))
		bench_fail("tee-supplicant cannot be stopped");
	while (supplicant_process())
		(void)usleep(1000);
	error = scene_seal(scene, 0);
	if (error)
		scene_wrong(scene, "error", "a hit meanwhile: %s", keycache_text(scene->broker));
	else
		scene_say(scene, "hits are answered meanwhile");
	begin = now();
	error = scene_set(scene, 0);
	scene_say(scene, "a SET meanwhile waits %.1f s and gets %s", now() - begin,
		  error ? keycache_text(scene->admin) : "OK");
	if (!supplicant_guarded(guard, PATIENCE_MS))
		bench_fail("tee-supplicant was not started anew");
	scene_check(scene, CLIENTS);
	error = scene_set(scene, 1);
	if (error)
		scene_wrong(scene, "error", "a SET afterwards: %s", keycache_text(scene->admin));
	scene_check(scene, CLIENTS);
	say_restarts(scene);
	scene_stop(scene);
}

static void stop_at(unsigned int request)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", request);
	write_file(STOP_AT_REQUEST, number, strlen(number));
}

/* How many requests a SET takes: what tee-supplicant has counted when it is asked the second time. */
static unsigned int requests_of(struct scene *scene, uint32_t client)
{
	unsigned int count = 0;
	FILE *f;

	for (unsigned int i = 0; i < 2; i++) {
		stop_at(MANY_REQUESTS);
		server_must(scene_set(scene, client + i), scene->admin, "SET", client + i);
	}
	f = fopen(REQUESTS, "re");
	if (!f || fscanf(f, "%u", &count) != 1 || !count || count >= MANY_REQUESTS)
		bench_fail("tee-supplicant did not count its requests");
	(void)fclose(f);
	return count;
}

/* What came of SETs in the midst of which tee-supplicant ended. */
struct ends {
	unsigned int before;    /* the SET was over by then */
	unsigned int confirmed; /* all was stored, it gets OK */
	unsigned int answered;  /* an error came, and the server goes on */
	unsigned int ended;     /* the server ended itself */
	unsigned int done;      /* of those without OK: the key is there */
};

/* Who ends in the midst of a SET. */
enum victim { SUPPLICANT_ENDS, SERVER_ENDS };

/*
 * A SET in the midst of which tee-supplicant ends, that has received the request and will never answer it; or the server, that
 * waits for the answer.
 */
static enum keycache_error end_within(struct scene *scene, enum victim victim, uint32_t client, unsigned int request,
				      struct ends *ends)
{
	pid_t guard = victim == SERVER_ENDS ? supplicant_guard_client(scene->rpmb, server_pid())
					    : supplicant_guard(scene->rpmb, 0);
	enum keycache_error error;
	bool stopped;

	stop_at(request);
	error = scene_set(scene, client);
	stopped = supplicant_guarded(guard, PATIENCE_MS);
	if (!stopped)
		stop_at(0);
	/* What is closed last does not matter any more. */
	ends->confirmed += !error && stopped;
	ends->before += !error && !stopped;
	if (error == KEYCACHE_NETWORK || error == KEYCACHE_TLS || (victim == SERVER_ENDS && stopped)) {
		/* What starts it again is not its own affair. */
		scene_disconnect(scene);
		server_kill(SIGKILL);
		ends->ended++;
		if (!comes_up(scene)) {
			scene_wrong(scene, NEEDS_REBOOT, "after a kill at request %u the TA cannot be loaded any more",
				    request);
			return error;
		}
		scene_start(scene, "--tee-timeout", TEE_SECONDS);
	} else if (error && !ends->answered++) {
		scene_say(scene, "at request %u the answer is: %s", request, keycache_text(scene->admin));
	}
	return error;
}

/* Which file it is: one that is removed and made anew is another. */
static ino_t directory(void)
{
	struct stat info;

	return stat(STORE_DIRECTORY "/dirf.db", &info) ? 0 : info.st_ino;
}

/*
 * At the first request, OP-TEE asks for memory, it gets an error, and nobody waits: so with the REE file system alone it
 * goes on to remove the directory of all objects, as it does whenever it cannot open that (ree_fs_open_primitive() of
 * OP-TEE 4.10), and the next tee-supplicant carries it out.
 */
static void supplicant_first(struct scene *scene)
{
	struct ends ends = { 0 };
	unsigned int right = 0;
	ino_t before;

	supplicant_kill();
	supplicant_start(WITH_STOP);
	scene_start(scene, "--tee-timeout", TEE_SECONDS);
	scene_fill(scene, CLIENTS);
	(void)requests_of(scene, 0);
	before = directory();
	(void)end_within(scene, SUPPLICANT_ENDS, 2, 1, &ends);
	if (!server_pid())
		return;
	for (uint32_t client = 0; client < CLIENTS; client++)
		right += !scene_set(scene, client);
	scene_say(scene, "then %u of %u known clients can be set", right, CLIENTS);
	if (!scene->rpmb)
		scene_say(scene, "OP-TEE's directory is %s", directory() == before ? "the same" : "another file");
	if (right < CLIENTS && !scene->result[0])
		scene_wrong(scene, "lost", "%u buckets", (unsigned int)server_count(scene->admin, "lost_buckets"));
	scene_stop(scene);
}

/*
 * At an early request, at the last ones, which write, and at some between. The first has a record of its own where it is
 * tee-supplicant that ends.
 */
static void end_while_busy(struct scene *scene, enum victim victim, bool known)
{
	uint32_t client = known ? 0 : CLIENTS;
	unsigned int least = victim == SERVER_ENDS ? 1 : 2;
	unsigned int requests;
	struct ends ends = { 0 };

	supplicant_kill();
	supplicant_start(WITH_STOP);
	scene_start(scene, "--tee-timeout", TEE_SECONDS);
	scene_fill(scene, CLIENTS);
	requests = requests_of(scene, client);
	client += 2;
	for (unsigned int i = 0; i < ENDS && !scene->result[0]; i++, client++) {
		unsigned int request = i < ENDS / 2 ? least + i * (requests - least) / (ENDS / 2)
						    : requests - (ENDS - 1 - i);

		enum keycache_error error;

		campaign_progress();
		if (known)
			client %= CLIENTS;
		error = end_within(scene, victim, client, request, &ends);
		if (!server_pid())
			return;
		(void)scene_has(scene, client);
		ends.done += error && scene->have[client] == scene->given;
		scene_check(scene, CLIENTS);
	}
	scene_say(scene, "ended within %u SETs, each at another of %u requests", ENDS, requests);
	scene_say(scene, "%u were over by then, %u get OK all the same, %u an error", ends.before, ends.confirmed,
		  ends.answered);
	if (victim == SERVER_ENDS)
		scene_say(scene, "with %u tee-supplicant ends itself too, both are started again", ends.ended);
	else
		scene_say(scene, "with %u the server ends itself after " TEE_SECONDS " to 3 s and is started again",
			  ends.ended);
	scene_say(scene, "%u of those that got no OK were done", ends.done);
	if (scene_set(scene, 0))
		scene_wrong(scene, "error", "a SET afterwards: %s", keycache_text(scene->admin));
	scene_check(scene, CLIENTS);
	scene_say(scene, "%u buckets lost", (unsigned int)server_count(scene->admin, "lost_buckets"));
	scene_stop(scene);
}

static void server_within(struct scene *scene)
{
	end_while_busy(scene, SERVER_ENDS, true);
}

static void supplicant_known(struct scene *scene)
{
	end_while_busy(scene, SUPPLICANT_ENDS, true);
}

static void supplicant_new(struct scene *scene)
{
	end_while_busy(scene, SUPPLICANT_ENDS, false);
}

/* --- the TA --- */

#define PANICS 3

/* A disk that fails: GlobalPlatform's calls have no result for that, so OP-TEE ends the TA. */
static void ta_panic(struct scene *scene)
{
	start_with_stop(scene);
	for (int panic = 0; panic < PANICS; panic++) {
		campaign_progress();
		write_file(DISK_FAILS, "", 0);
		if (scene_set(scene, 0) != KEYCACHE_AGAIN)
			scene_wrong(scene, "error", "a SET that the TA ends with: %s", keycache_text(scene->admin));
		/* It is loaded anew by the next request, and can read. */
		scene_check(scene, CLIENTS);
		if (scene_seal(scene, 1))
			scene_wrong(scene, "error", "a SEAL meanwhile: %s", keycache_text(scene->broker));
		if (scene_set(scene, 1) != KEYCACHE_AGAIN)
			scene_wrong(scene, "error", "another SET: %s", keycache_text(scene->admin));
		if (unlink(DISK_FAILS))
			bench_fail("%s cannot be removed", DISK_FAILS);
		scene_check(scene, CLIENTS);
		server_must(scene_set(scene, 2), scene->admin, "SET on a disk that works", 2);
		scene_check(scene, CLIENTS);
	}
	scene_say(scene, "each SET on a disk that fails gets TRYAGAIN, the next request is answered");
	say_restarts(scene);
	scene_stop(scene);
}

const struct attempt process_attempts[] = {
	{ "kill-server", kill_server },
	{ "server-within", server_within },
	{ "supplicant-idle", supplicant_idle },
	{ "supplicant-first", supplicant_first },
	{ "supplicant-known", supplicant_known },
	{ "supplicant-new", supplicant_new },
	{ "ta-panic", ta_panic },
	{ NULL, NULL },
};
