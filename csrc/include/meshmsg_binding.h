/*
 * meshmsg_binding.h: what only the Python binding calls (csrc/binding and src/meshmsg): forms of sending and receiving
 * that fit what Python has in its hands, event loops, Arrow, the thread that logs, forks.
 * Not here: what a C program uses (meshmsg.h, whose laws hold here too); nothing here is exported by libmeshmsg.
 */
#ifndef MESHMSG_BINDING_H
#define MESHMSG_BINDING_H

#include "meshmsg.h"

/* cdef:begin */

/* ---- what a batch holds ---- */
typedef struct mm_msg mm_msg;     /* a received message, by reference */
uint32_t mm_msg_frame_count(const mm_msg *msg);
const uint8_t *mm_msg_frame(const mm_msg *msg, uint32_t index, uint64_t *size);
/*
 * Frames lie end to end in data (except big, below), in arrays that the library owns and reuses.
 * message i has frames first_frame[i] .. first_frame[i + 1] - 1; frame j is data[offset[j]] .. data[offset[j + 1]].
 * offset[0] need not be 0.  first_frame NULL: every message is one frame, message i is frame i.
 * envelope[i]: how many of its leading frames are routing (REQ/REP envelope; not the ROUTER identity); NULL: none.
 * peer NULL: all are of one_peer.
 * big: when not NULL the batch holds exactly one message, and its frames are read with mm_msg_frame; it is the batch's.
 */
struct mm_batch {
    uint32_t message_count, frame_count;
    const uint8_t *data;
    const uint32_t *offset, *first_frame, *envelope;
    const uint64_t *peer;                         /* peer id of each message */
    uint64_t one_peer;
    uint32_t one_size;                            /* not 0: each message is one frame of that size */
    uint32_t noted;                               /* so many of its messages have more than frames: mm_batch_meta */
    uint32_t known;                               /* not 0: of peers more is known than an id: mm_batch_known */
    const uint8_t *body;                          /* mm_recv_batch: bodies (last frames) end to end ... */
    const uint32_t *body_offset;                  /* ... i is body[body_offset[i]] .. body[body_offset[i + 1]] */
    mm_msg *big;
};

/* Whom a peer is known as, where a mechanism protects its connection. */
typedef struct mm_known {
    const char *user_id, *mechanism;              /* user_id "": nobody asked who it is */
    const uint8_t *properties;                    /* its own word: as READY of ZMTP has them */
    size_t properties_size;
    const uint8_t *metadata;                      /* the word of who let it in (mm_question_allow) */
    size_t metadata_size;
} mm_known;
/* Of one that sent a message of the batch, also if it left: what out points to is the batch's.  0: nothing protects its
 * connection.  Of one socket's messages all are protected, or none. */
int mm_batch_known(const mm_batch *batch, uint64_t peer, mm_known *out);

/* What goes with message i (base/meta.h), which is the batch's: 1; 0: nothing. */
int mm_batch_meta(const mm_batch *batch, uint32_t i, const uint8_t **data, uint32_t *size);

/* ---- what is acknowledged ---- */
/* Message i of a batch: its number on the connection to that peer, and where it was first (attempt: how often it was
 * handed to somebody).  0: it is not acknowledged. */
typedef struct mm_lease { uint64_t peer, number, epoch, seq; uint32_t attempt; } mm_lease;
int mm_batch_lease(const mm_batch *batch, uint32_t i, mm_lease *out);
/* That message is done.  1; 0: it was before, or its connection ended, and somebody else gets it. */
int mm_ack(mm_handle socket, uint64_t peer, uint64_t number);
/* It is not, and somebody else is to get it, after so long; or it takes longer, and its time begins anew. */
int mm_nack(mm_handle socket, uint64_t peer, uint64_t number, uint32_t delay_ms);
int mm_extend(mm_handle socket, uint64_t peer, uint64_t number);
/* What became of a message, to who sent it: unknown: its peer cannot acknowledge. */
enum mm_receipt {
    MM_RECEIPT_OPEN, MM_RECEIPT_ACKED, MM_RECEIPT_UNKNOWN, MM_RECEIPT_EXPIRED, MM_RECEIPT_ATTEMPTS, MM_RECEIPT_DROPPED,
    MM_RECEIPTS
};
enum { MM_DELAY_MAX_MS = 2000000000 };
typedef struct mm_push_opts {
    const uint8_t *meta;                              /* as of mm_send_packed */
    size_t meta_size;
    uint64_t delay_ms;                                /* not before; it is kept, or MM_EAGAIN, and never waits */
    uint32_t priority;                                /* 0, or below the priorities of the socket */
    uint32_t confirm;                                 /* MM_OPT_AT_LEAST_ONCE: *receipt is the number to ask for */
} mm_push_opts;
/* mm_send_packed to a PUSH.  MM_EINVAL: also a delay or priority that cannot be. */
int mm_push(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count, const mm_push_opts *opts,
            int64_t timeout_ms, int64_t slice_ms, uint64_t *receipt);
/* What waits in a PUSH to go later, now: sent so, or given back so by who had it.  Of each at most so many messages and
 * bytes: what is sent so beyond that is MM_EAGAIN.  What is given back so is never refused: from returned_max messages
 * on, and above returned_bytes_max, all that is new is (refuses). */
typedef struct mm_later {
    uint64_t sent, sent_max, sent_bytes_max;
    uint64_t returned, returned_max, returned_bytes_max;
    int64_t next_ms;                                  /* until the first is due; -1: there is none */
    uint32_t refuses;
} mm_later;
int mm_socket_later(mm_handle socket, mm_later *out);
/* The mm_receipt, once it is not open any more; MM_EINVAL: there is no such number. */
int mm_receipt_wait(mm_handle socket, uint64_t receipt, int64_t timeout_ms, int64_t slice_ms);
int mm_receipt_forget(mm_handle socket, uint64_t receipt);
/* Of messages of a run: count numbers from first on, which mm_receipts_reserve gave.  outcomes has an octet for each of
 * all the ranges, an mm_receipt, MM_RECEIPT_OPEN at first: what is known goes there, and is forgotten here. */
typedef struct mm_receipt_range { uint64_t first, count; } mm_receipt_range;
int mm_receipts_reserve(mm_handle socket, uint64_t count, uint64_t *first);
/* Until none of them is open any more; else, as by mm_receipts_look, some are.  MM_EINVAL: there is no such number. */
int mm_receipts_wait(mm_handle socket, const mm_receipt_range *ranges, size_t count, uint8_t *outcomes,
                     int64_t timeout_ms, int64_t slice_ms);
int mm_receipts_look(mm_handle socket, const mm_receipt_range *ranges, size_t count, uint8_t *outcomes);
int mm_receipts_forget(mm_handle socket, const mm_receipt_range *ranges, size_t count);
/* What is known, for when the socket is closed: of each MM_RECEIPT_BLOCK numbers their index, and an octet for each,
 * MM_RECEIPTS where there is none.  How many blocks there are; up to max of them are written. */
enum { MM_RECEIPT_BLOCK = 64 };
int64_t mm_receipts_all(mm_handle socket, uint64_t *indexes, uint8_t *outcomes, uint64_t max);
/* A dead letter of a PUSH with MM_OPT_KEEP_DEAD, or of a group of such a PUB, as big whatever its size; its mm_lease
 * has mm_dead as number. Never waits. 1; MM_EAGAIN: there is none. */
enum mm_dead { MM_DEAD_ATTEMPTS = 1, MM_DEAD_EXPIRED };
typedef struct mm_dead_from {
    mm_handle socket;                                 /* whose it is: for mm_dead_done */
    char group[64];                                   /* "" of a PUSH */
} mm_dead_from;
int mm_recv_dead(mm_handle socket, mm_batch *batch, mm_dead_from *from);
/* Somebody has it: of a socket whose messages are in a spool, where it is done only then (number: that of its lease,
 * why: an mm_dead).  MM_ESTATE: they are not. */
int mm_dead_done(mm_handle socket, uint64_t number, uint32_t why);

/* ---- sending.  Packed: the frames of a message end to end, and their sizes ---- */
int mm_send_now(mm_handle socket, const void *body, size_t size);   /* mm_send that never waits */
/* What the table of a role says (csrc/role/role.h): its sockets send messages, or receive some; give each message to
 * one of their peers, and so take no_peer; but do not drop for want of one; subscribe; are subscribed to. */
enum mm_role_fact {
    MM_ROLE_SENDS = 1, MM_ROLE_RECEIVES = 2, MM_ROLE_SHARES = 4, MM_ROLE_KEEPS = 8, MM_ROLE_SUBSCRIBES = 16,
    MM_ROLE_PUBLISHES = 32
};
int mm_role_facts(int role);           /* 0: no such role */
int mm_roles_fit(int one, int other);  /* 1: they can talk to each other; 0: not, or there is no such role */
int mm_send_waits(mm_handle socket);   /* a send that got MM_EAGAIN: 1: is to wait; 0: not (overflow, no_peer) */
/* Up to MM_PARTS_MAX frames, without entering the kernel or waiting for a lock: *more is then 0, or MM_MORE_SETTLE:
 * queued, mm_settle has the rest, or MM_MORE_SEND: nothing was done, as it takes mm_send_frames. */
enum { MM_PARTS_MAX = 8, MM_MORE_SETTLE = 1, MM_MORE_SEND = 2 };
int mm_send_queue(mm_handle socket, const mm_body *frames, uint32_t count, int *more);
int mm_settle(mm_handle socket);
/* meta: what goes with the message (base/meta.h), of 0 octets: nothing.  MM_EMSGSIZE: also if that is over
 * MM_META_SIZE_MAX octets; MM_EINVAL: it is malformed.  to: as of mm_send_frames, or whom a REP or RESPONDENT answers,
 * with the way back in front. */
enum { MM_META_SIZE_MAX = 16384 };
int mm_send_packed(mm_handle socket, uint64_t to, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                   const uint8_t *meta, size_t meta_size, int64_t timeout_ms, int64_t slice_ms);
/* What goes with each message of a run (base/meta.h): checked, and in memory, once.  As mm_send_packed refuses it. */
typedef struct mm_note mm_note;
int mm_note_new(const uint8_t *octets, size_t size, mm_note **note);
void mm_note_free(mm_note *note);                 /* NULL is fine; messages may still have it */
/* mm_send_many of messages with which a note goes (NULL: nothing), or which have receipts (0: none): that of message i
 * is receipt + i, of numbers that were reserved. */
int mm_send_run(mm_handle socket, const mm_body *bodies, size_t count, mm_note *note, uint64_t receipt,
                int64_t timeout_ms, int64_t slice_ms, size_t *sent);
int mm_request_packed(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                      const uint8_t *meta, size_t meta_size, int64_t timeout_ms, int64_t slice_ms, uint64_t *id);
int mm_survey_packed(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                     const uint8_t *meta, size_t meta_size, uint32_t expect, int64_t deadline_ms,
                     int64_t timeout_ms, int64_t slice_ms, uint64_t *id);
/* mm_send_reply by a way back that was kept: count frames, end to end, and a body; their sizes are count + 1. */
int mm_send_reply_along(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes, uint32_t count,
                        const uint8_t *body);
/* A message with room for a body of so many octets: it is written where it goes out from.  NULL: there is no memory. */
mm_msg *mm_room_new(uint64_t size, uint8_t **body);
void mm_room_free(mm_msg *room);                  /* NULL is fine */
/* mm_send_reply_along with such a body, of which it sends the first sizes[count] octets; takes it, whatever it says. */
int mm_send_reply_room(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes, uint32_t count,
                       mm_msg *room);
/* mm_send_refusal by such a way. */
int mm_send_refusal_along(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes, uint32_t count,
                          const uint8_t *reason, size_t size);

/* ---- receiving ---- */
/* One message that is there, as big whatever its size, without entering the kernel or waiting for a lock: 1, and *more
 * as by mm_send_queue; MM_EAGAIN: there is none, or it takes mm_recv. */
int mm_recv_nowait(mm_handle socket, mm_batch *batch, int *more);
/* As mm_recv, and then for up to gather_ns more until the limits are reached; body and body_offset are set.
 * 0: a slice is over while it gathers: again, with the same, or mm_batch_finish.
 * MM_EMSGSIZE: a body over 2^31 - 1 bytes, and it stays with the batch. */
int mm_recv_batch(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes, uint64_t gather_ns,
                  int64_t timeout_ms, int64_t slice_ms);
/* The same in steps, for event loops: takes what is there besides what the batch has (a new one is empty), up to the
 * limits in all: the count so far; 0: it is full; MM_EAGAIN.  Then finish makes the arrays: the count. */
int mm_batch_take(mm_handle socket, mm_batch *batch, uint32_t max_messages, uint64_t max_bytes);
int mm_batch_finish(mm_handle socket, mm_batch *batch);   /* again: as it was */
mm_batch *mm_batch_share(mm_batch *batch);        /* one more has it, and frees it as well */
/* A batch of these single-frame messages instead of what it had. */
int mm_batch_set(mm_batch *batch, const uint8_t *bodies, const uint64_t *sizes, const uint64_t *peers, uint32_t count);
/* So many answers or replies, of so many bytes, that were given were of no use any more: late, and not received. */
int mm_answers_late(mm_handle socket, uint32_t count, uint64_t bytes);
int mm_mark_unclaimed(mm_handle socket, int some);   /* 1: the caller holds some: readable for descriptors, pollsets */
int mm_interrupt(mm_handle socket);               /* who waits to receive gets MM_EINTR: the caller holds messages */
int64_t mm_now_ms(mm_handle socket);              /* of its engine's clock, simulated or not; < 0: an error */
int64_t mm_wall_ms(mm_handle socket);             /* since 1970, likewise */

/*
 * ---- Arrow, by its C data interface: schema, array and stream are its structs, as PyCapsules hold them ----
 * mm_arrow_setup: where PyCapsule_GetPointer is; it is called only by the two destructors of capsules, which
 * release what nobody took and free the struct.  A new struct is NULL when there is no memory.
 */
void mm_arrow_setup(void *capsule_pointer, void **schema_destructor, void **array_destructor);
void *mm_arrow_schema(void);                      /* a new one, of a binary array */
void *mm_arrow_array(mm_batch *batch, uint32_t first, uint32_t count);   /* of bodies, which stay until its release */
/* Sends elements [*done, length) of a binary (of fixed size, too) or string array; *done counts on, also on failure.
 * note and receipt as of mm_send_run: element i has receipt + i.  MM_EINVAL: another type, or a null at *done. */
int mm_send_arrow_run(mm_handle socket, const void *schema, const void *array, mm_note *note, uint64_t receipt,
                      uint64_t *done, int64_t timeout_ms, int64_t slice_ms);
uint64_t mm_arrow_size(const void *schema, const void *array, uint64_t index);   /* of an element */
/* An element, where it lies.  MM_EINVAL: another type, or a null. */
int mm_arrow_body(const void *schema, const void *array, uint64_t index, mm_body *out);
/* The next array of a stream, as two new structs; 1, 0 at its end, MM_EIO when it fails. */
int mm_arrow_next(void *stream, void **schema, void **array);
void mm_arrow_drop(void *schema, void *array);    /* releases and frees what mm_arrow_next gave */

/*
 * ---- rows of tables in the order of their digests (csrc/order), for the sink of Spark ----
 * A part is a table, as Arrow has it, with the columns value, and key and headers if they are there; schema and array
 * outlive it, and the parts the orders that have them.  A part and an order are one thread's at a time.
 */
typedef struct mm_order_part mm_order_part;
typedef struct mm_order mm_order;
enum { MM_ORDER_HEADS_MAX = 64, MM_ORDER_BYTES_MAX = 1073741824, MM_ORDER_SECRET = 16 };
/* secret: octets, of digests.  MM_EINVAL: it is no such table. */
int mm_order_part_new(const uint8_t *secret, const void *schema, const void *array, mm_order_part **out);
void mm_order_part_free(mm_order_part *part);
void mm_order_part_add(const mm_order_part *part, uint64_t *sum);  /* digests, to two words of 128 bits, high first */
int mm_order_new(mm_order_part *const *parts, uint32_t count, mm_order **out);   /* MM_EINVAL: not of one type */
void mm_order_free(mm_order *order);
uint64_t mm_order_left(const mm_order *order);    /* rows that were not taken */
/* The next rows of all of them, as a new array of Arrow's: until one of them has none left, or up to so many bytes, and
 * at least a row.  1; 0: one of them had none left before; MM_EINVAL: they are not of one type, or a column would be
 * too large. */
int mm_order_take(mm_order *const *orders, uint32_t count, uint64_t max_bytes, void **array);

/* ---- wakers: one per event loop ---- */
/* fds[0] is readable when there is something to take. Who watches a copy of it, to be told of the waker's end as
 * well, keeps a copy of fds[1] with it. */
int mm_waker_open(mm_handle engine, mm_handle *waker, int fds[2]);
int mm_waker_close(mm_handle waker);
/* One shot; fires now if already true, and gives what is. MM_WRITABLE of a ROUTER, or of a PUB that blocks, is only
 * told when a queue gets room: after asking for it, try the send once more before sleeping. */
int mm_watch(mm_handle socket, mm_handle waker, uint32_t events);
int mm_waker_take(mm_handle waker, mm_ready *out, uint32_t cap);   /* count; 0 events: closed */

/* ---- events of an engine ---- */
/* Once an engine: a descriptor that is readable while sockets of it have events that were not asked for here. Who
 * watches a copy of it is told by it of the engine's end as well (MM_ECLOSED). MM_ESTATE: somebody does already. */
int mm_events_open(mm_handle engine, int *fd);
int mm_events_take(mm_handle engine, mm_handle *sockets, uint32_t cap);   /* count: those with new events, each once */
int mm_events_ring(mm_handle engine);             /* who watches is to look for something else */
/* What a socket dropped after it was closed, for one cause: a DROPPED with seq 0. The descriptor tells of that, too. */
enum { MM_ENDED_MAX = 256 };
typedef struct mm_ended { mm_handle socket; int32_t role; mm_event event; } mm_ended;
/* count, each given once.  *unlisted: messages that there was no room to list, since the last take; *pending: closed
 * sockets that may still drop something, and drops that were not taken. */
int mm_ended_take(mm_handle engine, mm_ended *out, uint32_t cap, uint64_t *unlisted, uint32_t *pending);
/* As mm_engine_close, and count: what was not taken, and what its end dropped. */
int mm_engine_end(mm_handle engine, int64_t timeout_ms, uint64_t *abandoned_messages, mm_ended *out, uint32_t cap);
int mm_events_close(mm_handle engine);

/* mm_socket_tls again, of which only the pins are new, 32 octets each: for who has the texts no more.  MM_ESTATE: its
 * policy has no pins; MM_EINVAL: no pin. */
int mm_socket_tls_pins(mm_handle socket, const uint8_t *pins, size_t count);
/* Has the socket tell so (MM_EVENT_CERT_EXPIRES): who reads the files of certificates knows their dates. */
int mm_certificate_expires(mm_handle socket, const char *detail);

/* mm_question_answer of MM_ALLOW, with octets that mm_batch_known gives of the peer. MM_EMSGSIZE: more of them. */
enum { MM_ALLOW_METADATA_MAX = 4096 };            /* octets */
int mm_question_allow(mm_handle engine, uint64_t id, const char *user_id, const uint8_t *metadata, size_t size);
/* Who waits for questions (mm_questions_open) is to look for something else. */
int mm_questions_ring(mm_handle engine);
/* Whether an answer is still of use; MM_ESTATE: it is none.  Never waits. */
int mm_question_waits(mm_handle engine, uint64_t id);

/* The host and port of an endpoint, and how we write it: MM_OK or a negative mm_err. */
int mm_url_parts(const char *text, char *host, size_t host_size, uint16_t *port, char *again, size_t again_size);

/* ---- keys, and the libraries that protection needs ---- */
enum { MM_KEY_SIZE = 32, MM_KEY_TEXT_SIZE = 41, MM_SODIUM_FUNCTIONS = 6 };
/* What is wrong with a key in Z85: how many characters, one of them, five that say more than four octets hold. */
enum { MM_KEY_WRONG_SIZE = 1, MM_KEY_WRONG_CHARACTER, MM_KEY_OVERFLOW };
int mm_key_parse(const char *text, size_t size, uint8_t key[32], size_t *at);   /* 0, or what is wrong, and where */
void mm_key_text(const uint8_t key[32], char text[41]);
int mm_key_public(const uint8_t secret[32], uint8_t key[32]);   /* MM_ENOTSUP: there is no libsodium */
void mm_key_wipe(uint8_t key[32]);
/* What the system refused of the memory that keys of a socket's engine are kept in, so far: 1: it may be swapped out
 * (RLIMIT_MEMLOCK); 2: it is in core dumps; 4: a forked child has a copy. */
uint32_t mm_secrets_lack(mm_handle socket);
const char *mm_sodium_name(uint32_t index);       /* of the functions of libsodium, in their order; NULL: no more */
/* Somebody else's copy of libsodium, by the addresses of these functions: "", or the one that is wrong or 0.  To be
 * offered before anything else asks for libsodium: the first that is found stays. */
const char *mm_sodium_offer(const uint64_t addresses[6]);

/* ---- fork: called by os.register_at_fork; also registered with pthread_atfork, twice is harmless ---- */
void mm_fork_prepare(void);
void mm_fork_parent(void);
void mm_fork_child(void);

/* cdef:end */

#endif
