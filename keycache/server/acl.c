/* SPDX-License-Identifier: BSD-2-Clause */
#include "acl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id.h"

struct rule {
	enum acl_right right;
	char name[KEYCACHE_ID_BYTES + 1];
	char key[KEYCACHE_ID_BYTES + 1];
};

struct acl {
	struct rule *rules;
	size_t count;
};

static const struct {
	const char *word;
	bool takes_key;
} rights[] = {
	[ACL_ADMIN] = { "admin", false },
	[ACL_USE] = { "use", true },
	[ACL_REENCRYPT] = { "reencrypt", true },
	[ACL_DENY] = { "deny", false },
};

static const char *add(struct acl *acl, char *line)
{
	struct rule rule = { 0 };
	struct rule *rules;
	char *words[4] = { NULL };
	char *rest = NULL;
	size_t count = 0;
	size_t right = 0;

	line[strcspn(line, "#\r\n")] = 0;
	for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (count == 4)
			return "too many words";
		words[count++] = word;
	}
	if (!count)
		return NULL;
	while (right < sizeof(rights) / sizeof(rights[0]) && strcmp(words[0], rights[right].word) != 0)
		right++;
	if (right == sizeof(rights) / sizeof(rights[0]))
		return "expected admin, use, reencrypt or deny";
	if (count != (rights[right].takes_key ? 3u : 2u))
		return rights[right].takes_key ? "expected a name and a key" : "expected one name";
	for (size_t i = 1; i < count; i++)
		if (!id_valid(words[i], strlen(words[i])))
			return "an id has 1 to 64 printable characters";
	rule.right = (enum acl_right)right;
	memcpy(rule.name, words[1], strlen(words[1]));
	if (words[2])
		memcpy(rule.key, words[2], strlen(words[2]));
	rules = realloc(acl->rules, (acl->count + 1) * sizeof(*rules));
	if (!rules)
		return "out of memory";
	acl->rules = rules;
	rules[acl->count++] = rule;
	return NULL;
}

struct acl *acl_read(const char *path, char *problem, size_t size)
{
	struct acl *acl = calloc(1, sizeof(*acl));
	const char *wrong = NULL;
	char line[512];
	unsigned number = 0;
	FILE *file;

	if (!acl || !path)
		return acl;
	file = fopen(path, "re");
	if (!file) {
		(void)snprintf(problem, size,
			       "%s: %s; --acl names a file of lines `admin NAME`, `use NAME KEY`, "
			       "`reencrypt NAME KEY`, `deny NAME`",
			       path, strerror(errno));
		acl_free(acl);
		return NULL;
	}
	while (!wrong && fgets(line, sizeof(line), file)) {
		number++;
		if (!strchr(line, '\n') && !feof(file))
			wrong = "the line is too long";
		else
			wrong = add(acl, line);
	}
	if (!wrong && ferror(file))
		wrong = "cannot be read";
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
	if (acl)
		free(acl->rules);
	free(acl);
}

static bool matches(const char *pattern, const char *text)
{
	size_t size = strlen(pattern);

	if (pattern[size - 1] == '*')
		return !strncmp(pattern, text, size - 1);
	return !strcmp(pattern, text);
}

/* All rules are looked at: how long it takes does not say which one matched. */
bool acl_may(const struct acl *acl, enum acl_right right, const char *name, const char *key)
{
	bool may = false;

	for (size_t i = 0; i < acl->count; i++) {
		const struct rule *rule = &acl->rules[i];

		if (rule->right == right && matches(rule->name, name) &&
		    (!rights[right].takes_key || matches(rule->key, key)))
			may = true;
	}
	return may;
}
