/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree.h"

#include <glib.h>

#include "arguments.h"
#include "processor.h"
#include "tables.h"
#include "trace.h"

static GPtrArray *contexts;
static GHashTable *nodes;
static uint32_t last_id; /* of a node */

static guint node_hash(gconstpointer key)
{
	const struct node *node = key;

	return hash_pair(hash_pair((uintptr_t)node->parent, node->site),
			 node->target + (uint64_t)node->kind + 16u * node->context->id);
}

static gboolean node_equal(gconstpointer left, gconstpointer right)
{
	const struct node *a = left;
	const struct node *b = right;

	return a->parent == b->parent && a->site == b->site && a->target == b->target && a->kind == b->kind &&
	       a->context == b->context;
}

void tree_start(void)
{
	contexts = g_ptr_array_new();
	nodes = g_hash_table_new(node_hash, node_equal);
}

static void context_write(const struct context *context)
{
	struct json_object *record = record_new("context");

	record_number(record, "id", context->id);
	record_number(record, "el", context->el);
	record_flag(record, "secure", context->secure);
	record_address(record, "task", context->task);
	record_address(record, "space", context->space);
	record_write(record);
}

/* TAs have one translation table in turn, and a number for what is in it. */
static uint64_t space_of_ta(void)
{
	return arguments.ta_calls ? processor_space_number() : 0;
}

const struct context *context_of(unsigned int el, bool secure, uint64_t task)
{
	uint64_t space = el ? 0 : secure ? space_of_ta() : processor_user_space();
	struct context *context;

	for (guint i = 0; i < contexts->len; i++) {
		context = g_ptr_array_index(contexts, i);
		if (context->el == el && context->secure == secure && context->task == task && context->space == space)
			return context;
	}
	context = g_new(struct context, 1);
	*context = (struct context){
		.id = contexts->len + 1, .el = el, .secure = secure, .task = task, .space = space
	};
	g_ptr_array_add(contexts, context);
	context_write(context);
	return context;
}

struct node *node_of(struct node *parent, enum node_kind kind, uint64_t site, uint64_t target,
		     const struct context *context)
{
	struct node wanted = { .parent = parent, .kind = kind, .site = site, .target = target, .context = context };
	struct node *found = g_hash_table_lookup(nodes, &wanted);

	if (!found) {
		found = g_new(struct node, 1);
		*found = wanted;
		found->id = ++last_id;
		g_hash_table_add(nodes, found);
	}
	return found;
}

void node_write(struct node *node)
{
	static const char *const kinds[] = { "region", "call", "exception", "enter", "task", "unwound", "lost" };
	struct json_object *record;

	if (node->written)
		return;
	if (node->parent)
		node_write(node->parent);
	node->written = true;
	record = record_new("frame");
	record_number(record, "id", node->id);
	record_number(record, "parent", node->parent ? node->parent->id : 0);
	record_text(record, "kind", kinds[node->kind]);
	record_address(record, "site", node->site);
	record_address(record, "target", node->target);
	record_number(record, "context", node->context->id);
	record_write(record);
}

uint32_t nodes_made(void)
{
	return last_id;
}
