/* SPDX-License-Identifier: BSD-2-Clause */
#include "authority.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "keycache_use.h"
#include "point.h"

#define MOST_PASSPHRASE 1024
#define DEVICE_ENDING ".device"

static bool complain(const char *what, const char *why)
{
	unsigned long error = ERR_peek_last_error();

	if (!why)
		why = error ? ERR_reason_error_string(error) : strerror(errno);
	(void)fprintf(stderr, "keycache: %s: %s\n", what, why ? why : "unknown error");
	ERR_clear_error();
	return false;
}

static void path_of(char path[AUTHORITY_PATH_BYTES], const char *folder, const char *name, const char *ending)
{
	(void)snprintf(path, AUTHORITY_PATH_BYTES, "%s/%s%s", folder, name, ending);
}

/* From a file, or from the terminal. */
static int give_passphrase(char *text, int size, int twice, void *file_name)
{
	FILE *file;
	char *got;

	if (!file_name)
		return EVP_read_pw_string(text, size, "Passphrase of the private key: ", twice) ? -1
												: (int)strlen(text);
	file = fopen(file_name, "re");
	got = file ? fgets(text, size, file) : NULL;
	if (file)
		(void)fclose(file);
	if (!got) {
		(void)complain(file_name, "cannot be read");
		return -1;
	}
	text[strcspn(text, "\r\n")] = 0;
	return (int)strlen(text);
}

/* A new file; one that is there stays. */
static FILE *create(const char *path, mode_t mode)
{
	int number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	FILE *file = number < 0 ? NULL : fdopen(number, "w");

	if (!file)
		(void)complain(path, strerror(errno));
	return file;
}

/* On the disk when it returns. */
static bool finish(FILE *file, bool good, const char *path)
{
	good = good && !fflush(file) && !fsync(fileno(file));
	if (fclose(file) || !good)
		return complain(path, NULL);
	return true;
}

static bool make_pair(const char *folder, const char *name, const char *secret)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	char path[AUTHORITY_PATH_BYTES];
	FILE *file;
	bool good;

	if (!pair)
		return complain(name, NULL);
	path_of(path, folder, name, ".key");
	file = create(path, 0600);
	good = file && finish(file,
			      PEM_write_PKCS8PrivateKey(file, pair, secret ? EVP_aes_256_cbc() : NULL, secret,
							secret ? (int)strlen(secret) : 0, NULL, NULL) == 1,
			      path);
	path_of(path, folder, name, ".pub");
	file = good ? create(path, 0600) : NULL;
	good = file && finish(file, PEM_write_PUBKEY(file, pair) == 1, path);
	EVP_PKEY_free(pair);
	return good;
}

/* The files that make an authority. */
static const char *const halves[] = { "signer.key", "signer.pub", "backup.key", "backup.pub" };

#define HALVES (sizeof(halves) / sizeof(halves[0]))

/* Whether a folder has none of them. What has some may be an authority that devices trust: it is left as it is. */
static bool is_free(const char *folder)
{
	char path[AUTHORITY_PATH_BYTES];
	size_t there = 0;

	for (size_t i = 0; i < HALVES; i++) {
		path_of(path, folder, halves[i], "");
		there += !access(path, F_OK);
	}
	if (there == HALVES)
		return complain(folder, "has an authority already: name another folder");
	return !there ||
	       complain(folder, "is half an authority: `init` was stopped, or files of it are lost. If no device was "
				"paired with it, remove signer.* and backup.* there, and begin again; else bring them "
				"back from a copy");
}

static void remove_halves(const char *folder)
{
	char path[AUTHORITY_PATH_BYTES];

	for (size_t i = 0; i < HALVES; i++) {
		path_of(path, folder, halves[i], "");
		(void)unlink(path);
	}
}

static bool make_pairs(const char *folder, bool encrypt, const char *passphrase)
{
	char secret[MOST_PASSPHRASE] = "";
	bool good;

	if (encrypt && give_passphrase(secret, sizeof(secret), 1, (void *)(uintptr_t)passphrase) <= 0)
		return complain(folder, "a passphrase is needed with --encrypt");
	good = make_pair(folder, "signer", encrypt ? secret : NULL) &&
	       make_pair(folder, "backup", encrypt ? secret : NULL);
	OPENSSL_cleanse(secret, sizeof(secret));
	if (!good)
		remove_halves(folder);
	return good;
}

bool authority_make(const char *folder, bool encrypt, const char *passphrase)
{
	struct stat status;
	int directory;
	bool good;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return complain(folder, strerror(errno));
	/* Locked: of two at the same time the second one finds what the first has made. */
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return complain(folder, strerror(errno));
	if (flock(directory, LOCK_EX) || fstat(directory, &status))
		good = complain(folder, strerror(errno));
	else if (status.st_mode & 077)
		good = complain(folder, "others may look into this folder: chmod 700, or name a new one");
	else
		good = is_free(folder) && make_pairs(folder, encrypt, passphrase);
	(void)close(directory);
	return good;
}

bool authority_read_point(const char *path, uint8_t point[KEYCACHE_POINT_BYTES])
{
	FILE *file = fopen(path, "re");
	EVP_PKEY *key;
	bool good;

	if (!file)
		return complain(path, strerror(errno));
	key = PEM_read_PUBKEY(file, NULL, NULL, NULL);
	if (!key) {
		(void)fseek(file, 0, SEEK_SET);
		key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	}
	(void)fclose(file);
	good = key && point_of_key(point, key);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return good || complain(path, "has no public key of P-256 (PEM)");
}

EVP_PKEY *authority_read_pair(const char *path, const char *passphrase)
{
	uint8_t point[KEYCACHE_POINT_BYTES];
	FILE *file = fopen(path, "re");
	EVP_PKEY *pair;

	if (!file) {
		(void)complain(path, strerror(errno));
		return NULL;
	}
	pair = PEM_read_PrivateKey(file, NULL, give_passphrase, (void *)(uintptr_t)passphrase);
	(void)fclose(file);
	if (pair && point_of_key(point, pair))
		return pair;
	(void)complain(path, pair ? "is not of P-256" : "no private key (PEM), or another passphrase");
	EVP_PKEY_free(pair);
	return NULL;
}

bool authority_open(struct authority *authority, const char *folder, const char *passphrase)
{
	char path[AUTHORITY_PATH_BYTES];

	*authority = (struct authority){ .folder = folder, .passphrase = passphrase };
	authority->directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (authority->directory < 0)
		return complain(folder, strerror(errno));
	if (flock(authority->directory, LOCK_EX))
		return complain(folder, strerror(errno));
	path_of(path, folder, "signer", ".pub");
	if (!authority_read_point(path, authority->signer))
		return false;
	path_of(path, folder, "backup", ".pub");
	return authority_read_point(path, authority->backup);
}

void authority_close(struct authority *authority)
{
	EVP_PKEY_free(authority->signer_pair);
	EVP_PKEY_free(authority->backup_pair);
	if (authority->directory >= 0)
		(void)close(authority->directory);
	*authority = (struct authority){ .directory = -1 };
}

static bool need_pair(const struct authority *authority, EVP_PKEY **pair, const char *name)
{
	char path[AUTHORITY_PATH_BYTES];

	path_of(path, authority->folder, name, ".key");
	if (!*pair)
		*pair = authority_read_pair(path, authority->passphrase);
	return *pair;
}

static bool is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) < 200;
}

bool authority_save_device(const struct authority *authority, const char *name,
			   const uint8_t point[KEYCACHE_POINT_BYTES])
{
	uint8_t known[KEYCACHE_POINT_BYTES];
	char path[AUTHORITY_PATH_BYTES];
	EVP_PKEY *key = point_to_key(point);
	FILE *file;
	bool good;

	if (!is_name(name) || !key) {
		EVP_PKEY_free(key);
		return complain(name, key ? "cannot be the name of a file here" : "its point is not on the curve");
	}
	path_of(path, authority->folder, name, DEVICE_ENDING);
	if (!access(path, F_OK)) {
		EVP_PKEY_free(key);
		if (!authority_read_point(path, known))
			return false;
		return !memcmp(known, point, sizeof(known)) ||
		       complain(path, "is another device of this name, or it has lost its secure storage: name it "
				      "otherwise with --device, or remove this file");
	}
	file = create(path, 0600);
	good = file && finish(file, PEM_write_PUBKEY(file, key) == 1, path);
	EVP_PKEY_free(key);
	return good;
}

bool authority_read_device(const struct authority *authority, const char *name, uint8_t point[KEYCACHE_POINT_BYTES])
{
	char path[AUTHORITY_PATH_BYTES];

	path_of(path, authority->folder, name, DEVICE_ENDING);
	if (!is_name(name) || access(path, F_OK))
		return complain(name, "this authority knows no such device: `keycache authority DIR pair` it first");
	return authority_read_point(path, point);
}

void authority_devices(const struct authority *authority,
		       void (*each)(const char *name, const uint8_t point[KEYCACHE_POINT_BYTES], void *context),
		       void *context)
{
	const size_t ending = strlen(DEVICE_ENDING);
	DIR *folder = opendir(authority->folder);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		uint8_t point[KEYCACHE_POINT_BYTES];
		char name[sizeof(entry->d_name)];
		size_t size = strlen(entry->d_name);

		if (size <= ending || strcmp(entry->d_name + size - ending, DEVICE_ENDING) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(size - ending), entry->d_name);
		if (authority_read_device(authority, name, point))
			each(name, point, context);
	}
	if (folder)
		(void)closedir(folder);
}

/* The time in microseconds, but more than any before and than `last`: written down before it is used. */
static bool next_serial(const struct authority *authority, uint64_t last, uint64_t *serial)
{
	char path[AUTHORITY_PATH_BYTES];
	char new_path[AUTHORITY_PATH_BYTES];
	struct timespec now;
	uint64_t noted = 0;
	FILE *file;

	path_of(path, authority->folder, "serial", "");
	path_of(new_path, authority->folder, "serial", ".new");
	file = fopen(path, "re");
	if (file) {
		char line[32];
		bool good = fgets(line, sizeof(line), file) != NULL;
		char *end = line;

		(void)fclose(file);
		errno = 0;
		if (good)
			noted = strtoull(line, &end, 10);
		if (end == line || errno)
			return complain(path,
					"is no number: write the serial of the last statement into it, or higher");
	} else if (errno != ENOENT) {
		return complain(path, strerror(errno));
	}
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*serial = now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	last = noted > last ? noted : last;
	if (*serial <= last)
		*serial = last + 1;
	(void)unlink(new_path);
	file = create(new_path, 0600);
	if (!file || !finish(file, fprintf(file, "%" PRIu64 "\n", *serial) > 0, new_path))
		return false;
	if (rename(new_path, path) || fsync(authority->directory))
		return complain(path, strerror(errno));
	return true;
}

bool authority_trust(const struct authority *next, struct authority *signer, const uint8_t device[KEYCACHE_POINT_BYTES],
		     struct keycache_trust *statement)
{
	uint64_t unused;

	*statement = (struct keycache_trust){ .format = KEYCACHE_STATEMENT_FORMAT };
	memcpy(statement->signer, next->signer, sizeof(statement->signer));
	memcpy(statement->backup, next->backup, sizeof(statement->backup));
	if (!next_serial(signer ? signer : next, 0, &statement->serial) || !point_digest(statement->device, device))
		return false;
	if (!signer)
		return true;
	/* What the next one says from now on must be later than all that this one has said: its clock may be another. */
	if (!next_serial(next, statement->serial, &unused))
		return false;
	return need_pair(signer, &signer->signer_pair, "signer") &&
	       (point_sign(statement->signature, signer->signer_pair, statement,
			   offsetof(struct keycache_trust, signature)) ||
		complain("the signature", NULL));
}

/* The key goes into the statement for the device's eyes alone. */
static bool wrap(struct keycache_enrolment *statement, const struct enrolment_wish *wish,
		 const uint8_t device[KEYCACHE_POINT_BYTES])
{
	const size_t about = offsetof(struct keycache_enrolment, nonce);
	EVP_PKEY *once = EVP_EC_gen("P-256");
	uint8_t plain[KEYCACHE_KEY_BYTES] = { 0 };
	uint8_t key[SECRET_BYTES];
	bool good;

	memcpy(plain, wish->key, wish->key_size);
	good = once && point_of_key(statement->point, once) &&
	       RAND_bytes(statement->nonce, KEYCACHE_NONCE_BYTES) == 1 &&
	       point_agree(key, once, device, NULL, statement, about) &&
	       point_seal(key, statement->nonce, statement, about, plain, statement->sealed, statement->tag);
	OPENSSL_cleanse(plain, sizeof(plain));
	OPENSSL_cleanse(key, sizeof(key));
	EVP_PKEY_free(once);
	return good || complain("wrapping the key", NULL);
}

bool authority_enrolment(struct authority *authority, const struct enrolment_wish *wish,
			 const uint8_t device[KEYCACHE_POINT_BYTES], struct keycache_enrolment *statement)
{
	uint32_t flags = KEYCACHE_ENROLLED | (wish->restrictions & KEYCACHE_RESTRICTIONS);

	if (!(wish->restrictions & KEYCACHE_NO_GET))
		flags |= KEYCACHE_GETTABLE;
	*statement = (struct keycache_enrolment){ .format = KEYCACHE_STATEMENT_FORMAT,
						  .kind = wish->key ? KEYCACHE_WRAPPED : KEYCACHE_GENERATED,
						  .id_length = (uint8_t)strlen(wish->id),
						  .key_length = (uint8_t)wish->key_size,
						  .flags = (uint8_t)flags,
						  .at_once = wish->at_once };
	memcpy(statement->id, wish->id, statement->id_length);
	if (!need_pair(authority, &authority->signer_pair, "signer") ||
	    !next_serial(authority, 0, &statement->serial) || !point_digest(statement->device, device))
		return false;
	if (!wish->key && wish->client)
		memcpy(statement->point, wish->client, sizeof(statement->point));
	if (wish->key && !wrap(statement, wish, device))
		return false;
	return point_sign(statement->signature, authority->signer_pair, statement,
			  offsetof(struct keycache_enrolment, signature)) ||
	       complain("the signature", NULL);
}

bool handover_open(const struct keycache_enrolment *statement, const struct keycache_handover *handover,
		   const uint8_t device[KEYCACHE_POINT_BYTES], EVP_PKEY *client, uint8_t key[KEYCACHE_KEY_BYTES])
{
	uint8_t about[offsetof(struct keycache_enrolment, signature) + KEYCACHE_POINT_BYTES];
	uint8_t secret[SECRET_BYTES];
	bool good;

	memcpy(about, statement, offsetof(struct keycache_enrolment, signature));
	memcpy(about + offsetof(struct keycache_enrolment, signature), handover->point, KEYCACHE_POINT_BYTES);
	good = point_agree(secret, client, handover->point, device, about, sizeof(about)) &&
	       point_open(secret, handover->nonce, about, sizeof(about), handover->sealed, handover->tag, key);
	OPENSSL_cleanse(secret, sizeof(secret));
	ERR_clear_error();
	return good;
}

/* The device that a backup is of. */
struct search {
	const uint8_t *digest;
	uint8_t point[KEYCACHE_POINT_BYTES];
	bool found;
};

static void look_at(const char *name, const uint8_t point[KEYCACHE_POINT_BYTES], void *context)
{
	struct search *search = context;
	uint8_t digest[DIGEST_BYTES];

	(void)name;
	if (search->found || !point_digest(digest, point) || memcmp(digest, search->digest, sizeof(digest)) != 0)
		return;
	memcpy(search->point, point, KEYCACHE_POINT_BYTES);
	search->found = true;
}

static bool open_part(struct authority *authority, const struct keycache_backup *part, const uint8_t *bytes,
		      const uint8_t device[KEYCACHE_POINT_BYTES], struct saved_key *keys)
{
	const size_t head = offsetof(struct keycache_backup, tag);
	const size_t about = offsetof(struct keycache_saved, sealed);
	uint8_t aad[offsetof(struct keycache_backup, tag) + offsetof(struct keycache_saved, sealed)];
	uint8_t secret[SECRET_BYTES];
	bool good;

	memcpy(aad, part, head);
	good = point_agree(secret, authority->backup_pair, part->point, device, part, head) &&
	       point_is_marked(secret, part, head, part->tag);
	for (uint32_t i = 0; good && i < part->count; i++) {
		uint8_t nonce[KEYCACHE_NONCE_BYTES] = { 0 };
		struct keycache_saved saved;
		size_t length;

		memcpy(&saved, bytes + i * sizeof(saved), sizeof(saved));
		memcpy(aad + head, &saved, about);
		memcpy(nonce, &saved.number, sizeof(saved.number));
		length = saved.id_length & ~KEYCACHE_PREVIOUS;
		good = saved.number == i && length && length <= KEYCACHE_ID_BYTES && !memchr(saved.id, 0, length) &&
		       (saved.key_length == 16 || saved.key_length == KEYCACHE_KEY_BYTES) &&
		       point_open(secret, nonce, aad, sizeof(aad), saved.sealed, saved.tag, keys[i].key);
		memcpy(keys[i].id, saved.id, good ? length : 0);
		keys[i].previous = saved.id_length & KEYCACHE_PREVIOUS;
		keys[i].flags = saved.flags;
		keys[i].size = saved.key_length;
	}
	OPENSSL_cleanse(secret, sizeof(secret));
	return good;
}

bool authority_open_backup(struct authority *authority, const uint8_t *bytes, size_t size, struct saved_key **keys,
			   size_t *count)
{
	static const char forged[] = "a part does not open: it is another authority's, or was changed";
	const char *problem = "it is not whole: its end is missing";
	const uint8_t *number = bytes + offsetof(struct keycache_backup, number);
	struct search search = { 0 };
	struct keycache_backup part;
	uint32_t due = 0;
	size_t at = 0;

	*count = 0;
	*keys = OPENSSL_zalloc((size / sizeof(struct keycache_saved) + 1) * sizeof(**keys));
	if (!*keys)
		return complain("the backup", "out of memory");
	if (!need_pair(authority, &authority->backup_pair, "backup")) {
		OPENSSL_free(*keys);
		*keys = NULL;
		return false;
	}
	do {
		if (size - at < sizeof(part))
			goto failed;
		memcpy(&part, bytes + at, sizeof(part));
		at += sizeof(part);
		problem = "that is no backup, or one of an older version: make a new one";
		if (part.format != KEYCACHE_BACKUP_FORMAT)
			goto failed;
		problem = "it has parts of several backups";
		if (memcmp(part.number, number, sizeof(part.number)) != 0)
			goto failed;
		problem = "parts of it are missing, or not in their order";
		if (part.part != due++ || part.count > (size - at) / sizeof(struct keycache_saved))
			goto failed;
		if (!search.digest) {
			search.digest = bytes + offsetof(struct keycache_backup, device);
			authority_devices(authority, look_at, &search);
			problem = "it is of a device that this authority was not paired with";
			if (!search.found)
				goto failed;
		}
		problem = forged;
		if (memcmp(part.device, search.digest, sizeof(part.device)) != 0)
			goto failed;
		if (!open_part(authority, &part, bytes + at, search.point, *keys + *count))
			goto failed;
		*count += part.count;
		at += part.count * sizeof(struct keycache_saved);
		problem = "it is not whole: its end is missing";
	} while (!part.last);
	problem = "there is something behind its end";
	if (at == size)
		return true;
failed:
	OPENSSL_clear_free(*keys, (size / sizeof(struct keycache_saved) + 1) * sizeof(**keys));
	*keys = NULL;
	*count = 0;
	return complain("the backup", problem);
}
