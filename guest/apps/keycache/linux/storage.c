/* SPDX-License-Identifier: BSD-2-Clause */
/* Secure storage that is full, set back or damaged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../../faults/linux/store.h"
#include "../preload/stop.h"
#include "../server.h"
#include "campaign.h"
#include "scene.h"
#include "supplicant.h"

#define CLIENTS 16u

/* --- full --- */

/* Of the disk below tee-supplicant's folder, what is left for it when others have filled it. */
#define DISK_OPTIONS "size=8m"
#define LEFT_BYTES (48u * 1024u)
#define BALLAST STORE_DIRECTORY "/ballast"

static void mount_small_disk(void)
{
	char path[] = STORE_DIRECTORY;

	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	if ((mkdir(path, 0700) && errno != EEXIST) || mount("tmpfs", path, "tmpfs", 0, DISK_OPTIONS))
		bench_fail("a small disk for tee-supplicant: %s", strerror(errno));
}

/* Others fill the disk but for LEFT_BYTES. */
static void fill_disk(void)
{
	static const uint8_t zeros[4096];
	struct statvfs disk;
	int fd = open(BALLAST, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || statvfs(STORE_DIRECTORY, &disk))
		bench_fail("%s: %s", BALLAST, strerror(errno));
	for (uint64_t left = disk.f_bavail * disk.f_bsize; left > LEFT_BYTES; left -= sizeof(zeros))
		if (write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros))
			bench_fail("%s: %s", BALLAST, strerror(errno));
	close(fd);
}

/* SETs of known clients on a full storage: how many are taken. One that is refused must leave the old key. */
static unsigned int set_known(struct scene *scene, uint32_t clients)
{
	unsigned int taken = 0;

	for (uint32_t client = 0; client < clients; client++) {
		enum keycache_error error = scene_set(scene, client);

		if (error && error != KEYCACHE_NO_SPACE)
			scene_wrong(scene, "error", "SET of a known client: %s", keycache_text(scene->admin));
		/* What is refused must not have happened. */
		if (error == KEYCACHE_NO_SPACE)
			scene->open[client] = false;
		taken += !error;
	}
	return taken;
}

static void full(struct scene *scene)
{
	uint32_t clients = CLIENTS;
	enum keycache_error error;
	unsigned int taken;

	if (!scene->rpmb)
		mount_small_disk();
	scene_start(scene, NULL, NULL);
	scene_fill(scene, CLIENTS);
	if (!scene->rpmb)
		fill_disk();
	while (clients < SCENE_CLIENTS && !(error = scene_set(scene, clients)))
		if (++clients % 50 == 0)
			campaign_progress();
	if (clients == SCENE_CLIENTS)
		bench_fail("%u clients do not fill the storage", clients);
	if (error == KEYCACHE_NO_SPACE)
		scene->open[clients] = false;
	else
		scene_wrong(scene, "error", "the first SET that fails: %s", keycache_text(scene->admin));
	scene_say(scene, "%u clients have keys, the next gets: %s", clients, keycache_text(scene->admin));
	scene_check(scene, clients + 1);
	taken = set_known(scene, CLIENTS);
	scene_say(scene, "of %u SETs of known clients %u are taken", CLIENTS, taken);
	scene_check(scene, clients + 1);
	error = scene_delete(scene, 0);
	scene_say(scene, "a DEL gets %s", error ? keycache_text(scene->admin) : "OK");
	if (error == KEYCACHE_NO_SPACE)
		scene->open[0] = false;
	if (!scene->rpmb && unlink(BALLAST))
		bench_fail("%s cannot be removed", BALLAST);
	/* In the place of the client that was removed, or on a disk that has room again. */
	error = scene_set(scene, 0);
	if (error)
		scene_wrong(scene, "error", "a SET when there is room again: %s", keycache_text(scene->admin));
	scene_check(scene, clients + 1);
	scene_stop(scene);
	scene_start(scene, NULL, NULL);
	scene_check(scene, clients + 1);
	scene_say(scene, "nothing is lost, after a restart neither");
	scene_stop(scene);
}

/* --- set back --- */

static struct store before;
static struct store after;

/* What clients get: how many what they must have, an error, or anything else. */
static void count_answers(struct scene *scene, const char *when)
{
	unsigned int right = 0;
	unsigned int errors = 0;
	unsigned int others = 0;

	for (uint32_t client = 0; client < CLIENTS; client++) {
		uint32_t found = key_of(scene->broker, client, scene->given);

		if (found == scene->have[client] || (scene->open[client] && found == scene->maybe[client]))
			right++;
		else if (found == KEY_ERROR)
			errors++;
		else
			others++;
	}
	scene_say(scene, "%s: %u right, %u get an error, %u what they had before", when, right, errors, others);
	if (others && !scene->result[0])
		(void)snprintf(scene->result, sizeof(scene->result), "not detected");
}

/* Keys that are replaced and removed, and the storage of before put back behind the TA's back. */
static void set_back(struct scene *scene)
{
	supplicant_kill();
	supplicant_start(WITH_STOP);
	scene_start(scene, NULL, NULL);
	scene_fill(scene, CLIENTS);
	store_take(&before);
	for (uint32_t client = 0; client < 4; client++)
		server_must(client % 2 ? scene_delete(scene, client) : scene_set(scene, client), scene->admin, "change",
			    client);
	store_put(&before);
}

static void storage_older(struct scene *scene)
{
	enum keycache_error error;

	set_back(scene);
	count_answers(scene, "while the TA runs");
	error = scene_set(scene, 0);
	scene_say(scene, "a SET of a replaced key: %s", error ? keycache_text(scene->admin) : "OK");
	scene_stop(scene);
	/* What the normal world knew is gone too: the TA must look at secure storage. */
	if (unlink(SHADOW_LOG))
		bench_fail("%s cannot be removed", SHADOW_LOG);
	scene_start(scene, NULL, NULL);
	count_answers(scene, "without the server's records");
	scene_say(scene, "%u buckets found older", (unsigned int)server_count(scene->admin, "rolled_back"));
	scene_stop(scene);
}

/* A disk that fails ends the TA, which is loaded anew. */
static void panic(struct scene *scene)
{
	enum keycache_error error;

	write_file(DISK_FAILS, "", 0);
	error = scene_set(scene, CLIENTS);
	if (error != KEYCACHE_AGAIN)
		scene_wrong(scene, "error", "a SET that the TA should end with: %s",
			    error ? keycache_text(scene->admin) : "OK");
	if (unlink(DISK_FAILS))
		bench_fail("%s cannot be removed", DISK_FAILS);
}

static void storage_older_later(struct scene *scene)
{
	set_back(scene);
	panic(scene);
	count_answers(scene, "after the TA was loaded anew");
	scene_stop(scene);
}

/* --- damaged --- */

static bool same_file(const struct stored_file *a, const struct stored_file *b)
{
	return b && a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* The file that the SET of a client changes besides the directory: its bucket's. */
static struct stored_file *bucket_of(struct scene *scene, uint32_t client)
{
	store_take(&before);
	server_must(scene_set(scene, client), scene->admin, "SET", client);
	store_take(&after);
	for (size_t i = 0; i < after.count; i++)
		if (strcmp(after.files[i].name, "dirf.db") &&
		    !same_file(&after.files[i], store_file(&before, after.files[i].name)))
			return &after.files[i];
	bench_fail("a SET changes no file");
}

static void damage(struct scene *scene, void (*spoil)(struct stored_file *file))
{
	const char *options[] = { "--allow-get", "--shadow", SHADOW_FOLDER, "--repair", NULL };
	enum keycache_error error;

	scene_start(scene, NULL, NULL);
	scene_fill(scene, CLIENTS);
	spoil(bucket_of(scene, 0));
	store_put(&after);
	count_answers(scene, "while the TA runs");
	error = scene_set(scene, 0);
	scene_say(scene, "a SET there: %s", error ? keycache_text(scene->admin) : "OK");
	count_answers(scene, "then");
	scene_say(scene, "%u buckets lost", (unsigned int)server_count(scene->admin, "lost_buckets"));
	scene_stop(scene);
	server_start(scene->plan, options, NULL);
	scene_connect(scene);
	for (uint32_t client = 0; client < CLIENTS; client++) {
		if (key_of(scene->broker, client, scene->given) == KEY_NONE)
			scene->have[client] = KEY_NONE;
		scene->open[client] = false;
	}
	count_answers(scene, "after --repair");
	server_must(scene_set(scene, 0), scene->admin, "SET after --repair", 0);
	scene_check(scene, CLIENTS);
	scene_stop(scene);
}

static void flip(struct stored_file *file)
{
	/* Behind the headers and the tree's root: in every block, whichever is in use. */
	for (size_t at = 2 * 4096 + 100; at < file->size; at += 4096)
		file->bytes[at] ^= 1;
}

static void cut_short(struct stored_file *file)
{
	file->size /= 2;
}

static void remove_it(struct stored_file *file)
{
	store_remove(&after, file->name);
}

static void bucket_flipped(struct scene *scene)
{
	damage(scene, flip);
}

static void bucket_short(struct scene *scene)
{
	damage(scene, cut_short);
}

static void bucket_gone(struct scene *scene)
{
	damage(scene, remove_it);
}

const struct attempt storage_attempts[] = {
	{ "full", full },
	{ "storage-older", storage_older },
	{ "storage-older-later", storage_older_later },
	{ "bucket-flipped", bucket_flipped },
	{ "bucket-short", bucket_short },
	{ "bucket-gone", bucket_gone },
	{ NULL, NULL },
};
