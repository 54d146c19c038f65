/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may do what, beyond the one thing that needs no list: to use the key that has one's own name.
 *
 * A file of lines, `#` begins a comment. NAME and KEY are ids, or the beginning of some ended by `*`:
 *	admin NAME		sets, deletes, lists, asks whether a key exists; uses none
 *	use NAME KEY		may use KEY as if it were its own: a broker, for its clients
 *	reencrypt NAME KEY	may re-encrypt to KEY (what it re-encrypts from must be its own, or to be used)
 *	deny NAME		is refused at the door, whatever its certificate says
 */
#ifndef KEYCACHE_ACL_H
#define KEYCACHE_ACL_H

#include <stdbool.h>
#include <stddef.h>

enum acl_right { ACL_ADMIN, ACL_USE, ACL_REENCRYPT, ACL_DENY };

struct acl;

/* NULL as the path: nobody may anything else. `problem` names file, line and what is wrong with it. */
struct acl *acl_read(const char *path, char *problem, size_t size);
void acl_free(struct acl *acl);
bool acl_may(const struct acl *acl, enum acl_right right, const char *name, const char *key);

#endif /* KEYCACHE_ACL_H */
