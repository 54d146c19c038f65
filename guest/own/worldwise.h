/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks a region of your own code for worldwise: copy this file to your sources, and write
 *
 *	WORLDWISE_BEGIN("sign");
 *	...
 *	WORLDWISE_END("sign");
 *
 * C99 or C++, with GCC or Clang, for AArch64, Armv7-A and Cortex-M; elsewhere both are nothing. The name is a string
 * literal. Marks stand in one another, and one name may stand in many places. The region is what is executed between
 * the two in one thread.
 *
 * On hardware a mark is a branch to the next instruction and a hint that nobody has given a meaning, which every core
 * executes as NOP (Arm ARM, HINT): #98 begins and #99 ends; of the 16-bit hints, which cores without the wide ones have,
 * 0xbfe0 and 0xbff0. The branch is there so that an emulator begins a block at the hint. No register changes, and no
 * memory is taken: names and places stand in a section that is not loaded, as debug information does.
 */
#ifndef WORLDWISE_H
#define WORLDWISE_H

#if defined(__aarch64__)
#define WORLDWISE_NONE_ "R_AARCH64_NONE"
#define WORLDWISE_PLACE_ ".8byte"
#define WORLDWISE_HINT_BEGIN_ "hint #98"
#define WORLDWISE_HINT_END_ "hint #99"
#elif defined(__arm__) && defined(__thumb2__)
#define WORLDWISE_PLACE_ ".4byte"
#define WORLDWISE_HINT_BEGIN_ ".inst.w 0xf3af8062"
#define WORLDWISE_HINT_END_ ".inst.w 0xf3af8063"
#elif defined(__arm__) && defined(__thumb__)
#define WORLDWISE_PLACE_ ".4byte"
#define WORLDWISE_HINT_BEGIN_ ".inst.n 0xbfe0"
#define WORLDWISE_HINT_END_ ".inst.n 0xbff0"
#elif defined(__arm__)
#define WORLDWISE_PLACE_ ".4byte"
#define WORLDWISE_HINT_BEGIN_ ".inst 0xe320f062"
#define WORLDWISE_HINT_END_ ".inst 0xe320f063"
#endif

#if defined(WORLDWISE_PLACE_) && !defined(WORLDWISE_NONE_)
#define WORLDWISE_NONE_ "R_ARM_NONE"
#endif

#if defined(WORLDWISE_PLACE_)
/* Its lines are no measure of its size. */
#if (defined(__clang__) && __clang_major__ >= 11) || (!defined(__clang__) && __GNUC__ >= 9)
#define WORLDWISE_ASM_ __asm__ __volatile__ __inline__
#else
#define WORLDWISE_ASM_ __asm__ __volatile__
#endif
/* The relocation does nothing but refer to the section: --gc-sections drops what no code refers to. */
#define WORLDWISE_MARK_(hint, kind, name)                                                                              \
	WORLDWISE_ASM_("b 1f\n1:\t" hint "\n\t.reloc 1b, " WORLDWISE_NONE_                                             \
		       ", 2f\n\t.pushsection .worldwise, \"\", %%progbits\n2:\t" WORLDWISE_PLACE_ " 1b\n\t.byte " kind \
		       "\n\t.asciz \"" name "\"\n\t.popsection" : : : "memory")
#define WORLDWISE_BEGIN(name) WORLDWISE_MARK_(WORLDWISE_HINT_BEGIN_, "1", name)
#define WORLDWISE_END(name) WORLDWISE_MARK_(WORLDWISE_HINT_END_, "2", name)
#else
#define WORLDWISE_BEGIN(name) ((void)(name))
#define WORLDWISE_END(name) ((void)(name))
#endif

#endif /* WORLDWISE_H */
