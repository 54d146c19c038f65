/* SPDX-License-Identifier: BSD-2-Clause */
#include "abuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/record.h"
#include "app.h"
#include "codes.h"

#define PARAMS TEEC_CONFIG_PAYLOAD_REF_COUNT
#define PAGE 4096U
/* Behind each buffer: what no call may touch. */
#define GUARD 64U
/* The least that a buffer of the random calls can have. */
#define LEAST_BUFFER (128U * 1024U)
/* The most that an app's commands take in one parameter. */
#define MOST_BUFFER (4U * 1024U * 1024U)
#define PATTERN 0xa5

/* The random calls: their sessions, and after how many what came of them is recorded. */
#define SESSIONS 4
#define REPORT_EVERY 250U
#define SEED UINT64_C(0x776f726c64776973)

static const struct abuse_table *table;
static uint8_t *buffers[PARAMS];
static uint32_t buffer_size;
static uint32_t bad; /* attempts that went otherwise than they must */
static char first_bad[300];

/* A call as it is made: a right one of a command's, changed as the attempt has it. */
struct call {
	const struct abuse_command *of; /* NULL for a number that no command has */
	uint32_t command;
	TEEC_Operation op;
};

static uint32_t type_of(const struct call *c, uint32_t i)
{
	return TEEC_PARAM_TYPE_GET(c->op.paramTypes, i);
}

static void set_type(struct call *c, uint32_t i, uint32_t type)
{
	c->op.paramTypes = (c->op.paramTypes & ~(0xfU << 4 * i)) | type << 4 * i;
}

static bool is_memory(uint32_t type)
{
	return type >= TEEC_MEMREF_TEMP_INPUT && type <= TEEC_MEMREF_TEMP_INOUT;
}

static bool goes_out(uint32_t type)
{
	return type == TEEC_MEMREF_TEMP_OUTPUT || type == TEEC_MEMREF_TEMP_INOUT;
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = { "none",   "value in",  "value out",  "value inout",
					     "type 4", "memory in", "memory out", "memory inout" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "registered memory";
}

/* Gives a parameter its buffer with `size` bytes of pattern, or of content, and the guard behind. */
static void set_memory(struct call *c, uint32_t i, uint32_t size, const void *content)
{
	if (size > buffer_size)
		bench_fail("a parameter of %u bytes is more than abuse has room for", (unsigned int)size);
	memset(buffers[i], PATTERN, size + GUARD);
	if (content)
		memcpy(buffers[i], content, size);
	c->op.params[i].tmpref.buffer = buffers[i];
	c->op.params[i].tmpref.size = size;
}

/* Which bytes a parameter gets: those of a right call if it has as many. */
static const void *content_of(const struct call *c, uint32_t i)
{
	return c->of && c->op.params[i].tmpref.size == c->of->params[i].size ? c->of->params[i].content : NULL;
}

/* A right call of a command. */
static struct call right_call(const struct abuse_command *of)
{
	struct call c = { .of = of, .command = of->command };

	for (uint32_t i = 0; i < PARAMS; i++) {
		const struct abuse_param *p = &of->params[i];

		set_type(&c, i, p->type);
		if (is_memory(p->type)) {
			set_memory(&c, i, p->size, p->content);
		} else {
			c.op.params[i].value.a = p->a;
			c.op.params[i].value.b = p->b;
		}
	}
	return c;
}

static TEEC_Result invoke(TEEC_Session *session, struct call *c, uint32_t *origin)
{
	return TEEC_InvokeCommand(session, c->command, &c->op, origin);
}

/* Calls what must come before a command, the first of them first. */
static TEEC_Result prepare(TEEC_Session *session, const struct abuse_command *of)
{
	TEEC_Result res;
	struct call c;

	if (!of->before)
		return TEEC_SUCCESS;
	res = prepare(session, of->before);
	if (res)
		return res;
	c = right_call(of->before);
	res = invoke(session, &c, NULL);
	return res == of->before->right ? TEEC_SUCCESS : res;
}

/* Takes back what a command and those before it left, the last of them first. */
static void undo(TEEC_Session *session, const struct abuse_command *of)
{
	for (; of; of = of->before) {
		struct call c;

		if (!of->undo)
			continue;
		c = right_call(of->undo);
		(void)invoke(session, &c, NULL);
	}
}

/* What the caller can see of a call that failed and that is not as it was: NULL if all is. */
static const char *changed(const struct call *before, const struct call *after, TEEC_Result res)
{
	for (uint32_t i = 0; i < PARAMS; i++) {
		uint32_t type = type_of(before, i);
		const TEEC_Parameter *was = &before->op.params[i];
		const TEEC_Parameter *is = &after->op.params[i];

		if (type == TEEC_VALUE_INPUT || type == TEEC_VALUE_INOUT) {
			if (was->value.a != is->value.a || was->value.b != is->value.b)
				return "a value";
		} else if (type == TEEC_VALUE_OUTPUT) {
			/* OP-TEE gives a TA such a value as 0. */
			if ((is->value.a && is->value.a != was->value.a) ||
			    (is->value.b && is->value.b != was->value.b))
				return "a value out";
		} else if (is_memory(type) && was->tmpref.buffer) {
			const uint8_t *content = content_of(before, i);

			if (is->tmpref.size != was->tmpref.size && (res != TEEC_ERROR_SHORT_BUFFER || !goes_out(type)))
				return "a size";
			for (size_t at = 0; goes_out(type) && at < was->tmpref.size; at++)
				if (buffers[i][at] != (content ? content[at] : PATTERN))
					return "an output";
		}
	}
	return NULL;
}

static bool guards_hold(const struct call *before)
{
	for (uint32_t i = 0; i < PARAMS; i++)
		if (is_memory(type_of(before, i)) && before->op.params[i].tmpref.buffer == buffers[i])
			for (uint32_t at = 0; at < GUARD; at++)
				if (buffers[i][before->op.params[i].tmpref.size + at] != PATTERN)
					return false;
	return true;
}

/* Records an attempt: `kind` of wrong, in a few words `how`; `problem` is what is not as it must be, or NULL. */
static void tell(const char *name, const char *kind, const char *how, TEEC_Result res, const char *problem)
{
	char what[80];
	char result[40];
	char detail[160];

	(void)snprintf(what, sizeof(what), "%s: %s", name, kind);
	(void)snprintf(result, sizeof(result), "%s", code_name(res));
	(void)snprintf(detail, sizeof(detail), "%s%s%s", how, problem ? ": WRONG: " : "", problem ? problem : "");
	app_outcome(what, result, detail);
	if (problem && !bad++)
		(void)snprintf(first_bad, sizeof(first_bad), "%s, %s: %s", what, detail, result);
}

static void tell_not_tried(const char *name, const char *kind, const char *why)
{
	char what[80];

	(void)snprintf(what, sizeof(what), "%s: %s", name, kind);
	app_outcome(what, "not tried", why);
}

/* What came before an attempt in its session. */
enum stage {
	READY, /* what must */
	ENDED, /* that, and what ends it */
	FRESH, /* nothing */
};

/* Makes a wrong call in a session of its own and judges it. */
static void attempt(struct call *c, const char *name, const char *kind, const char *how, TEEC_Result due,
		    enum stage stage)
{
	struct call before = *c;
	char problem[80] = "";
	TEEC_Session session;
	TEEC_Result res;

	app_must(app_open(&session), "session for abuse", 0);
	if (stage != FRESH && c->of) {
		app_must(prepare(&session, c->of), c->of->name, 0);
		if (stage == ENDED) {
			struct call end = right_call(c->of->ends);

			app_must(invoke(&session, &end, NULL), c->of->ends->name, 0);
		}
		/* The calls before had the same buffers. */
		for (uint32_t i = 0; i < PARAMS; i++)
			if (is_memory(type_of(c, i)) && c->op.params[i].tmpref.buffer)
				set_memory(c, i, (uint32_t)c->op.params[i].tmpref.size, content_of(c, i));
	}
	res = invoke(&session, c, NULL);
	if (res != due) {
		char wanted[40];

		(void)snprintf(wanted, sizeof(wanted), "%s", code_name(due));
		(void)snprintf(problem, sizeof(problem), "%s was due", wanted);
	} else if (res && res != (c->of ? c->of->right : TEEC_SUCCESS) && changed(&before, c, res)) {
		(void)snprintf(problem, sizeof(problem), "%s was changed", changed(&before, c, res));
	} else if (!guards_hold(&before)) {
		(void)snprintf(problem, sizeof(problem), "bytes behind a buffer were changed");
	}
	tell(name, kind, how, res, *problem ? problem : NULL);
	if (!res)
		undo(&session, c->of);
	else if (stage == READY && c->of && c->of->before)
		undo(&session, c->of->before);
	TEEC_CloseSession(&session);
}

static TEEC_Result or_else(TEEC_Result given, TEEC_Result otherwise)
{
	return given ? given : otherwise;
}

static void wrong_types(const struct abuse_command *of)
{
	static const uint32_t types[] = { TEEC_NONE,
					  TEEC_VALUE_INPUT,
					  TEEC_VALUE_OUTPUT,
					  TEEC_VALUE_INOUT,
					  TEEC_MEMREF_TEMP_INPUT,
					  TEEC_MEMREF_TEMP_OUTPUT,
					  TEEC_MEMREF_TEMP_INOUT };

	if (of->any) {
		tell_not_tried(of->name, "wrong type", "it takes parameters of any type");
		return;
	}
	for (uint32_t i = 0; i < PARAMS; i++)
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			struct call c = right_call(of);
			char how[80];

			if (types[t] == of->params[i].type)
				continue;
			set_type(&c, i, types[t]);
			if (is_memory(types[t]))
				set_memory(&c, i, of->params[i].size ? of->params[i].size : 64, of->params[i].content);
			else
				c.op.params[i].value = (TEEC_Value){ of->params[i].a, of->params[i].b };
			(void)snprintf(how, sizeof(how), "[%u] %s, not %s", (unsigned int)i, type_name(types[t]),
				       type_name(of->params[i].type));
			attempt(&c, of->name, "wrong type", how, TEEC_ERROR_BAD_PARAMETERS, READY);
		}
}

static void wrong_sizes(const struct abuse_command *of)
{
	for (uint32_t i = 0; i < PARAMS; i++) {
		const struct abuse_param *p = &of->params[i];
		TEEC_Result small;
		struct call c;
		char how[80];

		if (!is_memory(p->type))
			continue;
		small = or_else(p->small, p->type == TEEC_MEMREF_TEMP_OUTPUT ? TEEC_ERROR_SHORT_BUFFER
									     : TEEC_ERROR_BAD_PARAMETERS);

		/* What size 0 gets where it is right depends on the command: only that nothing breaks is looked at. */
		if (p->least) {
			(void)snprintf(how, sizeof(how), "[%u] NULL and 0 bytes", (unsigned int)i);
			c = right_call(of);
			c.op.params[i].tmpref.buffer = NULL;
			c.op.params[i].tmpref.size = 0;
			attempt(&c, of->name, "size 0", how, or_else(p->zero, small), READY);

			(void)snprintf(how, sizeof(how), "[%u] a buffer of 0 bytes", (unsigned int)i);
			c = right_call(of);
			c.op.params[i].tmpref.size = 0;
			memset(buffers[i], PATTERN, GUARD);
			attempt(&c, of->name, "size 0", how, or_else(p->zero, small), READY);
		}
		if (p->least > 1) {
			uint32_t size = p->least - (p->step ? p->step : 1);

			(void)snprintf(how, sizeof(how), "[%u] %u bytes of %u", (unsigned int)i, (unsigned int)size,
				       (unsigned int)p->least);
			c = right_call(of);
			set_memory(&c, i, size, NULL);
			if (size)
				attempt(&c, of->name, "too small", how, small, READY);
		}
		if (p->most != ABUSE_NO_LIMIT) {
			uint32_t size = p->most + (p->step ? p->step : 1);

			(void)snprintf(how, sizeof(how), "[%u] %u bytes, %u at most", (unsigned int)i,
				       (unsigned int)size, (unsigned int)p->most);
			c = right_call(of);
			set_memory(&c, i, size, NULL);
			attempt(&c, of->name, "too large", how, or_else(p->large, TEEC_ERROR_BAD_PARAMETERS), READY);
		}
		if (p->step > 1) {
			(void)snprintf(how, sizeof(how), "[%u] %u bytes, not of %u each", (unsigned int)i,
				       (unsigned int)p->size + 1, (unsigned int)p->step);
			c = right_call(of);
			set_memory(&c, i, p->size + 1, NULL);
			attempt(&c, of->name, "uneven", how, or_else(p->uneven, TEEC_ERROR_BAD_PARAMETERS), READY);
		}
		(void)snprintf(how, sizeof(how), "[%u] NULL and %u bytes", (unsigned int)i,
			       p->size ? (unsigned int)p->size : 16);
		c = right_call(of);
		c.op.params[i].tmpref.buffer = NULL;
		c.op.params[i].tmpref.size = p->size ? p->size : 16;
		attempt(&c, of->name, "NULL", how, TEEC_ERROR_BAD_PARAMETERS, READY);
	}
}

static void wrong_values(const struct abuse_command *of)
{
	for (size_t v = 0; v < ABUSE_MOST_VALUES && of->values[v].result; v++) {
		uint32_t i = of->values[v].parameter;
		struct call c = right_call(of);
		char how[80];

		c.op.params[i].value = (TEEC_Value){ of->values[v].a, of->values[v].b };
		(void)snprintf(how, sizeof(how), "[%u] a %u, b %u", (unsigned int)i, (unsigned int)of->values[v].a,
			       (unsigned int)of->values[v].b);
		attempt(&c, of->name, "wrong value", how, of->values[v].result, READY);
	}
}

/* An invalid session: closed, never opened, or somebody else's. */
static void wrong_sessions(const struct abuse_command *of)
{
	TEEC_Context other;
	TEEC_Session session;
	TEEC_Result res;

	app_must(app_open(&session), "session to be closed", 0);
	TEEC_CloseSession(&session);
	app_must(TEEC_InitializeContext(NULL, &other), "another context", 0);
	for (int kind = 0; kind < 3; kind++) {
		static const char *const how[] = { "closed", "never opened", "of another context" };
		struct call c = right_call(of);
		struct call before = c;
		TEEC_Session wrong = kind == 0 ? session : app_session;
		const char *problem;

		if (kind == 1)
			wrong.imp.session_id += 0x5eed;
		if (kind == 2)
			wrong.imp.ctx = &other;
		res = invoke(&wrong, &c, NULL);
		problem = res != TEEC_ERROR_BAD_PARAMETERS ? "TEEC_ERROR_BAD_PARAMETERS was due"
							   : changed(&before, &c, res);
		tell(of->name, "wrong session", how[kind], res, problem);
	}
	TEEC_FinalizeContext(&other);
}

static bool is_command(uint32_t number)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->commands[i].command == number)
			return true;
	return table->left_out_because && number == table->left_out;
}

static void unknown_commands(void)
{
	uint32_t numbers[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff };

	while (is_command(numbers[0]))
		numbers[0]++;
	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		struct call c = { .command = numbers[n] };
		char how[40];

		(void)snprintf(how, sizeof(how), "%#x", (unsigned int)numbers[n]);
		attempt(&c, "any", "unknown command", how, TEEC_ERROR_NOT_SUPPORTED, FRESH);
		set_type(&c, 0, TEEC_MEMREF_TEMP_INOUT);
		set_memory(&c, 0, 64, NULL);
		set_type(&c, 1, TEEC_VALUE_INOUT);
		(void)snprintf(how, sizeof(how), "%#x with parameters", (unsigned int)numbers[n]);
		attempt(&c, "any", "unknown command", how, TEEC_ERROR_NOT_SUPPORTED, FRESH);
	}
}

static void wrong_openings(void)
{
	TEEC_Operation op = { .paramTypes = TEEC_PARAM_TYPES(TEEC_VALUE_INOUT, TEEC_NONE, TEEC_NONE, TEEC_NONE) };
	TEEC_Session session;
	TEEC_Result res = TEEC_OpenSession(&app_context, &session, &app.uuid, TEEC_LOGIN_PUBLIC, NULL, &op, NULL);

	if (!res)
		TEEC_CloseSession(&session);
	tell("open session", "wrong type", "[0] value inout, not none", res,
	     res == TEEC_ERROR_BAD_PARAMETERS ? NULL : "TEEC_ERROR_BAD_PARAMETERS was due");
}

static void right_calls(const char *how)
{
	for (size_t i = 0; i < table->count; i++) {
		struct call c = right_call(&table->commands[i]);

		attempt(&c, c.of->name, "right call", how, c.of->right, READY);
	}
}

/* --- at random --- */

static uint64_t state = SEED;

/* splitmix64: every call depends on SEED alone. */
static uint64_t draw(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(draw() >> 32) % limit;
}

static bool once_in(uint32_t times)
{
	return below(times) == 0;
}

/* Blocks that are registered for all of the random calls; TEEC_MEM_* flags differ. */
static TEEC_SharedMemory blocks[3];

static uint32_t random_size(const struct abuse_param *p)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return p->least ? p->least - 1 : 1;
	case 2:
		return p->most < buffer_size ? p->most + 1 : below(PAGE);
	case 3:
		return below(2 * PAGE);
	case 4:
		return below(once_in(32) ? buffer_size : 32);
	default:
		return p->size;
	}
}

/* Any type, registered memory among them: it may be as large as it likes, and begin anywhere. */
static void random_param(struct call *c, uint32_t i, uint32_t type)
{
	static const struct abuse_param nothing;
	const struct abuse_param *p = c->of ? &c->of->params[i] : &nothing;
	TEEC_Parameter *set = &c->op.params[i];

	memset(set, 0, sizeof(*set));
	set_type(c, i, type);
	if (type == TEEC_MEMREF_WHOLE || type >= TEEC_MEMREF_PARTIAL_INPUT) {
		set->memref.parent = &blocks[below(sizeof(blocks) / sizeof(blocks[0]))];
		set->memref.size = random_size(p);
		set->memref.offset = once_in(2) ? 0 : below(LEAST_BUFFER + PAGE);
	} else if (is_memory(type)) {
		uint32_t size = random_size(p);

		if (size > buffer_size)
			size = buffer_size;
		set_memory(c, i, size, p->content && size == p->size ? p->content : NULL);
		/* Now and then other content than the pattern, so that no command sees the same for ever. */
		for (uint32_t at = 0; !p->content && at < size && at < 64 && once_in(2); at += 8) {
			uint64_t bits = draw();

			memcpy(buffers[i] + at, &bits, size - at < 8 ? size - at : 8);
		}
		if (once_in(16)) {
			set->tmpref.buffer = NULL;
			set->tmpref.size = once_in(2) ? 0 : size;
		}
	} else if (type) {
		set->value.a = once_in(3) ? p->a : once_in(2) ? below(8) : (uint32_t)draw();
		set->value.b = once_in(3) ? p->b : once_in(2) ? below(8) : (uint32_t)draw();
	}
}

static uint32_t random_type(void)
{
	static const uint32_t types[] = { TEEC_NONE,
					  TEEC_VALUE_INPUT,
					  TEEC_VALUE_OUTPUT,
					  TEEC_VALUE_INOUT,
					  TEEC_MEMREF_TEMP_INPUT,
					  TEEC_MEMREF_TEMP_OUTPUT,
					  TEEC_MEMREF_TEMP_INOUT,
					  TEEC_MEMREF_WHOLE,
					  TEEC_MEMREF_PARTIAL_INPUT,
					  TEEC_MEMREF_PARTIAL_OUTPUT,
					  TEEC_MEMREF_PARTIAL_INOUT };

	return types[below(sizeof(types) / sizeof(types[0]))];
}

/* A command of the table; one that costs much comes up once where another comes up 32 times. */
static const struct abuse_command *random_command(void)
{
	const struct abuse_command *of;

	do
		of = &table->commands[below((uint32_t)table->count)];
	while (of->seldom && !once_in(32));
	return of;
}

/* The same command with registered memory in the place of temporary. */
static uint32_t registered(uint32_t type)
{
	return is_memory(type) ? type - TEEC_MEMREF_TEMP_INPUT + TEEC_MEMREF_PARTIAL_INPUT : type;
}

/* A call of no command, every parameter as it comes. */
static struct call unknown_call(void)
{
	struct call c = { 0 };

	do
		c.command = once_in(2) ? below(64) : (uint32_t)draw();
	while (is_command(c.command));
	for (uint32_t i = 0; i < PARAMS; i++)
		random_param(&c, i, random_type());
	return c;
}

/*
 * Most calls are right but for one parameter: so the code behind the checks of the others is reached. Of the rest,
 * every parameter is as it comes.
 */
static struct call random_call(TEEC_Session *session)
{
	const struct abuse_command *of;
	uint32_t one = below(PARAMS);
	struct call c;

	if (once_in(16))
		return unknown_call();
	of = random_command();
	/* Half of them in the state that the command is meant for. */
	if (of->before && once_in(2))
		(void)prepare(session, of);
	c = right_call(of);
	switch (below(8)) {
	case 0:
		break;
	case 1:
		random_param(&c, one, random_type());
		break;
	case 2:
		for (uint32_t i = 0; i < PARAMS; i++)
			random_param(&c, i, once_in(4) ? random_type() : of->params[i].type);
		break;
	case 3:
		for (uint32_t i = 0; i < PARAMS; i++)
			random_param(&c, i, registered(of->params[i].type));
		break;
	case 4:
		for (uint32_t i = 0; i < PARAMS; i++)
			random_param(&c, i, of->params[i].type);
		break;
	default:
		random_param(&c, one, once_in(4) ? registered(of->params[one].type) : of->params[one].type);
		break;
	}
	return c;
}

/* How often each code came, by who gave it, since the last time this was told. */
static uint32_t counts[CODES][4];

static void tell_counts(void)
{
	static const char *const whose[] = { "libteec", "Linux", "OP-TEE's core", "the TA" };

	for (size_t code = 0; code < CODES; code++)
		for (size_t origin = 0; origin < 4; origin++) {
			char what[60];
			char number[16];

			if (!counts[code][origin])
				continue;
			(void)snprintf(what, sizeof(what), "random call, answered by %s", whose[origin]);
			(void)snprintf(number, sizeof(number), "%u", (unsigned int)counts[code][origin]);
			app_outcome(what, codes[code].name, number);
			counts[code][origin] = 0;
		}
}

static void random_calls(uint32_t calls)
{
	TEEC_Session sessions[SESSIONS];
	char text[80];

	for (uint32_t s = 0; s < SESSIONS; s++)
		app_must(app_open(&sessions[s]), "session for random calls", s);
	for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++) {
		static const uint32_t flags[] = { TEEC_MEM_INPUT, TEEC_MEM_OUTPUT, TEEC_MEM_INPUT | TEEC_MEM_OUTPUT };

		blocks[b].flags = flags[b];
		blocks[b].size = b ? LEAST_BUFFER : PAGE + 100;
		app_must(TEEC_AllocateSharedMemory(&app_context, &blocks[b]), "registered memory", (uint32_t)b);
	}
	(void)snprintf(text, sizeof(text), "%u calls, seed %#llx", (unsigned int)calls, (unsigned long long)SEED);
	app_outcome("random calls begin", "begun", text);
	for (uint32_t n = 0; n < calls; n++) {
		uint32_t s = below(SESSIONS);
		uint32_t origin = 0;
		struct call c;
		struct call before;
		TEEC_Result res;
		int code;

		if (once_in(256)) {
			TEEC_CloseSession(&sessions[s]);
			app_must(app_open(&sessions[s]), "session for random calls", n);
		}
		c = random_call(&sessions[s]);
		before = c;
		res = invoke(&sessions[s], &c, &origin);
		code = code_index(res);
		if (code < 0 || res == TEEC_ERROR_TARGET_DEAD || origin < 1 || origin > 4)
			bench_fail("random call %u of seed %#llx: command %u (%s), types %#x: %#x, origin %u: %s",
				   (unsigned int)n, (unsigned long long)SEED, (unsigned int)c.command,
				   c.of ? c.of->name : "unknown", (unsigned int)before.op.paramTypes, (unsigned int)res,
				   (unsigned int)origin,
				   res == TEEC_ERROR_TARGET_DEAD ? "the TA panicked"
								 : "not a code of GlobalPlatform's");
		if (!guards_hold(&before))
			bench_fail("random call %u of seed %#llx: command %u changed bytes behind a buffer",
				   (unsigned int)n, (unsigned long long)SEED, (unsigned int)c.command);
		counts[code][origin - 1]++;
		if ((n + 1) % REPORT_EVERY == 0)
			tell_counts();
	}
	tell_counts();
	for (uint32_t s = 0; s < SESSIONS; s++)
		TEEC_CloseSession(&sessions[s]);
	for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++)
		TEEC_ReleaseSharedMemory(&blocks[b]);
}

/* Room for the largest parameter of any command, and for one that is too large. */
static void make_buffers(void)
{
	buffer_size = LEAST_BUFFER;
	for (size_t n = 0; n < table->count; n++)
		for (uint32_t i = 0; i < PARAMS; i++) {
			const struct abuse_param *p = &table->commands[n].params[i];
			uint32_t most = p->most != ABUSE_NO_LIMIT && p->most > p->size ? p->most : p->size;

			if (most + PAGE > buffer_size)
				buffer_size = most + PAGE;
		}
	if (buffer_size > MOST_BUFFER)
		bench_fail("a command takes more than %u bytes: abuse has no room for that", MOST_BUFFER);
	for (uint32_t i = 0; i < PARAMS; i++) {
		buffers[i] = aligned_alloc(PAGE, (buffer_size + GUARD + PAGE - 1) / PAGE * PAGE);
		if (!buffers[i])
			bench_fail("no memory for abuse");
	}
}

static void must_be_good(void)
{
	if (bad)
		bench_fail("%u calls went otherwise than they must, marked WRONG in the outcomes; the first is %s",
			   (unsigned int)bad, first_bad);
}

void abuse_case(const struct bench_plan *plan, const struct abuse_table *wanted)
{
	const char *name = bench_parameter(plan, "ta");

	if (!wanted)
		bench_fail("app %s has no table of its commands: its client must define app_abuse", name ? name : "?");
	table = wanted;
	make_buffers();
	if (table->left_out_because)
		tell_not_tried("a command", "any call", table->left_out_because);
	right_calls("before all else");
	for (size_t i = 0; i < table->count; i++) {
		const struct abuse_command *of = &table->commands[i];

		wrong_types(of);
		wrong_sizes(of);
		wrong_values(of);
		wrong_sessions(of);
		if (of->before) {
			struct call c = right_call(of);

			attempt(&c, of->name, "wrong state", of->before->name,
				or_else(of->without, TEEC_ERROR_BAD_STATE), FRESH);
		}
		if (of->ends) {
			struct call c = right_call(of);
			char how[80];

			(void)snprintf(how, sizeof(how), "after %s", of->ends->name);
			attempt(&c, of->name, "wrong state", how, or_else(of->without, TEEC_ERROR_BAD_STATE), ENDED);
		}
	}
	unknown_commands();
	wrong_openings();
	must_be_good();
	random_calls((uint32_t)bench_parameter_bytes(plan, "calls", 0));
	if (table->clean)
		table->clean();
	right_calls("after all else");
	must_be_good();
}
