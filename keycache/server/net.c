/* SPDX-License-Identifier: BSD-2-Clause */
#include "net.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "metrics.h"
#include "notify.h"
#include "tls.h"

#define READ_BYTES 65536u
#define PLAIN_BYTES 16384u
/* More than this unsent, and the connection's requests wait; half of it, and they go on. */
#define OUT_BYTES (512u * 1024u)
#define HANDSHAKE_SECONDS 10u
/* How long a client has to take a reply. */
#define DRAIN_SECONDS 30u
#define LINGER_SECONDS 2u
#define END_SECONDS 5u
#define BACKLOG 511
/* Beyond --max-clients, for administrators alone. */
#define ADMINISTRATORS 8u
#define LEAST_HANDSHAKES 32u
/* What a connection gets done before it is the others' turn: calls of the TA, and requests that need none. */
#define TURN_CALLS 16u
#define TURN_REQUESTS 64u
#define ADDRESS_BYTES 16u
/* How many requests of a turn are known by their time; if there are more, the first ones end before the turn does. */
#define ANSWERED_MOST 1024u
/* Of an IPv6 address: who has one has all that begin like it. */
#define NETWORK_BYTES 8u

struct connection {
	uv_tcp_t tcp;
	uv_shutdown_t shutdown;
	struct net *net;
	struct connection *older;
	struct connection *newer;
	struct connection *next_pending;
	struct connection *next_queued;
	SSL *ssl;
	BIO *from_peer;
	BIO *to_peer;
	struct resp *resp;
	struct resp_request *request; /* that has more to do */
	struct buffer out;
	struct client client;
	uint8_t address[ADDRESS_BYTES];
	uint64_t arrived; /* the last that was read (ns) */
	uint64_t born;    /* ms */
	uint64_t last;    /* a whole request, or the peer took some of what we sent (ms) */
	size_t unsent;    /* given to libuv and not written */
	bool known;       /* the handshake is done and the client has a name */
	bool admitted;    /* and is one of the clients there is room for */
	bool pending;     /* on the list of those with something to send */
	bool queued;      /* on the list of those with something to do: its turn is over */
	bool reading;
	bool paused;
	bool ending;    /* close when all is sent */
	bool lingering; /* all is sent: wait for the peer to close, or it may lose the last reply */
	bool broken;    /* TLS failed: OpenSSL takes no further call of this one, but what it wrote may be sent */
	bool closed;
};

/* A request whose reply goes out at the end of the turn. */
struct answered {
	unsigned command;
	uint64_t arrived;
};

struct net {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_prepare_t prepare;
	uv_idle_t idle; /* while a connection waits for its next turn */
	uv_check_t check;
	uv_timer_t second;
	uv_timer_t expiring; /* while more keys have come to their end than one turn takes */
	uv_signal_t signals[3];
	const struct options *options;
	struct service *service;
	SSL_CTX *tls;
	struct metrics *metrics; /* or NULL */
	struct answered answered[ANSWERED_MOST];
	unsigned answered_count;
	/* In the order of `last`, so that those that time out stand first. */
	struct connection *oldest;
	struct connection *newest;
	struct connection *pending;
	struct connection *queue;
	struct connection **queue_end;
	unsigned queued;
	unsigned count;
	unsigned admitted;
	bool unaccepted; /* a connection waits for memory */
	unsigned ending; /* seconds left, when it ends */
	bool stopping;
	uint8_t read[READ_BYTES];
	uint8_t plain[PLAIN_BYTES];
};

struct sending {
	uv_write_t request;
	size_t size;
	uint8_t data[];
};

static void say(const char *what, const char *why)
{
	(void)fprintf(stderr, "keycached: %s%s%s\n", what, why ? ": " : "", why ? why : "");
}

/*
 * OpenSSL's queue of errors is the thread's, and SSL_get_error() looks into it: what another connection's call left there would
 * be taken for this one's. So each call that is followed by SSL_get_error() begins with an empty queue. Looking is cheap.
 */
static void forget_errors(void)
{
	if (ERR_peek_error())
		ERR_clear_error();
}

/* Writes to the audit log how a connection ended, and why it was refused or closed. */
static void report(const struct connection *one, const char *event, const char *outcome, const char *why)
{
	const struct audit_event all = { .kind = AUDIT_CONNECTION,
					 .name = event,
					 .client = one->client.id.text,
					 .address = one->client.address,
					 .outcome = outcome,
					 .why = why };

	audit_write(one->net->service->audit, &all);
}

static void refuse(struct connection *one, const char *outcome, const char *why)
{
	/* The list of connections has no hole. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	one->net->service->counts.refused++;
	report(one, "connect", outcome, why);
}

static void unlink_connection(struct connection *one)
{
	struct net *net = one->net;

	if (one->older)
		one->older->newer = one->newer;
	else
		net->oldest = one->newer;
	if (one->newer)
		one->newer->older = one->older;
	else
		net->newest = one->older;
}

static void link_newest(struct connection *one)
{
	struct net *net = one->net;

	one->older = net->newest;
	one->newer = NULL;
	if (net->newest)
		net->newest->newer = one;
	else
		net->oldest = one;
	net->newest = one;
}

static void touch(struct connection *one)
{
	one->last = uv_now(&one->net->loop);
	if (one->net->newest == one)
		return;
	unlink_connection(one);
	link_newest(one);
}

static void on_closed(uv_handle_t *handle)
{
	struct connection *one = handle->data;

	SSL_free(one->ssl);
	resp_request_free(one->request);
	client_end(&one->client);
	resp_free(one->resp);
	buffer_free(&one->out);
	free(one);
}

static void close_connection(struct connection *one)
{
	struct net *net = one->net;

	if (one->closed)
		return;
	one->closed = true;
	if (one->pending) {
		struct connection **at = &net->pending;

		while (*at != one)
			at = &(*at)->next_pending;
		*at = one->next_pending;
	}
	if (one->queued) {
		struct connection **at = &net->queue;

		while (*at != one)
			at = &(*at)->next_queued;
		*at = one->next_queued;
		if (!one->next_queued)
			net->queue_end = at;
		net->queued--;
	}
	unlink_connection(one);
	net->count--;
	net->admitted -= one->admitted;
	net->service->counts.open--;
	uv_close((uv_handle_t *)&one->tcp, on_closed);
}

static void stop_when_empty(struct net *net)
{
	if (net->stopping && !net->count)
		uv_stop(&net->loop);
}

static void pend(struct connection *one)
{
	if (one->pending || one->closed)
		return;
	one->pending = true;
	one->next_pending = one->net->pending;
	one->net->pending = one;
}

static void advance(struct connection *one);
static void on_idle(uv_idle_t *idle);
static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

/* To be gone on with after the others. */
static void queue(struct connection *one)
{
	struct net *net = one->net;

	if (one->queued)
		return;
	one->queued = true;
	one->next_queued = NULL;
	*net->queue_end = one;
	net->queue_end = &one->next_queued;
	if (!net->queued++)
		(void)uv_idle_start(&net->idle, on_idle);
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *one = handle->data;

	(void)suggested;
	*buffer = uv_buf_init((char *)one->net->read, sizeof(one->net->read));
}

/* Reads what comes exactly while somebody waits for it; what does not come fills the peer's buffers, not ours. */
static void set_reading(struct connection *one)
{
	bool wanted = !one->closed && (one->lingering || (!one->ending && !one->paused && !one->queued));

	if (wanted == one->reading)
		return;
	one->reading = wanted;
	if (!wanted)
		(void)uv_read_stop((uv_stream_t *)&one->tcp);
	else if (uv_read_start((uv_stream_t *)&one->tcp, give_buffer, on_read))
		close_connection(one);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	(void)request;
	(void)status;
}

/* A close while the peer still sends would be a reset, and could take our last words with it. */
static void linger(struct connection *one)
{
	if (one->lingering)
		return;
	one->lingering = true;
	touch(one);
	if (uv_shutdown(&one->shutdown, (uv_stream_t *)&one->tcp, on_shutdown))
		close_connection(one);
	else
		set_reading(one);
}

static void on_sent(uv_write_t *request, int status)
{
	struct sending *sending = (struct sending *)request;
	struct connection *one = request->handle->data;

	one->unsent -= sending->size;
	free(sending);
	if (one->closed)
		return;
	if (status < 0) {
		close_connection(one);
		return;
	}
	touch(one);
	if (one->ending) {
		if (!one->unsent && !one->pending)
			linger(one);
		return;
	}
	if (one->paused && one->unsent < OUT_BYTES / 2) {
		one->paused = false;
		advance(one);
	}
}

/* Encrypts what was answered and hands it to libuv. */
static void send_out(struct connection *one)
{
	struct sending *sending;
	uv_buf_t buffer;
	size_t size;

	if (one->out.failed) {
		close_connection(one);
		return;
	}
	/* Memory takes all that is written to it. */
	forget_errors();
	if (one->out.size && !one->broken &&
	    SSL_write(one->ssl, one->out.data, (int)one->out.size) != (int)one->out.size) {
		close_connection(one);
		return;
	}
	buffer_clear(&one->out);
	if (one->ending && one->known && !one->lingering && !one->broken)
		(void)SSL_shutdown(one->ssl);
	size = BIO_ctrl_pending(one->to_peer);
	if (!size) {
		if (one->ending && !one->unsent)
			linger(one);
		return;
	}
	sending = malloc(sizeof(*sending) + size);
	if (!sending || BIO_read(one->to_peer, sending->data, (int)size) != (int)size) {
		free(sending);
		close_connection(one);
		return;
	}
	sending->size = size;
	one->unsent += size;
	buffer = uv_buf_init((char *)sending->data, (unsigned)size);
	if (uv_write(&sending->request, (uv_stream_t *)&one->tcp, &buffer, 1, on_sent)) {
		one->unsent -= size;
		free(sending);
		close_connection(one);
	}
}

/* How long the requests took that were answered in this turn. */
static void count_answers(struct net *net)
{
	uint64_t now = net->answered_count ? histogram_clock_ns() : 0;

	for (unsigned i = 0; i < net->answered_count; i++)
		histogram_add(&net->service->latency[net->answered[i].command], now - net->answered[i].arrived);
	net->answered_count = 0;
}

static void note_answer(const struct connection *one)
{
	struct net *net = one->net;

	if (net->answered_count == ANSWERED_MOST)
		count_answers(net);
	net->answered[net->answered_count++] = (struct answered){ one->client.command, one->arrived };
}

/* The end of a turn: one wait for the disk, then all replies of this turn. */
static void send_all(struct net *net)
{
	struct shadow *shadow = net->service->shadow;

	if (shadow_dirty(shadow)) {
		if (net->service->relaxed)
			(void)shadow_write(shadow);
		else
			(void)shadow_sync(shadow);
	}
	count_answers(net);
	while (net->pending) {
		struct connection *one = net->pending;

		net->pending = one->next_pending;
		one->pending = false;
		send_out(one);
	}
	stop_when_empty(net);
}

static void on_check(uv_check_t *check)
{
	send_all(check->data);
}

/* What timers and signals left, before the loop sleeps. */
static void on_prepare(uv_prepare_t *prepare)
{
	send_all(prepare->data);
}

static void end_connection(struct connection *one)
{
	if (one->ending)
		return;
	one->ending = true;
	set_reading(one);
	pend(one);
}

/* Answers what has come, until its turn is over: `*left` is how many requests that still has. False if the connection ends. */
static bool answer_all(struct connection *one, unsigned *left)
{
	struct service *service = one->net->service;

	for (;;) {
		if (one->out.size + one->unsent > OUT_BYTES) {
			one->paused = true;
			return true;
		}
		switch (one->request ? RESP_REQUEST : resp_next(one->resp, &one->request)) {
		case RESP_MORE:
			return true;
		case RESP_REQUEST:
			if (!*left || service->tee.calls >= service->stop_at) {
				queue(one);
				return true;
			}
			--*left;
			touch(one);
			if (!service_answer(service, &one->client, &one->request, &one->out))
				break;
			note_answer(one);
			resp_request_free(one->request);
			one->request = NULL;
			if (one->client.quit)
				return false;
			break;
		default:
			service->counts.malformed++;
			resp_error(&one->out, resp_problem(one->resp));
			report(one, "close", "ERR", "a request that is malformed or too large");
			return false;
		}
	}
}

/*
 * The server has no answer to the handshake's last message, so Linux would wait 40 ms before it acknowledges that; and a client
 * with Nagle's algorithm (redis-benchmark has it) sends its first request no sooner.
 */
static void acknowledge(const struct connection *one)
{
	const int now = 1;
	uv_os_fd_t socket;

	if (!uv_fileno((const uv_handle_t *)&one->tcp, &socket))
		(void)setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &now, sizeof(now));
}

static unsigned handshakes(unsigned max_clients)
{
	return max_clients / 4 > LEAST_HANDSHAKES ? max_clients / 4 : LEAST_HANDSHAKES;
}

unsigned net_connections(unsigned max_clients)
{
	return max_clients + handshakes(max_clients) + ADMINISTRATORS;
}

/* Whether there is room for one more that has shaken hands. */
static bool has_room(const struct connection *one)
{
	const struct net *net = one->net;
	unsigned limit = net->options->max_per_address;
	unsigned same = 0;

	if (service_is_admin(net->service, &one->client))
		return net->admitted < net->options->max_clients + ADMINISTRATORS;
	for (const struct connection *other = net->oldest; limit && other; other = other->newer)
		same += other->admitted && !memcmp(other->address, one->address, ADDRESS_BYTES);
	return net->admitted < net->options->max_clients && (!limit || same < limit);
}

/* True when the client is known. */
static bool greet(struct connection *one)
{
	struct service *service = one->net->service;
	const char *why;
	int result;

	forget_errors();
	result = SSL_do_handshake(one->ssl);
	pend(one);
	if (result != 1) {
		if (SSL_get_error(one->ssl, result) != SSL_ERROR_WANT_READ) {
			/* The alert that says why is on its way out. */
			one->broken = true;
			refuse(one, "TLS", tls_reason(one->ssl));
			end_connection(one);
		}
		return false;
	}
	acknowledge(one);
	one->known = true;
	touch(one);
	one->resp = resp_new(one->net->options->max_request);
	why = !one->resp                                 ? "out of memory"
	      : !tls_identity(one->ssl, &one->client.id) ? "the certificate's common name cannot be an id"
	      : !service_admits(service, &one->client)   ? "the access list denies it"
							 : NULL;
	if (!why) {
		one->admitted = has_room(one);
		one->net->admitted += one->admitted;
		if (one->admitted) {
			report(one, "connect", "OK", NULL);
			return true;
		}
		resp_error(&one->out, "ERR max number of clients reached");
		refuse(one, "ERR", "max number of clients reached");
	} else {
		resp_error(&one->out, "NOAUTH the certificate's common name is not one that may connect");
		refuse(one, "NOAUTH", why);
	}
	end_connection(one);
	return false;
}

/* Goes on with what the peer sent, as far as it goes. */
static void advance(struct connection *one)
{
	struct net *net = one->net;
	unsigned left = TURN_REQUESTS;

	if (!one->known && !greet(one))
		return;
	net->service->stop_at = net->service->tee.calls + TURN_CALLS;
	for (;;) {
		int size;

		/* Also first: requests may have waited in the reader while it was paused. */
		if (!answer_all(one, &left)) {
			end_connection(one);
			return;
		}
		pend(one);
		set_reading(one);
		if (one->paused || one->queued || one->closed)
			return;
		forget_errors();
		size = SSL_read(one->ssl, net->plain, sizeof(net->plain));
		if (size <= 0) {
			int error = SSL_get_error(one->ssl, size);

			if (error == SSL_ERROR_WANT_READ)
				return;
			/* The peer may have ended it in order, and still want its replies. */
			one->broken = error != SSL_ERROR_ZERO_RETURN;
			end_connection(one);
			return;
		}
		/* A problem shows itself in answer_all. */
		(void)resp_feed(one->resp, net->plain, (size_t)size);
		OPENSSL_cleanse(net->plain, (size_t)size);
	}
}

/* The next turn of those whose last one was too short. */
static void on_idle(uv_idle_t *idle)
{
	struct net *net = idle->data;

	for (unsigned turns = net->queued; turns && net->queue; turns--) {
		struct connection *one = net->queue;

		net->queue = one->next_queued;
		if (!net->queue)
			net->queue_end = &net->queue;
		net->queued--;
		one->queued = false;
		if (!one->ending)
			advance(one);
	}
	if (!net->queued)
		(void)uv_idle_stop(idle);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *one = stream->data;

	if (one->closed || !size)
		return;
	if (one->ending) {
		if (size < 0)
			close_connection(one);
		return;
	}
	if (size < 0) {
		/* Who only stopped sending may still want its replies. */
		if (size == UV_EOF && (one->unsent || one->out.size))
			end_connection(one);
		else
			close_connection(one);
		return;
	}
	one->arrived = histogram_clock_ns();
	if (BIO_write(one->from_peer, buffer->base, (int)size) != (int)size) {
		close_connection(one);
		return;
	}
	advance(one);
}

static bool make_tls(struct connection *one)
{
	one->ssl = SSL_new(one->net->tls);
	if (!one->ssl)
		return false;
	one->from_peer = BIO_new(BIO_s_mem());
	one->to_peer = BIO_new(BIO_s_mem());
	if (!one->from_peer || !one->to_peer) {
		BIO_free(one->from_peer);
		BIO_free(one->to_peer);
		return false;
	}
	SSL_set_bio(one->ssl, one->from_peer, one->to_peer);
	SSL_set_accept_state(one->ssl);
	return true;
}

static void write_address(const struct sockaddr_storage *peer, char text[CLIENT_ADDRESS_BYTES])
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool six = peer->ss_family == AF_INET6;
	unsigned port;

	if (six)
		(void)uv_ip6_name((const struct sockaddr_in6 *)peer, host, sizeof(host));
	else
		(void)uv_ip4_name((const struct sockaddr_in *)peer, host, sizeof(host));
	/* The port stands in the same place in both kinds of address. */
	port = ntohs(((const struct sockaddr_in *)peer)->sin_port);
	(void)snprintf(text, CLIENT_ADDRESS_BYTES, six ? "[%s]:%u" : "%s:%u", host, port);
}

/* Where the peer is, as far as it counts. */
static void note_address(struct connection *one)
{
	struct sockaddr_storage peer = { 0 };
	int size = sizeof(peer);

	if (uv_tcp_getpeername(&one->tcp, (struct sockaddr *)&peer, &size))
		return;
	write_address(&peer, one->client.address);
	if (peer.ss_family == AF_INET6)
		memcpy(one->address, &((struct sockaddr_in6 *)&peer)->sin6_addr, NETWORK_BYTES);
	else
		memcpy(one->address, &((struct sockaddr_in *)&peer)->sin_addr, sizeof(struct in_addr));
}

/*
 * Who shakes hands and is silent holds a place for HANDSHAKE_SECONDS. So a new one takes the place of the oldest, of its own
 * address first: who goes on with its handshake is through long before a flood has come round.
 */
static void make_room(const struct connection *one)
{
	struct net *net = one->net;
	unsigned most = handshakes(net->options->max_clients);
	struct connection *oldest = NULL;
	struct connection *oldest_here = NULL;
	unsigned all = 0;
	unsigned here = 0;

	for (struct connection *other = net->oldest; other; other = other->newer) {
		if (other->known || other == one)
			continue;
		oldest = oldest ? oldest : other;
		all++;
		if (memcmp(other->address, one->address, ADDRESS_BYTES) != 0)
			continue;
		oldest_here = oldest_here ? oldest_here : other;
		here++;
	}
	if (here >= most / 2)
		oldest = oldest_here;
	else if (all < most)
		return;
	refuse(oldest, "ERR", "another connection took the place: too many that have not shaken hands");
	close_connection(oldest);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct net *net = listener->data;
	struct connection *one;

	if (status < 0)
		return;
	one = calloc(1, sizeof(*one));
	if (!one || uv_tcp_init(&net->loop, &one->tcp)) {
		/* libuv tells of no other connection before this one is accepted: see on_second(). */
		free(one);
		net->unaccepted = true;
		return;
	}
	one->net = net;
	one->tcp.data = one;
	net->service->counts.connections++;
	net->service->counts.open++;
	net->count++;
	one->born = uv_now(&net->loop);
	one->last = one->born;
	link_newest(one);
	if (uv_accept(listener, (uv_stream_t *)&one->tcp) || !make_tls(one)) {
		refuse(one, "ERR", "out of memory");
		close_connection(one);
		return;
	}
	note_address(one);
	make_room(one);
	/* Beyond that there are only those that were refused, and have not closed yet. */
	if (net->count > net_connections(net->options->max_clients)) {
		refuse(one, "ERR", "too many connections that were refused and have not closed");
		close_connection(one);
		return;
	}
	(void)uv_tcp_nodelay(&one->tcp, 1);
	set_reading(one);
}

static unsigned patience(const struct net *net, const struct connection *one)
{
	unsigned idle = net->options->idle_timeout;
	unsigned limit = !one->known ? HANDSHAKE_SECONDS : one->unsent ? DRAIN_SECONDS : idle;

	if (one->lingering)
		return LINGER_SECONDS;
	return idle && idle < limit ? idle : limit;
}

static void on_expiring(uv_timer_t *timer)
{
	struct net *net = timer->data;

	if (service_expire(net->service))
		(void)uv_timer_start(&net->expiring, on_expiring, 1, 0);
}

static void on_second(uv_timer_t *timer)
{
	struct net *net = timer->data;
	uint64_t now = uv_now(&net->loop);
	struct connection *next;

	(void)service_flush(net->service);
	on_expiring(&net->expiring);
	audit_tick(net->service->audit);
	metrics_tick(net->metrics);
	if (net->unaccepted && !net->stopping) {
		net->unaccepted = false;
		on_connection((uv_stream_t *)&net->listener, 0);
	}
	for (struct connection *one = net->oldest; one; one = next) {
		unsigned limit = patience(net, one);

		next = one->newer;
		if (net->options->max_age && now - one->born >= (uint64_t)net->options->max_age * 1000)
			end_connection(one);
		if (!limit || now - one->last < (uint64_t)limit * 1000)
			continue;
		net->service->counts.timeouts++;
		if (!one->known)
			report(one, "connect", "ERR", "the handshake took too long");
		close_connection(one);
	}
	if (net->stopping && net->ending && !--net->ending)
		while (net->oldest)
			close_connection(net->oldest);
	stop_when_empty(net);
}

static void on_end(uv_signal_t *signal, int number)
{
	struct net *net = signal->data;

	(void)number;
	if (net->stopping)
		return;
	say("ends: replies go out, then it closes", NULL);
	notify("STOPPING=1");
	net->stopping = true;
	net->ending = END_SECONDS;
	uv_close((uv_handle_t *)&net->listener, NULL);
	for (struct connection *one = net->oldest; one; one = one->newer)
		end_connection(one);
	stop_when_empty(net);
}

static SSL_CTX *read_certificates(const struct options *options, char *problem, size_t size)
{
	const struct tls_files files = { options->tls_cert, options->tls_key, options->tls_ca, options->tls_crl };

	return tls_context(&files, problem, size);
}

static void report_reload(const struct net *net, const char *event, const char *problem)
{
	const struct audit_event all = {
		.kind = AUDIT_SERVER, .name = event, .outcome = problem ? "ERR" : "OK", .why = problem
	};

	audit_write(net->service->audit, &all);
}

/* Each of the two for itself: a mistake in one file does not keep a lost device's certificate in the other. */
static void on_reload(uv_signal_t *signal, int number)
{
	struct net *net = signal->data;
	char problem[512];
	char reopen[512];
	char state[64];
	struct acl *acl;
	SSL_CTX *tls;

	(void)number;
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, histogram_clock_ns() / 1000);
	notify(state);
	acl = acl_read(net->options->acl, problem, sizeof(problem));
	if (!audit_reopen(net->service->audit, reopen, sizeof(reopen)))
		say("the audit log stays the file that it was", reopen);
	report_reload(net, "reload access list", acl ? NULL : problem);
	if (acl) {
		acl_free(net->service->acl);
		net->service->acl = acl;
		say("the access list is read anew", net->options->acl);
	} else {
		say("the access list stays as it was", problem);
	}
	tls = read_certificates(net->options, problem, sizeof(problem));
	report_reload(net, "reload certificates", tls ? NULL : problem);
	if (tls) {
		/* Connections have theirs for as long as they need it. */
		SSL_CTX_free(net->tls);
		net->tls = tls;
		say("certificates are read anew", net->options->tls_ca);
	} else {
		say("certificates stay as they were", problem);
	}
	for (struct connection *one = net->oldest; one; one = one->newer) {
		const char *why = !one->known || one->ending                    ? NULL
				  : !service_admits(net->service, &one->client) ? "the access list denies it"
				  : !tls_still_good(net->tls, one->ssl)         ? "its certificate is good no more"
										: NULL;

		if (!why)
			continue;
		report(one, "close", "NOAUTH", why);
		end_connection(one);
	}
	forget_errors();
	notify("READY=1");
}

static int start_listening(struct net *net)
{
	struct sockaddr_storage address;
	int size = sizeof(address);
	unsigned port = net->options->port;
	unsigned metrics_port = net->options->metrics_port;
	int result;

	if (net->options->metrics) {
		net->metrics = metrics_start(&net->loop, &metrics_port, net->service);
		if (!net->metrics)
			return UV_EADDRNOTAVAIL;
	}

	if (strchr(net->options->listen, ':'))
		result = uv_ip6_addr(net->options->listen, (int)port, (struct sockaddr_in6 *)&address);
	else
		result = uv_ip4_addr(net->options->listen, (int)port, (struct sockaddr_in *)&address);
	if (result) {
		(void)fprintf(stderr, "keycached: --listen %s: expected an address such as 127.0.0.1 or ::1\n",
			      net->options->listen);
		return result;
	}
	result = uv_tcp_init(&net->loop, &net->listener);
	if (!result)
		result = uv_tcp_bind(&net->listener, (struct sockaddr *)&address, 0);
	if (!result)
		result = uv_listen((uv_stream_t *)&net->listener, BACKLOG, on_connection);
	if (!result)
		result = uv_tcp_getsockname(&net->listener, (struct sockaddr *)&address, &size);
	if (result) {
		(void)fprintf(stderr, "keycached: --listen %s --port %u: %s\n", net->options->listen, port,
			      uv_strerror(result));
		return result;
	}
	/* The port stands in the same place in both kinds of address. */
	(void)printf("keycached: listening on %s port %u\n", net->options->listen,
		     (unsigned)ntohs(((struct sockaddr_in *)&address)->sin_port));
	if (net->metrics)
		(void)printf("keycached: metrics at 127.0.0.1 port %u\n", metrics_port);
	(void)fflush(stdout);
	notify("READY=1");
	return 0;
}

static void close_handle(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

int net_run(const struct options *options, struct service *service)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
	struct net *net = calloc(1, sizeof(*net));
	char problem[512];
	sigset_t ends;
	int result = 1;

	if (!net)
		return 1;
	net->options = options;
	net->service = service;
	(void)signal(SIGPIPE, SIG_IGN);
	/* A file that may not grow is a write that fails. */
	(void)signal(SIGXFSZ, SIG_IGN);
	net->tls = read_certificates(options, problem, sizeof(problem));
	if (!net->tls) {
		say(problem, NULL);
		free(net);
		return 1;
	}
	if (uv_loop_init(&net->loop)) {
		SSL_CTX_free(net->tls);
		free(net);
		return 1;
	}
	net->listener.data = net;
	net->queue_end = &net->queue;
	net->idle.data = net;
	(void)uv_idle_init(&net->loop, &net->idle);
	net->prepare.data = net;
	net->check.data = net;
	net->second.data = net;
	(void)uv_check_init(&net->loop, &net->check);
	(void)uv_check_start(&net->check, on_check);
	(void)uv_prepare_init(&net->loop, &net->prepare);
	(void)uv_prepare_start(&net->prepare, on_prepare);
	net->expiring.data = net;
	(void)uv_timer_init(&net->loop, &net->expiring);
	(void)uv_timer_init(&net->loop, &net->second);
	(void)uv_timer_start(&net->second, on_second, 1000, 1000);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		net->signals[i].data = net;
		(void)uv_signal_init(&net->loop, &net->signals[i]);
		(void)uv_signal_start(&net->signals[i], numbers[i] == SIGHUP ? on_reload : on_end, numbers[i]);
	}
	if (!start_listening(net)) {
		(void)uv_run(&net->loop, UV_RUN_DEFAULT);
		result = 0;
	}
	/* What is left to write must not be lost to somebody who asks twice. */
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	while (net->oldest)
		close_connection(net->oldest);
	metrics_stop(net->metrics);
	uv_walk(&net->loop, close_handle, NULL);
	(void)uv_run(&net->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&net->loop);
	metrics_free(net->metrics);
	SSL_CTX_free(net->tls);
	free(net);
	return result;
}
