/*
 * meshmsg.h: what a C program includes, alone (docs/c.md is the introduction, examples/c a whole program).
 * Not here: errors, reasons and other numbers (meshmsg_codes.h, which it includes); what only the Python binding calls
 * (meshmsg_binding.h), simulation and what tests look into (meshmsg_testing.h); of those two nothing is exported by
 * libmeshmsg.  Nothing has a callback: C never calls its user.
 *
 * Threads: every function may be called from any thread, several on one socket at once.  Of a batch, and of a pollset
 * while somebody waits in it, one thread at a time.
 * Ownership: no function keeps a pointer that it was given after it returns, and what is sent is copied or written
 * before.  What a call fills belongs to the caller; what is read of a batch lasts until the batch is used again.
 * Handles carry a generation: a stale one gives MM_ECLOSED, one from before a fork MM_EFORKED in the child, and one of
 * another kind MM_EINVAL, so none of them can do harm.
 * Errors: an int result is MM_OK, or a count where it says so, or a negative mm_err; mm_strerror has the words.  A call
 * that fails has done nothing (mm_send_many says how much it did); any may say MM_ENOMEM, and those that open, bind or
 * wait MM_EMFILE: no descriptor is left.  What befalls a connection is no error of a call, as the engine connects
 * again: mm_socket_events and mm_socket_stats tell of it.
 * Time-outs: timeout_ms < 0 waits for ever; 0 never waits (MM_EAGAIN); when it is over, MM_ETIMEDOUT.  slice_ms (> 0)
 * ends a wait with MM_EINTR that early, and so the caller, who looks at what else it has to do, calls again with the
 * time left; 0 is for everybody else.  A signal may end a wait likewise: with MM_EINTR, call again.
 * Versions: until 1.0 structures may grow and functions change from one minor version to the next: the library's
 * SONAME and the header then change together.  MM_VERSION is this header's, mm_version() the library's.
 *
 * cffi reads the text between the two cdef markers, so it holds only enums, opaque typedefs, plain structs and
 * prototypes; constants are enums.
 */
#ifndef MESHMSG_H
#define MESHMSG_H

#include <stddef.h>
#include <stdint.h>

#include "meshmsg_codes.h"

#define MM_VERSION "0.1.0"

/* Says which functions a library exports, while that library is compiled: all else in it is hidden. */
#ifdef MM_BUILDS_LIBRARY
#define MM_API __attribute__((visibility("default")))
#else
#define MM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* cdef:begin */

typedef uint64_t mm_handle;           /* of an engine, a socket, a pollset; 0 is never a valid one */
typedef struct mm_batch mm_batch;     /* received messages, and the memory they lie in */
/* Octets of the caller's: a frame, or a message of one.  Read during the call only. */
typedef struct mm_body { const void *data; size_t size; } mm_body;

/* Limits and policies of one socket.  mm_socket_defaults fills it for a role. */
typedef struct mm_socket_opts {
    uint32_t send_queue_messages, recv_queue_messages;    /* per peer */
    uint64_t send_queue_bytes, recv_queue_bytes;          /* per peer */
    uint32_t overflow, no_peer, flags;                    /* mm_overflow; mm_no_peer, AS_FULL: as it; MM_OPT_ */
    uint64_t message_size_max;                            /* bytes, all frames together */
    uint32_t frames_max, topic_size_max, subscriptions_max, half_open_max, connections_max;
    uint32_t handshake_timeout_ms, heartbeat_interval_ms, heartbeat_timeout_ms;  /* interval 0: heartbeats off */
    uint32_t reconnect_min_ms, reconnect_max_ms, linger_ms;
    /* PUSH, and PUB for its groups: how often a message is handed out (0: no limit); after how long without an ACK it
     * goes to another peer (0: never).  PUSH: levels of priority (0 is as 1); what may wait to go later (0: as much as
     * a queue holds). */
    uint32_t max_attempts, ack_timeout_ms, priorities, delayed_messages;
    uint64_t delayed_bytes;
    uint32_t peers_min;           /* PUSH with MM_OPT_HASH, and PUB for each of its groups: nothing goes out before */
    uint32_t retain_topics_max;                           /* PUB with MM_OPT_RETAIN: topics, and bytes of their last */
    uint64_t retain_bytes_max;
    uint32_t prefetch;                                    /* PULL: credit beyond what is done; 0: recv_queue_messages */
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
    /* Every drop, by reason; unencodable: SP has no words for it; conflated: a newer one came; expired: its time was
     * over; attempts: handed out max_attempts times.  dead: of the last two, those kept for mm_recv_dead. */
    uint64_t dropped_overflow, dropped_no_peer, dropped_peer_gone, dropped_closed, dropped_late, dropped_filtered,
             dropped_malformed, dropped_unencodable, dropped_conflated, dropped_expired, dropped_attempts,
             dead_messages;
    uint64_t acked_messages, redelivered_messages, unacked_messages;   /* done; taken back; now: not acknowledged  */
    uint64_t stale_acks;                          /* came when the message was somebody else's         */
    uint64_t unwanted_messages, finished_peers;   /* nobody had subscribed to them; told of the end, or said so */
    uint64_t filtered_messages;                   /* came from a publisher of SP, and nobody subscribed to them */
    uint64_t retained_sent, unretained_messages;  /* copies for who subscribed later; sent, but no room to retain */
    uint64_t retained_topics, retained_bytes;     /* now: of a PUB with MM_OPT_RETAIN                  */
    uint64_t queued_out_messages, queued_out_bytes, queued_in_messages, queued_in_bytes;   /* now      */
    uint64_t delayed_messages, delayed_bytes;     /* now: in no queue, as they are to go later         */
    uint64_t connects, accepts, handshakes, handshakes_failed, disconnects, events_lost;
    uint32_t peers, missing_peers, half_open, listeners, dialers, topics;                  /* now; see peers_min */
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
    uint64_t unacked_messages;                    /* that it, or this side, did not acknowledge         */
    uint32_t acks, takes_meta, finished;          /* acknowledged; may have headers; no more come, as END said */
    int64_t rtt_ns;                               /* -1: not measured yet                              */
    uint8_t identity[255];
    char endpoint[256], address[128];             /* endpoint: ours, as bound or connected             */
    char user_id[256];                            /* what who let it in knows it by; "": nobody was asked */
    char mechanism[21], key[41];                  /* "NULL": there is none; its public key in Z85, or "" */
    int64_t uid;                                  /* over ipc: the user at the other side; -1: not known */
    char tls_version[16], cipher[48];             /* as OpenSSL names them; "": without TLS            */
    uint32_t metadata_size, certificate_size;     /* octets that mm_peer_more gives                    */
    char group[64];                               /* of a group's member, and of where one is; else "" */
    uint64_t takes_bytes;                         /* bytes of a message that it says it takes         */
    uint32_t takes_frames;                        /* and frames; 0: it says neither                    */
} mm_peer;

typedef struct mm_event {
    uint64_t seq, time_ns, peer, count;           /* time: wall clock; count: of what happened         */
    uint32_t kind;                                /* mm_event_kind                                     */
    int32_t reason;                               /* mm_reason                                         */
    int64_t retry_ns;                             /* until the next attempt; -1: none, or not known    */
    char endpoint[256], address[128], detail[192];  /* endpoint: ours; address: the peer's           */
    char user_id[256];                            /* of the peer, as in mm_peer                         */
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

/* ---- engine: threads, timers, connections.  flags: MM_ENGINE_POLL asks for poll(2) rather than epoll ---- */
enum { MM_ENGINE_POLL = 1 };
MM_API int mm_engine_open(uint32_t flags, mm_handle *engine);
/* Closes its sockets, and waits up to timeout_ms (< 0: 1,000) for what they have queued.
 * *abandoned_messages (or NULL): how many messages were given up, and nobody was told of. */
MM_API int mm_engine_close(mm_handle engine, int64_t timeout_ms, uint64_t *abandoned_messages);
MM_API const char *mm_version(void);
MM_API const char *mm_strerror(int code);
MM_API const char *mm_reason_text(int reason);
MM_API const char *mm_role_name(int role);        /* as on the wire: "PUSH" */

/* ---- sockets ---- */
MM_API int mm_socket_defaults(int role, mm_socket_opts *opts);
/* opts: NULL for the defaults.  MM_EINVAL: no such role, or what it cannot have. */
MM_API int mm_socket_open(mm_handle engine, int role, const mm_socket_opts *opts, mm_handle *socket);
/* Whoever waits in it gets MM_ECLOSED; what is queued is written for up to linger_ms more, by the engine. */
MM_API int mm_socket_close(mm_handle socket);
/* "tcp://127.0.0.1:5555" (port 0: a free one), "ipc:///run/x.sock", "inproc://name"; with "sp+" in front for peers of
 * nanomsg and NNG.  bound (or NULL, 0): the endpoint to connect to.  Outside loopback only with CURVE or
 * MM_OPT_INSECURE. */
MM_API int mm_bind(mm_handle socket, const char *url, char *bound, size_t bound_size);
/* Returns at once; the engine connects, and goes on trying, until mm_disconnect. */
MM_API int mm_connect(mm_handle socket, const char *url);
/* The same of a ROUTER, which knows that peer by this identity, whatever it calls itself. MM_ENOTSUP: no ROUTER;
 * MM_EINVAL: no identity; MM_ESTATE: another endpoint it connects to has this identity. */
MM_API int mm_connect_as(mm_handle socket, const char *url, const void *identity, size_t size);
enum { MM_NODE_KEY_SIZE = 32, MM_NODE_NAME_MAX = 128 };         /* octets */
/* As mm_connect, of a socket whose mm_tls_opts have a node_key: only who proves this public key (32 octets) is a
 * peer there. name: what it is known by (user_id) is that, '#' and its key. MM_EINVAL: no name, or no such socket. */
MM_API int mm_connect_node(mm_handle socket, const char *url, const uint8_t *key, const char *name);
MM_API int mm_unbind(mm_handle socket, const char *url);       /* MM_ENOENT: no such endpoint */
/* Leaves what mm_connect made, or else what mm_connect_node did. MM_ENOENT: there is neither. */
MM_API int mm_disconnect(mm_handle socket, const char *url);
/* As mm_disconnect. NODE: what mm_connect_node made, or else what mm_connect did. LATER: a connection that is there
 * ends once nothing is under way on it, however long that takes: what it was sent is read, acknowledged or answered, as
 * the role goes.  It is sent nothing more. MM_EINVAL: other bits. */
enum { MM_LEAVE_NODE = 1, MM_LEAVE_LATER = 2 };
MM_API int mm_leave(mm_handle socket, const char *url, int how);
/* Why a text is no endpoint to bind (MM_USE_BIND) or to connect to: MM_OK, MM_EADDRINVAL or MM_ENAMETOOLONG. */
enum { MM_USE_BIND = 1, MM_USE_CONNECT, MM_WHY_SIZE = 128 };
MM_API int mm_url_why(const char *url, int use, char *why, size_t why_size);
/* SUB, XSUB: messages whose first frame begins with topic.  MM_ESTATE: it stopped receiving. */
MM_API int mm_subscribe(mm_handle socket, const void *topic, size_t size);
MM_API int mm_unsubscribe(mm_handle socket, const void *topic, size_t size);   /* MM_EINVAL: was not subscribed */
/* XPUB with MM_OPT_XPUB_MANUAL: what that peer gets.  1; 0: it is so already; MM_EHOSTUNREACH: no such peer. */
MM_API int mm_grant(mm_handle socket, uint64_t peer, int add, const void *topic, size_t size);
MM_API int mm_welcome(mm_handle socket, const void *body, size_t size);   /* XPUB: to each new subscriber first */

/* ---- CURVE, the mechanism of ZeroMQ: who the peer is, and that nobody reads or changes what is sent ---- */
typedef struct mm_curve_opts {
    uint32_t serves;                              /* 1: peers know our key; 0: we know theirs, which is server */
    uint32_t asks;                                /* of a server: 1: who may come in is asked; 0: who knows our key */
    uint32_t secret_count;                        /* a server: 1 to 3, tried in turn; a client: 1, or 0: new ones */
    uint8_t secrets[96];                          /* end to end, 32 octets each */
    uint8_t server[32];                           /* public */
} mm_curve_opts;
/* All connections of the socket from now on.  MM_ESTATE: it has endpoints; MM_ENOTSUP: there is no libsodium;
 * MM_EINVAL: a wrong count, a public key that is none, or an identity over 220 octets. */
MM_API int mm_socket_curve(mm_handle socket, const mm_curve_opts *opts);
/* Who may come in, of a server that asks: who has one of count keys (public, 32 octets each, end to end), and is known
 * by the user id at its place (each with a 0 behind it, size octets in all). Anybody else is denied; nobody is asked.
 * Again: in place of that list; peers that are not in it any more end at once (MM_REASON_REVOKED). MM_ESTATE: no server
 * that asks; MM_EINVAL: a key twice, or a user id over MM_USER_ID_MAX. */
MM_API int mm_socket_allow(mm_handle socket, const uint8_t *keys, const char *user_ids, size_t size, uint32_t count);
MM_API const char *mm_curve_missing(void);               /* what to install, in words; "": CURVE is there */

/* ---- PLAIN, the mechanism of ZeroMQ of users and passwords, which hides neither those nor what is sent ---- */
typedef struct mm_plain_opts {
    uint32_t serves;                              /* 1: users come to us; 0: we are one, as follows */
    uint32_t asks;                                /* of a server: 1: who may come in is asked; 0: anybody may */
    uint32_t user_size, password_size;            /* octets, at most 255 */
    const void *user, *password;
} mm_plain_opts;
/* All connections of the socket from now on; opts are copied.  Whoever answers, or listens on the way, has the
 * password: connect over ipc or loopback only.  MM_ESTATE: it has endpoints; MM_EINVAL: over 255 octets. */
MM_API int mm_socket_plain(mm_handle socket, const mm_plain_opts *opts);

/* ---- users of this machine, over ipc: both sides ask the system whose program the other one is ---- */
enum { MM_USERS_MAX = 64 };
/* Without it: our own user and root, at either side.  Where CURVE or PLAIN let peers in, or
 * CURVE proves who listens, nobody is asked.  With it: besides, these users, and who is of one of these groups; the
 * file of what listens is open to all then.  MM_ESTATE: it has endpoints; MM_EINVAL: over MM_USERS_MAX of either. */
MM_API int mm_socket_local(mm_handle socket, const uint32_t *uids, size_t uid_count, const uint32_t *gids,
                           size_t gid_count);

/* ---- TLS, for endpoints with tls+ in front: certificates, pinned keys or a shared secret say who the peer is ---- */
enum { MM_TLS_1_3 = 0, MM_TLS_1_2 = 1 };   /* the oldest version that is spoken; 1.2 with ECDHE and AEAD only */
enum { MM_CLIENTS_REQUIRED = 0, MM_CLIENTS_OPTIONAL, MM_CLIENTS_NONE };   /* who listens wants a certificate */
/* One of ca (or system_ca), pins and secrets says whom to believe; who only listens may do without any, if it asks or
 * wants no certificate.  Octets are read during the call only.  Of size 0: none. */
typedef struct mm_tls_opts {
    mm_body certificate, key;                     /* PEM; ours, those between it and who signed them; its key */
    mm_body ca, crl;                              /* PEM: who signs for peers; what they took back     */
    mm_body names;                                /* of peers, one of which is to be in subjectAltName, each with a 0
                                                     behind it: hosts, addresses, URIs, which may end with a star
                                                     behind a slash; none: the host that was dialed; who listens: any */
    mm_body pins;                                 /* SHA-256 of SubjectPublicKeyInfo, 32 octets each; no dates, names */
    mm_body secrets;                              /* 1 to 3, 32 random octets each; who dials uses the first */
    mm_body node_key, node_name;                  /* beside secrets, or neither: a private key of X25519, and what its
                                                     peers are told that we are called: see mm_connect_node */
    uint32_t system_ca, clients, min_version;     /* 1: those that the system believes; MM_CLIENTS_; MM_TLS_ */
    uint32_t asks;                                /* who listens: 1: who may come in is asked          */
} mm_tls_opts;
/* All connections of the socket from now on.  Again: in place of that policy, of the same kind; connections whose peer
 * it would not take end (MM_REASON_REVOKED), whatever the dates say.  MM_ESTATE: it has endpoints, and no TLS;
 * MM_ENOTSUP: there is no OpenSSL; MM_EINVAL: why (NULL, 0: not told) has the words, and nothing has changed. */
MM_API int mm_socket_tls(mm_handle socket, const mm_tls_opts *opts, char *why, size_t why_size);
MM_API const char *mm_tls_missing(void);                 /* what to install, in words; "": TLS is there */

/* ---- who may come in, where it is asked (asks of mm_curve_opts, mm_plain_opts, mm_tls_opts): it waits ---- */
enum { MM_USER_ID_MAX = 255, MM_QUESTION_DATA_MAX = 32 * 1024 };   /* octets */
typedef enum mm_answer { MM_LATER = 0, MM_ALLOW, MM_DENY } mm_answer;   /* MM_LATER: it is to try again */
/* The data of a question lie end to end, in the order of the sizes; what is not known has 0 octets. */
typedef struct mm_question {
    uint64_t id;                                  /* for the answer, in that engine; of nobody else, ever */
    mm_handle socket;
    uint64_t peer;                                /* its id, if it comes to be one                     */
    uint64_t left_ns;                             /* the time there is for an answer                   */
    uint32_t key_size, user_size, password_size, certificate_size, properties_size;
    char mechanism[21], endpoint[256], address[128];   /* endpoint: ours; address: the peer's          */
    int64_t uid;                                  /* as of mm_peer */
} mm_question;
/* Once an engine: a descriptor that is readable while there are questions that nobody took, and at the end of the
 * engine, with which it is closed: watch a copy of it. MM_ESTATE: it is open. */
MM_API int mm_questions_open(mm_handle engine, int *fd);
MM_API int mm_questions_close(mm_handle engine);
/* The next question, and its data (room for MM_QUESTION_DATA_MAX octets); addresses take turns. Never waits. 1; 0:
 * there is none, or 64 of its socket have no answer yet. */
MM_API int mm_question_take(mm_handle engine, mm_question *out, void *data);
/* mm_answer; text: of MM_ALLOW the user id ("": none), else why. From any thread. MM_ESTATE: nobody waits for it any
 * more: the peer left, was answered, or waited too long; MM_EINVAL: no mm_answer, or a user id over MM_USER_ID_MAX. */
MM_API int mm_question_answer(mm_handle engine, uint64_t id, int answer, const char *text);
/* Peers that were let in with this user id, and those that are about to be, end at once (MM_REASON_REVOKED): how many.
 * MM_EINVAL: "". */
MM_API int mm_socket_revoke(mm_handle socket, const char *user_id);

/* ---- sending.  MM_EAGAIN also where overflow or no_peer says that a full queue, or no peer, is an error ---- */
/* One message of one frame.  (REQ and SURVEYOR have mm_request and mm_survey, REP and RESPONDENT mm_send_reply.) */
MM_API int mm_send(mm_handle socket, const void *body, size_t size, int64_t timeout_ms, int64_t slice_ms);
/* One message of count frames; of PUB the first is the topic.  to: 0, or, of a ROUTER, the id of a peer; 0 there: its
 * first frame is the identity of one.  MM_EINVAL: no frame; MM_EMSGSIZE: over a limit of the socket. */
MM_API int mm_send_frames(mm_handle socket, uint64_t to, const mm_body *frames, uint32_t count,
                          int64_t timeout_ms, int64_t slice_ms);
/* Messages of one frame each.  *sent: how many, also when it fails, as one of them had to wait too long. */
MM_API int mm_send_many(mm_handle socket, const mm_body *bodies, size_t count, int64_t timeout_ms, int64_t slice_ms,
                        size_t *sent);
/* PUSH (else MM_ENOTSUP): nothing more is sent, MM_ESTATE.  When all that was accepted is written, and acknowledged by
 * who can, peers of meshmsg, also those that come later, are told so.  Then waits until that is so, and count were. */
MM_API int mm_finish(mm_handle socket);
MM_API int mm_wait_finished(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms);

/* ---- receiving, by the batch: one or many messages, in memory that is used again ---- */
MM_API int mm_batch_new(mm_batch **batch);
MM_API void mm_batch_free(mm_batch *batch);       /* NULL is fine */
MM_API void mm_batch_drop(mm_batch *batch);       /* empties it now rather than by the next call */
/* Waits for one message, and takes up to max_messages and about max_bytes of those that are there then: the count.
 * MM_EFINISHED: all was received, and every peer, and each endpoint that is connected to, has finished. */
MM_API int mm_recv(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes,
                   int64_t timeout_ms, int64_t slice_ms);
/* Of message i: its frames, without what is routing in front of a request or an answer; frame j (NULL: there is none),
 * which need not end with a 0; and the id of the peer that sent it. */
MM_API uint32_t mm_batch_frame_count(const mm_batch *batch, uint32_t i);
MM_API const void *mm_batch_frame(const mm_batch *batch, uint32_t i, uint32_t j, size_t *size);
MM_API uint64_t mm_batch_peer(const mm_batch *batch, uint32_t i);
/* No new peers, and those there are asked to send nothing more; what came is received as ever, and then, or once
 * timeout_ms are over, receiving says MM_ECLOSED.  Again: the time begins anew. */
MM_API int mm_stop_receiving(mm_handle socket, int64_t timeout_ms);
/* id, stop and address of all that were asked; count: all there are */
MM_API int mm_stop_peers(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count);

/* ---- REP and RESPONDENT: answers to message i of a batch that was received here; neither ever waits ---- */
/* MM_EHOSTUNREACH: whoever asked is gone, or its queue is full (both are counted as dropped); MM_EINVAL: there is no
 * message i, or no frame; MM_ENOTSUP: another role. */
MM_API int mm_send_reply(mm_handle socket, const mm_batch *batch, uint32_t i, const mm_body *frames, uint32_t count);
/* A refusal instead of it, with a reason of any octets. MM_OK: it is on its way. Else nothing was sent, and a reply
 * may be: MM_ENOTSUP: whoever asked does not know refusals, or is not asked directly; MM_EHOSTUNREACH: it is gone;
 * MM_EAGAIN: its queue is full; MM_EMSGSIZE: over 1,024 octets. */
MM_API int mm_send_refusal(mm_handle socket, const mm_batch *batch, uint32_t i, const void *reason, size_t size);

/* ---- REQ: many requests in flight, each with an id ---- */
MM_API int mm_request(mm_handle socket, const mm_body *frames, uint32_t count, int64_t timeout_ms, int64_t slice_ms,
                      uint64_t *id);
/* Waits for the reply: 1 message; MM_ECONNRESET: its peer went away, outcome unknown; MM_EMSGSIZE: an answer over the
 * limits; MM_EREFUSED: it is the reason.  A time that is over leaves the request as it is: wait again, or cancel it. */
MM_API int mm_recv_reply(mm_handle socket, uint64_t id, mm_batch *batch, int64_t timeout_ms, int64_t slice_ms);
/* count: the ids of those whose mm_recv_reply will not wait */
MM_API int mm_replies_ready(mm_handle socket, uint64_t *ids, uint32_t cap);
MM_API int mm_request_cancel(mm_handle socket, uint64_t id);          /* its reply will be dropped as late */

/* ---- SURVEYOR: one question to all peers, many surveys at once, each with an id ---- */
/* Asks every peer there is.  The survey is over once all of them, or expect (> 0) of them, have answered or are gone,
 * and at the latest deadline_ms after this call began; sending may wait for timeout_ms of that. */
MM_API int mm_survey(mm_handle socket, const mm_body *frames, uint32_t count, uint32_t expect, int64_t deadline_ms,
                     int64_t timeout_ms, int64_t slice_ms, uint64_t *id);
/* count: all that were asked */
MM_API int mm_survey_asked(mm_handle socket, uint64_t id, uint64_t *peers, uint32_t cap);
/* Waits for an answer, and gives up to max of those that are there then: count; MM_ESTATE when no more will come.
 * mm_replies_ready tells its id once for each answer or end that was not said yet; mm_request_cancel forgets it, which
 * has to be done when it is over, too. */
MM_API int mm_recv_answers(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max, int64_t timeout_ms,
                           int64_t slice_ms);
/* Up to max of those who refused since the last call: their reasons.  Never waits; MM_EAGAIN: nobody did. */
MM_API int mm_recv_refusals(mm_handle socket, uint64_t id, mm_batch *batch, uint32_t max);

/* ---- waiting for peers, and for what was sent ---- */
MM_API int mm_wait_peers(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms);
MM_API int mm_wait_subscribers(mm_handle socket, const void *topic, size_t size, uint32_t count,
                               int64_t timeout_ms, int64_t slice_ms);
/* SUB, XSUB: until there are so many peers, and all of them know of every subscription, as far as they can say. */
MM_API int mm_wait_subscribed(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms,
                              mm_subscribed_info *info);
/* MM_OK: all that was sent is confirmed or unconfirmable. */
MM_API int mm_drain(mm_handle socket, int64_t timeout_ms, int64_t slice_ms, mm_drain_info *info);
MM_API int mm_peer_count(mm_handle socket, uint32_t *count);
/* PUB, XPUB: those who would get a message of that topic */
MM_API int mm_subscriber_count(mm_handle socket, const void *topic, size_t size, uint32_t *count);
/* PUB with MM_OPT_RETAIN: what it gives to who subscribes to that topic: 1 message.  MM_ENOENT: there is none;
 * MM_ENOTSUP: it retains nothing.  With a spool it waits until that was read, and what was put before is published.
 * *mark: 0 at first, and left as it is when the call is made again; or NULL. */
MM_API int mm_retained(mm_handle socket, const void *topic, size_t size, mm_batch *batch, uint64_t *mark,
                       int64_t timeout_ms, int64_t slice_ms);
/* ROUTER: the id of the peer of that identity.  MM_EHOSTUNREACH: there is none. */
MM_API int mm_router_peer(mm_handle socket, const void *identity, size_t size, uint64_t *peer);
/* For poll(2) or epoll: level-triggered, readable while a receive would succeed.  The socket's: do not close it. */
MM_API int mm_fileno(mm_handle socket, int *fd);

/* ---- pollsets: a thread waits for several sockets of one engine; one thread at a time, else MM_ESTATE ---- */
typedef struct mm_ready { mm_handle socket; uint32_t events; uint32_t reserved; } mm_ready;
MM_API int mm_pollset_open(mm_handle engine, mm_handle *pollset);
MM_API int mm_pollset_close(mm_handle pollset);   /* whoever waits in it gets MM_ECLOSED */
/* For MM_READABLE, MM_WRITABLE or both, in place of what was asked before; twice is harmless.  MM_EINVAL: of another
 * engine; MM_ENOTSUP: it cannot do that, or writes to one peer by name, or to a topic (ROUTER, PUB, XPUB), as whether
 * that can be sent depends on the message. */
MM_API int mm_pollset_watch(mm_handle pollset, mm_handle socket, uint32_t events);
MM_API int mm_pollset_remove(mm_handle pollset, mm_handle socket);   /* MM_OK also if it is not in it */
/* count: each with what was asked and is so; 0 events: closed, and no longer in it */
MM_API int mm_pollset_poll(mm_handle pollset, mm_ready *out, uint32_t cap, int64_t timeout_ms, int64_t slice_ms);
/* Readable when one became ready after a poll that told of nothing, until the next; who waits gets MM_EINTR, once. */
MM_API int mm_pollset_fileno(mm_handle pollset, int *fd);

/* ---- looking in ---- */
MM_API int mm_socket_stats(mm_handle socket, mm_stats *out);
MM_API int mm_socket_peers(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count);  /* count: all there are */
/* What does not fit there: what who let it in said of it, and its certificate in DER; as much as there is room for.
 * MM_ESTATE: it is no peer any more. */
MM_API int mm_peer_more(mm_handle socket, uint64_t peer, void *metadata, size_t metadata_cap, void *certificate,
                        size_t certificate_cap);
/* The address alone, for who has many and asks often; cut to cap, with its 0.  MM_ESTATE: it is no peer any more. */
MM_API int mm_peer_address(mm_handle socket, uint64_t peer, char *address, size_t cap);
/* count; reading takes nothing away; first seq is 1; cap 0: tells of pending drops now */
MM_API int mm_socket_events(mm_handle socket, uint64_t from_seq, mm_event *out, uint32_t cap, uint64_t *next_seq);
MM_API int mm_socket_attempts(mm_handle socket, mm_attempt *out, uint32_t cap, uint32_t *count);  /* likewise */

/* cdef:end */

#ifdef __cplusplus
}
#endif

#endif
