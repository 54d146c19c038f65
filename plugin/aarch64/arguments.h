/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin was told on QEMU's command line. */
#ifndef WORLDWISE_ARGUMENTS_H
#define WORLDWISE_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct arguments {
	bool stack_mode;         /* mode=stack; else mode=count */
	bool no_monitor;         /* monitor=no: the machine has no EL3 */
	bool sampling;           /* sampling=yes: long passes are sampled; else all runs through the models of cores */
	uint64_t task_switch;    /* address of Linux's cpu_switch_to; of this and the next three, 0 for none */
	uint64_t task_name;      /* address of Linux's __set_task_comm */
	uint64_t thread_suspend; /* address of OP-TEE's thread_state_suspend */
	uint64_t thread_resume;  /* address of OP-TEE's thread_resume */
	uint64_t witness;        /* instructions between two samples of the stack in memory; 0 for none */
	uint64_t max_events;     /* recorded of one outermost pass at most */
	uint64_t passes;         /* of a mark that are followed; 0 for all */
	uint64_t entry;          /* where the program whose calls are regions begins, in user space; 0 for none */
	uint64_t ta_entry;       /* of the TA that is watched, as it was linked: its first instruction, */
	uint64_t ta_word;        /* the word that is there, */
	uint64_t ta_heap;        /* its heap; 0 if nobody knows where that is */
	uint64_t ta_heap_bytes;  /* and how large; */
	uint64_t ta_stack;       /* the bytes of its stack; 0 for no TA */
	uint64_t ta_calls;   /* the number of the first of three regions, what TAs ask of other TAs; 0 for none, and */
	uint64_t ta_opens;   /* where OP-TEE's core has its system calls for it: a session, */
	uint64_t ta_invokes; /* a command, */
	uint64_t ta_closes;  /* and the session's end */
	uint64_t *calls;     /* its functions whose calls are regions */
	unsigned int calls_count;
	bool watches; /* calls or labels (labels.h) are regions */
};

/* Does not change once arguments_read() has returned. */
extern struct arguments arguments;

/*
 * Reads `count` arguments of the form KEY=VALUE, opens the output (trace.h) and reads the functions (functions.h) that
 * they name. False, with the reason and the list of arguments on stderr, if one is not understood or a file cannot be
 * read or created. What was opened before then stays open: QEMU ends.
 */
bool arguments_read(int count, char **texts);

/* Prints the list of arguments to stderr. */
void arguments_usage(void);

#endif /* WORLDWISE_ARGUMENTS_H */
