/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom the TA trusts, and what it does on the authority's word. All pointers are to memory of the TA; results as in keycache_ta.h. */
#ifndef KEYCACHE_ENROL_H
#define KEYCACHE_ENROL_H

#include "keys.h"

void enrol_identity(struct keycache_identity *identity);
TEE_Result enrol_trust(const struct keycache_trust *trust);
/* Whether an enrolment has the form of one, and for whom it is. Nothing is believed yet. */
TEE_Result enrol_look(const struct keycache_enrolment *enrolment, struct id *id, bool *hands_over);
/* Whether enrol_key would take it, as far as the statement decides that. */
TEE_Result enrol_verify(const struct keycache_enrolment *enrolment, const struct id *id);
TEE_Result enrol_key(const struct keycache_enrolment *enrolment, const struct id *id, bool keep,
		     struct records *records, struct keycache_handover *handover);
/* `bytes`: of `out`, which is aligned to 8, at least of a struct keycache_backup and one struct keycache_saved; then how many are used. */
/* *position: 0, or as the part before left it. */
TEE_Result enrol_backup(uint32_t *position, void *out, size_t *bytes);

/* A backup that goes on is at its end. */
void enrol_forget(void);

#endif /* KEYCACHE_ENROL_H */
