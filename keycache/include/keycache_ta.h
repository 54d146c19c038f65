/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the server asks of the trusted application: commands, limits and the record of the normal world.
 *
 * The TA holds every key, in secure storage and, as far as its bound goes, in its memory. The normal world holds sealed
 * records (struct keycache_record): each is sealed by a key that never leaves the TA and bound to its client and version.
 * A command whose key is not in the TA's cache, and that came without a record, answers KEYCACHE_MISS; the server asks
 * again with the record, or sends it at once where it knows better. A record whose version is not the current one is
 * refused with KEYCACHE_STALE, one that does not open with KEYCACHE_FORGED. In both cases KEYCACHE_RECORD makes it anew
 * from secure storage.
 *
 * What a key may be used for is sealed with it (keycache_record.flags). Keys of clients whom the normal world must not be able to
 * read are enrolled: an authority outside of the device signs who gets which key for which use (struct keycache_enrolment).
 *
 * Numbers are little-endian, as both worlds of the machines that OP-TEE runs on are.
 */
#ifndef KEYCACHE_TA_H
#define KEYCACHE_TA_H

#include <stdint.h>

/* 7d2f9f7c-5b0e-4b1c-9a3e-6b6579636163 */
#define KEYCACHE_TA_UUID { 0x7d2f9f7c, 0x5b0e, 0x4b1c, { 0x9a, 0x3e, 0x6b, 0x65, 0x79, 0x63, 0x61, 0x63 } }

#define KEYCACHE_ID_BYTES 64    /* the longest client id; in naive mode one less */
#define KEYCACHE_KEY_BYTES 32   /* the longest key; keys are 16 or 32 bytes: AES-128, AES-256 */
#define KEYCACHE_NONCE_BYTES 12 /* of AES-GCM */
#define KEYCACHE_TAG_BYTES 16
#define KEYCACHE_EXTRA_BYTES (KEYCACHE_NONCE_BYTES + KEYCACHE_TAG_BYTES) /* that a message has besides its plaintext */
#define KEYCACHE_PAYLOAD_BYTES 65536                                     /* the longest plaintext of one command */
#define KEYCACHE_AAD_BYTES 1024                                          /* the most additional data of one command */
#define KEYCACHE_RELAXED_MOST 32 /* relaxed SETs that wait; one more writes them all */

/*
 * Parameters 0 to 3, as GlobalPlatform numbers them; those that are not named are of type none. What is reserved is zeros.
 * id: memref in, 1 to KEYCACHE_ID_BYTES printable ASCII characters without spaces.
 * In naive mode FORGET and what comes behind it, KEEP, restrictions and previous keys are TEE_ERROR_NOT_SUPPORTED.
 * offer: memref in, a struct keycache_offer, or of size 0.
 * named: an id, and if the message has additional data, a zero byte and this.
 * message: nonce || ciphertext || tag.
 * An output that does not fit gets TEE_ERROR_SHORT_BUFFER and the size that is due. With any other error than that nothing
 * is written to outputs in memory, and their sizes are 0.
 */
enum keycache_command {
	/*
	 * 0: value in, a = enum keycache_storage, b = enum keycache_policy; 1: value in, a = bytes of the cache,
	 * b = KEYCACHE_ALLOW_GET and so on; 2: value in, a = bytes of the index, or 0 for the TA's default, b = 0.
	 * What is configured already stays, cache and all; what differs begins anew, after relaxed SETs are written. What cannot
	 * be configured leaves the configuration of before. Who configures the TA first owns it until it is unloaded: sessions
	 * of another login are refused with TEE_ERROR_ACCESS_DENIED.
	 */
	KEYCACHE_CONFIGURE = 1,
	/*
	 * 0: id; 1: memref in, key; 2: memref out, record (in naive mode empty), and with KEYCACHE_KEEP that of the previous key
	 * behind it, if there is one (two are due in any case); 3: value in, a = 0 or KEYCACHE_RELAXED or KEYCACHE_KEEP, b =
	 * restrictions (KEYCACHE_NO_SEAL and so on, KEYCACHE_NO_GET). Durable before it returns, unless relaxed. A client's first key is never relaxed: whether it fits is said at
	 * once. KEYCACHE_IS_ENROLLED: only an enrolment replaces this key.
	 */
	KEYCACHE_SET,
	/* 0: id; 1: offer; 2: memref out, key. */
	KEYCACHE_GET,
	/* 0: id. TEE_SUCCESS or KEYCACHE_NO_KEY. DELETE removes the previous key as well. */
	KEYCACHE_DELETE,
	KEYCACHE_EXISTS,
	/*
	 * 0: memref in, struct keycache_pair, and behind it the additional data that both messages have, if any; 1: memref in,
	 * message; 2: memref out, message of the other's key with a fresh
	 * nonce; 3: value out, a = how many of the keys came from the cache, b = whose key the error is about:
	 * KEYCACHE_OF_FROM, KEYCACHE_OF_TO or both (which have the same error then). 0: about the message.
	 */
	KEYCACHE_REENCRYPT,
	/* 0: named; 1: memref in, plaintext; 2: memref out, message; 3: offer. */
	KEYCACHE_SEAL,
	/* 0: named; 1: memref in, message; 2: memref out, plaintext; 3: offer. */
	KEYCACHE_OPEN,
	/* 0: id; 1: offer, not empty. Puts a key into the cache and uses it for nothing. */
	KEYCACHE_LOAD,
	/* 0: id. Takes a key out of the cache; one that is not there is no error. */
	KEYCACHE_EVICT,
	/* 0: memref out, struct keycache_stats. */
	KEYCACHE_STATS,
	/*
	 * 0: id; 1: memref out, record. What the normal world lost, made anew from secure storage (slow). KEYCACHE_UNTRUSTED: the
	 * key was enrolled before the TA lost its own pair of keys; it is good for nothing, and to be enrolled anew or removed.
	 */
	KEYCACHE_RECORD,
	/*
	 * 0: value inout, a = where to go on: 0 to begin, and 0 again at the end; 1: memref out, of at least
	 * KEYCACHE_ID_BYTES + 1: ids, each ended by a zero, or none although it goes on. From secure storage (slow).
	 */
	KEYCACHE_LIST,
	/* Writes what relaxed SETs left, as far as it can: the error is the last one, and what failed waits on. */
	KEYCACHE_FLUSH,
	/*
	 * Replaces buckets of secure storage that are lost (TEE_ERROR_CORRUPT_OBJECT) by empty ones: their keys are gone.
	 * No older record is accepted from then on. 0: value out, a = how many.
	 */
	KEYCACHE_REPAIR,
	/*
	 * One message for several: opened once, sealed for each. 0: memref in, struct keycache_fan, its additional data, and for each
	 * receiver a struct keycache_receiver and, if that has one, its offer; 1: memref in, message; 2: memref out, of
	 * KEYCACHE_FAN_STRIDE of the message's size for each receiver, a message with a fresh nonce at the beginning of
	 * each; 3: memref out, a result of 32 bits for each receiver: those of a key alone, and what is in its part of 2 says
	 * nothing unless it is TEE_SUCCESS. The command's own result is about the sender's key and the message. With no
	 * receiver it says whether the message is genuine; 2 and 3 have room for one then, too, and nothing is written there.
	 */
	KEYCACHE_FANOUT,
	/* 0: id. Removes the previous key, which KEYCACHE_KEEP left, and nothing else. */
	KEYCACHE_FORGET,
	/*
	 * A key that is made in the TA and nobody ever sees. 0: id; 1: value in, a = bytes of the key, b = restrictions;
	 * 2: memref out, records as with SET; 3: value in, a = 0 or KEYCACHE_KEEP.
	 */
	KEYCACHE_GENERATE,
	/* 0: memref out, struct keycache_identity. */
	KEYCACHE_IDENTITY,
	/*
	 * 0: memref in, struct keycache_trust. The first one is taken as it is; a later one must be signed by the authority that
	 * is trusted. KEYCACHE_UNTRUSTED: the signature is not the authority's, or it is made for another TA; KEYCACHE_OLD: its
	 * serial is not a newer one. What relaxed SETs left is written first.
	 */
	KEYCACHE_TRUST,
	/*
	 * 0: memref in, struct keycache_enrolment; 1: value in, a = 0, KEYCACHE_KEEP or KEYCACHE_VERIFY; 2: memref out, records as with SET; 3: memref
	 * out, of sizeof(struct keycache_handover): for a key that is generated for somebody, and else empty. Never relaxed.
	 * KEYCACHE_UNTRUSTED: not signed by the authority, or made for another TA; KEYCACHE_OLD: see keycache_enrolment.serial;
	 * KEYCACHE_FORGED: the wrapped key does not open.
	 */
	KEYCACHE_ENROL,
	/*
	 * Keys for the authority alone. 0: value inout, as with LIST; 1: memref out, of at least one struct keycache_saved behind
	 * a struct keycache_backup: as many as fit. None may be in it although it goes on. Only keys that were set when there was
	 * an authority already: who becomes the first one gets nothing of before. One backup goes on at a time, and each of its
	 * parts is given once: TEE_ERROR_BAD_STATE if a is neither 0 nor where the last part ended. KEYCACHE_UNTRUSTED: there is
	 * no authority, or none that wants a backup.
	 */
	KEYCACHE_BACKUP,
};

enum keycache_storage { KEYCACHE_REE = 1, KEYCACHE_RPMB };

enum keycache_policy {
	KEYCACHE_POLICY_NONE = 1, /* nothing is kept: every use opens a record */
	KEYCACHE_POLICY_LRU,      /* the TA keeps what was used last */
	KEYCACHE_POLICY_HOST      /* the normal world says what is kept, by its offers, LOAD and EVICT */
};

/* Flags of CONFIGURE. */
#define KEYCACHE_ALLOW_GET 1u /* keys that are set from now on can be got: see keycache_record.flags */
#ifdef KEYCACHE_MEASURING
#define KEYCACHE_NAIVE 2u /* an object of secure storage for each client, read for every use: for comparison */
#else
#define KEYCACHE_NAIVE 0u /* no product has it: nobody can ask for it, and the compiler leaves it out */
#endif                    /* KEYCACHE_MEASURING */

/* Of SET, GENERATE and ENROL. */
#define KEYCACHE_RELAXED 1u
/* The key that is replaced becomes the previous one: it opens what it sealed, until FORGET. Unless it is the same key. */
#define KEYCACHE_KEEP 2u
/* Of ENROL: whether the statement would be taken. Nothing is done, and nothing is written to outputs. */
#define KEYCACHE_VERIFY 4u

/* Of the restrictions that SET and GENERATE are given alone: the key is not KEYCACHE_GETTABLE, whatever is configured. */
#define KEYCACHE_NO_GET 256u

/*
 * In the length of an id (a struct's), or as the first byte of an id that is a parameter of its own: not the client's key but the
 * previous one. For OPEN, the sender of REENCRYPT and FANOUT, EXISTS, LOAD, EVICT and RECORD; it is in records' id_length.
 */
#define KEYCACHE_PREVIOUS 0x80u

/* Of REENCRYPT. */
#define KEYCACHE_OF_FROM 1u
#define KEYCACHE_OF_TO 2u

/* Results besides GlobalPlatform's, in the range that is the TA's own. */
#define KEYCACHE_MISS 0x80010001u   /* not cached, and no record came with it */
#define KEYCACHE_STALE 0x80010002u  /* the record has another version than the current one */
#define KEYCACHE_FORGED 0x80010003u /* the record does not open, or is another client's */
#define KEYCACHE_NO_KEY 0x80010004u
#define KEYCACHE_BAD_TAG 0x80010005u /* of the message, not of the record */
#define KEYCACHE_GET_OFF 0x80010006u /* GET is off, or was when the key was set */
#define KEYCACHE_NOT_CONFIGURED 0x80010007u
#define KEYCACHE_FULL 0x80010008u /* LOAD with the host's policy: nothing is free, and no victim is named */

#define KEYCACHE_WORN_OUT                                                                                              \
	0x80010009u /* the key has sealed as many messages as random nonces are good for: set a new one */
#define KEYCACHE_USE_DENIED 0x8001000Au /* a key is not for that use: see keycache_record.flags */
#define KEYCACHE_IS_ENROLLED 0x8001000Bu
#define KEYCACHE_UNTRUSTED 0x8001000Cu
#define KEYCACHE_OLD 0x8001000Du

/* Of keycache_record.flags. */
/* Was set with KEYCACHE_ALLOW_GET, and without KEYCACHE_NO_OPEN: others can not be got, whatever is configured later. */
#define KEYCACHE_GETTABLE 1u
#define KEYCACHE_WORN 2u /* opens messages, and seals none any more */
/*
 * Restrictions; a key without any is for every use. A key with KEYCACHE_NO_OPEN is re-encrypted only to keys with it which
 * are not gettable: so nothing that the normal world asks for makes it a text.
 */
#define KEYCACHE_NO_SEAL 4u  /* not for SEAL */
#define KEYCACHE_NO_OPEN 8u  /* not for OPEN, nor for GET */
#define KEYCACHE_NO_FROM 16u /* not the sender's of REENCRYPT and FANOUT */
#define KEYCACHE_NO_TO 32u   /* not a receiver's */
/* By an authority's signature. Enrolled keys are re-encrypted to enrolled ones alone, and others to others. */
#define KEYCACHE_ENROLLED 64u
/*
 * As the sender of REENCRYPT and FANOUT: the additional data must begin with "KC1" or "KC2", one byte with the length of the
 * key's id, and the id. So nobody relays its messages in another name, nor others' in its.
 */
#define KEYCACHE_NAMED 128u
#define KEYCACHE_RESTRICTIONS (KEYCACHE_NO_SEAL | KEYCACHE_NO_OPEN | KEYCACHE_NO_FROM | KEYCACHE_NO_TO | KEYCACHE_NAMED)

/* A sealed record, as the normal world keeps it. What stands before the nonce is readable there, and authenticated. */
struct keycache_record {
	uint8_t format; /* KEYCACHE_RECORD_FORMAT */
	uint8_t id_length;
	uint8_t key_length;
	uint8_t flags;
	uint32_t version;
	uint8_t id[KEYCACHE_ID_BYTES]; /* zeros behind the id */
	uint8_t nonce[KEYCACHE_NONCE_BYTES];
	uint8_t sealed[KEYCACHE_KEY_BYTES];
	uint8_t tag[KEYCACHE_TAG_BYTES];
};

#define KEYCACHE_RECORD_FORMAT 1

/* What the normal world offers with a command, for the case that the key is not cached. */
struct keycache_offer {
	struct keycache_record record;
	/* Only the host's policy looks at the rest: whether to keep the key, and which to give up for it if nothing is free. */
	uint8_t keep;
	uint8_t victim_length; /* 0: none */
	uint8_t reserved[2];
	uint8_t victim[KEYCACHE_ID_BYTES];
};

/* The two clients of REENCRYPT. */
struct keycache_pair {
	uint8_t from_length;
	uint8_t to_length;
	uint8_t has_from; /* from_offer is one: 0 or 1 */
	uint8_t has_to;
	uint8_t from[KEYCACHE_ID_BYTES];
	uint8_t to[KEYCACHE_ID_BYTES];
	struct keycache_offer from_offer;
	struct keycache_offer to_offer;
};

/* Of KEYCACHE_FANOUT: the sender, and how many receivers follow. */
struct keycache_fan {
	uint8_t count; /* at most KEYCACHE_FAN_MOST */
	uint8_t from_length;
	uint8_t has_from; /* from_offer is one: 0 or 1 */
	uint8_t reserved;
	uint8_t from[KEYCACHE_ID_BYTES];
	struct keycache_offer from_offer;
	uint32_t aad_size; /* bytes of additional data, which follow: the message's, and each receiver's */
};

struct keycache_receiver {
	uint8_t length;
	uint8_t has_offer; /* 1: a struct keycache_offer follows; 0: none does */
	uint8_t reserved[2];
	uint8_t id[KEYCACHE_ID_BYTES];
};

#define KEYCACHE_FAN_MOST 64
/* So that each message begins where the first one does, as far as 16 bytes go. */
#define KEYCACHE_FAN_STRIDE(bytes) (((bytes) + 15u) & ~15u)

/*
 * Points and numbers of P-256 are big-endian, as SEC 1 has them: x and y of 32 bytes each, r and s of a signature (ECDSA with
 * SHA-256). A key is sealed for a point like this: Z = ECDH of it and an ephemeral point; AES-256-GCM by the key
 * SHA-256(00000001 || Z || info), which is NIST SP 800-56C's one-step derivation; info and additional data are named at each.
 */
#define KEYCACHE_POINT_BYTES 64
#define KEYCACHE_SIGNATURE_BYTES 64
#define KEYCACHE_NUMBER_BYTES 16 /* of a backup */

struct keycache_identity {
	uint8_t ta
		[KEYCACHE_POINT_BYTES]; /* the TA's own: made with its storage, and its private half never leaves it */
	uint8_t signer[KEYCACHE_POINT_BYTES]; /* the authority's two, or zeros: see keycache_trust */
	uint8_t backup[KEYCACHE_POINT_BYTES];
};

/* Whom the TA believes who gets which key, and whom it gives keys to. */
struct keycache_trust {
	uint8_t format; /* KEYCACHE_STATEMENT_FORMAT */
	uint8_t reserved[7];
	uint64_t serial;                      /* higher than the one before */
	uint8_t device[32];                   /* SHA-256 of the TA's point */
	uint8_t signer[KEYCACHE_POINT_BYTES]; /* whose signature enrols */
	uint8_t backup[KEYCACHE_POINT_BYTES]; /* to whom BACKUP seals, or zeros: to nobody */
	uint8_t signature
		[KEYCACHE_SIGNATURE_BYTES]; /* of all before it, by the signer of before; zeros in the first one */
};

#define KEYCACHE_STATEMENT_FORMAT 1

/* Who gets which key for which use. */
struct keycache_enrolment {
	uint8_t format; /* KEYCACHE_STATEMENT_FORMAT */
	uint8_t kind;   /* enum keycache_enrolment_kind */
	uint8_t id_length;
	uint8_t key_length;
	uint8_t flags; /* KEYCACHE_ENROLLED, and of KEYCACHE_RESTRICTIONS and KEYCACHE_GETTABLE (which needs ALLOW_GET as well) */
	uint8_t at_once; /* 1: no previous key stays, whatever the command says; 0 */
	uint8_t reserved[2];
	/*
	 * Higher than that of the client's enrolment before; and if the client has no enrolled key, than that of every enrolled key
	 * that was ever removed. So no enrolment is good twice.
	 */
	uint64_t serial;
	uint8_t id[KEYCACHE_ID_BYTES]; /* zeros behind the id */
	uint8_t device[32];            /* SHA-256 of the TA's point: no other TA takes it */
	/* WRAPPED: the ephemeral one; GENERATED: the client's, to whom the key is handed over, or zeros: to nobody. */
	uint8_t point[KEYCACHE_POINT_BYTES];
	/*
	 * WRAPPED: the key and zeros behind it, sealed for the TA's point; else zeros. info and additional data: all before the
	 * nonce.
	 */
	uint8_t nonce[KEYCACHE_NONCE_BYTES];
	uint8_t sealed[KEYCACHE_KEY_BYTES];
	uint8_t tag[KEYCACHE_TAG_BYTES];
	uint8_t signature[KEYCACHE_SIGNATURE_BYTES]; /* of all before it */
	uint8_t end[4];                              /* zeros: the size is a multiple of eight */
};

enum keycache_enrolment_kind { KEYCACHE_WRAPPED = 1, KEYCACHE_GENERATED };

/*
 * A generated key, sealed for the client's point. info and additional data: the enrolment without its signature, and `point`. Z is
 * followed by the ECDH of the TA's own pair and the client's point: else the normal world could hand over a key of its own.
 */
struct keycache_handover {
	uint8_t point[KEYCACHE_POINT_BYTES]; /* the ephemeral one */
	uint8_t nonce[KEYCACHE_NONCE_BYTES];
	uint8_t sealed[KEYCACHE_KEY_BYTES];
	uint8_t tag[KEYCACHE_TAG_BYTES];
};

/*
 * What BACKUP gives at a time, a part: this, and keys that are sealed for the authority's backup point. info: all before the tag.
 * Anybody can seal for a point; so that a backup is known to be this TA's, Z is followed by the ECDH of the TA's own pair and the
 * backup point. A backup is all parts of its number, from 0 to the last one.
 */
struct keycache_backup {
	uint8_t format; /* KEYCACHE_BACKUP_FORMAT */
	uint8_t last;   /* 1: no part follows; 0 */
	uint8_t reserved[6];
	uint32_t count;                        /* of struct keycache_saved, which follow */
	uint32_t part;                         /* 0, 1, ... */
	uint8_t number[KEYCACHE_NUMBER_BYTES]; /* random: the same in all parts of a backup, and in no others */
	uint8_t device[32];
	uint8_t point[KEYCACHE_POINT_BYTES]; /* the ephemeral one, of this part alone */
	/* Of no text, all before it as additional data, and a nonce of twelve bytes 255: a part without keys is the TA's own, too. */
	uint8_t tag[KEYCACHE_TAG_BYTES];
};

#define KEYCACHE_BACKUP_FORMAT 2 /* 1: its parts did not say of which backup they were */

struct keycache_saved {
	uint8_t id_length; /* with KEYCACHE_PREVIOUS, if it is that */
	uint8_t key_length;
	uint8_t flags;
	uint8_t reserved;
	uint32_t number; /* 0, 1, ... in this part: its little-endian bytes and eight zeros are the nonce */
	uint64_t serial; /* of its enrolment, or 0 */
	uint8_t id[KEYCACHE_ID_BYTES];
	uint8_t sealed[KEYCACHE_KEY_BYTES]; /* additional data: what the tag above is of, and all before of this */
	uint8_t tag[KEYCACHE_TAG_BYTES];
};

/* Counts go on from the TA's start; what is configured anew does not clear them. */
struct keycache_stats {
	uint64_t hits;
	uint64_t misses;       /* commands that were answered KEYCACHE_MISS */
	uint64_t record_opens; /* keys that a record gave */
	uint64_t slow_reads;   /* keys that were read from secure storage */
	uint64_t slow_writes;  /* SET, DELETE, FLUSH */
	uint64_t index_reads;  /* buckets read because the index did not have them */
	uint64_t stale;
	uint64_t forged;
	uint64_t rolled_back; /* secure storage that was found older than the TA remembers */
	uint64_t evictions;
	uint64_t failed_flushes; /* writes of relaxed SETs that failed: these wait on */
	uint64_t use_denied;     /* commands and receivers that were answered KEYCACHE_USE_DENIED */
	uint32_t clients;        /* that have a key */
	uint32_t previous;       /* of them, how many have a previous one */
	uint32_t enrolled;       /* that are */
	uint32_t wearing;        /* that have sealed three quarters of what they may, or are worn out, */
	uint32_t worn;           /* and those that are */
	uint32_t cached;
	uint32_t capacity;    /* keys that the cache's bound holds */
	uint32_t cache_bytes; /* of the bound that are taken */
	uint32_t index_bytes; /* of the index's bound that are taken */
	uint32_t index_bound;
	uint32_t waiting;      /* relaxed SETs that are not written */
	uint32_t lost_buckets; /* of KEYCACHE_BUCKETS, that can not be read: see KEYCACHE_REPAIR */
};

/* How clients are spread over the objects of secure storage. */
#define KEYCACHE_BUCKETS 64
#define KEYCACHE_BUCKET_SLOTS 2048 /* at most in each */

#endif /* KEYCACHE_TA_H */
