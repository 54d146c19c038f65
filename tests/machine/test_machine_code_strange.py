# SPDX-License-Identifier: BSD-2-Clause
"""What own code may look like and do, each as docs/use/your-code.md says what comes of it."""

import fnmatch
from itertools import pairwise
from pathlib import Path

import pytest

import own_codes
from machines import note
from own_explained import explained
from worldwise.base.errors import WorldwiseError
from worldwise.explain.layers import load_rules
from worldwise.explain.own_code import ThreadExplainer
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.records.check import check_records
from worldwise.records.parse import read_records
from worldwise.run.code.application import application
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.program_wrapper import execute
from worldwise.run.code.region_counts import Counter, calls_of, write_records
from worldwise.run.code.repository.benchmarks import count_benchmarks
from worldwise.targets.own_code import machine_of

READS = """
#include <stdio.h>
int main(void)
{
	char of[99], in[99];
	FILE *file = fopen("file", "r");
	if (!file || !fgets(of, 99, file) || !fgets(in, 99, stdin))
		return 1;
	printf("%s%s", of, in);
	return 3;
}
"""
COLOURED = """
#include <stdio.h>
int main(void) { puts("\\033[31mred\\007"); fflush(stdout); return *(volatile int *)8; }
"""
FALLS = """
#include <pthread.h>
#include <stdlib.h>
__attribute__((noinline)) void *fall(void *of) { *(volatile int *)16 = 1; return of; }
__attribute__((noinline)) int step(int n) { return fall(&n) != &n; }
__attribute__((noinline)) int give(int n) { if (n) abort(); return n; }
__attribute__((noinline)) int strange(int n) { __asm__ volatile(NONE); return n; }
int main(int argc, char **argv)
{
	pthread_t other;
	(void)argc;
	switch (*argv[1]) {
	case 's': return step(1) + 1;
	case 'a': return give(1) + 1;
	case 'i': return strange(1) + 1;
	default: pthread_create(&other, 0, fall, 0); return pthread_join(other, 0);
	}
}
"""
TALKS = """
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
static struct sockaddr_in place;
__attribute__((noinline)) int talk(int back)
{
	char said[5] = "ping";
	int one = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(one, (struct sockaddr *)&place, sizeof(place)) || write(one, said, 4) != 4)
		return 1;
	return read(one, said, 4) != 4 || memcmp(said, "pong", 4) || close(one) || back;
}
int main(void)
{
	int one = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	place.sin_family = AF_INET;
	place.sin_port = htons(7777);
	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(one, (struct sockaddr *)&place, sizeof(place)) || listen(one, 1))
		return 9;
	if (!fork()) {
		char said[4];
		int other = accept(one, 0, 0);
		return read(other, said, 4) != 4 || write(other, "pong", 4) != 4;
	}
	if (talk(0))
		return 1;
	wait(0);
	return 0;
}
"""
# It lists and runs as Google Benchmark does, under its symbols.
BENCHMARKS = """
#include <stdio.h>
#include <string.h>
int run(int argc, char **argv) __asm__("_ZN9benchmark22RunSpecifiedBenchmarksEv");
static volatile int sum;
__attribute__((noinline)) void BM_Sum(int n) { for (int i = 0; i < n; i++) sum += i; }
int run(int argc, char **argv)
{
	const char *filter = argc > 1 ? argv[1] : "";
	if (!strcmp(filter, "--benchmark_list_tests"))
		return puts("BM_Sum/8\\nBM_Sum/64\\nBM_Gone") < 0;
	if (argc < 3 || strcmp(argv[2], "--benchmark_min_time=1x"))
		return 1;
	if (!strcmp(filter, "--benchmark_filter=^BM_Sum/8$"))
		BM_Sum(8);
	if (!strcmp(filter, "--benchmark_filter=^BM_Sum/64$"))
		BM_Sum(64);
	return 0;
}
int main(int argc, char **argv) { return run(argc, argv); }
"""
# Its list is longer than anybody reads, and names are no names.
LISTS = """
#include <stdio.h>
int run(void) __asm__("_ZN9benchmark22RunSpecifiedBenchmarksEv");
int run(void)
{
	puts("BM_\\033[31m\\a");
	for (int i = 0; i < 1000000; i++)
		putchar('x');
	for (int i = 0; i < 20000; i++)
		printf("\\nBM_%d", i);
	return puts("") < 0;
}
int main(void) { return run(); }
"""
NEVER_ENDS = 'int main(void) { for (;;) __asm__ volatile(""); }\n'
WRITES = """
#include <stdio.h>
static char piece[65536];
int main(void) { for (int i = 0; i < 2000; i++) fwrite(piece, 1, sizeof(piece), stdout); return 0; }
"""


def counts(ready: Ready, region: str) -> list[int]:
    """The instructions of the calls of a region."""
    manifest = ready.code.manifest
    calls, _ = calls_of(ready.counted.trace, manifest.addresses, manifest.regions[region])
    return [one.instructions for one in calls]


@pytest.mark.parametrize("flags", [("-static",), ("-static-pie",), ("-no-pie",)], ids=" ".join)
def test_however_it_is_linked_a_function_has_the_same_count(
    lab: Lab, images: ImageStore, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """As the linker makes it by default: a dynamic program at any address."""
    found = []
    for number, given in enumerate([flags, ()]):
        program = own_codes.compiled(lab, tmp_path / str(number), "linked", own_codes.PROGRAM, *given)
        found.append(prepare(Wanted(program, (), ("work",), 2), images, Emulator(lab, note), note))
    assert counts(found[0], "work") == counts(found[1], "work")
    assert len(counts(found[0], "work")) == 6


def test_what_another_process_executes_is_in_the_region(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """After fork and exec; its own calls of `work` are none, as it is another process."""
    program = own_codes.compiled(lab, tmp_path / "made", "forks", own_codes.FORKS)
    ready = prepare(Wanted(program, (), ("work", "parent"), 2), images, Emulator(lab, note), note)
    assert {name: len(counts(ready, name)) for name in ready.code.manifest.regions} == {"work": 2, "parent": 2}
    assert counts(ready, "parent")[1] > 50 * counts(ready, "work")[1]


@pytest.mark.parametrize("architecture", ["aarch64-linux-gnu", "arm-linux-gnueabihf"])
def test_a_program_that_needs_a_network_has_a_loopback_interface(
    lab: Lab, images: ImageStore, tmp_path: Path, architecture: str
) -> None:
    """And no other: without being asked for there is none, so that nothing of it is in a count."""
    program = own_codes.compiled(lab, tmp_path / "made", "talks", TALKS, compiler=f"{architecture}-gcc")
    executed = execute(Wanted(program, loopback=True), images, Emulator(lab, note))
    assert executed.status == 0
    assert execute(Wanted(program), images, Emulator(lab, note)).status == 1
    if architecture == "aarch64-linux-gnu":
        ready = prepare(Wanted(program, (), ("talk",), 3, loopback=True), images, Emulator(lab, note), note)
        assert ready.code.manifest.loopback
        first, *warm = counts(ready, "talk")
        assert 2_000 < min(warm) <= max(warm) < 2 * first


def test_each_benchmark_of_a_harness_is_a_case_by_its_name(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, a user copies names and commands by hand, or one that cannot be counted takes the others along."""
    program = own_codes.compiled(lab, tmp_path / "made", "benches", BENCHMARKS)
    emulator = Emulator(lab, note)
    counted = count_benchmarks(Wanted(program, lives=2), ("*",), images, emulator)
    assert counted.harness.name == "Google Benchmark"
    short, long = (counts(one.ready, "BM_Sum") for one in counted.found)
    assert [one.ready.cases[0].id for one in counted.found] == ["own/bm-sum-8/BM_Sum", "own/bm-sum-64/BM_Sum"]
    # A turn of the loop is the same in both.
    assert short[0] == short[1]
    assert (long[0] - short[0]) % (64 - 8) == 0 < long[0] - short[0]
    assert [*counted.refused] == ["BM_Gone"]
    allowed = r"--benchmark 'BM_Sun' is not known\. Allowed: BM_Sum/8, BM_Sum/64, BM_Gone\."
    with pytest.raises(WorldwiseError, match=allowed):
        count_benchmarks(Wanted(program, lives=2), ("BM_Sun",), images, emulator)
    plain = own_codes.compiled(lab, tmp_path / "made", "plain", own_codes.PROGRAM)
    with pytest.raises(WorldwiseError, match="has no benchmarks that worldwise knows"):
        count_benchmarks(Wanted(plain, lives=2), ("*",), images, emulator)


def test_a_list_of_benchmarks_is_a_strangers_text(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """If this fails, a program's list fills the terminal or moves its cursor, or starts thousands of machines."""
    wanted = Wanted(own_codes.compiled(lab, tmp_path / "made", "lists", LISTS), lives=2)
    emulator = Emulator(lab, note)
    with pytest.raises(WorldwiseError) as none:
        count_benchmarks(wanted, ("none",), images, emulator)
    assert r"Allowed: BM_\x1b[31m\x07, xxx" in none.value.message
    assert len(none.value.message) < 20_000
    with pytest.raises(WorldwiseError, match=r"9,998 benchmarks have such names\. Allowed: up to 100"):
        count_benchmarks(wanted, ("BM_[0-9]*",), images, emulator)


def test_the_handler_of_a_signal_is_in_the_region(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """And can be one itself."""
    program = own_codes.compiled(lab, tmp_path / "made", "signals", own_codes.SIGNALS)
    ready = prepare(Wanted(program, (), ("work", "handle"), 2), images, Emulator(lab, note), note)
    assert {name: len(counts(ready, name)) for name in ready.code.manifest.regions} == {"work": 2, "handle": 2}
    assert counts(ready, "work")[1] > counts(ready, "handle")[1] > 20 * 3


def test_the_whole_program_has_all_threads(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Twice the turns in the two threads: more by what they execute."""
    found = []
    for number, source in enumerate((own_codes.THREADS, own_codes.THREADS.replace("i < 50", "i < 100"))):
        program = own_codes.compiled(lab, tmp_path / str(number), "threads", source, "-pthread")
        found.append(prepare(Wanted(program, lives=2), images, Emulator(lab, note), note))
    assert [list(ready.code.manifest.regions) for ready in found] == [["main"], ["main"]]
    few, many = (counts(ready, "main")[1] for ready in found)
    # A system call of each turn, in each of the threads.
    assert many - few > 2 * 50 * 100


def test_a_program_gets_its_files_and_its_input(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """And may say that it failed, which is told."""
    program = own_codes.compiled(lab, tmp_path / "made", "reads", READS)
    (tmp_path / "file").write_text("content\n")
    (tmp_path / "input").write_text("a line\n")
    wanted = Wanted(program, lives=2, files=(tmp_path / "file",), input=tmp_path / "input")
    ready = prepare(wanted, images, Emulator(lab, note), note)
    assert ready.counted.output == 2 * b"content\na line\n"
    assert any("reads ended with status 3 in 2 of 2 starts" in one for one in ready.code.manifest.notes)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (COLOURED, r"\x1b[31mred\x07"),
        (WRITES, "was ended by the signal SIGXFSZ (it wrote more than 64 MiB into a file)"),
        (NEVER_ENDS, "hangs: no record for 3 s; it was stopped `--silence` gives it more time"),
    ],
    ids=["prints escape sequences", "writes without end", "never ends"],
)
def test_what_goes_wrong_is_said(lab: Lab, images: ImageStore, tmp_path: Path, source: str, said: str) -> None:
    """In words that a terminal prints as they are."""
    program = own_codes.compiled(lab, tmp_path / "made", "strange", source)
    with pytest.raises(WorldwiseError) as caught:
        # What hangs takes a processor meanwhile; the others say nothing while they write.
        limit = 3 if source == NEVER_ENDS else 8
        prepare(Wanted(program, lives=2), images, Emulator(lab, note, silence_limit=limit), note)
    told = f"{caught.value.message} {caught.value.hint} {caught.value.details}"
    assert said in told
    assert "\x1b" not in told and "\0" not in told


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("TEE_Panic(TEE_ERROR_BAD_STATE);", "code 0xffff0007 (TEE_ERROR_BAD_STATE) in "),
        ("*(volatile int *)8 = 1;", "data-abort at address 0x8 (translation fault) in TA_InvokeCommandEntryPoint"),
    ],
    ids=["panic", "abort"],
)
def test_a_ta_that_panics_is_told_with_its_functions(
    lab: Lab, images: ImageStore, tmp_path: Path, act: str, said: str
) -> None:
    """Its calls are measured all the same: that of command 7 once a start."""
    source = own_codes.APPLICATION["ta/own_ta.c"].replace(
        "return command == 7", f"if (command == 7) {act} return false"
    )
    ta, client = own_codes.application(tmp_path, ta__own_ta_dot_c=source)
    found = application(ta, client, 0, images)
    ready = prepare(Wanted(Path(found.name), lives=2, application=found), images, Emulator(lab, note), note)
    assert len(counts(ready, "TEEC_InvokeCommand.7")) == 2
    (told,) = [one for one in ready.code.manifest.notes if "panicked" in one]
    assert told.startswith(f"the TA {own_codes.UUID} panicked 2 times, first with {said}")
    assert "TA_InvokeCommandEntryPoint" in told


@pytest.fixture(scope="module", params=["aarch64", "arm"])
def falling(request: pytest.FixtureRequest, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """A program that a signal ends, and whether it is for AArch64."""
    compiler, none = {
        "aarch64": ("aarch64-linux-gnu-gcc", ".inst 0"),
        "arm": ("arm-linux-gnueabihf-gcc", ".inst.n 0xde00"),
    }[request.param]
    folder = tmp_path_factory.mktemp("falls")
    source = FALLS.replace("NONE", f'"{none}"')
    return own_codes.compiled(lab, folder, "falls", source, "-pthread", compiler=compiler), compiler[1] == "a"


@pytest.mark.parametrize(
    ("how", "said", "of_aarch64"),
    [
        (
            "s",
            "SIGSEGV at 0x* in fall (falls.c:4) < step (falls.c:5)*: it wanted address 0x10, where nothing is",
            " < main*",
        ),
        ("a", "SIGABRT at 0x* in 0x* of libc.so.6*", " < abort < give (falls.c:6) < main (falls.c:*)"),
        ("i", "SIGILL at 0x* in strange (falls.c:7) < main (falls.c:*): the core has no such instruction", ""),
        ("t", "SIGSEGV at 0x* in fall (falls.c:4) < 0x* of libc.so.6: it wanted address 0x10, where nothing is", ""),
    ],
    ids=["an address", "abort", "an instruction", "in a thread"],
)
def test_a_crash_is_told_with_its_place(
    images: ImageStore, falling: tuple[Path, bool], how: str, said: str, of_aarch64: str
) -> None:
    """By function and line, with the callers; on Armv7 with one of them, by the link register."""
    program, is_aarch64 = falling
    with pytest.raises(WorldwiseError) as caught:
        prepare(Wanted(program, (how,), lives=2), images, Emulator(images.lab, note), note)
    assert fnmatch.fnmatchcase(caught.value.message, f"/work/falls was ended by the signal {said}.")
    if is_aarch64:
        assert fnmatch.fnmatchcase(caught.value.message, f"*{of_aarch64}*")


# `first` is in `slow` while `second` is not, and both call `work`; each yields, so that the other runs.
_TWO = """
#include <pthread.h>
#include <sched.h>
static volatile int sum[2];
__attribute__((noinline)) int work(int of) { volatile int s = 0; for (int i = 0; i < 300; i++) s += i * of; return s; }
__attribute__((noinline)) int slow(int of)
{
	int s = 0;
	for (int i = 0; i < 9; i++, sched_yield())
		s += work(of);
	return s;
}
__attribute__((noinline)) int quick(int of) { volatile int s = 0; for (int i = 0; i < 90; i++) s += i * of; return s; }
static void *first(void *of) { for (int i = 0; i < 3; i++) sum[0] += slow(i); return of; }
static void *second(void *of)
{
	for (int i = 0; i < 20; i++) {
		sum[1] += quick(i) + (i % 5 ? 0 : work(3));
		sched_yield();
	}
	return of;
}
int main(void)
{
	pthread_t one, other;
	if (pthread_create(&one, 0, first, 0) || pthread_create(&other, 0, second, 0))
		return 2;
	pthread_join(one, 0);
	return pthread_join(other, 0);
}
"""


def test_one_thread_can_be_chosen(lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """Its calls alone are counted, and what the other one executes meanwhile is told apart, to the instruction."""
    program = own_codes.compiled(lab, tmp_path, "two", _TWO, "-pthread")

    def measured(thread: str, *regions: str) -> Ready:
        return prepare(Wanted(program, regions=regions, lives=2, thread=thread), images, Emulator(lab, note), note)

    ready = measured("second", "work")
    each = counts(ready, "work")
    assert len(each) == 2 * 4
    assert "work: 54 calls are of other threads than that of second: left out" in ready.code.manifest.notes
    ready = measured("second", "second", "quick")
    of_second, of_quick = counts(ready, "second"), counts(ready, "quick")
    assert (len(of_second), len(of_quick)) == (2, 40)
    case = next(one for one in ready.cases if one.operation == "second")
    write_records(case, ready.code, ready.counted, tmp_path / RECORDS)
    machine = machine_of(images, "program", ready.code.folder, ready.code.name, own_code.COUNT)
    space = Counter(emulator, images).space(machine, ready.code.manifest.mapped)
    records = check_records(read_records(tmp_path / RECORDS), case)
    explainer = ThreadExplainer(case, records, ready.counted.trace, space, load_rules(), OWN_PROCESS)
    found = explainer.explain(explainer.sample("call", "region", 1))
    own = {name: share.self for (name, image), share in found.functions.items() if image == "two"}
    assert own["quick"] == sum(of_quick[20:])
    assert own["work"] > sum(each[4:])
    # Both threads execute `work`; the program's own layer has what this one executed of it. It yields twenty times, by
    # a jump of four instructions into the C library.
    assert found.layers["two"].self == own["second"] + own["quick"] + sum(each[4:]) + 20 * 4
    assert found.layers["other tasks"].self > own["work"] - sum(each[4:])

    assert set(measured("first").code.manifest.regions) == {"first"}
    for thread, regions, said in (
        ("second", ("slow",), "two did not call slow in the thread of second"),
        (
            "secnd",
            ("slow",),
            "two did not call slow in a thread of the name secnd, and nobody has such a function (no ",
        ),
        ("secnd", (), "there is no such function. name the function that pthread_create gets"),
        ("s*", ("slow",), "functions have such names"),
    ):
        with pytest.raises(WorldwiseError) as caught:
            measured(thread, *regions)
        assert said in f"{caught.value.message} {caught.value.hint}"


# Both threads dig at the same time, as deep, and each reads the counter around it: three instructions are between the
# first reading and the function's first one. It yields on its way, so they change all the time.
_DIG = """
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static unsigned long long readings[2][4][2];
__attribute__((noinline)) int dig(int n)
{
	volatile int of = n; /* no compiler makes a loop of it */
	if (n % 4 == 1)
		sched_yield();
	return n ? dig(n - 1) + of : 0;
}
static int timed(int n, unsigned long long *at)
{
	register int x0 __asm__("x0") = n;
	__asm__ volatile("mrs x19, cntvct_el0; nop; bl dig; mrs x20, cntvct_el0; stp x19, x20, [%1]" : "+r"(x0) : "r"(at) :
		"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
		"x17", "x18", "x19", "x20", "x30", "memory", "cc");
	return x0;
}
static void *digs(void *of)
{
	unsigned long long (*at)[2] = of;
	for (int i = 0; i < 4; i++)
		if (timed(20 + i, at[i]) != (20 + i) * (21 + i) / 2)
			return (void *)1;
	return 0;
}
int main(void)
{
	pthread_t other;
	if (pthread_create(&other, 0, digs, readings[0]) || digs(readings[1]))
		return 2;
	pthread_join(other, 0);
	for (int i = 0; i < 8; i++)
		printf("%llu %llu\\n", readings[i / 4][i % 4][0], readings[i / 4][i % 4][1]);
	return 0;
}
"""


def test_two_threads_are_in_one_region_at_a_time(
    lab: Lab, images: ImageStore, emulator: Emulator, tmp_path: Path
) -> None:
    """Each call is what the counter says that the program itself reads around it, to the instruction; its recursions
    are its own thread's, and what the other thread executes meanwhile is a layer."""
    program = own_codes.compiled(lab, tmp_path, "dig", _DIG, "-pthread")
    ready = prepare(Wanted(program, regions=("dig",), lives=2), images, emulator, note)
    trace, manifest = ready.counted.trace, ready.code.manifest
    calls, others = calls_of(trace, manifest.addresses, manifest.regions["dig"])
    assert (len(calls), others) == (2 * 8, 0)
    said = [tuple(map(int, line.split())) for line in ready.counted.output.decode().splitlines()]
    assert sorted((one.begin - 3, one.end) for one in calls) == sorted(said)
    last = calls[8:]
    assert all(one.instructions == one.end - one.begin for one in calls)
    # They do overlap, and each is as deep as it was asked to be.
    assert [one for one in last if sum(one.begin < other.end and other.begin < one.end for other in last) > 1]
    assert sorted(one.recursions for one in last) == [20, 20, 21, 21, 22, 22, 23, 23]
    assert sorted(one.result for one in last) == sorted(2 * [n * (n + 1) // 2 for n in range(20, 24)])

    explainer = explained(ready, "dig", images, emulator, tmp_path)
    explainer.check()
    own: dict[int, set[int]] = {}
    for one in last:
        stacks = explainer.stacks(one)
        assert sum(stacks.values()) == one.instructions
        mine = sum(count for stack, count in stacks.items() if stack[-1].layer == "dig" and stack[-1].function == "dig")
        others_of = sum(count for stack, count in stacks.items() if stack[-1].layer == "other tasks")
        assert others_of > 100 * (one is not last[-1])
        own.setdefault(one.recursions, set()).add(mine)
    # Both threads execute as much of the function itself, however they take turns; each level is as much again.
    assert all(len(counts) == 1 for counts in own.values())
    depth = [counts.pop() for _, counts in sorted(own.items())]
    assert len({after - before for before, after in pairwise(depth)} - {0}) <= 2


# One thread names itself, is named by another one, and names itself again, in the three ways that there are.
_NAMED = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
static pthread_barrier_t both;
__attribute__((noinline)) int work(int of) { volatile int s = 0; for (int i = 0; i < 99; i++) s += i * of; return s; }
static void *works(void *of)
{
	work(1);
	pthread_setname_np(pthread_self(), "itself");
	work(2);
	work(3);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	work(4);
	prctl(PR_SET_NAME, "\033[31m, far too long", 0, 0, 0);
	work(5);
	return of;
}
int main(void)
{
	pthread_t one;
	pthread_barrier_init(&both, 0, 2);
	if (pthread_create(&one, 0, works, 0))
		return 2;
	pthread_barrier_wait(&both);
	work(6);
	pthread_setname_np(one, "by main");
	pthread_barrier_wait(&both);
	return pthread_join(one, 0);
}
"""


def test_one_thread_can_be_chosen_by_its_name(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """A name has effect from where it is given, by whomever; the first thread has the program's."""
    program = own_codes.compiled(lab, tmp_path, "named", _NAMED, "-pthread")

    def of(thread: str) -> list[int]:
        ready = prepare(Wanted(program, regions=("work",), lives=2, thread=thread), images, Emulator(lab, note), note)
        manifest = ready.code.manifest
        calls, _ = calls_of(ready.counted.trace, manifest.addresses, manifest.regions["work"])
        assert (
            f"work: {2 * 6 - len(calls)} calls are of other threads than that of {thread}: left out" in manifest.notes
        )
        return [one.given[0] for one in calls]

    assert of("itself") == 2 * [2, 3]
    assert of("by main") == 2 * [4]
    assert of("?[31m, far too ") == 2 * [5]
    assert of("named") == 2 * [6]
    with pytest.raises(WorldwiseError, match=r"are called \?\[31m, far too , by main, itself, named\)"):
        of("other")


# Both threads open a session, at the same time, and invoke the TA.
_CALLS = """
#include <pthread.h>
#include <tee_client_api.h>
#include "own.h"
static TEEC_Context context;
static void *calls(void *of)
{
	TEEC_Session session;
	TEEC_Operation operation = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INOUT, 0, 0, 0) };
	TEEC_UUID uuid = OWN_UUID;
	uint32_t origin;
	if (TEEC_OpenSession(&context, &session, &uuid, TEEC_LOGIN_PUBLIC, NULL, NULL, &origin))
		return &context;
	if (TEEC_InvokeCommand(&session, 7, &operation, &origin))
		return &context;
	TEEC_CloseSession(&session);
	return of;
}
int main(void)
{
	pthread_t other;
	void *found;
	if (TEEC_InitializeContext(NULL, &context) || pthread_create(&other, NULL, calls, NULL) || calls(NULL))
		return 1;
	if (pthread_join(other, &found))
		return 1;
	return found != NULL;
}
"""


def test_the_calls_of_a_clients_threads_are_told_apart(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """Of two sessions that are opened at the same time each has its own part of the core, and the other's apart."""
    makefile = own_codes.APPLICATION["host/Makefile"].replace("-lteec", "-lteec -pthread")
    ta, client = own_codes.application(tmp_path / "app", host__main_dot_c=_CALLS, host__Makefile=makefile)
    found = application(ta, client, None, images)
    ready = prepare(Wanted(Path(found.name), lives=2, application=found), images, emulator, note)
    manifest, trace = ready.code.manifest, ready.counted.trace
    opened, _ = calls_of(trace, manifest.addresses, manifest.regions["TEEC_OpenSession"])
    assert len(opened) == 2 * 2
    assert opened[3].begin < opened[2].end
    explainer = explained(ready, "TEEC_OpenSession", images, emulator, tmp_path)
    explainer.check()
    each = [explainer.parts(one) for one in opened[2:]]
    for call, parts in zip(opened[2:], each, strict=True):
        assert sum(parts.values()) == call.instructions
        assert parts["other tasks"] > 100_000
        # Loading and checking a TA takes the core so much, whoever waits for it.
        assert parts["core"] > 1_000_000
        # Whose call the TA ran for nobody knows then.
        assert call.ta_stack is None
    invoked, _ = calls_of(trace, manifest.addresses, manifest.regions["TEEC_InvokeCommand.7"])
    assert len(invoked) == 2 * 2
