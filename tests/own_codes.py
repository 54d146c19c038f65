# SPDX-License-Identifier: BSD-2-Clause
"""Programs and applications of strangers, for the tests of own code: small, and each does what the name says."""

from collections.abc import Sequence
from pathlib import Path

from worldwise.base.paths import GUEST
from worldwise.lab.lab import Lab

# What a user copies to his sources.
HEADER = (GUEST / "own" / "worldwise.h").read_text(encoding="ascii")

# `work` is called three times a start and calls nobody; `climb` calls itself; `jump` is left by longjmp; `last` ends
# the program, and so does main by its return if there is no argument.
PROGRAM = """
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf back;
__attribute__((noinline)) static int work(int turns)
{
	volatile int sum = 0;
	for (int i = 0; i < turns; i++)
		sum += i * i;
	return sum;
}
__attribute__((noinline)) int climb(int n) { return n < 2 ? n : climb(n - 1) + climb(n - 2); }
__attribute__((noinline)) void jump(int n) { if (n) longjmp(back, 1); }
__attribute__((noinline)) void last(void) { exit(0); }
int never(void) { return 1; }
int main(int argc, char **argv)
{
	int found = work(40) + work(40) + work(40) + climb(9);
	if (!setjmp(back))
		jump(1);
	jump(0);
	printf("%d %s\\n", found, argv[argc - 1]);
	if (argc > 1)
		last();
	return 0;
}
"""
# Symbols as those of C++ and Rust; `fold` is in its callers, and so is `lone`, which has a symbol too.
NAMED = """
#include <stdio.h>
int sound(int n) __asm__("_ZN3web4Ping5soundEi");
int sign(int n) __asm__("_ZN4p2565ecdsa4sign17h1a2b3c4d5e6f7a8bE");
__attribute__((always_inline)) static inline int fold(int n) { return n * n + 1; }
int lone(int n) { return fold(n) ^ 3; }
__attribute__((noinline)) int sound(int n) { return lone(n) * fold(n + 1); }
__attribute__((noinline)) int sign(int n) { int sum = n; for (int i = 0; i < 9; i++) sum += sound(i); return sum; }
int main(int argc, char **argv) { (void)argv; printf("%d\\n", sign(argc)); return 0; }
"""
# `pair` has two `work`; it reads the counter around each of them, and prints what that says.
MARKED = """
#include <stdint.h>
#include <stdio.h>
#include "worldwise.h"
static inline uint64_t now(void) { uint64_t t; __asm__ volatile("isb\\n\\tmrs %0, cntvct_el0" : "=r"(t)); return t; }
static volatile int sum;
static inline void work(int turns)
{
	WORLDWISE_BEGIN("work");
	for (int i = 0; i < turns; i++)
		sum += i;
	WORLDWISE_END("work");
}
int main(void)
{
	uint64_t taken[2];
	WORLDWISE_BEGIN("a pair");
	for (int i = 0; i < 2; i++) {
		uint64_t begin = now();
		work(5 + i);
		taken[i] = now() - begin;
	}
	WORLDWISE_END("a pair");
	printf("%d %d\\n", (int)taken[0], (int)taken[1]);
	return 0;
}
"""
CRASHES = '#include <stdio.h>\nint main(void) { puts("now it falls"); return *(volatile int *)8; }\n'
SLEEPS = "#include <unistd.h>\nint main(void) { return (int)sleep(1); }\n"
THREADS = """
#include <pthread.h>
#include <sched.h>
__attribute__((noinline)) void *both(void *of) { for (int i = 0; i < 50; i++) sched_yield(); return of; }
int main(void)
{
	pthread_t one, other;
	if (pthread_create(&one, 0, both, 0) || pthread_create(&other, 0, both, 0))
		return 2;
	pthread_join(one, 0);
	return pthread_join(other, 0);
}
"""
# Its child makes a child of its own, which becomes the program again with two arguments and calls `work`.
FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
__attribute__((noinline)) int parent(char *name)
{
	int status;
	if (!fork()) {
		execl(name, name, "again", "and again", (char *)NULL);
		_exit(3);
	}
	return wait(&status) > 0 && !status;
}
int main(int argc, char **argv)
{
	int found = work(50);
	if (argc > 2)
		return found != 1225;
	return !parent(argv[0]);
}
"""
# `work` is interrupted by a signal that it sends itself, and whose handler calls `handle`.
SIGNALS = """
#include <signal.h>
#include <stdio.h>
static volatile int sum;
__attribute__((noinline)) void handle(int number) { for (int i = 0; i < 20; i++) sum += number; }
__attribute__((noinline)) int work(int n)
{
	for (int i = 0; i < n; i++) {
		sum += i;
		if (i == n / 2)
			raise(SIGUSR1);
	}
	return sum;
}
int main(void) { signal(SIGUSR1, handle); printf("%d\\n", work(30)); return 0; }
"""

# `crypto_sign` calls `mix` and is interrupted by SysTick; `quiet` is not. It ends by semihosting.
FIRMWARE = """
#include "worldwise.h"
typedef unsigned int word;
extern word stack_top;
void reset(void);
static volatile word ticks;
void tick(void) { ticks++; }
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
	&stack_top, (void *)reset, [15] = (void *)tick
};
__attribute__((noinline)) word mix(word of) { for (word i = 0; i < 20; i++) of = of * 1664525 + i; return of; }
__attribute__((noinline)) word quiet(word of) { for (volatile word i = 0; i < 10; i++) of ^= i; return of; }
__attribute__((noinline)) word crypto_sign(word of)
{
	WORLDWISE_BEGIN("rounds");
	for (word i = 0; i < 50; i++)
		of ^= mix(of + i);
	WORLDWISE_END("rounds");
	return of;
}
__attribute__((noinline)) void done(void) { __asm__ volatile(""); }
static void end(void)
{
	register word call __asm__("r0") = 0x18;
	register word why __asm__("r1") = 0x20026;
	__asm__ volatile("bkpt #0xab" : "+r"(call) : "r"(why) : "memory");
}
int main(void)
{
	word found = quiet(3);
	*(volatile word *)0xe000e014 = 1999;
	*(volatile word *)0xe000e018 = 0;
	*(volatile word *)0xe000e010 = 7;
	found ^= crypto_sign(1);
	found ^= crypto_sign(2);
	*(volatile word *)0xe000e010 = 0;
	done();
	return (int)(found + ticks);
}
void reset(void) { main(); end(); for (;;) ; }
"""
# Two tasks, each with a stack of its own: SysTick asks for a change of tasks, and PendSV makes it. The first call of
# `job` comes before all ticks; while the other five are at work, the other task runs in between.
TASKS = """
typedef unsigned int word;
extern word stack_top;
void reset(void);
#define AT(address) (*(volatile word *)(address))
static word stacks[2][128], *saved[2], running;
static volatile word ticks, spun;
void tick(void) { ticks++; AT(0xe000ed04) = 1u << 28; }
__attribute__((noinline, used)) word *next(word *stack)
{
	saved[running] = stack;
	running ^= 1;
	return saved[running];
}
__attribute__((naked)) void change(void)
{
	__asm__("mrs r0, psp\\n\\tstmdb r0!, {r4-r11}\\n\\tpush {r3, lr}\\n\\tbl next\\n\\tpop {r3, lr}\\n\\t"
		"ldmia r0!, {r4-r11}\\n\\tmsr psp, r0\\n\\tbx lr");
}
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
	&stack_top, (void *)reset, [14] = (void *)change, [15] = (void *)tick
};
__attribute__((noinline)) word mix(word of) { for (word i = 0; i < 20; i++) of = of * 1664525 + i; return of; }
__attribute__((noinline)) word job(word of)
{
	/* Each call is one of its own, though nothing it reads has changed. */
	__asm__ volatile("");
	for (word i = 0; i < 50; i++)
		of ^= mix(of + i);
	return of;
}
__attribute__((noinline)) void spin(void) { spun++; }
void beside(void) { for (;;) spin(); }
static void end(void)
{
	register word call __asm__("r0") = 0x18;
	register word why __asm__("r1") = 0x20026;
	__asm__ volatile("bkpt #0xab" : "+r"(call) : "r"(why) : "memory");
}
void worker(void)
{
	word found = 0;
	for (int i = 0; i < 5; i++)
		found ^= job(1);
	AT(0xe000e010) = 0;
	spun ^= found;
	end();
}
int main(void)
{
	word *top = &stacks[1][128 - 16];
	spun = job(1) ? 0 : 1;
	top[14] = (word)beside & ~1u;
	top[15] = 1u << 24;
	saved[1] = top;
	AT(0xe000ed20) = 0xffu << 16;
	AT(0xe000e014) = 1999;
	AT(0xe000e018) = 0;
	AT(0xe000e010) = 7;
	__asm__ volatile("msr psp, %0\\n\\tmsr control, %1\\n\\tisb" : : "r"(&stacks[0][128]), "r"(2) : "memory");
	worker();
	return 0;
}
void reset(void) { main(); for (;;) ; }
"""
# What begins and ends where nothing is called: marks between loops of few instructions; `polled`, which reads memory
# before its second loop, where a device ends the block and the branch at that block's end goes to; and `last_steps`,
# into which `reset` runs on.
PLAIN = """
#include "worldwise.h"
typedef unsigned int word;
extern word stack_top;
void reset(void);
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = { &stack_top, (void *)reset };
static word memory;
#define TURN(n) { word left = n; __asm__ volatile("1: subs %0, #1\\n\\tbne 1b" : "+r"(left) : : "cc"); }
__attribute__((noinline)) void parts(void)
{
	for (int i = 0; i < 40; i++) {
		TURN(9)
		WORLDWISE_BEGIN("part");
		for (int j = 0; j < 4; j++) {
			TURN(7)
			WORLDWISE_BEGIN("part");
			TURN(3)
			WORLDWISE_END("part");
		}
		WORLDWISE_END("part");
		TURN(5)
	}
}
__attribute__((naked, noinline)) void polled(word *at, word times)
{
	__asm__("movs r2, #3\\n0: subs r2, #1\\n\\tbne 0b\\n\\t"
		"movs r2, #0\\n\\tldr r3, [r0]\\n1: subs r1, #1\\n\\tbne 1b\\n\\tbx lr");
}
__attribute__((noinline)) void three(word *at)
{
	polled(&memory, 50);
	polled(at, 50);
	polled(&memory, 50);
}
void reset(void)
{
	register word call __asm__("r0") = 0x18;
	register word why __asm__("r1") = 0x20026;
	parts();
	three(&memory);
	three((word *)0xe000e018);
	TURN(30)
	__asm__ volatile(".global last_steps\\n.type last_steps, %%function\\nlast_steps: movs r0, #30\\n\\t"
		"2: subs r0, #1\\n\\tbne 2b\\n\\tmovs r0, #0x18" : "+r"(call) : "r"(why) : "memory", "cc");
	__asm__ volatile("bkpt #0xab" : "+r"(call) : "r"(why) : "memory");
	for (;;) ;
}
"""
# Benchmarks laid out as Zephyr's ztest has them: two suites, `ring.turn` of a newer release and `turn` of an older one;
# `timed` is in a list of its own, with its duration in front. `stray` is in no list, and has no suite.
BENCHMARKS = """
typedef unsigned int word;
extern word stack_top;
void reset(void);
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = { &stack_top, (void *)reset };
static volatile word sum;
#define BENCHMARK(name, turns) \\
	__attribute__((noinline, used)) void name(void) { for (word i = 0; i < turns; i++) sum += i; }
BENCHMARK(z_ztest_benchmark_ring_turn_fn, 10)
BENCHMARK(turn_fn, 20)
BENCHMARK(z_ztest_benchmark_ring_spin_fn, 30)
BENCHMARK(stray_fn, 40)
#define OBJECT(name, words) ".type " name ", %object\\n" name ": .word " words "\\n.size " name ", . - " name "\\n"
__asm__(".section .rodata.lists\\n.align 3\\n"
	".global _ztest_benchmark_suite_list_start, _ztest_benchmark_suite_list_end\\n"
	".global _ztest_benchmark_list_start, _ztest_benchmark_list_end\\n"
	".global _ztest_benchmark_timed_list_start, _ztest_benchmark_timed_list_end\\n"
	"_ztest_benchmark_suite_list_start:\\n"
	OBJECT("z_ztest_benchmark_suite_ring", "ring_text, 0, 0")
	OBJECT("old", "old_text, 0, 0")
	"_ztest_benchmark_suite_list_end:\\n"
	"_ztest_benchmark_list_start:\\n"
	OBJECT("z_ztest_benchmark_ring_turn", "turn_text, 3, 0, z_ztest_benchmark_ring_turn_fn, 0, 0, "
		"z_ztest_benchmark_suite_ring")
	OBJECT("turn", "turn_text, 2, stray_fn, turn_fn, stray_fn, old")
	"_ztest_benchmark_list_end:\\n"
	"_ztest_benchmark_timed_list_start:\\n"
	OBJECT("z_ztest_benchmark_timed_ring_spin", "2, spin_text, 0, z_ztest_benchmark_ring_spin_fn, 0, "
		"z_ztest_benchmark_suite_ring")
	"_ztest_benchmark_timed_list_end:\\n"
	OBJECT("stray", "turn_text, 1, 0, stray_fn, 0, old")
	"ring_text: .asciz \\"ring\\"\\nold_text: .asciz \\"old\\"\\n"
	"turn_text: .asciz \\"turn\\"\\nspin_text: .asciz \\"spin\\"\\n"
	".text\\n");
int main(void)
{
	for (int i = 0; i < 3; i++)
		z_ztest_benchmark_ring_turn_fn();
	for (int i = 0; i < 2; i++)
		turn_fn();
	for (int i = 0; i < 4; i++)
		z_ztest_benchmark_ring_spin_fn();
	stray_fn();
	return 0;
}
void reset(void)
{
	main();
	register word call __asm__("r0") = 0x18;
	register word why __asm__("r1") = 0x20026;
	__asm__ volatile("bkpt #0xab" : "+r"(call) : "r"(why) : "memory");
	for (;;) ;
}
"""
LINKED = """
MEMORY { code (rx) : ORIGIN = 0, LENGTH = 256K  ram (rw) : ORIGIN = 0x20000000, LENGTH = 16K }
SECTIONS { .text : { *(.vectors) *(.text*) *(.rodata*) } > code  .bss : { *(.data*) *(.bss*) } > ram
stack_top = 0x20004000; }
"""

UUID = "5b9e0e40-2636-11e1-ad9e-0002a5d5c51b"
# The entry points of a TA that has nothing to do but its commands.
TA_ENTRIES = """\
TEE_Result TA_CreateEntryPoint(void) { return TEE_SUCCESS; }
void TA_DestroyEntryPoint(void) { }
TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[4], void **session)
{
	(void)types; (void)params; (void)session;
	return TEE_SUCCESS;
}
void TA_CloseSessionEntryPoint(void *session) { (void)session; }
"""
APPLICATION = {
    "host/Makefile": """
CC ?= $(CROSS_COMPILE)gcc
own_client: main.c
\t$(CC) -Wall -g -I../ta -I$(TEEC_EXPORT)/include -o $@ $< -lteec -L$(TEEC_EXPORT)/lib
""",
    "host/main.c": """
#include <stdio.h>
#include <tee_client_api.h>
#include "own.h"
#include "worldwise.h"
int main(void)
{
	TEEC_Context context;
	TEEC_Session session;
	TEEC_Operation operation = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INOUT, 0, 0, 0) };
	TEEC_UUID uuid = OWN_UUID;
	uint32_t origin;
	if (TEEC_InitializeContext(NULL, &context) ||
		TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, &origin))
		return 1;
	operation.params[0].value.a = 20;
	WORLDWISE_BEGIN("twice");
	for (int i = 0; i < 2; i++)
		if (TEEC_InvokeCommand(&session, 3, &operation, &origin))
			return 2;
	WORLDWISE_END("twice");
	if (TEEC_InvokeCommand(&session, 7, &operation, &origin))
		return 3;
	printf("%u\\n", operation.params[0].value.a);
	TEEC_CloseSession(&session);
	TEEC_FinalizeContext(&context);
	return 0;
}
""",
    "ta/Makefile": f"CFG_TEE_TA_LOG_LEVEL ?= 2\nBINARY = {UUID}\n-include $(TA_DEV_KIT_DIR)/mk/ta_dev_kit.mk\n",
    "ta/worldwise.h": HEADER,
    "host/worldwise.h": HEADER,
    "ta/sub.mk": "srcs-y += own_ta.c\n",
    "ta/own.h": "#define OWN_UUID { 0x5b9e0e40, 0x2636, 0x11e1, { 0xad, 0x9e, 0x00, 0x02, 0xa5, 0xd5, 0xc5, 0x1b } }\n",
    "ta/user_ta_header_defines.h": (
        '#include "own.h"\n#define TA_UUID OWN_UUID\n#define TA_FLAGS 0\n#define TA_STACK_SIZE 2048\n'
        "#define TA_DATA_SIZE 32768\n"
    ),
    "ta/own_ta.c": """
#include <tee_internal_api.h>
#include "worldwise.h"
#define ROOM 2500
#define PIECE 5000
"""
    + TA_ENTRIES
    + """__attribute__((noinline)) static TEE_Result take(uint32_t fill)
{
	volatile char room[ROOM];
	void *piece = TEE_Malloc(PIECE, 0);
	WORLDWISE_BEGIN("fill");
	TEE_MemFill((void *)room, (uint8_t)fill, sizeof(room));
	WORLDWISE_END("fill");
	if (!piece)
		return TEE_ERROR_OUT_OF_MEMORY;
	TEE_Free(piece);
	return TEE_SUCCESS;
}
TEE_Result TA_InvokeCommandEntryPoint(void *session, uint32_t command, uint32_t types, TEE_Param params[4])
{
	(void)session; (void)types;
	for (uint32_t i = 0; i < command; i++)
		params[0].value.a += i;
	return command == 7 ? take(params[0].value.a) : TEE_SUCCESS;
}
""",
}


def compiled(
    lab: Lab, folder: Path, name: str, source: str, *flags: str, compiler: str = "aarch64-linux-gnu-gcc"
) -> Path:
    """A program for AArch64, or whatever the compiler compiles for, compiled in the lab."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    (folder / f"{name}.c").write_text(source)
    (folder / "worldwise.h").write_text(HEADER)
    command = [compiler, "-O2", "-g", *flags, "-o", f"/made/{name}", f"/made/{name}.c"]
    lab.run(command, binds=[(folder, "/made", "rw")], timeout=60)
    return folder / name


def application(folder: Path, **changed: str) -> tuple[Path, Path]:
    """The folders of a TA and a client; `changed` are other contents by name, __ for a slash, _dot_ for a dot."""
    for name, text in (
        APPLICATION | {key.replace("__", "/").replace("_dot_", "."): changed[key] for key in changed}
    ).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "ta", folder / "host"


def firmware(
    lab: Lab,
    folder: Path,
    name: str = "app.elf",
    core: str = "cortex-m4",
    source: str = FIRMWARE,
    libraries: Sequence[str] = (),
) -> Path:
    """Firmware for a core, linked in the lab."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    (folder / "app.c").write_text(source)
    (folder / "worldwise.h").write_text(HEADER)
    (folder / "app.ld").write_text(LINKED)
    flags = [
        "-O2",
        "-g",
        "-fstack-usage",
        f"-mcpu={core}",
        "-mthumb",
        "-ffreestanding",
        "-nostdlib",
        "-T",
        "/made/app.ld",
    ]
    lab.run(
        ["arm-none-eabi-gcc", *flags, "-o", f"/made/{name}", "/made/app.c", *libraries],
        binds=[(folder, "/made", "rw")],
        timeout=60,
    )
    return folder / name
