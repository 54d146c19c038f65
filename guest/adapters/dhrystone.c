/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "dhrystone"
title = "Dhrystone 2.1"
about = "Weicker's benchmark in the BYTE form that U-Boot carries: two files compiled apart, nothing inlined"
licence = "GPL-2.0-or-later"
[source]
debian = "u-boot"
parts = ["lib/dhry"]
[build]
sources = ["lib/dhry/dhry_1.c", "lib/dhry/dhry_2.c"]
include = ["lib/dhry"]
flags = ["-fno-inline", "-fno-ipa-modref", "-include", "string.h"]
[operations]
none = ["dhrystone"]
[needs]
heap = 256
*/
/*
 * Dhrystone's rules are separate compilation and no merging of procedures, hence -fno-inline, and -fno-ipa-modref,
 * without which GCC looks into Proc_2 and drops its call and the loop's one division: this port no longer prints the
 * variables that these set, so one assignment more is dropped than in the original. U-Boot's file counts on another
 * header for strcpy(); it and strcmp() are the C library's, inside the loop, as the rules say, where GCC does not copy
 * the constant strings itself.
 */
#include <stdlib.h>
#include <string.h>

#include "ops.h"

#include "dhry.h"

#define STRING "DHRYSTONE PROGRAM, SOME STRING"

/* dhry_1.c's, which no header of it declares. */
extern Rec_Pointer Ptr_Glob, Next_Ptr_Glob;
extern int Int_Glob;
extern Boolean Bool_Glob;
extern char Ch_1_Glob, Ch_2_Glob;
extern Arr_1_Dim Arr_1_Glob;
extern Arr_2_Dim Arr_2_Glob;

const char ops_name[] = "dhrystone";

int ops_open(void)
{
	return 0;
}

/* What the original prints at its end as "should be", less the main procedure's own variables, which are gone. */
static int as_it_should_be(uint32_t runs)
{
	return Int_Glob == 5 && Bool_Glob == 1 && Ch_1_Glob == 'A' && Ch_2_Glob == 'B' && Arr_1_Glob[8] == 7 &&
	       (uint32_t)Arr_2_Glob[8][7] == runs + 10 && Ptr_Glob->Ptr_Comp == Next_Ptr_Glob &&
	       Ptr_Glob->Discr == Ident_1 && Ptr_Glob->variant.var_1.Enum_Comp == Ident_3 &&
	       Ptr_Glob->variant.var_1.Int_Comp == 17 && !strcmp(Ptr_Glob->variant.var_1.Str_Comp, STRING) &&
	       Next_Ptr_Glob->Ptr_Comp == Next_Ptr_Glob && Next_Ptr_Glob->Discr == Ident_1 &&
	       Next_Ptr_Glob->variant.var_1.Enum_Comp == Ident_2 && Next_Ptr_Glob->variant.var_1.Int_Comp == 18 &&
	       !strcmp(Next_Ptr_Glob->variant.var_1.Str_Comp, STRING);
}

int ops_dhrystone(uint32_t runs)
{
	int wrong;

	/* BYTE's loop begins at 1 and ends before the number it is given: it goes one round less. */
	dhry((int)runs + 1);
	wrong = as_it_should_be(runs) ? 0 : -1;
	free(Ptr_Glob);
	free(Next_Ptr_Glob);
	return wrong;
}
