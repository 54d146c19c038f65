/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worldwise's QEMU plugin: counts the instructions of measured regions and says on which stack each was executed.
 *
 * A region begins and ends at marks of the measured program (guest/bench/region.h): `hint #96; isb; mrs Xt, counter`
 * and `isb; mrs Xt, counter; hint #97`. The instructions from the first mrs (inclusive) to the second (exclusive) are
 * the region's: under icount as many as the difference of the two readings, which are recorded beside the count.
 *
 * Modes: `count` counts; `stack` keeps a shadow stack besides, through calls, exceptions, world switches, Linux's task
 * switches and OP-TEE's suspended threads. Outside regions neither does anything but look for marks.
 *
 * A translation block may be left before its end, by a fault or by an access to a device that QEMU repeats on its own.
 * A store behind the last instruction's mark tells whole blocks from such ones.
 *
 * docs/method.md explains the rules, docs/format.md the output.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <qemu-plugin.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define OUTPUT_FORMAT 1
#define MAX_NESTED 8
#define MAX_DEPTH 1024
#define MAX_UNWOUND 64
#define DEFAULT_EVENTS 200000

/* Every exception vector is aligned to this, and a table of them has this size (Arm ARM, D1.4). */
#define VECTOR_ALIGNMENT 0x80
#define VECTOR_TABLE_BYTES 0x800
#define PAGE_BYTES 4096u

/* Direct-mapped, in front of the tables: nearly every step of a program was made before. */
#define CACHED_SLOTS (1u << 17)
#define CACHED_CALLS (1u << 15)

/* --- what is known of code --- */

enum block_kind {
	BLOCK_PLAIN,    /* ends with a direct branch or none: the next one is known */
	BLOCK_CALL,     /* BL */
	BLOCK_CALL_REG, /* BLR */
	BLOCK_JUMP_REG, /* BR */
	BLOCK_RETURN,   /* RET */
	BLOCK_TRAP,     /* SVC, HVC, SMC */
	BLOCK_ERET,
};

struct node;
struct slot;

/* Some instructions in a row that were translated together. */
struct block {
	uint64_t pc;
	uint64_t end;    /* the address behind it */
	uint64_t target; /* of a direct branch, else 0 */
	uint64_t site;   /* its last instruction as the site of a call: see site_of() */
	uint32_t instructions;
	uint32_t id; /* 0 until it is written */
	enum block_kind kind;
	enum { VECTOR_MAYBE, VECTOR_NO, VECTOR_YES } vector;
	enum { HOOK_NONE, HOOK_TASK_SWITCH, HOOK_THREAD_SUSPEND, HOOK_THREAD_RESUME } hook;
	bool reads;         /* is one mrs of the counter */
	bool ends;          /* is one, and the mark at which a region ends follows it */
	uint64_t begins_at; /* the mrs behind the mark at which a region begins, if the mark is in this block */
	unsigned int reads_to;
	uint8_t *code;
};

/* Where code runs: exception level, world, and in the normal world which task. */
struct context {
	uint32_t id;
	unsigned int el;
	bool secure;
	uint64_t task;  /* Linux's task_struct; 0 for the region's own */
	uint64_t space; /* at EL0 of the normal world, the translation table: another after exec */
};

enum node_kind {
	NODE_REGION,
	NODE_CALL,
	NODE_EXCEPTION, /* sync, irq, fiq, serror */
	NODE_ENTER,     /* an ERET into code that was not left by an exception: a lower level's program begins */
	NODE_TASK,      /* the first sight of another task */
	NODE_UNWOUND,   /* a caller that is known from the stack in memory alone */
	NODE_LOST,      /* a return or ERET that matches nothing */
};

static const char *const node_names[] = { "region", "call", "exception", "enter", "task", "unwound", "lost" };

/* One way to get somewhere: a node of the call tree. */
struct node {
	uint32_t id;
	bool written;
	struct node *parent;
	uint64_t site;   /* the call, or the interrupted instruction: see site_of() */
	uint64_t target; /* where it went */
	enum node_kind kind;
	const struct context *context;
};

/* How often a block was executed on a node. */
struct slot {
	struct node *node;
	struct block *block;
	uint64_t times;
};

/* --- the stack --- */

struct frame {
	struct node *node;
	struct node *outside; /* the node that was interrupted or calls */
	uint64_t back;        /* where it returns to; 0 if it does not */
	enum node_kind kind;
	unsigned int to_el; /* of an exception */
	const struct context *context;
	bool passed; /* EL3 went on into the other world: nothing of EL3 is above */
};

struct stack {
	struct frame frames[MAX_DEPTH];
	size_t depth;
};

/* The secure world's part of the stack of a thread of OP-TEE's that does not run. */
struct suspended {
	struct stack stack;
	size_t base;   /* frames that were below it; 0 if the region began in the thread itself */
	uint64_t back; /* where it will go on */
};

/* --- regions --- */

struct pass {
	uint32_t id;
	uint32_t parent; /* the pass around it, 0 if none */
	uint64_t mark;   /* the address of the mark */
	uint64_t begin;  /* the counter as the program read it */
	uint64_t counted_before;
	uint64_t at; /* instructions after the begin of the outermost */
	size_t depth;
	struct node *node;
	uint64_t lost_before;
	uint32_t events;
	uint32_t events_dropped;
};

struct scoreboard {
	uint64_t active; /* inside a region */
	uint64_t open;   /* the block being executed; 0 behind its last instruction */
	uint64_t count;  /* mode count: whole blocks */
};

static struct {
	bool stack_mode;
	FILE *output;
	uint64_t task_switch;    /* Linux's cpu_switch_to */
	uint64_t thread_suspend; /* OP-TEE's thread_state_suspend */
	uint64_t thread_resume;  /* OP-TEE's thread_resume */
	uint64_t witness;        /* instructions between two samples of the stack in memory; 0 for none */
	uint64_t max_events;
	uint64_t passes; /* of a mark that are followed; 0 for all */
} options = { .max_events = DEFAULT_EVENTS };

static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 board_active;
static qemu_plugin_u64 board_open;
static qemu_plugin_u64 board_count;
static struct scoreboard *state; /* of the one processor */

static struct {
	struct qemu_plugin_register *x[31];
	struct qemu_plugin_register *sp;
	struct qemu_plugin_register *cpsr;
	struct qemu_plugin_register *elr[4];
	struct qemu_plugin_register *esr[4];
	struct qemu_plugin_register *spsr[4];
	struct qemu_plugin_register *vbar[4];
	struct qemu_plugin_register *scr;
	struct qemu_plugin_register *ttbr0;
} registers;

static GHashTable *blocks;
static GHashTable *behind_reads; /* addresses behind an mrs of the counter */
static GHashTable *marks;        /* address of a mark -> how often an outermost region began there */
static GHashTable *nodes;
static GHashTable *slots;
static struct slot *slot_cache[CACHED_SLOTS];
static struct node *call_cache[CACHED_CALLS];
static GPtrArray *dirty; /* slots with a count that is not written yet */
static GPtrArray *contexts;
static GHashTable *tasks;   /* task_struct -> struct stack, of tasks that do not run */
static GHashTable *threads; /* OP-TEE's thread registers -> struct suspended; 0 for the thread a region began in */
static GByteArray *scratch;

/* Where functions begin and end, in order. */
struct range {
	uint64_t start;
	uint64_t end;
};
static struct range *functions;
static size_t functions_count;

static uint32_t last_block;
static uint32_t last_node;
static uint32_t last_pass;

static struct pass passes[MAX_NESTED];
static size_t nested;
static struct stack now;
static const struct context *context;
static struct block *previous;
static uint64_t counted; /* instructions accounted for, since the start */
static uint64_t lost;    /* of them, on a stack that was lost */
static size_t lost_depth;
static uint64_t next_witness;

static uint64_t current_task;   /* 0: the region's own, whose address is not known yet */
static uint64_t pending_switch; /* cpu_switch_to was called: the next task */
static uint64_t pending_leave;  /* and the one that stops */
static uint64_t pending_resume; /* thread_resume was called: the thread's registers */
static uint64_t current_thread;

static uint64_t begin_at; /* the mrs of a mark that was passed */
static uint64_t value_at; /* the instruction behind an mrs whose value is wanted */
static bool value_is_end; /* for the end of a pass */
static unsigned int value_register;
static uint64_t begin_mark;
static struct pass ended;
static uint64_t ended_count;
static uint64_t ended_lost;
static size_t ended_depth;
static bool ended_clean;

static const char *problem; /* the first thing that cannot be: the counts are then not to be trusted */
static uint64_t problem_at;

static void give_up(const char *what, uint64_t where)
{
	if (!problem) {
		problem = what;
		problem_at = where;
	}
}

/* --- output: one JSON object a line --- */

static struct json_object *record_new(const char *type)
{
	struct json_object *record = json_object_new_object();

	json_object_object_add(record, "type", json_object_new_string(type));
	return record;
}

static void add_number(struct json_object *record, const char *key, uint64_t value)
{
	json_object_object_add(record, key, json_object_new_uint64(value));
}

static void add_address(struct json_object *record, const char *key, uint64_t value)
{
	char text[20];

	(void)snprintf(text, sizeof(text), "%#" PRIx64, value);
	json_object_object_add(record, key, json_object_new_string(text));
}

static void add_text(struct json_object *record, const char *key, const char *value)
{
	json_object_object_add(record, key, json_object_new_string(value));
}

static void record_write(struct json_object *record)
{
	if (fputs(json_object_to_json_string_ext(record, JSON_C_TO_STRING_PLAIN), options.output) < 0 ||
	    fputc('\n', options.output) < 0)
		give_up("the output cannot be written", 0);
	json_object_put(record);
}

static void write_context(const struct context *c)
{
	struct json_object *record = record_new("context");

	add_number(record, "id", c->id);
	add_number(record, "el", c->el);
	json_object_object_add(record, "secure", json_object_new_boolean(c->secure));
	add_address(record, "task", c->task);
	add_address(record, "space", c->space);
	record_write(record);
}

static void write_node(struct node *node)
{
	struct json_object *record;

	if (node->written)
		return;
	if (node->parent)
		write_node(node->parent);
	node->written = true;
	record = record_new("frame");
	add_number(record, "id", node->id);
	add_number(record, "parent", node->parent ? node->parent->id : 0);
	add_text(record, "kind", node_names[node->kind]);
	add_address(record, "site", node->site);
	add_address(record, "target", node->target);
	add_number(record, "context", node->context->id);
	record_write(record);
}

static void write_block(struct block *block)
{
	static const char digits[] = "0123456789abcdef";
	struct json_object *record;
	char *code;

	if (block->id)
		return;
	block->id = ++last_block;
	record = record_new("block");
	add_number(record, "id", block->id);
	add_address(record, "pc", block->pc);
	add_number(record, "instructions", block->instructions);
	code = g_malloc(8 * (size_t)block->instructions + 1);
	for (size_t i = 0; i < 4 * (size_t)block->instructions; i++) {
		code[2 * i] = digits[block->code[i] >> 4];
		code[2 * i + 1] = digits[block->code[i] & 15];
	}
	code[8 * (size_t)block->instructions] = '\0';
	add_text(record, "code", code);
	g_free(code);
	record_write(record);
}

static int print_rows(struct json_object *rows, struct printbuf *buffer, int level, int flags)
{
	const char *between = "[";

	(void)rows;
	(void)level;
	(void)flags;
	for (guint i = 0; i < dirty->len; i++) {
		const struct slot *slot = g_ptr_array_index(dirty, i);

		sprintbuf(buffer, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", between, slot->node->id, slot->block->id,
			  slot->times);
		between = ",";
	}
	return sprintbuf(buffer, "]");
}

/* Writes what was counted since the last time as the innermost pass's own. */
static void flush_counts(void)
{
	struct json_object *record;
	struct json_object *rows;

	if (!dirty->len)
		return;
	for (guint i = 0; i < dirty->len; i++) {
		const struct slot *slot = g_ptr_array_index(dirty, i);

		write_node(slot->node);
		write_block(slot->block);
	}
	record = record_new("counts");
	add_number(record, "pass", passes[nested - 1].id);
	/* An array of [frame, block, times]: too many for an object each. */
	rows = json_object_new_array();
	json_object_set_serializer(rows, print_rows, NULL, NULL);
	json_object_object_add(record, "rows", rows);
	record_write(record);
	for (guint i = 0; i < dirty->len; i++)
		((struct slot *)g_ptr_array_index(dirty, i))->times = 0;
	g_ptr_array_set_size(dirty, 0);
}

/* --- registers and memory --- */

static uint64_t read_register(struct qemu_plugin_register *handle)
{
	uint64_t value = 0;
	int size;

	if (!handle)
		return 0;
	g_byte_array_set_size(scratch, 0);
	size = qemu_plugin_read_register(handle, scratch);
	if (size > 0 && size <= (int)sizeof(value))
		memcpy(&value, scratch->data, (size_t)size);
	return value;
}

static bool read_two_words(uint64_t address, uint64_t words[2])
{
	g_byte_array_set_size(scratch, 0);
	if (!qemu_plugin_read_memory_vaddr(address, scratch, 16) || scratch->len < 16)
		return false;
	memcpy(words, scratch->data, 16);
	return true;
}

static unsigned int current_el(void)
{
	return (unsigned int)(read_register(registers.cpsr) >> 2) & 3u;
}

/* The address of user space's translation table, without the process's number that may stand above it. */
static uint64_t translation_table(void)
{
	return read_register(registers.ttbr0) & 0x0000fffffffffffeu;
}

/* The frame records in memory, innermost first: where each function returns to. Returns how many. */
static size_t unwind(uint64_t returns[MAX_UNWOUND])
{
	uint64_t fp = read_register(registers.x[29]);
	uint64_t words[2];
	size_t count = 0;

	while (count < MAX_UNWOUND && fp && !(fp & 7) && read_two_words(fp, words)) {
		if (!words[1])
			break;
		returns[count++] = words[1];
		if (words[0] <= fp)
			break; /* frames only ever stand above those they call */
		fp = words[0];
	}
	return count;
}

/* --- tables --- */

static const struct context *context_of(unsigned int el, bool secure, uint64_t task)
{
	uint64_t space = el || secure ? 0 : translation_table();
	struct context *c;

	for (guint i = 0; i < contexts->len; i++) {
		c = g_ptr_array_index(contexts, i);
		if (c->el == el && c->secure == secure && c->task == task && c->space == space)
			return c;
	}
	c = g_new(struct context, 1);
	*c = (struct context){ .id = contexts->len + 1, .el = el, .secure = secure, .task = task, .space = space };
	g_ptr_array_add(contexts, c);
	write_context(c);
	return c;
}

static guint mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;

	return (guint)(h ^ (h >> 32));
}

static guint node_hash(gconstpointer key)
{
	const struct node *n = key;

	return mix(mix((uintptr_t)n->parent, n->site), n->target + (uint64_t)n->kind + 16u * n->context->id);
}

static gboolean node_equal(gconstpointer left, gconstpointer right)
{
	const struct node *a = left;
	const struct node *b = right;

	return a->parent == b->parent && a->site == b->site && a->target == b->target && a->kind == b->kind &&
	       a->context == b->context;
}

static struct node *node_of(struct node *parent, enum node_kind kind, uint64_t site, uint64_t target)
{
	struct node wanted = { .parent = parent, .kind = kind, .site = site, .target = target, .context = context };
	struct node *found = g_hash_table_lookup(nodes, &wanted);

	if (!found) {
		found = g_new(struct node, 1);
		*found = wanted;
		found->id = ++last_node;
		g_hash_table_add(nodes, found);
	}
	return found;
}

static guint slot_hash(gconstpointer key)
{
	const struct slot *s = key;

	return mix((uintptr_t)s->node, (uintptr_t)s->block);
}

static gboolean slot_equal(gconstpointer left, gconstpointer right)
{
	const struct slot *a = left;
	const struct slot *b = right;

	return a->node == b->node && a->block == b->block;
}

static struct slot *slot_of(struct node *node, struct block *block)
{
	struct slot wanted = { .node = node, .block = block };
	struct slot *found = g_hash_table_lookup(slots, &wanted);

	if (!found) {
		found = g_new(struct slot, 1);
		*found = wanted;
		g_hash_table_add(slots, found);
	}
	return found;
}

static guint block_hash(gconstpointer key)
{
	const struct block *b = key;

	return mix(b->pc, b->instructions);
}

static gboolean block_equal(gconstpointer left, gconstpointer right)
{
	const struct block *a = left;
	const struct block *b = right;

	return a->pc == b->pc && a->instructions == b->instructions &&
	       !memcmp(a->code, b->code, 4 * (size_t)a->instructions);
}

static int range_compare(const void *key, const void *member)
{
	uint64_t address = *(const uint64_t *)key;
	const struct range *range = member;

	return address < range->start ? -1 : address >= range->end;
}

/*
 * What stands for a place in the call tree. Calls from one function to another share a node, wherever in it they stand,
 * if it is known which function the place is in: its start then stands for it. Else it stands for itself.
 */
static uint64_t site_of(uint64_t address)
{
	const struct range *range = NULL;

	if (functions)
		range = bsearch(&address, functions, functions_count, sizeof(*range), range_compare);
	return range ? range->start : address;
}

static bool read_functions(const char *name)
{
	gchar *content;
	gsize length;

	if (!g_file_get_contents(name, &content, &length, NULL))
		return false;
	functions = (struct range *)(void *)content;
	functions_count = length / sizeof(*functions);
	return length % sizeof(*functions) == 0;
}

/* The one of that content: code is translated again after a flush, and must not then be another. */
static struct block *block_keep(const struct block *block)
{
	struct block *found = g_hash_table_lookup(blocks, block);

	if (!found) {
		found = g_new(struct block, 1);
		*found = *block;
		found->code = g_malloc(4 * (size_t)block->instructions);
		memcpy(found->code, block->code, 4 * (size_t)block->instructions);
		g_hash_table_add(blocks, found);
	}
	return found;
}

/* The first instructions of a block that was left early. */
static struct block *block_part(const struct block *block, uint32_t instructions)
{
	struct block part = { .pc = block->pc,
			      .end = block->pc + 4 * (uint64_t)instructions,
			      .instructions = instructions,
			      .code = block->code };

	return block_keep(&part);
}

/* --- counting --- */

static void account(struct node *node, struct block *block)
{
	struct slot **cached = &slot_cache[mix((uintptr_t)node, (uintptr_t)block) % CACHED_SLOTS];
	struct slot *slot = *cached;

	if (!slot || slot->node != node || slot->block != block) {
		slot = slot_of(node, block);
		*cached = slot;
	}
	if (!slot->times++)
		g_ptr_array_add(dirty, slot);
	counted += block->instructions;
	if (lost_depth)
		lost += block->instructions;
}

static struct node *top_node(void)
{
	return now.frames[now.depth - 1].node;
}

/* A step of the call between exception levels, for a trace over time. */
static void event(const char *what, uint64_t site, uint64_t target)
{
	struct pass *pass = &passes[0];
	struct json_object *record;

	if (pass->events >= options.max_events) {
		pass->events_dropped++;
		return;
	}
	pass->events++;
	record = record_new("event");
	add_number(record, "pass", pass->id);
	add_number(record, "at", counted - pass->counted_before);
	add_text(record, "what", what);
	add_address(record, "site", site);
	add_address(record, "target", target);
	add_number(record, "context", context->id);
	record_write(record);
}

static void push(enum node_kind kind, uint64_t site, uint64_t target, uint64_t back, struct node *outside)
{
	struct frame *frame;

	if (now.depth == MAX_DEPTH) {
		give_up("the stack is deeper than this plugin can follow", target);
		return;
	}
	frame = &now.frames[now.depth++];
	*frame = (struct frame){ .node = node_of(outside, kind, site_of(site), target),
				 .outside = outside,
				 .back = back,
				 .kind = kind,
				 .to_el = context->el,
				 .context = context };
}

static void cut(size_t depth)
{
	now.depth = depth;
	if (lost_depth > depth)
		lost_depth = 0;
}

static void lose(uint64_t site, uint64_t target)
{
	push(NODE_LOST, site, target, 0, top_node());
	if (!lost_depth)
		lost_depth = now.depth;
}

/* --- transitions --- */

static void call_to(const struct block *from, uint64_t to)
{
	struct node *node = top_node();
	struct node **cached = &call_cache[mix((uintptr_t)node, from->site ^ to << 20) % CACHED_CALLS];
	struct node *child = *cached;
	struct frame *frame;

	if (!child || child->parent != node || child->site != from->site || child->target != to ||
	    child->kind != NODE_CALL || child->context != context) {
		child = node_of(node, NODE_CALL, from->site, to);
		*cached = child;
	}
	if (now.depth == MAX_DEPTH) {
		give_up("the stack is deeper than this plugin can follow", to);
		return;
	}
	frame = &now.frames[now.depth++];
	frame->node = child;
	frame->outside = node;
	frame->back = from->end;
	frame->kind = NODE_CALL;
	frame->to_el = context->el;
	frame->context = context;
	frame->passed = false;
}

static struct stack *stack_copy(const struct stack *stack)
{
	struct stack *copy = g_new(struct stack, 1);

	copy->depth = stack->depth;
	memcpy(copy->frames, stack->frames, stack->depth * sizeof(stack->frames[0]));
	return copy;
}

static gpointer key_of(uint64_t value)
{
	return (gpointer)(uintptr_t)value;
}

/* Callers that are known from memory alone, outermost first, below what runs at `pc`. */
static void push_unwound(void)
{
	uint64_t returns[MAX_UNWOUND];
	size_t count = unwind(returns);

	for (size_t i = count; i-- > 0;)
		push(NODE_UNWOUND, returns[i] - 4, 0, returns[i], top_node());
}

/* Linux's cpu_switch_to returns, in another task than it was called. */
static void switch_task(uint64_t to)
{
	struct stack *saved;
	uint64_t next = pending_switch;

	pending_switch = 0;
	/* The region's own task is known by its address from now on. */
	g_hash_table_insert(tasks, key_of(pending_leave), stack_copy(&now));
	current_task = next;
	saved = g_hash_table_lookup(tasks, key_of(next));
	if (saved && saved->frames[saved->depth - 1].back == to) {
		now.depth = saved->depth;
		memcpy(now.frames, saved->frames, saved->depth * sizeof(saved->frames[0]));
		g_hash_table_remove(tasks, key_of(next));
		cut(now.depth - 1);
		context = now.frames[now.depth - 1].context;
	} else {
		if (saved)
			g_hash_table_remove(tasks, key_of(next));
		context = context_of(context->el, context->secure, next);
		cut(1);
		push(NODE_TASK, 0, next, 0, now.frames[0].node);
		push_unwound();
	}
	event("task", 0, to);
}

static void return_to(const struct block *from, uint64_t to)
{
	size_t depth = now.depth;

	if (pending_switch) {
		switch_task(to);
		return;
	}
	while (depth > 0) {
		const struct frame *frame = &now.frames[depth - 1];

		if ((frame->kind == NODE_CALL || frame->kind == NODE_UNWOUND) && frame->back == to &&
		    frame->to_el == context->el) {
			cut(depth - 1);
			return;
		}
		/* Not beyond what another world or exception level waits for. */
		if (frame->kind == NODE_EXCEPTION && (frame->to_el == 3 || !context->secure))
			break;
		if (frame->kind == NODE_TASK || frame->kind == NODE_REGION)
			break;
		depth--;
	}
	/* What was not called cannot return: it uses RET to jump, as Linux's vectors do against speculation. */
	if (now.frames[now.depth - 1].kind == NODE_EXCEPTION || now.frames[now.depth - 1].kind == NODE_ENTER)
		return;
	lose(from->end - 4, to);
}

static const char *exception_name(uint64_t pc)
{
	static const char *const names[] = { "sync", "irq", "fiq", "serror" };

	return names[(pc / VECTOR_ALIGNMENT) & 3];
}

/* Whether a block is where exceptions arrive. Tables move while a machine runs, but code in one has no other use. */
static bool is_vector(struct block *block)
{
	if (block->vector == VECTOR_MAYBE) {
		unsigned int el = current_el();

		block->vector = el && block->pc - read_register(registers.vbar[el]) < VECTOR_TABLE_BYTES ? VECTOR_YES
													 : VECTOR_NO;
	}
	return block->vector == VECTOR_YES;
}

static void take_exception(const struct block *to)
{
	unsigned int el = current_el();
	uint64_t back = read_register(registers.elr[el]);
	struct node *outside = top_node();

	context = context_of(el, el == 3 ? true : context->secure, el == 3 ? 0 : context->task);
	push(NODE_EXCEPTION, back, to->pc, back, outside);
	event(exception_name(to->pc), back, to->pc);
}

/*
 * OP-TEE's thread goes on at `to`: its stack is what it was, above the world's entry of this time. The thread that ran
 * when a region began is not known by its registers yet, but by the place where it stopped.
 */
static bool resume_thread(size_t base, uint64_t to)
{
	uint64_t key = pending_resume;
	const struct suspended *thread = g_hash_table_lookup(threads, key_of(key));
	const struct stack *saved;
	struct node *node;

	current_thread = pending_resume;
	pending_resume = 0;
	if (!thread) {
		key = 0;
		thread = g_hash_table_lookup(threads, key_of(key));
		if (!thread || thread->back != to)
			return false;
	}
	saved = &thread->stack;
	if (!thread->base) {
		/* The region's own frame is among them, and what called the thread was never known. */
		now.depth = saved->depth;
		memcpy(now.frames, saved->frames, saved->depth * sizeof(saved->frames[0]));
		cut(now.depth);
		g_hash_table_remove(threads, key_of(key));
		return true;
	}
	cut(base);
	node = top_node();
	for (size_t i = 0; i < saved->depth; i++) {
		const struct frame *frame = &saved->frames[i];

		if (now.depth == MAX_DEPTH)
			break;
		context = frame->context;
		node = node_of(node, frame->kind, frame->node->site, frame->node->target);
		now.frames[now.depth] = *frame;
		now.frames[now.depth].node = node;
		now.frames[now.depth].outside = now.frames[now.depth - 1].node;
		now.depth++;
	}
	g_hash_table_remove(threads, key_of(key));
	return true;
}

/* How many frames from the bottom belong to the normal world and to the monitor: what is above is the secure world's. */
static size_t secure_base(void)
{
	size_t depth = now.depth;

	while (depth > 0 && !now.frames[depth - 1].passed)
		depth--;
	return depth;
}

/* Innermost exception frame that stands for leaving this context, or 0. */
static size_t exception_frame(unsigned int el)
{
	for (size_t depth = now.depth; depth > 0; depth--) {
		const struct frame *frame = &now.frames[depth - 1];

		if (frame->kind == NODE_EXCEPTION && frame->to_el == el && !frame->passed)
			return depth;
		if (frame->kind == NODE_TASK || frame->kind == NODE_REGION)
			return 0;
		if (frame->kind == NODE_EXCEPTION && frame->to_el > el)
			return 0;
	}
	return 0;
}

static const struct context *context_below(size_t depth)
{
	return now.frames[depth - 1].context;
}

static void eret_from_monitor(uint64_t to, unsigned int el)
{
	bool secure = !(read_register(registers.scr) & 1);
	uint64_t site = 0;
	size_t top;

	for (size_t depth = now.depth; depth > 1; depth--) {
		const struct frame *frame = &now.frames[depth - 1];

		if (frame->kind == NODE_EXCEPTION && frame->to_el == 3 && frame->back == to &&
		    context_below(depth - 1)->secure == secure) {
			cut(depth - 1);
			context = context_below(depth - 1);
			return;
		}
	}
	top = exception_frame(3);
	if (top) {
		struct frame *frame = &now.frames[top - 1];

		/* What EL3 did is done; the world it goes on to was asked for by the one that waits below. */
		cut(top);
		frame->passed = true;
		frame->node = frame->outside;
		site = frame->back - 4;
	}
	context = context_of(el, secure, 0);
	push(NODE_ENTER, site, to, 0, top_node());
}

static void eret_in_secure_world(uint64_t site, uint64_t to, unsigned int el)
{
	size_t top;

	if (pending_resume && resume_thread(secure_base(), to)) {
		/* Either the thread was interrupted there, or it asked for an RPC, whose answer is there. */
		top = now.depth;
		if (now.frames[top - 1].kind == NODE_EXCEPTION && now.frames[top - 1].back == to)
			cut(top - 1);
		context = context_of(el, true, 0);
		return;
	}
	top = exception_frame(context->el);
	if (top && now.frames[top - 1].back == to) {
		cut(top - 1);
		context = context_below(top - 1);
		return;
	}
	context = context_of(el, true, 0);
	push(NODE_ENTER, site, to, 0, top_node());
}

static void eret_in_normal_world(uint64_t site, uint64_t to, unsigned int el)
{
	size_t top = exception_frame(context->el);

	if (top) {
		uint64_t back = now.frames[top - 1].back;

		cut(top - 1);
		context = context_below(top - 1);
		/* Elsewhere than where it came from: a system call made again, an instruction emulated; or it is lost. */
		if (to == back || el || to == back - 4 || to == back + 4)
			return;
		if (context->el || context->space == translation_table()) {
			lose(back, to);
			return;
		}
	}
	/* A task whose user part was not seen yet, or another program after exec. */
	top = now.depth;
	while (top > 1 && now.frames[top - 1].kind != NODE_TASK && now.frames[top - 1].kind != NODE_REGION)
		top--;
	cut(top);
	context = context_of(el, false, context->task);
	push(NODE_ENTER, site, to, 0, top_node());
}

/* An ERET at `site` went to `to`, at exception level `el`. */
static void eret_to(uint64_t site, uint64_t to, unsigned int el)
{
	if (context->el == 3)
		eret_from_monitor(to, el);
	else if (context->secure)
		eret_in_secure_world(site, to, el);
	else
		eret_in_normal_world(site, to, el);
	event("eret", site, to);
}

/* OP-TEE's thread_state_suspend begins: what is above the world's entry will go on later. */
static void suspend_thread(void)
{
	size_t base = secure_base();
	struct suspended *thread;

	if (base >= now.depth)
		return;
	thread = g_new(struct suspended, 1);
	thread->base = base;
	thread->back = read_register(registers.x[2]); /* its argument pc */
	thread->stack.depth = now.depth - 1 - base;   /* without the call that has just been pushed */
	memcpy(thread->stack.frames, now.frames + base, thread->stack.depth * sizeof(thread->stack.frames[0]));
	g_hash_table_insert(threads, key_of(current_thread), thread);
}

static void hooks(const struct block *to)
{
	switch (to->hook) {
	case HOOK_NONE:
		break;
	case HOOK_TASK_SWITCH:
		pending_leave = read_register(registers.x[0]);
		pending_switch = read_register(registers.x[1]);
		break;
	case HOOK_THREAD_RESUME:
		pending_resume = read_register(registers.x[0]);
		break;
	case HOOK_THREAD_SUSPEND:
		suspend_thread();
		break;
	}
}

/* How many instructions of `block` were executed, when its last one was not reached; the next one is `to`. */
static uint32_t executed_part(const struct block *block, const struct block *to, bool vector)
{
	uint64_t next = vector ? read_register(registers.elr[current_el()]) : to->pc;
	/* No block crosses a page; and one page may be at two addresses, of which the block has but one. */
	uint64_t done = ((next & (PAGE_BYTES - 1)) - (block->pc & (PAGE_BYTES - 1))) / 4;

	if (done >= block->instructions) {
		give_up("a block was left in a way that is not understood", block->pc);
		return 0;
	}
	return (uint32_t)done;
}

/* A data abort at the last instruction: its mark was passed, the instruction was not executed. */
static bool last_aborted(const struct block *to)
{
	unsigned int el = current_el();
	uint64_t class = (read_register(registers.esr[el]) >> 26) & 0x3f;

	return !((to->pc / VECTOR_ALIGNMENT) & 3) && (class == 0x24 || class == 0x25);
}

/* --- the stack in memory, as a witness --- */

static void take_witness(const struct block *to)
{
	uint64_t returns[MAX_UNWOUND];
	size_t count = unwind(returns);
	struct json_object *record = record_new("witness");
	struct json_object *memory = json_object_new_array();
	struct json_object *shadow = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(memory, json_object_new_uint64(returns[i]));
	for (size_t depth = now.depth; depth > 0; depth--) {
		const struct frame *frame = &now.frames[depth - 1];

		if (frame->kind != NODE_CALL && frame->kind != NODE_UNWOUND)
			break;
		json_object_array_add(shadow, json_object_new_uint64(frame->back));
	}
	add_number(record, "pass", passes[0].id);
	add_address(record, "pc", to->pc);
	add_address(record, "link", read_register(registers.x[30]));
	add_number(record, "context", context->id);
	json_object_object_add(record, "shadow", shadow);
	json_object_object_add(record, "memory", memory);
	record_write(record);
}

/* --- regions --- */

static uint64_t counted_now(void)
{
	return options.stack_mode ? counted : state->count + counted;
}

static void begin_region(const struct block *block)
{
	struct pass *pass;

	if (nested == MAX_NESTED) {
		give_up("regions are nested too deeply", block->pc);
		return;
	}
	if (!nested) {
		uint64_t seen = (uintptr_t)g_hash_table_lookup(marks, key_of(begin_mark));

		if (options.passes && seen >= options.passes)
			return;
		g_hash_table_insert(marks, key_of(begin_mark), key_of(seen + 1));
		previous = NULL;
		current_task = 0;
		current_thread = 0;
		pending_switch = 0;
		pending_resume = 0;
		lost_depth = 0;
		g_hash_table_remove_all(tasks);
		g_hash_table_remove_all(threads);
		now.depth = 0;
		context = context_of(current_el(), !(read_register(registers.scr) & 1), 0);
		now.depth = 1;
		now.frames[0] = (struct frame){ .node = node_of(NULL, NODE_REGION, begin_mark, block->pc),
						.kind = NODE_REGION,
						.to_el = context->el,
						.context = context };
		next_witness = counted + options.witness;
		state->active = 1;
	} else if (options.stack_mode) {
		flush_counts();
	}
	pass = &passes[nested];
	*pass = (struct pass){ .id = ++last_pass,
			       .parent = nested ? passes[nested - 1].id : 0,
			       .mark = begin_mark,
			       .counted_before = counted_now(),
			       .depth = now.depth,
			       .node = top_node(),
			       .lost_before = lost };
	pass->at = pass->counted_before - passes[0].counted_before;
	nested++;
}

static void end_region(void)
{
	struct pass *pass = &passes[nested - 1];

	if (options.stack_mode)
		flush_counts();
	ended = *pass;
	ended_count = counted_now() - pass->counted_before;
	ended_lost = lost - pass->lost_before;
	ended_depth = now.depth;
	ended_clean = !options.stack_mode || (now.depth == pass->depth && top_node() == pass->node);
	nested--;
	if (!nested) {
		state->active = 0;
		previous = NULL;
	}
}

static void write_pass(uint64_t end)
{
	struct json_object *record;

	write_node(ended.node);
	record = record_new("pass");
	add_number(record, "id", ended.id);
	add_number(record, "parent", ended.parent);
	add_number(record, "frame", ended.node->id);
	add_address(record, "mark", ended.mark);
	add_number(record, "begin", ended.begin);
	add_number(record, "end", end);
	add_number(record, "at", ended.at);
	add_number(record, "instructions", ended_count);
	add_number(record, "lost", ended_lost);
	add_number(record, "depth", ended_depth);
	json_object_object_add(record, "closed", json_object_new_boolean(ended_clean));
	add_number(record, "events", ended.events);
	add_number(record, "events_dropped", ended.events_dropped);
	record_write(record);
}

/* The counter's value, which is known behind the mrs; before anything else is done with the block. */
static void before_block(const struct block *to)
{
	if (value_at && to->pc == value_at) {
		uint64_t value = read_register(registers.x[value_register]);

		value_at = 0;
		if (value_is_end)
			write_pass(value);
		else if (nested)
			passes[nested - 1].begin = value;
	}
}

static void after_block(const struct block *to)
{
	if (to->begins_at) {
		begin_mark = to->begins_at - 8;
		begin_at = to->begins_at;
	}
	if (to->reads && begin_at == to->pc) {
		begin_at = 0;
		begin_region(to);
		value_at = to->end;
		value_is_end = false;
		value_register = to->reads_to;
	} else if (to->ends && nested) {
		end_region();
		value_at = to->end;
		value_is_end = true;
		value_register = to->reads_to;
	}
}

/* The exception level from which the exception was taken that has just arrived. */
static unsigned int interrupted_el(void)
{
	return (unsigned int)(read_register(registers.spsr[current_el()]) >> 2) & 3u;
}

/* What the last instruction of a block does to the stack; it goes on at `to`, and after an ERET at level `el`. */
static void step(struct block *from, uint64_t to, unsigned int el)
{
	const struct frame *top = &now.frames[now.depth - 1];

	switch (from->kind) {
	case BLOCK_CALL:
	case BLOCK_CALL_REG:
		call_to(from, to);
		break;
	case BLOCK_RETURN:
		if (top->kind == NODE_CALL && top->back == to && !pending_switch)
			cut(now.depth - 1);
		else
			return_to(from, to);
		break;
	case BLOCK_ERET:
		eret_to(from->end - 4, to, el);
		break;
	case BLOCK_PLAIN:
	case BLOCK_JUMP_REG:
	case BLOCK_TRAP:
		break;
	}
}

/* Mode stack: the accounting of what was executed before `to`, and how one came here. */
static void follow(struct block *to)
{
	struct block *from = previous;
	bool whole = !state->open;
	bool expected = false;
	bool vector;

	if (whole && (from->kind == BLOCK_PLAIN || from->kind == BLOCK_CALL))
		expected = to->pc == from->target || (from->kind == BLOCK_PLAIN && to->pc == from->end);
	vector = !expected && is_vector(to);

	if (!whole) {
		uint32_t part = executed_part(from, to, vector);

		if (part)
			account(top_node(), block_part(from, part));
	} else if (vector && last_aborted(to)) {
		if (from->instructions > 1)
			account(top_node(), block_part(from, from->instructions - 1));
	} else {
		account(top_node(), from);
	}

	if (vector) {
		/* What the last instruction did has happened, whatever came then. */
		if (whole && !last_aborted(to))
			step(from, read_register(registers.elr[current_el()]), interrupted_el());
		take_exception(to);
	} else if (whole) {
		if (from->kind == BLOCK_TRAP || ((from->kind == BLOCK_PLAIN || from->kind == BLOCK_CALL) && !expected))
			lose(from->end - 4, to->pc);
		else
			step(from, to->pc, from->kind == BLOCK_ERET ? current_el() : 0);
	}
}

static void on_block(unsigned int vcpu, void *data)
{
	struct block *to = data;

	(void)vcpu;
	before_block(to);
	if (nested) {
		if (previous) {
			follow(to);
			hooks(to);
			if (options.witness && counted >= next_witness) {
				next_witness = counted + options.witness;
				take_witness(to);
			}
		}
	}
	after_block(to);
	if (nested)
		previous = to;
	state->open = 1;
}

/* --- mode count: whole blocks are added up by QEMU itself, what is left are the others --- */

static void on_open(unsigned int vcpu, void *data)
{
	struct block *to = data;

	(void)vcpu;
	counted += executed_part((const struct block *)(uintptr_t)state->open, to, is_vector(to));
}

static void on_vector(unsigned int vcpu, void *data)
{
	struct block *to = data;

	(void)vcpu;
	if (!state->open && is_vector(to) && last_aborted(to))
		counted--;
}

static void on_mark(unsigned int vcpu, void *data)
{
	(void)vcpu;
	before_block(data);
	after_block(data);
}

/* --- translation --- */

static int64_t signed_field(uint32_t word, unsigned int low, unsigned int bits)
{
	int64_t field = (int64_t)(word >> low & ((1u << bits) - 1));

	return field & (int64_t)1 << (bits - 1) ? field - ((int64_t)1 << bits) : field;
}

static uint32_t word_at(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* What a block's last instruction does (Arm ARM, C4.1: branches, exception generation and system instructions). */
static void decode_last(struct block *block, uint32_t word)
{
	uint64_t pc = block->end - 4;

	if ((word & 0x7c000000u) == 0x14000000u) { /* B, BL */
		block->target = pc + (uint64_t)(4 * signed_field(word, 0, 26));
		block->kind = word >> 31 ? BLOCK_CALL : BLOCK_PLAIN;
	} else if ((word & 0xff000000u) == 0x54000000u || (word & 0x7e000000u) == 0x34000000u) {
		block->target = pc + (uint64_t)(4 * signed_field(word, 5, 19)); /* B.cond, CBZ, CBNZ */
	} else if ((word & 0x7e000000u) == 0x36000000u) {
		block->target = pc + (uint64_t)(4 * signed_field(word, 5, 14)); /* TBZ, TBNZ */
	} else if ((word & 0xfe000000u) == 0xd6000000u) {
		/* By register, with or without pointer authentication: opc in bits 21 to 23. */
		static const enum block_kind kinds[] = { BLOCK_JUMP_REG, BLOCK_CALL_REG, BLOCK_RETURN, BLOCK_PLAIN,
							 BLOCK_ERET,     BLOCK_PLAIN,    BLOCK_PLAIN,  BLOCK_PLAIN };

		block->kind = kinds[word >> 21 & 7];
	} else if ((word & 0xffe0001cu) == 0xd4000000u && (word & 3)) {
		block->kind = BLOCK_TRAP; /* SVC, HVC, SMC */
	}
}

#define HINT_BEGIN 0xd5032c1fu /* hint #96 */
#define HINT_END 0xd5032c3fu   /* hint #97 */
#define MRS_MASK 0xffffffe0u
#define MRS_CNTVCT 0xd53be040u
#define MRS_PMCCNTR 0xd53b9d00u

static bool reads_counter(uint32_t word)
{
	return (word & MRS_MASK) == MRS_CNTVCT || (word & MRS_MASK) == MRS_PMCCNTR;
}

/* The instruction behind an mrs, from the host's view of the page. */
static uint32_t word_behind(const struct qemu_plugin_insn *insn)
{
	const uint8_t *host = qemu_plugin_insn_haddr(insn);

	if (!host)
		return 0;
	if (qemu_plugin_insn_vaddr(insn) % PAGE_BYTES == PAGE_BYTES - 4) {
		give_up("a mark crosses a page", qemu_plugin_insn_vaddr(insn));
		return 0;
	}
	return word_at(host + 4);
}

static struct block *describe(const struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block block = { .pc = qemu_plugin_tb_vaddr(tb), .instructions = (uint32_t)n };
	uint32_t word = 0;
	struct block *kept;

	block.end = block.pc + 4 * (uint64_t)n;
	block.code = g_malloc(4 * n);
	for (size_t i = 0; i < n; i++) {
		if (qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i), block.code + 4 * i, 4) != 4)
			give_up("an instruction of another size than four bytes", block.pc);
		word = word_at(block.code + 4 * i);
		if (word == HINT_BEGIN)
			block.begins_at = block.pc + 4 * (uint64_t)i + 8;
	}
	decode_last(&block, word);
	block.site = site_of(block.end - 4);
	if (n == 1 && reads_counter(word)) {
		block.reads = true;
		g_hash_table_add(behind_reads, key_of(block.end));
		block.reads_to = word & 31;
		block.ends = word_behind(qemu_plugin_tb_get_insn(tb, 0)) == HINT_END;
	}
	block.vector = block.pc % VECTOR_ALIGNMENT ? VECTOR_NO : VECTOR_MAYBE;
	if (block.pc == options.task_switch)
		block.hook = HOOK_TASK_SWITCH;
	else if (block.pc == options.thread_suspend)
		block.hook = HOOK_THREAD_SUSPEND;
	else if (block.pc == options.thread_resume)
		block.hook = HOOK_THREAD_RESUME;
	kept = block_keep(&block);
	g_free(block.code);
	return kept;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *block = describe(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, block->instructions - 1);
	/* The counter's value, and with it the end of a pass, is known in the block behind the mrs. */
	bool mark = block->begins_at || block->reads || g_hash_table_contains(behind_reads, key_of(block->pc));

	(void)id;
	if (options.stack_mode) {
		if (mark)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS, block);
		else
			qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS,
								  QEMU_PLUGIN_COND_NE, board_active, 0, block);
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE_U64, board_open, 0);
		return;
	}
	if (block->vector == VECTOR_MAYBE)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_vector, QEMU_PLUGIN_CB_R_REGS, block);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_open, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_COND_NE, board_open,
						  0, block);
	if (mark)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_mark, QEMU_PLUGIN_CB_R_REGS, block);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_STORE_U64, board_open,
							  (uintptr_t)block);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_ADD_U64, board_count,
							    block->instructions);
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE_U64, board_open, 0);
}

/* --- start and end --- */

static struct qemu_plugin_register *find_register(const GArray *list, const char *name)
{
	for (guint i = 0; i < list->len; i++) {
		const qemu_plugin_reg_descriptor *descriptor = &g_array_index(list, qemu_plugin_reg_descriptor, i);

		if (!strcmp(descriptor->name, name))
			return descriptor->handle;
	}
	give_up("QEMU does not show a register that is needed", 0);
	fprintf(stderr, "worldwise plugin: QEMU shows no register %s\n", name);
	return NULL;
}

static void on_vcpu(qemu_plugin_id_t id, unsigned int vcpu)
{
	GArray *list = qemu_plugin_get_registers();
	char name[12];

	(void)id;
	if (vcpu) {
		give_up("more than one processor", 0);
		g_array_free(list, TRUE);
		return;
	}
	for (unsigned int i = 0; i <= 30; i++) {
		(void)snprintf(name, sizeof(name), "x%u", i);
		registers.x[i] = find_register(list, name);
	}
	registers.cpsr = find_register(list, "cpsr");
	for (unsigned int el = 1; el <= 3; el += 2) {
		(void)snprintf(name, sizeof(name), "ELR_EL%u", el);
		registers.elr[el] = find_register(list, name);
		(void)snprintf(name, sizeof(name), "ESR_EL%u", el);
		registers.esr[el] = find_register(list, name);
		(void)snprintf(name, sizeof(name), "SPSR_EL%u", el);
		registers.spsr[el] = find_register(list, name);
	}
	/* QEMU has the AArch64 and the AArch32 register in one. */
	registers.vbar[1] = find_register(list, "VBAR");
	registers.vbar[3] = find_register(list, "VBAR_EL3");
	registers.scr = find_register(list, "SCR_EL3");
	registers.ttbr0 = find_register(list, "TTBR0_EL1");
	g_array_free(list, TRUE);
	state = qemu_plugin_scoreboard_find(board, vcpu);
}

static void on_exit(qemu_plugin_id_t id, void *data)
{
	struct json_object *record = record_new("end");

	(void)id;
	(void)data;
	if (nested)
		give_up("the machine ended inside a region", passes[nested - 1].mark);
	add_number(record, "passes", last_pass);
	add_number(record, "frames", last_node);
	add_number(record, "blocks", last_block);
	if (problem) {
		add_text(record, "problem", problem);
		add_address(record, "problem_at", problem_at);
	}
	record_write(record);
	if (fclose(options.output))
		fprintf(stderr, "worldwise plugin: the output could not be written\n");
}

static bool read_option(const char *argument)
{
	const char *value = strchr(argument, '=');
	size_t length = value ? (size_t)(value - argument) : strlen(argument);
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {
		{ "task-switch", &options.task_switch },     { "thread-suspend", &options.thread_suspend },
		{ "thread-resume", &options.thread_resume }, { "witness", &options.witness },
		{ "events", &options.max_events },           { "passes", &options.passes },
	};

	if (!value)
		return false;
	value++;
	if (!strncmp(argument, "mode", length)) {
		options.stack_mode = !strcmp(value, "stack");
		return options.stack_mode || !strcmp(value, "count");
	}
	if (!strncmp(argument, "functions", length))
		return read_functions(value);
	if (!strncmp(argument, "out", length)) {
		options.output = fopen(value, "w");
		return options.output;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strlen(numbers[i].key) == length && !strncmp(argument, numbers[i].key, length)) {
			char *rest;

			*numbers[i].number = strtoull(value, &rest, 0);
			return *value && !*rest;
		}
	}
	return false;
}

static void usage(void)
{
	fprintf(stderr,
		"worldwise plugin: arguments, separated by commas:\n"
		"  mode=count|stack      count instructions of regions, or attribute them to stacks too\n"
		"  out=FILE              where records go\n"
		"  task-switch=ADDRESS   Linux's cpu_switch_to (mode stack)\n"
		"  thread-suspend=ADDRESS, thread-resume=ADDRESS\n"
		"                        OP-TEE's thread_state_suspend and thread_resume (mode stack)\n"
		"  functions=FILE        where functions begin and end: pairs of 64-bit numbers, in order (mode "
		"stack)\n"
		"  witness=N             compare with the stack in memory about every N instructions (mode stack)\n"
		"  passes=N              outermost regions with the same mark that are looked at; 0, the default, for "
		"all\n"
		"  events=N              at most N changes of exception level are recorded a region (mode stack)\n");
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	struct json_object *record;

	for (int i = 0; i < argc; i++) {
		if (!read_option(argv[i])) {
			usage();
			fprintf(stderr, "worldwise plugin: %s is not understood, or cannot be done\n", argv[i]);
			return -1;
		}
	}
	if (!options.output || strcmp(info->target_name, "aarch64") != 0) {
		usage();
		fprintf(stderr, "worldwise plugin: needs out=FILE, and an aarch64 machine\n");
		return -1;
	}
	behind_reads = g_hash_table_new(g_direct_hash, g_direct_equal);
	blocks = g_hash_table_new(block_hash, block_equal);
	marks = g_hash_table_new(g_direct_hash, g_direct_equal);
	nodes = g_hash_table_new(node_hash, node_equal);
	slots = g_hash_table_new(slot_hash, slot_equal);
	dirty = g_ptr_array_new();
	contexts = g_ptr_array_new();
	tasks = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	threads = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	scratch = g_byte_array_new();
	board = qemu_plugin_scoreboard_new(sizeof(struct scoreboard));
	board_active = qemu_plugin_scoreboard_u64_in_struct(board, struct scoreboard, active);
	board_open = qemu_plugin_scoreboard_u64_in_struct(board, struct scoreboard, open);
	board_count = qemu_plugin_scoreboard_u64_in_struct(board, struct scoreboard, count);

	record = record_new("start");
	add_number(record, "format", OUTPUT_FORMAT);
	add_text(record, "mode", options.stack_mode ? "stack" : "count");
	add_address(record, "task_switch", options.task_switch);
	add_address(record, "thread_suspend", options.thread_suspend);
	add_address(record, "thread_resume", options.thread_resume);
	add_number(record, "witness", options.witness);
	record_write(record);

	qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, on_exit, NULL);
	return 0;
}
