/* SPDX-License-Identifier: BSD-2-Clause */
#include "acl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "id.h"

/* The right's own word and up to three ids. */
#define WORDS 4
#define IDS (WORDS - 1)
#define WHOLE UINT8_MAX
/* Each id that counts, or its beginning, ended by a zero. */
#define TEXT_BYTES (IDS * (KEYCACHE_ID_BYTES + 1))
#define LEAST_ROOM 64u

/* Which part of each id a rule looks at: so many letters of its beginning, or WHOLE. Rules of one shape are found by one look-up. */
struct shape {
	enum acl_right right;
	uint8_t length[IDS];
};

struct rule {
	uint32_t shape;
	uint32_t size;
	size_t text; /* where it begins in texts */
};

struct acl {
	struct shape *shapes;
	uint32_t shape_count;
	struct rule *rules;
	uint32_t count;
	uint32_t *table; /* rule + 1, or 0; open addressing, a power of two, at most half full */
	uint32_t room;
	struct buffer texts;
};

static const struct {
	const char *word;
	size_t ids;
	const char *expected;
} rights[] = {
	[ACL_ADMIN] = { "admin", 1, "expected one name" },
	[ACL_USE] = { "use", 2, "expected a name and a key" },
	[ACL_REENCRYPT] = { "reencrypt", 2, "expected a name and a key" },
	[ACL_RELAY] = { "relay", 3, "expected a name and two keys: from and to" },
	[ACL_DENY] = { "deny", 1, "expected one name" },
	[ACL_CHECK] = { NULL, 2, NULL },
};

/* Those that lines say. */
#define RIGHTS ACL_CHECK

static const char no_memory[] = "out of memory";

static uint32_t hash(uint32_t shape, const char *text, size_t size)
{
	uint32_t sum = (2166136261u ^ shape) * 16777619u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (uint8_t)text[i]) * 16777619u;
	return sum ^ (sum >> 15);
}

/* The place of a rule in the table, or the empty one where it would go. */
static uint32_t place(const struct acl *acl, uint32_t shape, const char *text, size_t size)
{
	uint32_t mask = acl->room - 1;
	uint32_t at = hash(shape, text, size) & mask;

	for (; acl->table[at]; at = (at + 1) & mask) {
		const struct rule *rule = &acl->rules[acl->table[at] - 1];

		if (rule->shape == shape && rule->size == size && !memcmp(acl->texts.data + rule->text, text, size))
			break;
	}
	return at;
}

static bool grow(struct acl *acl)
{
	uint32_t room = acl->room ? acl->room * 2 : LEAST_ROOM;
	struct rule *rules;
	uint32_t *table;

	if (room > UINT32_MAX / 4)
		return false;
	rules = realloc(acl->rules, room / 2 * sizeof(*rules));
	if (!rules)
		return false;
	acl->rules = rules;
	table = calloc(room, sizeof(*table));
	if (!table)
		return false;
	free(acl->table);
	acl->table = table;
	acl->room = room;
	for (uint32_t i = 0; i < acl->count; i++) {
		const struct rule *rule = &rules[i];
		const char *text = (const char *)acl->texts.data + rule->text;

		table[place(acl, rule->shape, text, rule->size)] = i + 1;
	}
	return true;
}

/* The number of a shape, which is new if need be; UINT32_MAX without memory. */
static uint32_t number_of(struct acl *acl, const struct shape *shape)
{
	struct shape *shapes;
	uint32_t i = 0;

	/* Whoever makes a shape sets all its bytes first. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
	while (i < acl->shape_count && memcmp(&acl->shapes[i], shape, sizeof(*shape)) != 0)
		i++;
	if (i < acl->shape_count)
		return i;
	shapes = realloc(acl->shapes, (i + 1) * sizeof(*shapes));
	if (!shapes)
		return UINT32_MAX;
	acl->shapes = shapes;
	shapes[i] = *shape;
	acl->shape_count++;
	return i;
}

/* The letters of a word of the list; `*length` is how many count. What is wrong with it, or NULL. */
static const char *read_word(const char *word, char id[KEYCACHE_ID_BYTES + 1], uint8_t *length)
{
	size_t size = 0;

	*length = WHOLE;
	for (; *word; word++) {
		bool escaped = *word == '\\';

		if (escaped) {
			word++;
			if (!*word || !strchr("\\*#", *word))
				return "a backslash stands before *, # or a backslash";
		} else if (*word == '*' && !word[1]) {
			*length = (uint8_t)size;
			break;
		}
		if (size == KEYCACHE_ID_BYTES)
			return "an id has 1 to 64 printable characters";
		id[size++] = *word;
	}
	id[size] = 0;
	if ((*length == WHOLE && !size) || (size && !id_valid(id, size)))
		return "an id has 1 to 64 printable characters";
	return NULL;
}

static const char *add_rule(struct acl *acl, const struct shape *shape, const char *text, size_t size)
{
	uint32_t number = number_of(acl, shape);
	uint32_t at;

	if (number == UINT32_MAX || (acl->count == acl->room / 2 && !grow(acl)))
		return no_memory;
	at = place(acl, number, text, size);
	if (acl->table[at])
		return NULL;
	acl->rules[acl->count] = (struct rule){ number, (uint32_t)size, acl->texts.size };
	buffer_append(&acl->texts, text, size);
	if (acl->texts.failed)
		return no_memory;
	acl->table[at] = ++acl->count;
	return NULL;
}

static const char *add(struct acl *acl, char *line)
{
	struct shape shape;
	const char *wrong;
	char text[TEXT_BYTES];
	char *words[WORDS] = { NULL };
	char *rest = NULL;
	size_t count = 0;
	size_t right = 0;
	size_t size = 0;
	size_t two = 0;

	line[strcspn(line, "\r\n")] = 0;
	for (char *word = strtok_r(line, " \t", &rest); word && *word != '#'; word = strtok_r(NULL, " \t", &rest)) {
		if (count == WORDS)
			return "too many words";
		words[count++] = word;
	}
	if (!count)
		return NULL;
	while (right < RIGHTS && strcmp(words[0], rights[right].word) != 0)
		right++;
	if (right == RIGHTS)
		return "expected admin, use, reencrypt, relay or deny";
	if (count != rights[right].ids + 1)
		return rights[right].expected;
	/* Compared as bytes. */
	memset(&shape, 0, sizeof(shape));
	shape.right = (enum acl_right)right;
	for (size_t i = 0; i + 1 < count; i++) {
		char id[KEYCACHE_ID_BYTES + 1];
		wrong = read_word(words[i + 1], id, &shape.length[i]);
		if (wrong)
			return wrong;
		memcpy(text + size, id, strlen(id) + 1);
		size += strlen(id) + 1;
		if (i == 1)
			two = size;
	}
	wrong = add_rule(acl, &shape, text, size);
	if (wrong || right != ACL_RELAY)
		return wrong;
	shape.right = ACL_CHECK;
	shape.length[2] = 0;
	return add_rule(acl, &shape, text, two);
}

static const char *read_lines(struct acl *acl, FILE *file, unsigned *number)
{
	char line[512];
	const char *wrong = NULL;

	while (!wrong && fgets(line, sizeof(line), file)) {
		++*number;
		if (!strchr(line, '\n') && !feof(file))
			wrong = "the line is too long";
		else
			wrong = add(acl, line);
	}
	return !wrong && ferror(file) ? "cannot be read" : wrong;
}

struct acl *acl_read(const char *path, char *problem, size_t size)
{
	struct acl *acl = calloc(1, sizeof(*acl));
	const char *wrong;
	unsigned number = 0;
	FILE *file;

	if (!acl) {
		(void)snprintf(problem, size, "%s: %s", path ? path : "--acl", no_memory);
		return NULL;
	}
	if (!path)
		return acl;
	file = fopen(path, "re");
	if (!file) {
		(void)snprintf(problem, size,
			       "%s: %s; --acl names a file of lines `admin NAME`, `use NAME KEY`, "
			       "`reencrypt NAME KEY`, `relay NAME FROM TO`, `deny NAME`",
			       path, strerror(errno));
		acl_free(acl);
		return NULL;
	}
	wrong = read_lines(acl, file, &number);
	(void)fclose(file);
	if (wrong) {
		(void)snprintf(problem, size, "%s:%u: %s", path, number, wrong);
		acl_free(acl);
		return NULL;
	}
	return acl;
}

void acl_free(struct acl *acl)
{
	if (!acl)
		return;
	free(acl->shapes);
	free(acl->rules);
	free(acl->table);
	buffer_free(&acl->texts);
	free(acl);
}

/* All shapes are looked at: how long it takes does not say which one matched. */
bool acl_may(const struct acl *acl, enum acl_right right, const char *name, const char *key, const char *to)
{
	const char *const ids[IDS] = { name, key, to };
	bool may = false;

	for (uint32_t number = 0; number < acl->shape_count; number++) {
		const struct shape *shape = &acl->shapes[number];
		char text[TEXT_BYTES];
		size_t size = 0;
		bool fits = shape->right == right;

		for (size_t i = 0; fits && i < rights[right].ids; i++) {
			/* No right has more names. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
			size_t length = strlen(ids[i]);

			if (shape->length[i] != WHOLE) {
				fits = length >= shape->length[i];
				length = shape->length[i];
			}
			if (!fits)
				break;
			memcpy(text + size, ids[i], length);
			text[size + length] = 0;
			size += length + 1;
		}
		if (fits && acl->table[place(acl, number, text, size)])
			may = true;
	}
	return may;
}
