/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin of mosquitto 2.1: what clients publish is sealed by their own keys, and each receiver gets it sealed by its own. The
 * key cache does that in the TEE; the broker sees neither keys nor texts.
 *
 * A payload names its sender (keycache_payload_read), which must be the name of the certificate that it came by. A message goes
 * out re-encrypted or not at all. Who is who is read from certificates here, whatever the broker is told about user names.
 */
#include <mosquitto.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "receivers.h"
#include "relay.h"
#include "say.h"

#define TICK_MS 500
#define DEFAULT_TIMEOUT_MS 1000u
#define MOST_TIMEOUT_MS 60000u
#define NAMES 1024u

/* What the broker looks for; all else is hidden from it. */
#pragma GCC visibility push(default)
MOSQUITTO_PLUGIN_DECLARE_VERSION(5)
int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **userdata, struct mosquitto_opt *given, int count);
int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *given, int count);
#pragma GCC visibility pop

static struct {
	char *cafile;
	char *certfile;
	char *keyfile;
	char *host;
	char *port;
	char *name;
	char *timeout;
} options;

static const struct {
	const char *key;
	char **value;
} known[] = {
	{ "cafile", &options.cafile },
	{ "certfile", &options.certfile },
	{ "keyfile", &options.keyfile },
	{ "keycache_host", &options.host },
	{ "keycache_port", &options.port },
	{ "keycache_name", &options.name },
	{ "keycache_timeout", &options.timeout },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* The broker's own topics: clients cannot publish to the first, and nobody receives from the second. */
static bool is_brokers(const char *topic)
{
	return !strncmp(topic, "$SYS/", 5) || !strncmp(topic, "$CONTROL/", 9);
}

/* The one common name of a certificate, as the key cache's server reads it. */
static bool read_name(const X509 *certificate, char name[KEYCACHE_NAME + 1])
{
	X509_NAME *subject = X509_get_subject_name(certificate);
	int at = subject ? X509_NAME_get_index_by_NID(subject, NID_commonName, -1) : -1;
	bool good = false;

	memset(name, 0, KEYCACHE_NAME + 1);
	if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0) {
		unsigned char *text = NULL;
		int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));

		good = size > 0 && size <= KEYCACHE_NAME && !memchr(text, 0, (size_t)size);
		if (good)
			memcpy(name, text, (size_t)size);
		OPENSSL_free(text);
	}
	return good;
}

/* The certificate that was read last: as long as it is held here, no other one has its address. */
static struct {
	X509 *certificate;
	bool has_name;
	char name[KEYCACHE_NAME + 1];
} last;

/* The name of a connection's certificate. The broker asks twice in a row: whether its client may have a message, and for the copy. */
static bool certified(const struct mosquitto *client, char name[KEYCACHE_NAME + 1])
{
	X509 *certificate = mosquitto_client_certificate(client);

	memset(name, 0, KEYCACHE_NAME + 1);
	if (!certificate)
		return false;
	if (certificate == last.certificate) {
		X509_free(certificate);
	} else {
		X509_free(last.certificate);
		last.certificate = certificate;
		last.has_name = read_name(certificate, last.name);
	}
	memcpy(name, last.name, sizeof(last.name));
	return last.has_name;
}

static struct receiver *receiver_of(const struct mosquitto *client)
{
	const char *id = mosquitto_client_id(client);

	return id ? receiver_find(id) : NULL;
}

/* Of a session whose client is away: the name that it had, or that the broker has from its file. */
static bool remembered(const struct mosquitto *client, char name[KEYCACHE_NAME + 1])
{
	const struct receiver *receiver = receiver_of(client);
	const char *known_as = receiver ? receiver->name : mosquitto_client_username(client);

	memset(name, 0, KEYCACHE_NAME + 1);
	if (!known_as || !*known_as || strlen(known_as) > KEYCACHE_NAME)
		return false;
	memcpy(name, known_as, strlen(known_as));
	return true;
}

/* Whether a client may send this payload: it is one, and names the client as its sender. */
static bool may_send(const struct mosquitto *client, const char *topic, const void *bytes, size_t size,
		     struct keycache_payload *payload)
{
	const char *id = mosquitto_client_id(client);
	char name[KEYCACHE_NAME + 1];

	/* A will is looked at when its client is gone, and so is what a client left that is to be sent on now. */
	if (!certified(client, name) && !remembered(client, name)) {
		say(SAY_SENDER, MOSQ_LOG_NOTICE, "client %s has no certificate with a name: it can publish nothing",
		    id);
		return false;
	}
	if (!keycache_payload_read(payload, bytes, size)) {
		say(SAY_SENDER, MOSQ_LOG_NOTICE, "client %s published to %s what is not sealed", id, topic);
		return false;
	}
	if (payload->sender_size == strlen(name) && !memcmp(payload->sender, name, payload->sender_size))
		return true;
	say(SAY_SENDER, MOSQ_LOG_NOTICE, "client %s, who is %s, published to %s in the name of %.*s", id, name, topic,
	    (int)payload->sender_size, payload->sender);
	return false;
}

static int check_read(const struct mosquitto_evt_acl_check *event)
{
	struct relayed message = { .topic = event->topic };
	char name[KEYCACHE_NAME + 1];

	if (!keycache_payload_read(&message.payload, event->payload, event->payloadlen))
		return MOSQ_ERR_ACL_DENIED;
	/* Away: whether there is a key for it then is asked when it comes back and the broker asks once more. */
	if (!certified(event->client, name))
		return remembered(event->client, name) ? MOSQ_ERR_PLUGIN_IGNORE : MOSQ_ERR_ACL_DENIED;
	switch (relay_see(&message, name)) {
	case RELAY_DONE:
		return MOSQ_ERR_PLUGIN_IGNORE;
	case RELAY_LATER:
		/* It waits in a session that outlives the connection; elsewhere it is lost, as if the receiver were away. */
		if (event->qos && !mosquitto_client_clean_session(event->client))
			return MOSQ_ERR_PLUGIN_IGNORE;
		say(SAY_LATER, MOSQ_LOG_WARNING, "a message for %s is dropped: the key cache cannot be asked", name);
		return MOSQ_ERR_ACL_DENIED;
	default:
		return MOSQ_ERR_ACL_DENIED;
	}
}

static int on_acl_check(int kind, void *data, void *unused)
{
	struct mosquitto_evt_acl_check *event = data;
	struct keycache_payload payload;

	(void)kind;
	(void)unused;
	/* An empty payload has nothing to hide: it removes a retained message. */
	if (is_brokers(event->topic) || !event->payloadlen)
		return MOSQ_ERR_PLUGIN_IGNORE;
	if (event->access == MOSQ_ACL_READ)
		return check_read(event);
	if (event->access == MOSQ_ACL_WRITE &&
	    !may_send(event->client, event->topic, event->payload, event->payloadlen, &payload))
		return MOSQ_ERR_ACL_DENIED;
	return MOSQ_ERR_PLUGIN_IGNORE;
}

/* Where a message comes in that must not be lost, while the key cache cannot be asked: its sender keeps it. */
static int turn_away(const struct mosquitto_evt_message *event)
{
	say(SAY_LATER, MOSQ_LOG_WARNING, "a message of client %s is not taken: the key cache cannot be asked",
	    mosquitto_client_id(event->client));
	if (!event->qos)
		return MOSQ_ERR_ACL_DENIED;
	/* MQTT 5 can say no. Before it there is only the end of the connection: what is not confirmed is sent again. */
	return mosquitto_client_protocol_version(event->client) == 5 ? MOSQ_ERR_QUOTA_EXCEEDED : MOSQ_ERR_UNKNOWN;
}

static int on_message_in(int kind, void *data, void *unused)
{
	struct mosquitto_evt_message *event = data;
	const char *names[NAMES];
	struct relayed message = { .topic = event->topic };
	size_t most;

	(void)kind;
	(void)unused;
	if (is_brokers(event->topic) || !event->payloadlen)
		return MOSQ_ERR_SUCCESS;
	/* Once more: an access list of the broker's that is asked first keeps it from asking us. */
	if (!may_send(event->client, event->topic, event->payload, event->payloadlen, &message.payload))
		return MOSQ_ERR_ACL_DENIED;
	most = relay_room(message.payload.message_size);
	most = receivers_of(event->topic, mosquitto_client_id(event->client), names, most < NAMES ? most : NAMES);
	switch (relay_ahead(&message, names, most)) {
	case RELAY_DONE:
		return MOSQ_ERR_SUCCESS;
	case RELAY_LATER:
		return turn_away(event);
	default:
		return MOSQ_ERR_ACL_DENIED;
	}
}

/*
 * What was confirmed to be sent, and cannot be any more: its sender's key was replaced while it waited, or the receiver's taken
 * away. It goes out empty. Not to send it would leave it among the twenty that may be in flight, for ever.
 */
static int send_blank(struct mosquitto_evt_message *event, const char *name)
{
	mosquitto_property *properties = NULL;
	void *nothing;

	if (!event->qos)
		return MOSQ_ERR_ACL_DENIED;
	nothing = mosquitto_malloc(1);
	if (!nothing)
		return MOSQ_ERR_ACL_DENIED;
	if (mosquitto_client_protocol_version(event->client) == 5 &&
	    (!event->properties || !mosquitto_property_copy_all(&properties, event->properties)) &&
	    !mosquitto_property_add_string_pair(&properties, MQTT_PROP_USER_PROPERTY, "keycache", "not relayed"))
		event->properties = properties;
	else
		mosquitto_property_free_all(&properties);
	say(SAY_BLANK, MOSQ_LOG_NOTICE, "a message that waited for %s goes out empty: it cannot be relayed any more",
	    name);
	event->payload = nothing;
	event->payloadlen = 0;
	event->retain = false;
	return MOSQ_ERR_SUCCESS;
}

/* Keeps a message back that must not be lost, and what follows it: its client is told to come again once it can be had. */
static int hold(const struct mosquitto_evt_message *event, const char *name)
{
	struct receiver *receiver;

	if (!event->qos)
		return MOSQ_ERR_ACL_DENIED;
	receiver = receiver_of(event->client);
	if (!receiver)
		receiver = receiver_make(mosquitto_client_id(event->client), name);
	if (receiver)
		receiver->held = true;
	say(SAY_LATER, MOSQ_LOG_WARNING, "messages for %s wait: the key cache cannot be asked", name);
	return MOSQ_ERR_ACL_DENIED;
}

static int on_message_out(int kind, void *data, void *unused)
{
	struct mosquitto_evt_message *event = data;
	const struct receiver *receiver = receiver_of(event->client);
	struct relayed message = { .topic = event->topic };
	char name[KEYCACHE_NAME + 1];
	enum relay_result result;
	uint8_t *copy;
	uint8_t *whole;
	size_t head;

	(void)kind;
	(void)unused;
	if (is_brokers(event->topic) || !event->payloadlen)
		return MOSQ_ERR_SUCCESS;
	if (!certified(event->client, name) ||
	    !keycache_payload_read(&message.payload, event->payload, event->payloadlen))
		return send_blank(event, name);
	if (receiver && receiver->held && event->qos)
		return MOSQ_ERR_ACL_DENIED;
	result = relay_take(&message, name, &copy);
	if (result)
		return result == RELAY_LATER ? hold(event, name) : send_blank(event, name);
	head = message.payload.head_size;
	whole = mosquitto_malloc(event->payloadlen + 1);
	if (!whole) {
		free(copy);
		return hold(event, name);
	}
	memcpy(whole, event->payload, head);
	memcpy(whole + head, copy, message.payload.message_size);
	whole[event->payloadlen] = 0;
	free(copy);
	event->payload = whole;
	return MOSQ_ERR_SUCCESS;
}

static int on_connect(int kind, void *data, void *unused)
{
	struct mosquitto_evt_connect *event = data;
	char name[KEYCACHE_NAME + 1];
	struct receiver *receiver;

	(void)kind;
	(void)unused;
	if (!certified(event->client, name))
		return MOSQ_ERR_SUCCESS;
	receiver = receiver_make(mosquitto_client_id(event->client), name);
	if (receiver && mosquitto_client_clean_session(event->client))
		receiver_unsubscribe_all(receiver);
	return MOSQ_ERR_SUCCESS;
}

static int on_disconnect(int kind, void *data, void *unused)
{
	struct mosquitto_evt_disconnect *event = data;
	struct receiver *receiver = receiver_of(event->client);

	(void)kind;
	(void)unused;
	/* Its will is looked at after this: the name must be found by then, so it stays for a moment, without anything else. */
	if (receiver) {
		receiver->online = false;
		receiver->held = false;
		receiver->ended = true;
		receiver_unsubscribe_all(receiver);
	}
	return MOSQ_ERR_SUCCESS;
}

static int on_client_offline(int kind, void *data, void *unused)
{
	struct mosquitto_evt_client_offline *event = data;
	struct receiver *receiver = receiver_of(event->client);

	(void)kind;
	(void)unused;
	if (receiver) {
		receiver->online = false;
		receiver->held = false;
	}
	return MOSQ_ERR_SUCCESS;
}

static int on_subscribe(int kind, void *data, void *unused)
{
	struct mosquitto_evt_subscribe *event = data;
	char name[KEYCACHE_NAME + 1];
	struct receiver *receiver;

	(void)kind;
	(void)unused;
	/* Who of a shared subscription gets a message is not known before. */
	if (!certified(event->client, name) || !strncmp(event->data.topic_filter, "$share/", 7))
		return MOSQ_ERR_SUCCESS;
	receiver = receiver_make(mosquitto_client_id(event->client), name);
	if (receiver)
		receiver_subscribe(receiver, event->data.topic_filter, MQTT_SUB_OPT_GET_NO_LOCAL(event->data.options));
	return MOSQ_ERR_SUCCESS;
}

static int on_unsubscribe(int kind, void *data, void *unused)
{
	struct mosquitto_evt_unsubscribe *event = data;
	struct receiver *receiver = receiver_of(event->client);

	(void)kind;
	(void)unused;
	if (receiver)
		receiver_unsubscribe(receiver, event->data.topic_filter);
	return MOSQ_ERR_SUCCESS;
}

static int on_tick(int kind, void *data, void *unused)
{
	struct mosquitto_evt_tick *event = data;
	struct receiver *receiver;

	(void)kind;
	(void)unused;
	event->next_ms = TICK_MS;
	relay_tick();
	receivers_forget_ended();
	if (!receivers_held() || !relay_reachable())
		return MOSQ_ERR_SUCCESS;
	/* What was kept back is sent again when its client connects anew; nothing else makes the broker do so. */
	while ((receiver = receivers_held())) {
		char *id = strdup(receiver->client);

		receiver->held = false;
		if (id)
			(void)mosquitto_kick_client_by_clientid(id, false);
		free(id);
	}
	return MOSQ_ERR_SUCCESS;
}

static const struct {
	int kind;
	MOSQ_FUNC_generic_callback run;
} callbacks[] = {
	{ MOSQ_EVT_ACL_CHECK, on_acl_check },
	{ MOSQ_EVT_MESSAGE_IN, on_message_in },
	{ MOSQ_EVT_MESSAGE_OUT, on_message_out },
	{ MOSQ_EVT_CONNECT, on_connect },
	{ MOSQ_EVT_DISCONNECT, on_disconnect },
	{ MOSQ_EVT_CLIENT_OFFLINE, on_client_offline },
	{ MOSQ_EVT_SUBSCRIBE, on_subscribe },
	{ MOSQ_EVT_UNSUBSCRIBE, on_unsubscribe },
	{ MOSQ_EVT_TICK, on_tick },
};

static void forget_options(void)
{
	for (size_t i = 0; i < KNOWN; i++) {
		free(*known[i].value);
		*known[i].value = NULL;
	}
}

/* What is wrong with them is in the log. */
static bool read_options(const struct mosquitto_opt *given, int count, struct keycache_address *address)
{
	char *end = NULL;
	unsigned long timeout = DEFAULT_TIMEOUT_MS;

	for (int i = 0; i < count; i++) {
		size_t k = 0;

		while (k < KNOWN && strcmp(given[i].key, known[k].key) != 0)
			k++;
		if (k == KNOWN) {
			mosquitto_log_printf(MOSQ_LOG_ERR, "keycache: plugin_opt_%s is no option of this plugin",
					     given[i].key);
			return false;
		}
		free(*known[k].value);
		*known[k].value = strdup(given[i].value);
	}
	if (!options.cafile || !options.certfile || !options.keyfile) {
		mosquitto_log_printf(MOSQ_LOG_ERR, "keycache: plugin_opt_cafile, plugin_opt_certfile and "
						   "plugin_opt_keyfile must name files");
		return false;
	}
	if (options.timeout) {
		timeout = strtoul(options.timeout, &end, 10);
		if (!*options.timeout || *end || !timeout || timeout > MOST_TIMEOUT_MS) {
			mosquitto_log_printf(MOSQ_LOG_ERR,
					     "keycache: plugin_opt_keycache_timeout: expected 1 to %u milliseconds",
					     MOST_TIMEOUT_MS);
			return false;
		}
	}
	*address = (struct keycache_address){ .host = options.host,
					      .port = options.port,
					      .name = options.name,
					      .ca = options.cafile,
					      .cert = options.certfile,
					      .key = options.keyfile,
					      .timeout_ms = (unsigned)timeout };
	return true;
}

int mosquitto_plugin_init(mosquitto_plugin_id_t *identifier, void **userdata, struct mosquitto_opt *given, int count)
{
	struct keycache_address address;
	int error = MOSQ_ERR_SUCCESS;

	(void)userdata;
	if (!read_options(given, count, &address)) {
		forget_options();
		return MOSQ_ERR_INVAL;
	}
	(void)mosquitto_plugin_set_info(identifier, "keycache", "1");
	for (size_t i = 0; !error && i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
		error = mosquitto_callback_register(identifier, callbacks[i].kind, callbacks[i].run, NULL, NULL);
	if (error) {
		mosquitto_log_printf(MOSQ_LOG_ERR, "keycache: this broker has not all events: mosquitto 2.1 has them");
		forget_options();
		return error;
	}
	relay_start(&address);
	return MOSQ_ERR_SUCCESS;
}

int mosquitto_plugin_cleanup(void *userdata, struct mosquitto_opt *given, int count)
{
	(void)userdata;
	(void)given;
	(void)count;
	relay_stop();
	receivers_clear();
	forget_options();
	X509_free(last.certificate);
	last.certificate = NULL;
	return MOSQ_ERR_SUCCESS;
}
