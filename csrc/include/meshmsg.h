/*
 * meshmsg.h: the whole public C surface.  The text between the two cdef markers is also what cffi
 * reads, so it holds only enums, opaque typedefs, plain structs and prototypes; constants are enums.
 *
 * Law: every function may be called from any thread; every int result is MM_OK (or a count) or a
 * negative mm_err; no function keeps a pointer it was given after it returns; handles carry a
 * generation, so a stale one gives MM_ECLOSED and one from before a fork gives MM_EFORKED.
 * Not here: anything with a callback.  C never calls its user.
 */
#ifndef MESHMSG_H
#define MESHMSG_H

#include <stddef.h>
#include <stdint.h>

/* cdef:begin */

typedef enum mm_err {
    MM_OK = 0,
    MM_EAGAIN = -1,        /* cannot now; try again or wait                              */
    MM_ETIMEDOUT = -2,     /* time is up; nothing was sent, nothing was taken            */
    MM_EINTR = -3,         /* a signal arrived while waiting; the caller calls again     */
    MM_ECLOSED = -4,       /* the socket or engine was closed here                       */
    MM_EFORKED = -5,       /* opened before a fork, used after it in the child           */
    MM_ESTATE = -6,        /* wrong state for this call                                  */
    MM_ENOTSUP = -7,       /* this role cannot do that                                   */
    MM_EINVAL = -8,        /* a bad argument                                             */
    MM_EADDRINUSE = -9,
    MM_EADDRINVAL = -10,   /* malformed; mm_url_why says what is wrong                   */
    MM_EPERM = -11,
    MM_EINSECURE = -12,    /* bind outside loopback without MM_OPT_INSECURE              */
    MM_ECONNREFUSED = -13,
    MM_ECONNRESET = -14,
    MM_EPROTO = -15,       /* the peer broke the protocol; a mm_reason says how          */
    MM_EHOSTUNREACH = -16, /* no peer of that name                                       */
    MM_EMSGSIZE = -17,
    MM_ENOMEM = -18,
    MM_EMFILE = -19,
    MM_EIO = -20,
    MM_EREFUSED = -21,     /* the peer will not answer the request                       */
    MM_EADDRNOTAVAIL = -22, /* no address of this machine                                */
    MM_ENOHOST = -23,      /* the host name cannot be resolved                           */
    MM_ENOENT = -24,       /* no folder for the file; of unbind, disconnect: no endpoint */
    MM_ENOTDIR = -25,
    MM_ELOOP = -26,
    MM_ENAMETOOLONG = -27, /* a path or name over its limit; mm_url_why says which       */
    MM_EEXIST = -28,       /* what is there is no socket, and was kept                   */
    MM_EROFS = -29,
    MM_ENOSPC = -30
} mm_err;

typedef enum mm_role {
    MM_PUSH = 1, MM_PULL, MM_PUB, MM_SUB, MM_XPUB, MM_XSUB, MM_REQ, MM_REP, MM_DEALER, MM_ROUTER, MM_PAIR,
    MM_SURVEYOR, MM_RESPONDENT, MM_BUS,
    MM_ROLE_COUNT          /* one past the last role */
} mm_role;

/* Why a connection ended or was never made.  stats.closed[] counts each; events carry it. */
typedef enum mm_reason {
    MM_REASON_NONE = 0,
    MM_REASON_LOCAL,           /* closed here, on purpose                              */
    MM_REASON_EOF,             /* the peer closed between two messages                 */
    MM_REASON_EOF_MID_MESSAGE, /* the peer closed inside a message or frame            */
    MM_REASON_RESET,           /* connection reset, or any other I/O error             */
    MM_REASON_REFUSED,         /* nobody listens there                                 */
    MM_REASON_UNREACHABLE,     /* no route, no such name, no such file                 */
    MM_REASON_HANDSHAKE_TIMEOUT,
    MM_REASON_HEARTBEAT,       /* silent for longer than it may be                     */
    MM_REASON_EVICTED,         /* oldest of too many half-open handshakes              */
    MM_REASON_CONNECTIONS,     /* the listener's connection limit                      */
    MM_REASON_NOT_ZMTP,        /* first octets are no ZMTP greeting                    */
    MM_REASON_OLD_ZMTP,        /* ZMTP 1.0 or 2.0                                      */
    MM_REASON_MECHANISM,       /* security mechanisms differ                           */
    MM_REASON_HANDSHAKE,       /* frame or command out of order before or as READY     */
    MM_REASON_METADATA,        /* malformed, duplicate or oversized READY properties   */
    MM_REASON_SOCKET_TYPE,     /* missing, unknown or not a legal pair                 */
    MM_REASON_IDENTITY,        /* malformed or already taken identity                  */
    MM_REASON_ERROR_COMMAND,   /* the peer sent ERROR                                  */
    MM_REASON_ROLE_REFUSED,    /* the role takes no more peers (PAIR)                  */
    MM_REASON_FRAME_FLAGS,     /* reserved bits, MORE on a command                     */
    MM_REASON_COMMAND,         /* malformed command, PING too short or context too long*/
    MM_REASON_COMMAND_SIZE,
    MM_REASON_MESSAGE_SIZE,
    MM_REASON_FRAME_COUNT,
    MM_REASON_TOPIC_SIZE,
    MM_REASON_SUBSCRIPTIONS,   /* more topics, or bytes of topics, than the limit      */
    MM_REASON_MEMORY,          /* out of memory here                                   */
    MM_REASON_NOT_SP,          /* first octets are no SP hello                         */
    MM_REASON_SP_HEADER,       /* an SP message that ends inside its header            */
    MM_REASON_HANDSHAKE_EOF,   /* the peer closed before the handshake was done        */
    MM_REASON_USER,            /* an abstract ipc name, and the other side is another user */
    MM_REASON_COUNT
} mm_reason;

typedef enum mm_overflow {
    MM_OVERFLOW_BLOCK = 1, MM_OVERFLOW_ERROR, MM_OVERFLOW_DROP_NEWEST, MM_OVERFLOW_DROP_OLDEST
} mm_overflow;

/* Of PUSH, DEALER, PAIR and REQ: what a send does when no peer is there.  REQ does not drop. */
typedef enum mm_no_peer {
    MM_NO_PEER_AS_FULL, MM_NO_PEER_BLOCK, MM_NO_PEER_ERROR, MM_NO_PEER_DROP
} mm_no_peer;

typedef enum mm_event_kind {
    MM_EVENT_LISTENING = 1, MM_EVENT_PEER_UP, MM_EVENT_PEER_DOWN, MM_EVENT_CONNECT_FAILED, MM_EVENT_HANDSHAKE_FAILED,
    MM_EVENT_DROPPED, MM_EVENT_LATE_REPLY, MM_EVENT_ACCEPT_PAUSED, MM_EVENT_ACCEPT_RESUMED, MM_EVENT_PEER_STALLED,
    MM_EVENT_PEER_RESUMED, MM_EVENT_PEER_SILENT, MM_EVENT_PEER_UNREAD
} mm_event_kind;

enum {
    /* readiness bits; MM_PEERS: peers or subscriptions changed; MM_DRAINED: a queue is empty, or receipts came */
    MM_READABLE = 1, MM_WRITABLE = 2, MM_PEERS = 4, MM_DRAINED = 8,
    MM_OPT_INSECURE = 1, MM_OPT_HANDOVER = 2, MM_OPT_DROP_UNROUTABLE = 4, MM_OPT_XPUB_VERBOSE = 8,
    MM_OPT_CONFLATE = 16, MM_OPT_CONFLATE_TOPIC = 32,     /* SUB: keeps the newest, of all or of each topic */
    MM_OPT_XPUB_MANUAL = 64,                              /* its user decides what a peer is subscribed to */
    MM_IDENTITY_MAX = 255, MM_ENDPOINT_MAX = 255, MM_DETAIL_MAX = 127,
    MM_SPIN_AUTO = 0x7fffffff,
    MM_BATCH_INLINE_MAX = 262144  /* bytes: a larger frame is handed over by reference, not copied into a batch */
};

typedef uint64_t mm_handle;       /* 0 is never a valid handle */
typedef struct mm_msg mm_msg;     /* a received message, by reference */

/* Limits and policies of one socket.  mm_socket_defaults fills it for a role. */
typedef struct mm_socket_opts {
    uint32_t send_queue_messages, recv_queue_messages;    /* per peer */
    uint64_t send_queue_bytes, recv_queue_bytes;          /* per peer */
    uint32_t overflow, no_peer;                           /* mm_overflow; mm_no_peer, AS_FULL: as overflow says */
    uint32_t flags;                                       /* MM_OPT_ bits */
    uint64_t message_size_max;                            /* bytes, all frames together */
    uint32_t frames_max, topic_size_max, subscriptions_max, half_open_max, connections_max;
    uint32_t handshake_timeout_ms, heartbeat_interval_ms, heartbeat_timeout_ms;  /* interval 0: heartbeats off */
    uint32_t reconnect_min_ms, reconnect_max_ms, linger_ms;
    uint32_t spin_us;                                     /* before a receive sleeps; MM_SPIN_AUTO: as it pays */
    uint32_t identity_size;
    uint8_t identity[255];
} mm_socket_opts;

typedef struct mm_stats {
    uint64_t sent_messages, sent_bytes;           /* accepted from the application                     */
    uint64_t received_messages, received_bytes;   /* handed to the application                         */
    uint64_t written_messages, parsed_messages;   /* fully written to, fully read from, streams        */
    uint64_t confirmed_messages;                  /* written, and it or a later PING was answered      */
    uint64_t in_doubt_messages;                   /* written to a connection that ended, unconfirmed   */
    uint64_t dropped_overflow, dropped_no_peer, dropped_peer_gone, dropped_closed, dropped_late,
             dropped_filtered, dropped_malformed,
             dropped_unfit,                       /* every drop, by reason; unfit: SP has no words for it */
             dropped_conflated;                   /* a newer one came, and only that was to be kept */
    uint64_t unwanted_messages;                   /* published, and nobody had subscribed to them      */
    uint64_t filtered_messages;                   /* came from a publisher of SP, and nobody subscribed to them */
    uint64_t queued_out_messages, queued_out_bytes, queued_in_messages, queued_in_bytes;   /* now      */
    uint64_t connects, accepts, handshakes, handshakes_failed, disconnects;
    uint64_t events_lost;
    uint32_t peers, half_open, listeners, dialers, topics;                                 /* now      */
    uint64_t closed[64];                          /* by mm_reason                                      */
} mm_stats;

/* MM_STOP_: what became of asking a peer to send nothing more; cancelling: its topics, as it knows no more than that;
 * itself: it asked us; left: we disconnect; gone: unanswered.  MM_SUBSCRIBED_: to topics; probable: not of meshmsg. */
enum {
    MM_STOP_NONE, MM_STOP_ASKED, MM_STOP_STOPPED, MM_STOP_CANCELLING, MM_STOP_CANCELLED, MM_STOP_CANNOT, MM_STOP_LATE,
    MM_STOP_ITSELF, MM_STOP_LEFT, MM_STOP_GONE,
    MM_SUBSCRIBED_NONE = 0, MM_SUBSCRIBED_WAITING, MM_SUBSCRIBED_CERTAIN, MM_SUBSCRIBED_PROBABLE, MM_SUBSCRIBED_WRITTEN
};
typedef struct mm_peer {
    uint64_t id, since_ns;                        /* since: wall clock                                 */
    uint32_t role, wire, zmtp_minor, outgoing, identity_size;   /* wire: 1 ZMTP, 2 SP          */
    uint32_t stop, subscribed;                    /* MM_STOP_, MM_SUBSCRIBED_                          */
    uint32_t meshmsg, stalled;                    /* says it is of meshmsg; its system answers, itself it does not */
    uint64_t queued_out_messages, queued_out_bytes, queued_in_messages, queued_in_bytes;
    uint64_t sent_messages, received_messages, dropped_messages, confirmed_messages, subscriptions;
    int64_t rtt_ns;                               /* -1: not measured yet                              */
    uint8_t identity[255];
    char endpoint[256], address[128];             /* endpoint: ours, as bound or connected             */
} mm_peer;

typedef struct mm_event {
    uint64_t seq, time_ns, peer, count;           /* time: wall clock; count: of what happened         */
    uint32_t kind;                                /* mm_event_kind                                     */
    int32_t reason;                               /* mm_reason                                         */
    int64_t retry_ns;                             /* until the next attempt; -1: none, or not known    */
    char endpoint[256], address[128], detail[128];  /* endpoint: ours; address: the peer's           */
} mm_event;

/* A connection whose handshake is not done yet. */
typedef struct mm_attempt {
    uint64_t id, age_ns, octets;                  /* id: the peer's, if it comes to be one; since it began; that came */
    uint32_t outgoing, connected;                 /* connected: the other side has accepted it         */
    char endpoint[256], address[128];
} mm_attempt;

typedef struct mm_drain_info {
    uint64_t queued_messages, queued_bytes;       /* accepted, not yet written                         */
    uint64_t unconfirmed_messages;                /* written, receipt not yet confirmed                */
    /* Since the socket opened; unconfirmable: written to peers that cannot confirm (ZMTP 3.0, SP). */
    uint64_t unconfirmable_messages, confirmed_messages, in_doubt_messages, dropped_messages;
} mm_drain_info;

typedef struct mm_subscribed_info {
    uint32_t confirmed, probable, unconfirmable, waiting;   /* peers: certain, probable, written, waiting */
} mm_subscribed_info;

/*
 * A batch of received messages: frames lie end to end in data (except big, below), in arrays that the
 * library owns and reuses.  One batch belongs to one thread at a time.
 * message i has frames first_frame[i] .. first_frame[i + 1] - 1; frame j is data[offset[j]] .. data[offset[j + 1]].
 * offset[0] need not be 0.  first_frame NULL: every message is one frame, message i is frame i.
 * envelope[i]: how many of its leading frames are routing (REQ/REP envelope; not the ROUTER identity); NULL: none.
 * peer NULL: all are of one_peer.
 * big: when not NULL the batch holds exactly one message, and its frames are read with mm_msg_frame; it is the batch's.
 */
typedef struct mm_batch {
    uint32_t message_count, frame_count;
    const uint8_t *data;
    const uint32_t *offset, *first_frame, *envelope;
    const uint64_t *peer;                         /* peer id of each message */
    uint64_t one_peer;
    uint32_t one_size;                            /* not 0: each message is one frame of that size */
    const uint8_t *body;                          /* mm_recv_batch: bodies (last frames) end to end ... */
    const uint32_t *body_offset;                  /* ... i is body[body_offset[i]] .. body[body_offset[i + 1]] */
    mm_msg *big;
} mm_batch;

typedef struct mm_ready { mm_handle socket; uint32_t events; uint32_t reserved; } mm_ready;

/* ---- engine: threads, timers, connections.  flags: MM_ENGINE_POLL asks for poll(2) rather than epoll ---- */
enum { MM_ENGINE_POLL = 1 };
int mm_engine_open(uint32_t flags, mm_handle *engine);
int mm_engine_close(mm_handle engine, int64_t timeout_ms, uint64_t *abandoned_messages);
const char *mm_version(void);
const char *mm_strerror(int code);
const char *mm_reason_text(int reason);
const char *mm_role_name(int role);               /* as on the wire: "PUSH" */
int mm_live_handles(void);                        /* engines and sockets open now, for leak checks */

/* ---- sockets ---- */
int mm_socket_defaults(int role, mm_socket_opts *opts);
int mm_socket_open(mm_handle engine, int role, const mm_socket_opts *opts, mm_handle *socket);
/* wakes all waiters with MM_ECLOSED; what is queued lingers in the engine */
int mm_socket_close(mm_handle socket);
int mm_bind(mm_handle socket, const char *url, char *bound, size_t bound_size);
int mm_connect(mm_handle socket, const char *url);
/* The same of a ROUTER, which knows that peer by this identity, whatever it calls itself. MM_ENOTSUP: no ROUTER;
 * MM_EINVAL: no identity; MM_ESTATE: another endpoint it connects to has this identity. */
int mm_connect_as(mm_handle socket, const char *url, const uint8_t *identity, size_t size);
int mm_unbind(mm_handle socket, const char *url);       /* MM_ENOENT: no such endpoint */
int mm_disconnect(mm_handle socket, const char *url);
/* Why a text is no endpoint to bind (MM_USE_BIND) or to connect to: MM_OK, MM_EADDRINVAL or MM_ENAMETOOLONG. */
enum { MM_USE_BIND = 1, MM_USE_CONNECT, MM_WHY_SIZE = 128 };
int mm_url_why(const char *url, int use, char *why, size_t why_size);
int mm_subscribe(mm_handle socket, const uint8_t *topic, size_t size);   /* MM_ESTATE: it stopped receiving */
/* XPUB with MM_OPT_XPUB_MANUAL: what that peer gets.  1; 0: it is so already; MM_EHOSTUNREACH: no such peer. */
int mm_grant(mm_handle socket, uint64_t peer, int add, const uint8_t *topic, size_t size);
int mm_welcome(mm_handle socket, const uint8_t *body, size_t size);   /* XPUB: to each new subscriber first */
int mm_unsubscribe(mm_handle socket, const uint8_t *topic, size_t size);  /* MM_EINVAL: was not subscribed */

/*
 * timeout_ms: < 0 waits for ever, 0 never waits (MM_EAGAIN).  A wait ends with MM_EINTR on a signal, and after
 * slice_ms (> 0) as well, so that the caller can look at its signals and call again with the time left.
 * to: 0, or the peer id a ROUTER, REP or RESPONDENT message goes to.
 */
int mm_send(mm_handle socket, const uint8_t *body, size_t size, int64_t timeout_ms, int64_t slice_ms);
int mm_send_now(mm_handle socket, const uint8_t *body, size_t size);   /* mm_send that never waits */
int mm_send_waits(mm_handle socket);   /* a send that got MM_EAGAIN: 1: is to wait; 0: not (overflow, no_peer) */
typedef struct mm_body { const uint8_t *data; size_t size; } mm_body;
/* The same of a message of up to MM_PARTS_MAX frames, from where they are. MM_EINVAL: none, or too many. */
enum { MM_PARTS_MAX = 2 };
int mm_send_parts_now(mm_handle socket, const mm_body *frames, uint32_t count);
/* The same without entering the kernel or waiting for a lock: *more is then 0, or MM_MORE_SETTLE: queued, mm_settle has
 * the rest, or MM_MORE_SEND: nothing was done, as it takes mm_send_parts_now. */
enum { MM_MORE_SETTLE = 1, MM_MORE_SEND = 2 };
int mm_send_queue(mm_handle socket, const mm_body *frames, uint32_t count, int *more);
int mm_settle(mm_handle socket);
int mm_send_bodies(mm_handle socket, const mm_body *bodies, size_t count, int64_t timeout_ms, int64_t slice_ms,
                   size_t *sent);                 /* as mm_send_many, from where they are */
int mm_send_frames(mm_handle socket, uint64_t to, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                   int64_t timeout_ms, int64_t slice_ms);
/* A reply, never waiting: count frames of a way back, end to end, and a body; their sizes are count + 1. */
int mm_send_reply(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes, uint32_t count,
                  const uint8_t *body);
/* A refusal instead of it, with a reason of any octets. MM_OK: it is on its way. Else nothing was sent, and a reply
 * may be: MM_ENOTSUP: whoever asked does not know refusals, or is not asked directly; MM_EHOSTUNREACH: it is gone;
 * MM_EAGAIN: its queue is full; MM_EMSGSIZE: over 1,024 octets. */
int mm_refuse(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes, uint32_t count,
              const uint8_t *reason, size_t size);
int mm_send_many(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, size_t count,
                 int64_t timeout_ms, int64_t slice_ms, size_t *sent);   /* single-frame messages end to end */
/* Up to max_messages and about max_bytes in one go; waits for the first only. Returns the count (> 0) or an error. */
int mm_recv(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes,
            int64_t timeout_ms, int64_t slice_ms);
/* One message that is there, as big whatever its size, without entering the kernel or waiting for a lock: 1, and *more
 * as by mm_send_queue; MM_EAGAIN: there is none, or it takes mm_recv. */
int mm_recv_here(mm_handle socket, mm_batch *batch, int *more);
/* No new peers, and those there are asked to send nothing more; what came is received as ever, and then, or once
 * timeout_ms are over, receiving says MM_ECLOSED.  Again: the time begins anew. */
int mm_stop_receiving(mm_handle socket, int64_t timeout_ms);
int mm_stop_look(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count);   /* id, stop, address of all asked */
int mm_batch_new(mm_batch **batch);
void mm_batch_free(mm_batch *batch);              /* once nothing that was exported from it is left */
void mm_batch_drop(mm_batch *batch);              /* empties it, now rather than by the next call */
/* As mm_recv, and then for up to gather_ns more until the limits are reached; body and body_offset are set.
 * 0: a slice is over while it gathers: again, with the same, or mm_batch_finish.
 * MM_EMSGSIZE: a body over 2^31 - 1 bytes, and it stays with the batch. */
int mm_recv_batch(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes, uint64_t gather_ns,
                  int64_t timeout_ms, int64_t slice_ms);
uint32_t mm_msg_frame_count(const mm_msg *msg);
const uint8_t *mm_msg_frame(const mm_msg *msg, uint32_t index, uint64_t *size);
void mm_msg_free(mm_msg *msg);

/* The same in steps, for event loops: takes what is there besides what the batch has (a new one is empty), up to the
 * limits in all: the count so far; 0: it is full; MM_EAGAIN.  Then finish makes the arrays: the count. */
int mm_batch_take(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes);
int mm_batch_finish(mm_handle socket, mm_batch *batch);   /* again: as it was */
/* A batch of these single-frame messages instead of what it had. */
int mm_batch_set(mm_batch *batch, const uint8_t *bodies, const uint64_t *sizes, const uint64_t *peers, uint32_t count);

/*
 * ---- Arrow, by its C data interface: schema, array and stream are its structs, as PyCapsules hold them ----
 * mm_arrow_setup: where PyCapsule_GetPointer is; it is called only by the two destructors of capsules, which
 * release what nobody took and free the struct.  A new struct is NULL when there is no memory.
 */
void mm_arrow_setup(void *capsule_pointer, void **schema_destructor, void **array_destructor);
void *mm_arrow_schema(void);                      /* a new one, of a binary array */
void *mm_arrow_array(mm_batch *batch, uint32_t first, uint32_t count);   /* of bodies, which stay until its release */
/* Sends elements [*done, length) of a binary (of fixed size, too) or string array; *done counts on, also on failure.
 * MM_EINVAL: another type, or a null at *done. */
int mm_send_arrow(mm_handle socket, const void *schema, const void *array, uint64_t *done,
                  int64_t timeout_ms, int64_t slice_ms);
int64_t mm_arrow_length(const void *array);
uint64_t mm_arrow_size(const void *schema, const void *array, uint64_t index);   /* of an element */
/* The next array of a stream, as two new structs; 1, 0 at its end, MM_EIO when it fails. */
int mm_arrow_next(void *stream, void **schema, void **array);
void mm_arrow_drop(void *schema, void *array);    /* releases and frees what mm_arrow_next gave */

/* ---- REQ: many requests in flight, each with an id ---- */
int mm_request(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
               int64_t timeout_ms, int64_t slice_ms, uint64_t *id);
int mm_reply(mm_handle socket, uint64_t id, mm_batch *batch, int64_t timeout_ms, int64_t slice_ms);
                                                  /* 1 message; MM_ECONNRESET: its peer went away, outcome unknown */
                                  /* MM_EMSGSIZE: an answer over the limits; MM_EREFUSED: it is the reason */
int mm_replies_ready(mm_handle socket, uint64_t *ids, uint32_t cap);   /* ids whose mm_reply will not wait; count */
int mm_request_cancel(mm_handle socket, uint64_t id);                  /* its reply will be dropped as late */

/* ---- SURVEYOR: one question to all peers, many surveys at once, each with an id ---- */
/* Asks every peer there is.  The survey is over once all of them, or expect (> 0) of them, have answered or are gone,
 * and at the latest deadline_ms after this call began; sending may wait for timeout_ms of that. */
int mm_survey(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count, uint32_t expect,
              int64_t deadline_ms, int64_t timeout_ms, int64_t slice_ms, uint64_t *id);
int mm_survey_asked(mm_handle socket, uint64_t id, uint64_t *peers, uint32_t cap);  /* count: all that were asked */
/* Waits for an answer, and gives up to max of those that are there then: count; MM_ESTATE when no more will come.
 * mm_replies_ready tells its id once for each answer or end that was not said yet; mm_request_cancel forgets it, which
 * has to be done when it is over, too. */
int mm_answers(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms, int64_t slice_ms);
/* Up to max of those who refused since the last call: their reasons.  Never waits; MM_EAGAIN: nobody did. */
int mm_refusals(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max);
/* So many answers or replies, of so many bytes, that were given were of no use any more: late, and not received. */
int mm_answers_late(mm_handle socket, uint32_t count, uint64_t bytes);

/* ---- waiting ---- */
int mm_wait_peers(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms);
int mm_wait_subscribers(mm_handle socket, const uint8_t *topic, size_t size, uint32_t count,
                        int64_t timeout_ms, int64_t slice_ms);
/* MM_OK: all confirmed or unconfirmable */
int mm_drain(mm_handle socket, int64_t timeout_ms, int64_t slice_ms, mm_drain_info *info);
/* SUB, XSUB: until there are so many peers, and all of them know of every subscription, as far as they can say. */
int mm_wait_subscribed(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms,
                       mm_subscribed_info *info);
int mm_peer_count(mm_handle socket, uint32_t *count);
int mm_subscriber_count(mm_handle socket, const uint8_t *topic, size_t size, uint32_t *count);  /* that would get it */
int mm_router_peer(mm_handle socket, const uint8_t *identity, size_t size, uint64_t *peer);    /* MM_EHOSTUNREACH */
int mm_fileno(mm_handle socket, int *fd);         /* level-triggered: readable while a recv would succeed */
int mm_hold(mm_handle socket, int held);          /* 1: the caller holds messages: readable for descriptors, groups */
int mm_interrupt(mm_handle socket);               /* who waits to receive gets MM_EINTR: the caller holds messages */

/* ---- wakers: one per event loop ---- */
/* fds[0] is readable when there is something to take. Who watches a copy of it, to be told of the waker's end as
 * well, keeps a copy of fds[1] with it. */
int mm_waker_open(mm_handle engine, mm_handle *waker, int fds[2]);
int mm_waker_close(mm_handle waker);
/* One shot; fires now if already true, and gives what is. MM_WRITABLE of a ROUTER, or of a PUB that blocks, is only
 * told when a queue gets room: after asking for it, try the send once more before sleeping. */
int mm_watch(mm_handle socket, mm_handle waker, uint32_t events);
int mm_waker_take(mm_handle waker, mm_ready *out, uint32_t cap);   /* count; 0 events: closed */

/* ---- groups: a thread waits for several sockets of one engine; one thread at a time, else MM_ESTATE ---- */
int mm_group_open(mm_handle engine, mm_handle *group);
int mm_group_close(mm_handle group);              /* who waits in it gets MM_ECLOSED */
/* MM_EINVAL: of another engine; MM_ENOTSUP: it cannot receive; twice is harmless */
int mm_group_add(mm_handle group, mm_handle socket);
/* The same for MM_READABLE, MM_WRITABLE or both, in place of what was asked before. MM_ENOTSUP too: who writes to one
 * peer by name, or to a topic (ROUTER, PUB, XPUB), as whether that can be sent depends on the message. */
int mm_group_watch(mm_handle group, mm_handle socket, uint32_t events);
/* Readable when one became ready after a poll that told of nothing, until the next; who waits gets MM_EINTR, once. */
int mm_group_fileno(mm_handle group, int *fd);
int mm_group_remove(mm_handle group, mm_handle socket);   /* MM_OK also if it is not in it */
/* count: each with what was asked and is so; 0 events: closed, and no longer in it */
int mm_group_poll(mm_handle group, mm_ready *out, uint32_t cap, int64_t timeout_ms, int64_t slice_ms);

/* ---- looking in ---- */
int mm_socket_stats(mm_handle socket, mm_stats *out);
int64_t mm_now_ms(mm_handle socket);              /* of its engine's clock, simulated or not; < 0: an error */
int mm_socket_peers(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count);  /* count: all there are */
int mm_socket_events(mm_handle socket, uint64_t from_seq, mm_event *out, uint32_t cap, uint64_t *next_seq);
                  /* count; reading takes nothing away; first seq is 1; cap 0: tells of pending drops now */
int mm_socket_attempts(mm_handle socket, mm_attempt *out, uint32_t cap, uint32_t *count);  /* count: all there are */
/* Once an engine: a descriptor that is readable while sockets of it have events that were not asked for here. Who
 * watches a copy of it is told by it of the engine's end as well (MM_ECLOSED). MM_ESTATE: somebody does already. */
int mm_events_open(mm_handle engine, int *fd);
int mm_events_take(mm_handle engine, mm_handle *sockets, uint32_t cap);   /* count: those with new events, each once */
int mm_events_ring(mm_handle engine);             /* who watches is to look for something else */
int mm_events_close(mm_handle engine);

/* ---- fork: called by os.register_at_fork; also registered with pthread_atfork, twice is harmless ---- */
void mm_fork_prepare(void);
void mm_fork_parent(void);
void mm_fork_child(void);

/* ---- the codec, for tests and tools (csrc/codec): pure functions ---- */
typedef struct mm_codec_reader mm_codec_reader;
typedef struct mm_codec_hello mm_codec_hello;
int mm_codec_frame_head(const uint8_t *buf, size_t size, uint8_t *flags, uint64_t *body_size);
mm_codec_reader *mm_codec_reader_new(uint64_t message_size_max, uint32_t frames_max, uint32_t command_size_max);
void mm_codec_reader_free(mm_codec_reader *r);
/* 1: a message (*msg, to be freed) or a command (its kind and data, valid until the next call); 0: need more; < 0 */
int mm_codec_reader_next(mm_codec_reader *r, const uint8_t *buf, size_t size, size_t *used, mm_msg **msg,
                         int *command, const uint8_t **data, size_t *data_size);
int mm_codec_reader_reason(const mm_codec_reader *r);
uint64_t mm_codec_reader_held(const mm_codec_reader *r);   /* bytes it has taken for an unfinished frame */
mm_codec_hello *mm_codec_hello_new(int role, const uint8_t *identity, size_t identity_size);
void mm_codec_hello_free(mm_codec_hello *h);
int mm_codec_hello_feed(mm_codec_hello *h, const uint8_t *buf, size_t size, size_t *used);
size_t mm_codec_hello_output(mm_codec_hello *h, uint8_t *out, size_t size);
/* mm_reason */
int mm_codec_hello_result(const mm_codec_hello *h, int *role, int *minor, uint8_t *identity, size_t *size);
/* MM_OK or a negative mm_err. */
int mm_codec_url(const char *text, char *host, size_t host_size, uint16_t *port, char *again, size_t again_size);

/* ---- the SP codec (csrc/codec/sp*), likewise.  id: a protocol's number on the wire; ipc: 0 for the TCP form ---- */
typedef struct mm_codec_sp_reader mm_codec_sp_reader;
typedef struct mm_codec_sp_hello mm_codec_sp_hello;
int mm_codec_sniff(const uint8_t *buf, size_t size);   /* 1 ZMTP, 2 SP, 0 need more, MM_EPROTO neither */
/* form: 1 raw, 2 hop count, 3 the id of what was asked, 4 a stack of hops and an id; MM_EINVAL: no such protocol */
int mm_codec_sp_protocol(uint32_t id, uint32_t *peer_id, int *role, int *form);
uint32_t mm_codec_sp_of_role(int role);                /* 0: it speaks no SP */
mm_codec_sp_hello *mm_codec_sp_hello_new(uint32_t id, int answer);
void mm_codec_sp_hello_free(mm_codec_sp_hello *h);
int mm_codec_sp_hello_feed(mm_codec_sp_hello *h, const uint8_t *buf, size_t size, size_t *used);
size_t mm_codec_sp_hello_output(mm_codec_sp_hello *h, uint8_t *out, size_t size);
int mm_codec_sp_hello_result(const mm_codec_sp_hello *h, uint32_t *ours, uint32_t *theirs);   /* mm_reason */
mm_codec_sp_reader *mm_codec_sp_reader_new(uint64_t message_size_max, uint32_t hops_max, int ipc, uint32_t id);
void mm_codec_sp_reader_free(mm_codec_sp_reader *r);
/* 1: a message, to be freed; 0: need more; < 0 */
int mm_codec_sp_reader_next(mm_codec_sp_reader *r, const uint8_t *buf, size_t size, size_t *used, mm_msg **msg);
/* mm_reason; held: bytes taken for an unfinished message; skipped: messages with too many hops */
int mm_codec_sp_reader_look(const mm_codec_sp_reader *r, uint64_t *held, uint64_t *skipped);
/* What goes in front of the octets of these frames, 13 at most; MM_EINVAL, MM_ENOTSUP: not in SP's form. */
int mm_codec_sp_head(uint32_t id, int ipc, uint32_t hops_max, const uint8_t *bodies, const uint64_t *sizes,
                     uint32_t count, uint8_t *out, size_t *size);

/* ---- the simulated world (csrc/plat/sim*.c) ---- */
/* Chances are parts per million, of each operation. */
typedef struct mm_sim_opts {
    uint64_t latency_min_ns, latency_max_ns;   /* of each write, connect and look-up                 */
    uint64_t buffer_size;                      /* bytes a stream holds in each direction; 0: 256 KiB */
    uint64_t reset_after_bytes;                /* a stream is reset once this much was written; 0: no */
    uint32_t split_ppm;                        /* a read gives less than there is                    */
    uint32_t short_write_ppm, eagain_ppm, reset_ppm, refuse_ppm, accept_emfile_ppm;
    uint32_t half_open_ppm;                    /* a new stream swallows everything and never ends    */
} mm_sim_opts;
typedef struct mm_sim_state {
    uint64_t now_ns, trace_hash, trace_lines;
    uint32_t engines, open_streams;
} mm_sim_state;
int mm_sim_open(uint64_t seed, const mm_sim_opts *opts, mm_handle *world);
int mm_sim_close(mm_handle world);             /* MM_ESTATE: engines are still open */
int mm_sim_engine_open(mm_handle world, mm_handle *engine);
int mm_sim_faults(mm_handle world, const mm_sim_opts *opts);   /* from now on */
int mm_sim_heal(mm_handle world);              /* no faults, no partitions from now on */
int mm_sim_run(mm_handle world, uint64_t for_ns);
int mm_sim_partition(mm_handle world, uint32_t from, uint32_t to, uint64_t for_ns);   /* engines, by order of opening */
int mm_sim_reset_all(mm_handle world);
int mm_sim_jump_wall(mm_handle world, int64_t by_ns);
/* The clock goes on for so long, and nobody runs meanwhile: every machine was suspended. */
int mm_sim_suspend(mm_handle world, uint64_t for_ns);
int mm_sim_look(mm_handle world, mm_sim_state *out);
int mm_sim_trace(mm_handle world, uint64_t line, char *out, size_t size);   /* the last 512 lines are kept */

/* ---- test hooks ---- */
/* The n-th allocation from now fails once; 0: none does.  Returns what was left of the last n: 0 or less, it failed. */
int64_t mm_test_alloc_fail(int64_t countdown);
/* Blocks of memory the core holds, and their bytes, as the allocator rounds them: of those made since the first call.
 * Only differences mean something: what was made before and freed since counts below zero. */
int64_t mm_test_alloc_live(int64_t *bytes);

/* Engines opened from now on behave as with so many processors; 0: as with those there are. */
void mm_test_cpus(uint32_t count);

/* cdef:end */

#endif
