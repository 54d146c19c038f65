/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs of boards and of plain Linux have too: operations, known answers, random bytes. */
#include "../../portable/random.c"
#include "../../pqc/known.c"
#include "../../pqc/operations.c"
