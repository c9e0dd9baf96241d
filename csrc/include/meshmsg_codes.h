/*
 * meshmsg_codes.h: the numbers of meshmsg.h: errors, roles, why a connection ended, what an event is of, what a full
 * queue does, options.
 * Not here: functions and structures (meshmsg.h, which includes this file: a program includes that one).
 * Law: enums only; nothing is included.
 */
#ifndef MESHMSG_CODES_H
#define MESHMSG_CODES_H

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
    MM_EADDRINUSE = -9, MM_EPERM = -11,
    MM_EADDRINVAL = -10,   /* malformed; mm_url_why says what is wrong; if nothing is, tls+ in it and
                              the socket do not agree */
    MM_EINSECURE = -12,    /* bind outside loopback, not protected, without MM_OPT_INSECURE */
    MM_ECONNREFUSED = -13, MM_ECONNRESET = -14,
    MM_EPROTO = -15,       /* the peer broke the protocol; a mm_reason says how          */
    MM_EHOSTUNREACH = -16, /* no peer of that name                                       */
    MM_EMSGSIZE = -17, MM_ENOMEM = -18, MM_EMFILE = -19, MM_EIO = -20,
    MM_EREFUSED = -21,     /* the peer will not answer the request                       */
    MM_EADDRNOTAVAIL = -22, /* no address of this machine                                */
    MM_ENOHOST = -23,      /* the host name cannot be resolved                           */
    MM_ENOENT = -24,       /* no folder for the file; of unbind, disconnect: no endpoint */
    MM_ENOTDIR = -25, MM_ELOOP = -26,
    MM_ENAMETOOLONG = -27, /* a path or name over its limit; mm_url_why says which       */
    MM_EEXIST = -28,       /* what is there is no socket, and was kept                   */
    MM_EROFS = -29, MM_ENOSPC = -30, MM_EFINISHED = -31,  /* finished: all who send have sent their last message */
    MM_ENOROUTE = -32      /* no way to that network or host, or no answer from it      */
} mm_err;

/* Who talks to whom: PUSH to PULL (each message to one of them), PUB and XPUB to SUB and XSUB (to all who subscribed),
 * REQ to REP (a request and its reply), SURVEYOR to RESPONDENT (a question to all, their answers), PAIR to PAIR, BUS to
 * BUS (to all neighbours); DEALER (to one in turn) and ROUTER (to the peer it names) to each other, to REQ and REP. */
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
    MM_REASON_COMMAND_SIZE, MM_REASON_MESSAGE_SIZE, MM_REASON_FRAME_COUNT, MM_REASON_TOPIC_SIZE,
    MM_REASON_SUBSCRIPTIONS,   /* more topics, or bytes of topics, than the limit      */
    MM_REASON_MEMORY,          /* out of memory here                                   */
    MM_REASON_NOT_SP,          /* first octets are no SP hello                         */
    MM_REASON_SP_HEADER,       /* an SP message that ends inside its header            */
    MM_REASON_HANDSHAKE_EOF,   /* the peer closed before the handshake was done        */
    MM_REASON_USER,            /* over ipc: the other side is another user            */
    MM_REASON_CRYPTO,          /* octets that the peer did not protect, or that were changed */
    MM_REASON_SEQUENCE,        /* a protected message that was repeated, or one that was left out */
    MM_REASON_NOT_ALLOWED,     /* it is known who it is, and it may not come in        */
    MM_REASON_ALLOW_TIMEOUT,   /* likewise, and nobody said in time whether it may     */
    MM_REASON_REVOKED,         /* it was let in, and would not be by the list or policy of now */
    MM_REASON_CERTIFICATE,     /* the peer's certificate is not taken, or it has none  */
    MM_REASON_TLS_ALERT,       /* the peer ended TLS, and said why                     */
    MM_REASON_TLS_EXPECTED, MM_REASON_PLAINTEXT,   /* only this endpoint speaks TLS; only the peer does */
    MM_REASON_FEATURE,         /* it cannot do what is required of peers (MM_OPT_REQUIRE_) */
    MM_REASON_SPOOL,           /* what it asked for is harmed in the spool */
    MM_REASON_GROUP,           /* it may not be a member of its group: other topics, or too many groups */
    MM_REASON_COUNT
} mm_reason;

/* What a send does when the queue is full: it waits, it says MM_EAGAIN, or a message is dropped and counted: the one
 * that is sent, or the one that waited longest. */
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
    MM_EVENT_PEER_RESUMED, MM_EVENT_PEER_SILENT, MM_EVENT_PEER_UNREAD, MM_EVENT_CERT_EXPIRES,
    MM_EVENT_PEER_UNACKED, MM_EVENT_PEER_PLAIN, MM_EVENT_DEAD_LETTER, MM_EVENT_ACK_TIMEOUT,
    MM_EVENT_SPOOL_STOPPED, MM_EVENT_PEER_LIVE, MM_EVENT_REPLAY_LOST, MM_EVENT_NOT_RETAINED,
    MM_EVENT_SPOOL_REMOVED, MM_EVENT_UNSENDABLE, MM_EVENT_SPOOL_FULL
} mm_event_kind;

enum {
    /* readiness bits; MM_PEERS: peers or subscriptions changed; MM_DRAINED: a queue is empty, or receipts came */
    MM_READABLE = 1, MM_WRITABLE = 2, MM_PEERS = 4, MM_DRAINED = 8,
    MM_OPT_INSECURE = 1,                                  /* may bind outside loopback; nothing is encrypted */
    MM_OPT_HANDOVER = 2,                                  /* ROUTER: a newcomer takes over an identity that is in use */
    MM_OPT_DROP_UNROUTABLE = 4,                           /* ROUTER: to nobody: dropped, not MM_EHOSTUNREACH */
    MM_OPT_XPUB_VERBOSE = 8,                              /* XPUB: gives each peer's subscriptions, not the first */
    MM_OPT_CONFLATE = 16, MM_OPT_CONFLATE_TOPIC = 32,     /* SUB: keeps the newest, of all or of each topic */
    MM_OPT_XPUB_MANUAL = 64,                              /* its user decides what a peer is subscribed to */
    MM_OPT_AT_LEAST_ONCE = 128,                           /* PUSH: what a peer did not acknowledge goes to another */
    MM_OPT_ACK_MANUAL = 256,                              /* PULL: mm_ack does it, not the next receive */
    MM_OPT_KEEP_DEAD = 512, MM_OPT_LEAST_LOADED = 1024, MM_OPT_HASH = 2048,   /* for mm_recv_dead; routing */
    /* Peers that cannot are refused: acks, with MM_OPT_AT_LEAST_ONCE; what goes with a message, of who sends. */
    MM_OPT_REQUIRE_ACKS = 4096, MM_OPT_REQUIRE_HEADERS = 8192,
    MM_OPT_REPLAY = 16384, MM_OPT_REQUIRE_REPLAY = 32768, /* SUB: for mm_sub_replay; and of who has no spool */
    MM_OPT_RETAIN = 65536,                                /* PUB: who subscribes gets the last of each topic first */
    MM_OPT_ASKED_LITTLE = 131072,                         /* receives MM_ASKED_LITTLE_MAX at most, sends more */
    MM_ASKED_LITTLE_MAX = 4096,                           /* octets, all frames together */
    MM_OPT_GROUP = 262144, MM_OPT_REQUIRE_GROUP = 524288, /* SUB: for mm_sub_group; and of who keeps no groups */
    MM_IDENTITY_MAX = 255, MM_ENDPOINT_MAX = 255, MM_DETAIL_MAX = 127,
    MM_SPIN_AUTO = 0x7fffffff, MM_PREFETCH_MAX = 65536, MM_PRIORITIES_MAX = 10,
    MM_RETAIN_TOPICS_MOST = 1 << 30                       /* that retain_topics_max may allow */
};

/* cdef:end */

#endif
