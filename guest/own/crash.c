/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts own code once, as launch.c does, and tells in `crash` where a signal ended it. It is a program of its own, for
 * code that is known to end so: what counts has no page more for it, and each of its pages moves counts.
 */
#define main launch
#include "launch.c"
#undef main

#include <elf.h>
#include <sys/uio.h>
#include <sys/user.h>

/* How many return addresses are printed. */
#define MOST_BACK 9

/* What a thread of the program was doing when it was sent a signal. */
struct sent {
	siginfo_t what;
#ifdef __aarch64__
	struct user_regs_struct registers;
#else
	struct user_regs registers;
#endif /* __aarch64__ */
	/* The link register, and the return addresses on the stack, the innermost first. */
	unsigned long back[MOST_BACK];
	int number;
};

#ifdef __aarch64__
static unsigned long counter_of(const struct sent *sent)
{
	return sent->registers.pc;
}

/* By the chain of frames: each has the address of its caller's, and where that goes on. */
static void find_back(pid_t thread, struct sent *sent)
{
	unsigned long frame = sent->registers.regs[29];
	unsigned long above;

	sent->back[0] = sent->registers.regs[30];
	for (sent->number = 1; sent->number < MOST_BACK; sent->number++, frame = above) {
		errno = 0;
		above = (unsigned long)ptrace(PTRACE_PEEKDATA, thread, (void *)frame, NULL);
		sent->back[sent->number] = (unsigned long)ptrace(PTRACE_PEEKDATA, thread,
								 (void *)(frame + sizeof(long)), NULL);
		/* The stack grows downwards: what leads elsewhere is no chain. */
		if (errno || above <= frame)
			return;
	}
}
#else
static unsigned long counter_of(const struct sent *sent)
{
	return sent->registers.uregs[15];
}

/* Compilers keep no chain of frames on Armv7. */
static void find_back(pid_t thread, struct sent *sent)
{
	(void)thread;
	sent->back[0] = sent->registers.uregs[14];
	sent->number = 1;
}
#endif /* __aarch64__ */

static void keep_sent(pid_t thread, struct sent *sent)
{
	struct iovec registers = { .iov_base = &sent->registers, .iov_len = sizeof(sent->registers) };

	if (ptrace(PTRACE_GETSIGINFO, thread, NULL, &sent->what) ||
	    ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &registers))
		sent->what.si_signo = 0;
	else
		find_back(thread, sent);
}

/* The signal that ended the program, why it was sent, for which address, and where the thread was. */
static void tell_crash(const struct sent *sent)
{
	long handle = create("crash");
	char text[80];

	(void)snprintf(text, sizeof(text), "%d %d %llu %lu", sent->what.si_signo, sent->what.si_code,
		       (unsigned long long)(uintptr_t)sent->what.si_addr, counter_of(sent));
	tell(handle, text);
	for (int i = 0; i < sent->number; i++) {
		(void)snprintf(text, sizeof(text), " %lu", sent->back[i]);
		tell(handle, text);
	}
	tell(handle, "\n");
}

/* Lets a traced thread go on, with the signal that it was sent, if it was stopped by one. */
static void go_on(pid_t thread, int status, struct sent *sent)
{
	if (!(status >> 16) && WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
		keep_sent(thread, sent);
	let_go(thread, status);
}

/* One life under ptrace, with all of its threads. */
static void find_crash(char *const argv[])
{
	static struct sent sent;
	int status;
	pid_t thread;
	pid_t child = fork();

	trace_child(child, argv, &status, PTRACE_O_TRACECLONE);
	while ((thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (thread > 0 && WIFSTOPPED(status))
			go_on(thread, status, &sent);
		else if (thread == child)
			break;
	}
	if (thread == child && WIFSIGNALED(status) && WTERMSIG(status) == sent.what.si_signo)
		tell_crash(&sent);
}

int main(void)
{
	static struct order order;

	record_to(keep_record);
	read_order(&order);
	unpack();
	give_files();
	find_crash(order.argv);
	record_begin("end");
	record_number("status", 0);
	record_number("idle", 0);
	record_end();
	return 0;
}
