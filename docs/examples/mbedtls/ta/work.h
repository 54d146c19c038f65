// SPDX-License-Identifier: BSD-2-Clause
// What a program of Linux and a TA both do: four operations of Mbed TLS, on the same keys and the same message.
#ifndef WORK_H
#define WORK_H

// The operations, by their numbers, which are the TA's commands too.
enum { WORK_AES_CBC, WORK_SHA256, WORK_RSA_SIGN, WORK_P256_SIGN, WORKS };

// Does an operation twice: the second time is a warm one. Returns what Mbed TLS does: 0, or a negative number.
int work(unsigned which);

#endif
