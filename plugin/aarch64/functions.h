/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin and end. */
#ifndef WORLDWISE_FUNCTIONS_H
#define WORLDWISE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads a file of pairs of addresses, each 64 bits in the host's byte order: a function's first byte and the byte
 * behind it, in ascending order. False if the file cannot be read or holds something else than pairs.
 */
bool functions_read(const char *path);

/*
 * What stands for a place in the call tree. Calls from one function to another share a node, wherever in it they stand,
 * if it is known which function the place is in: its start then stands for it. Else it stands for itself.
 */
uint64_t functions_site(uint64_t address);

#endif /* WORLDWISE_FUNCTIONS_H */
