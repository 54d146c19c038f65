/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may do what, beyond the one thing that needs no list: to use the key that has one's own name.
 *
 * A file of lines; a word that begins with `#` begins a comment. NAME, KEY, FROM and TO are ids, or the beginning of some ended
 * by `*`. A backslash before `*`, `#` or a backslash makes that a letter of the id:
 *	admin NAME		sets, deletes, lists, asks whether a key exists; uses none
 *	use NAME KEY		may use KEY as if it were its own: a broker, for its clients
 *	reencrypt NAME KEY	may re-encrypt to KEY (what it re-encrypts from must be its own, or to be used)
 *	relay NAME FROM TO	may re-encrypt from FROM to TO, and do nothing else with either: it reads nothing
 *	deny NAME		is refused at the door, whatever its certificate says
 *
 * How long a question takes depends on how many kinds of lines there are (which of their words are patterns, of which length),
 * hardly on how many lines.
 */
#ifndef KEYCACHE_ACL_H
#define KEYCACHE_ACL_H

#include <stdbool.h>
#include <stddef.h>

/* No line says ACL_CHECK: who may relay from a key to any other may ask whether a message of that key is genuine. */
enum acl_right { ACL_ADMIN, ACL_USE, ACL_REENCRYPT, ACL_RELAY, ACL_DENY, ACL_CHECK };

struct acl;

/* NULL as the path: nobody may anything else. `problem` names file, line and what is wrong with it. */
struct acl *acl_read(const char *path, char *problem, size_t size);
void acl_free(struct acl *acl);
/* ACL_ADMIN and ACL_DENY take no key: NULL. ACL_RELAY takes two. */
bool acl_may(const struct acl *acl, enum acl_right right, const char *name, const char *key, const char *to);

#endif /* KEYCACHE_ACL_H */
