/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the command line tool share. */
#ifndef KEYCACHE_TOOL_H
#define KEYCACHE_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "keycache.h"

#define TOOL_PATH_BYTES 4096

enum exit_code { DONE, NO, USAGE, UNREACHABLE, FAILED };

struct job {
	struct keycache_address address;
	const char *demo;
	const char *as;
	const char *aad;
	const char *in;
	const char *out;
	bool random;
	bool hex;
	long days;
	struct keycache_terms terms;
	unsigned key_bytes;
	/* Of an authority. */
	bool named;
	bool at_once;
	bool generate;
	bool encrypt;
	bool yes;
	bool all;
	const char *device;
	const char *fingerprint;
	const char *passphrase;
	const char *statement;
	const char *receiver;
	const char *client_key;
	char paths[3][TOOL_PATH_BYTES];
	unsigned char bytes[2 * (KEYCACHE_MOST + KEYCACHE_OVERHEAD) + 2];
	unsigned char result[KEYCACHE_MOST + KEYCACHE_OVERHEAD];
	size_t size;
	size_t result_size;
	char *const *words;
	int count;
};

/* On stderr; USAGE. */
int tool_usage(const char *what, const char *why);
/* What a function of the library answered, as an exit code; on stderr unless that is DONE. */
int tool_report(const struct keycache *handle, enum keycache_error error);
/* --in or stdin to job->bytes, and job->result to --out or stdout; `hex`: as digits, if that was asked for. */
int tool_read(struct job *job, bool hex);
int tool_write(const struct job *job, bool hex);
/* A key, from --random or as tool_read has it. */
int tool_read_key(struct job *job);
/* The caller closes the handle in any case. */
int tool_connect(struct job *job, struct keycache **handle);

/* authority_tool.c: verbs that need no connection, or make one themselves. */
int verb_authority(struct job *job);
int verb_handover(struct job *job);
int verb_enrol(struct job *job);
int verb_trust(struct job *job);
int verb_identity(struct job *job);
int verb_backup(struct job *job);

#endif /* KEYCACHE_TOOL_H */
