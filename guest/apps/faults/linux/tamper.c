/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tampering: what somebody can do who has the normal world, its files and its RPMB requests in the hand, and one who
 * has opened the RPMB chip. Each attempt is done to a copy of a known state, which is then put in the store's place.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "campaign.h"

#define BEFORE_STATE "before.state"
#define AFTER_STATE "after.state"
#define DIRECTORY "dirf.db"

/* OP-TEE's file of a hash tree, core/tee/fs_htree.c and tee_ree_fs.c: two headers, the root node twice, blocks twice. */
#define PAGE 4096
#define HEADER_BYTES 68
#define HEADER_META 48
#define HEADER_COUNTER 64
#define NODE_BYTES 66
#define NODE_TAG 48
#define NODE_FLAGS 64

/* OP-TEE's table of files in RPMB, core/tee/tee_rpmb_fs.c: one block each. */
#define ENTRY_START 0
#define ENTRY_FLAGS 8
#define ENTRY_KEY 16
#define ENTRY_NAME 32
#define ENTRY_ACTIVE 1

static struct content before;
static struct content after;
static struct content third;
static struct content beside;
static struct content others;
static struct answer answer;
static struct answer again;

/* What an attempt works on: the states before and after the overwrite, and the one that it makes of them. */
struct scene {
	const struct store *older;
	const struct store *newer;
	struct store *made;
	bool in_files; /* the object is in a file of the REE file system */
};

/* --- finding things --- */

static uint32_t number_at(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static struct stored_file *must_file(struct store *store, const char *name)
{
	struct stored_file *file = store_file(store, name);

	if (!file)
		bench_fail("the store has no file %s", name);
	return file;
}

static bool same_file(const struct stored_file *a, const struct stored_file *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* The object's file: the one that the overwrite has changed, besides the directory. */
static struct stored_file *object_file(const struct scene *scene)
{
	struct stored_file *found = NULL;

	for (size_t i = 0; i < scene->newer->count; i++) {
		const struct stored_file *file = &scene->newer->files[i];
		struct stored_file *older = store_file((struct store *)(uintptr_t)scene->older, file->name);

		if (!strcmp(file->name, DIRECTORY) || !older || same_file(file, older))
			continue;
		if (found)
			bench_fail("two files changed: %s and %s", found->name, file->name);
		found = must_file(scene->made, file->name);
	}
	if (!found)
		bench_fail("no file but the directory changed");
	return found;
}

/* Files are numbered as they are made: the neighbour's was made before the object's, the other TA's after it. */
static struct stored_file *numbered_file(const struct scene *scene, long step)
{
	char name[JOURNAL_NAME];

	(void)snprintf(name, sizeof(name), "%lx", strtol(object_file(scene)->name, NULL, 16) + step);
	return must_file(scene->made, name);
}

/* Which of the two headers is the later one, and so which root node is in use. */
static size_t root_in_use(const struct stored_file *file)
{
	uint32_t first = number_at(file->bytes + HEADER_COUNTER);
	uint32_t second = number_at(file->bytes + HEADER_BYTES + HEADER_COUNTER);

	return second > first ? 1 : 0;
}

static size_t header_offset(const struct stored_file *file)
{
	return root_in_use(file) * HEADER_BYTES;
}

static size_t node_offset(const struct stored_file *file)
{
	return PAGE + root_in_use(file) * NODE_BYTES;
}

/* The first data block, the copy in use or the other. */
static size_t block_offset(const struct stored_file *file, bool in_use)
{
	size_t copy = file->bytes[node_offset(file) + NODE_FLAGS] & 1;

	return PAGE * (2 + (in_use ? copy : 1 - copy));
}

static void flip(struct stored_file *file, size_t offset)
{
	if (offset >= file->size)
		bench_fail("%s has %zu bytes, none at %zu", file->name, file->size, offset);
	file->bytes[offset] ^= 1;
}

/* The device's entry of a file of which a part of the name is known. */
static uint8_t *entry_of(struct device *device, const char *part)
{
	for (size_t i = 0; i < DEVICE_BLOCKS; i++) {
		uint8_t *block = device->blocks[i];

		if (number_at(block + ENTRY_FLAGS) & ENTRY_ACTIVE && !block[DEVICE_BLOCK - 1] &&
		    strcasestr((const char *)block + ENTRY_NAME, part))
			return block;
	}
	bench_fail("the RPMB device has no entry of %s", part);
}

/* As OP-TEE writes an object's name there: the bytes in hexadecimal behind the TA's. */
static const char *name_in_entry(const char *name)
{
	static char text[2 * FAULTS_MAX_ID + 2];
	size_t length = 1;

	text[0] = '/';
	for (; *name; name++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%02x", (unsigned char)*name);
	return text;
}

/* The entry that the TA's read depends on. */
static uint8_t *object_entry(const struct scene *scene, struct device *device)
{
	return entry_of(device, scene->in_files ? "dirfile.db.hash" : name_in_entry(OBJECT));
}

static uint8_t *data_of(struct device *device, const uint8_t *entry)
{
	uint32_t start = number_at(entry + ENTRY_START);

	if (start >= DEVICE_BYTES)
		bench_fail("an entry of the RPMB device begins at %u", (unsigned int)start);
	return (uint8_t *)device->blocks + start;
}

/* --- attempts on files --- */

static void flip_data(struct scene *scene)
{
	struct stored_file *file = object_file(scene);

	flip(file, block_offset(file, true) + 100);
}

static void flip_unused(struct scene *scene)
{
	struct stored_file *file = object_file(scene);

	flip(file, block_offset(file, false) + 100);
}

static void flip_node(struct scene *scene)
{
	struct stored_file *file = object_file(scene);

	flip(file, node_offset(file) + NODE_TAG);
}

static void flip_header(struct scene *scene)
{
	struct stored_file *file = object_file(scene);

	flip(file, header_offset(file) + HEADER_META);
}

static void flip_directory(struct scene *scene)
{
	struct stored_file *file = must_file(scene->made, DIRECTORY);

	flip(file, block_offset(file, true) + 100);
}

static void flip_directory_header(struct scene *scene)
{
	struct stored_file *file = must_file(scene->made, DIRECTORY);

	flip(file, header_offset(file) + HEADER_META);
}

static void truncate_object(struct scene *scene)
{
	object_file(scene)->size /= 2;
}

static void truncate_directory(struct scene *scene)
{
	must_file(scene->made, DIRECTORY)->size /= 2;
}

static void delete_object(struct scene *scene)
{
	store_remove(scene->made, object_file(scene)->name);
}

static void delete_directory(struct scene *scene)
{
	store_remove(scene->made, DIRECTORY);
}

static void delete_files(struct scene *scene)
{
	while (scene->made->count)
		store_remove(scene->made, scene->made->files[0].name);
}

static void put_back(struct scene *scene, const char *name)
{
	struct stored_file *older = must_file((struct store *)(uintptr_t)scene->older, name);

	store_set(scene->made, name, older->bytes, older->size);
}

static void rollback_object(struct scene *scene)
{
	put_back(scene, object_file(scene)->name);
}

static void rollback_directory(struct scene *scene)
{
	put_back(scene, DIRECTORY);
}

static void rollback_files(struct scene *scene)
{
	delete_files(scene);
	for (size_t i = 0; i < scene->older->count; i++)
		put_back(scene, scene->older->files[i].name);
}

static void swap_with(struct scene *scene, long step)
{
	struct stored_file *ours = object_file(scene);
	struct stored_file *theirs = numbered_file(scene, step);
	struct stored_file kept = *ours;

	ours->bytes = theirs->bytes;
	ours->size = theirs->size;
	theirs->bytes = kept.bytes;
	theirs->size = kept.size;
}

static void swap_files(struct scene *scene)
{
	swap_with(scene, -1);
}

static void swap_blocks(struct scene *scene)
{
	struct stored_file *ours = object_file(scene);
	struct stored_file *theirs = numbered_file(scene, -1);
	uint8_t *a = ours->bytes + block_offset(ours, true);
	uint8_t *b = theirs->bytes + block_offset(theirs, true);
	uint8_t kept[PAGE];

	memcpy(kept, a, PAGE);
	memcpy(a, b, PAGE);
	memcpy(b, kept, PAGE);
}

static void other_file(struct scene *scene)
{
	swap_with(scene, 1);
}

/* --- attempts on the RPMB chip --- */

static void chip_flip_data(struct scene *scene)
{
	struct device *device = &scene->made->device;

	/* An object has a header of its own in front; the hash of a directory has none. */
	data_of(device, object_entry(scene, device))[scene->in_files ? 16 : 1000] ^= 1;
}

static void chip_flip_entry(struct scene *scene)
{
	object_entry(scene, &scene->made->device)[ENTRY_KEY] ^= 1;
}

static void chip_remove_entry(struct scene *scene)
{
	object_entry(scene, &scene->made->device)[ENTRY_FLAGS] &= (uint8_t)~ENTRY_ACTIVE;
}

static void chip_erase(struct scene *scene)
{
	memset(scene->made->device.blocks, 0, DEVICE_BYTES);
}

static void chip_rollback(struct scene *scene)
{
	scene->made->device = scene->older->device;
}

static void chip_rollback_blocks(struct scene *scene)
{
	memcpy(scene->made->device.blocks, scene->older->device.blocks, DEVICE_BYTES);
}

static void chip_swap(struct scene *scene)
{
	struct device *device = &scene->made->device;
	uint8_t *ours = object_entry(scene, device);
	uint8_t *theirs = entry_of(device, name_in_entry(NEIGHBOUR));
	uint8_t start[sizeof(uint32_t)];

	memcpy(start, ours + ENTRY_START, sizeof(start));
	memcpy(ours + ENTRY_START, theirs + ENTRY_START, sizeof(start));
	memcpy(theirs + ENTRY_START, start, sizeof(start));
}

static void rollback_all(struct scene *scene)
{
	rollback_files(scene);
	chip_rollback(scene);
}

static void nothing(struct scene *scene)
{
	(void)scene;
}

static const struct {
	const char *name;
	void (*make)(struct scene *scene);
} attempts[] = {
	{ "none", nothing },
	{ "flip-data", flip_data },
	{ "flip-unused", flip_unused },
	{ "flip-node", flip_node },
	{ "flip-header", flip_header },
	{ "flip-directory", flip_directory },
	{ "flip-directory-header", flip_directory_header },
	{ "truncate-object", truncate_object },
	{ "truncate-directory", truncate_directory },
	{ "delete-object", delete_object },
	{ "delete-directory", delete_directory },
	{ "delete-files", delete_files },
	{ "swap-blocks", swap_blocks },
	{ "swap-files", swap_files },
	{ "other-file", other_file },
	{ "rollback-object", rollback_object },
	{ "rollback-directory", rollback_directory },
	{ "rollback-files", rollback_files },
	{ "other-reads", nothing },
	{ "wire-flip-answer", nothing },
	{ "wire-old-answer", nothing },
	{ "wire-flip-request", nothing },
	{ "wire-old-request", nothing },
	{ "chip-flip-data", chip_flip_data },
	{ "chip-flip-entry", chip_flip_entry },
	{ "chip-remove-entry", chip_remove_entry },
	{ "chip-erase", chip_erase },
	{ "chip-swap", chip_swap },
	{ "chip-rollback-blocks", chip_rollback_blocks },
	{ "chip-rollback", chip_rollback },
	{ "rollback-all", rollback_all },
};

/* --- how it went --- */

static void describe(const struct answer *got, char *text, size_t size)
{
	size_t differ = 0;

	if (got->at_load) {
		(void)snprintf(text, size, "%#010x at the TA's load", (unsigned int)got->result);
	} else if (got->result == TEEC_ERROR_ITEM_NOT_FOUND) {
		(void)snprintf(text, size, "%#010x, as if it had never been there", (unsigned int)got->result);
	} else if (got->result) {
		(void)snprintf(text, size, "%#010x", (unsigned int)got->result);
	} else if (content_same(&got->content, &after)) {
		(void)snprintf(text, size, "the right content");
	} else if (content_same(&got->content, &before)) {
		(void)snprintf(text, size, "the older content");
	} else if (content_same(&got->content, &beside)) {
		(void)snprintf(text, size, "the neighbour's content");
	} else if (content_same(&got->content, &others)) {
		(void)snprintf(text, size, "the other TA's content");
	} else if (got->content.size != after.size) {
		(void)snprintf(text, size, "%zu bytes instead of %zu", got->content.size, after.size);
	} else {
		for (size_t i = 0; i < after.size; i++)
			differ += got->content.bytes[i] != after.bytes[i];
		(void)snprintf(text, size, "other content: %zu of %zu bytes differ", differ, after.size);
	}
}

static const char *verdict(const struct answer *got)
{
	if (got->result)
		return got->result == TEEC_ERROR_ITEM_NOT_FOUND && !got->at_load ? "not detected" : "detected";
	return content_same(&got->content, &after) ? "no effect" : "not detected";
}

static void add(char *detail, size_t size, const char *what, const char *text)
{
	size_t used = strlen(detail);

	(void)snprintf(detail + used, size - used, "%s%s%s", used ? "; " : "", what, text);
}

/* Records what the TA read, what it reads the second time, and what happened to the rest. */
static void record_attempt(const char *what)
{
	char detail[400] = "";
	char first[100];
	char text[100];

	describe(&answer, first, sizeof(first));
	add(detail, sizeof(detail), "", first);
	object_read(OBJECT, &again);
	describe(&again, text, sizeof(text));
	if (strcmp(first, text))
		add(detail, sizeof(detail), "the second time ", text);
	object_read(NEIGHBOUR, &again);
	if (again.result || !content_same(&again.content, &beside)) {
		/* In the neighbour's place its own content is the right one. */
		if (again.result)
			describe(&again, text, sizeof(text));
		else
			(void)snprintf(text, sizeof(text), "other content");
		add(detail, sizeof(detail), "the neighbour: ", text);
	}
	campaign_usable(text, sizeof(text));
	if (text[0])
		add(detail, sizeof(detail), "", text);
	campaign_outcome(what, verdict(&answer), detail);
}

/* --- the steps --- */

static void make_contents(const char *storage, size_t size)
{
	content_make(&before, size, 1);
	content_make(&after, size, 2);
	content_make(&beside, 500, 3);
	content_make(&others, 300, 4);
	content_make(&third, size, 5);
	object_storage(storage);
	object_start();
}

static void wire(const char *word)
{
	int fd = open(WIRE_SWITCH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, word, strlen(word)) != (ssize_t)strlen(word))
		bench_fail("%s cannot be written", WIRE_SWITCH);
	close(fd);
}

static void make_states(struct store *older, struct store *newer)
{
	campaign_must(object_create(NEIGHBOUR, &beside), "the neighbour's creation");
	campaign_must(object_create(OBJECT, &before), "the object's creation");
	campaign_must(object_create_by_other(OBJECT, &others), "the creation of the other TA's object");
	object_unload();
	store_take(older);
	campaign_must(object_overwrite(OBJECT, &after), "the overwrite");
	object_unload();
	store_take(newer);
}

void tamper_write(const char *storage, size_t size)
{
	static struct store older;
	static struct store newer;

	make_contents(storage, size);
	make_states(&older, &newer);
	store_save(&older, BEFORE_STATE);
	store_save(&newer, AFTER_STATE);
	campaign_outcome("prepared", "ready", "");
}

/* What the device made of the requests since `then`: a write that it takes is counted. */
static const char *device_said(const struct store *then)
{
	static struct store now;

	store_take(&now);
	return now.device.write_counter == then->device.write_counter ? "the device refuses it" : "the device takes it";
}

static void record_request(const char *what, const struct store *then, TEEC_Result result)
{
	const char *device = device_said(then);
	char detail[200] = "";
	char text[100];

	if (!result) {
		object_read(OBJECT, &answer);
		record_attempt(what);
		return;
	}
	(void)snprintf(detail, sizeof(detail), "the overwrite fails: %#010x", (unsigned int)result);
	add(detail, sizeof(detail), device, "");
	object_read(OBJECT, &answer);
	describe(&answer, text, sizeof(text));
	add(detail, sizeof(detail), "then the object: ", text);
	campaign_outcome(what, "detected", detail);
}

/*
 * Between OP-TEE and the device: nothing that is stored is touched but by way of messages. The TA stays loaded, whose
 * load asks the device too.
 */
static void tamper_wire(const char *what)
{
	static struct store then;
	bool request = strstr(what, "request");
	TEEC_Result result;

	campaign_must(object_create(NEIGHBOUR, &beside), "the neighbour's creation");
	campaign_must(object_create(OBJECT, &third), "the object's creation");
	/* What is kept of the overwrite are requests, of the read answers. */
	if (request)
		wire("keep");
	campaign_must(object_overwrite(OBJECT, &before), "the overwrite");
	if (!request)
		wire("keep");
	object_read(OBJECT, &answer);
	campaign_must(answer.result, "the read");
	wire("");
	if (request) {
		store_take(&then);
		wire(what + strlen("wire-"));
		result = object_overwrite(OBJECT, &after);
		wire("");
		record_request(what, &then, result);
		return;
	}
	campaign_must(object_overwrite(OBJECT, &after), "the overwrite");
	wire(what + strlen("wire-"));
	object_read(OBJECT, &answer);
	wire("");
	record_attempt(what);
}

/* Another TA asks for an object of ours. */
static void other_reads(const char *what)
{
	char text[40];

	object_read_by_other(NEIGHBOUR, &answer);
	(void)snprintf(text, sizeof(text), "%#010x", (unsigned int)answer.result);
	campaign_outcome(what, answer.result ? "detected" : "not detected",
			 answer.result ? text : "the object's content");
}

void tamper(const char *what, const char *when, const char *storage, size_t size)
{
	static struct store older;
	static struct store newer;
	struct scene scene = { .older = &older, .newer = &newer, .in_files = strcmp(storage, "rpmb") };
	size_t chosen = 0;

	while (chosen < sizeof(attempts) / sizeof(attempts[0]) && strcmp(attempts[chosen].name, what))
		chosen++;
	if (chosen == sizeof(attempts) / sizeof(attempts[0]))
		bench_fail("no attempt is called '%s'", what);
	make_contents(storage, size);
	if (!strncmp(what, "wire-", strlen("wire-"))) {
		tamper_wire(what);
		return;
	}
	if (!strcmp(when, "same")) {
		make_states(&older, &newer);
	} else {
		store_load(&older, BEFORE_STATE);
		store_load(&newer, AFTER_STATE);
	}
	scene.made = store_copy(&newer);
	attempts[chosen].make(&scene);
	store_put(scene.made);
	if (!strcmp(what, "other-reads")) {
		other_reads(what);
		return;
	}
	object_read(OBJECT, &answer);
	record_attempt(what);
}
