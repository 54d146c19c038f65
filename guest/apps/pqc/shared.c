/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs of boards and of plain Linux have too: operations, known answers, random bytes. */
#include "../../operations/random.c"
#include "../../pqc-operations/known.c"
#include "../../pqc-operations/operations.c"
