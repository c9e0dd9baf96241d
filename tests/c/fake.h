/*
 * fake.h: a world for protocol roles: a socket without an engine, and peers whose queues the test
 * fills and empties by hand.
 * Not here: bytes, threads, time.
 * Law: the fake does exactly what role/role.h says the engine does, and checks the pipes' invariants.
 */
#ifndef FAKE_H
#define FAKE_H

#include "check.h"
#include "role/role.h"
#include "wire/sp/body.h"
#include "wire/zmtp/frame.h"

enum { FAKE_PIPES_MAX = 64, FAKE_LOG_SIZE = 4096, FAKE_KINDS = 32 };

typedef struct fake_sock fake_sock;

typedef struct fake_pipe {
    mmi_pipe pipe;
    fake_sock *sock;
    uint32_t wrote_count, room_count, told_count;
    int closed_reason;                 /* of ops->close; 0: not asked to close  */
    bool fail_subscription;            /* ops->subscription says MM_ENOMEM      */
    char log[FAKE_LOG_SIZE];           /* what it was told: "+topic -topic "    */
    uint8_t identity[MM_IDENTITY_MAX];
} fake_pipe;

struct fake_sock {
    const mmi_proto_ops *ops;
    void *state;
    mmi_proto_host host;
    mm_stats stats;
    mm_socket_opts opts;
    uint32_t random_seed;
    uint64_t event_counts[FAKE_KINDS];        /* by mm_event_kind                      */
    uint64_t last_event_peer;
    fake_pipe *pipes[FAKE_PIPES_MAX];
    uint32_t pipe_count;
    int add_rc;                        /* of the last fake_connect              */
    bool fail_subscription;            /* new peers cannot be told of topics    */
    const mmi_framing *framing;        /* of the wire of new peers              */
    uint64_t takes_size;               /* what they say they take                */
    uint32_t takes_frames;             /* 0: they say nothing                   */
    bool segments;                        /* and what is sent to them is encoded   */
    uint64_t now_ns, due_ns;           /* due: when the role wants its tick; 0: not */
    uint32_t slack;                    /* messages by which an outbox may be deferred */
    bool deferred;                         /* some may                              */
    uint32_t begun_count;              /* of host->begun */
};

/* A socket with queues of that many messages; its options may be changed before the first use. */
fake_sock *fake_open(int role, uint32_t overflow, uint32_t queue_messages);
fake_sock *fake_open_with(int role, uint32_t overflow, uint32_t queue_messages, uint32_t flags);
fake_sock *fake_open_of(const mmi_proto_ops *ops, uint32_t overflow, uint32_t queue_messages,
                        uint32_t flags);
void fake_tick(fake_sock *s);                               /* time goes on to when it wants that */
void fake_close(fake_sock *s);                              /* cuts all peers, then fini */
fake_pipe *fake_connect(fake_sock *s);                      /* NULL: refused, see add_rc */
fake_pipe *fake_connect_as(fake_sock *s, const char *identity);
void fake_cut(fake_pipe *p);                                /* the peer is gone; p is freed */

void fake_materialize(fake_sock *s);                           /* before an outbox is looked at */
int fake_deliver(fake_pipe *p, mmi_msg *m);                 /* the peer sent m; takes m if MM_OK */
mmi_msg *fake_take(fake_pipe *p); /* the link wrote the front in full; NULL: empty */
mmi_msg *fake_take_deferred(fake_pipe *p);   /* the same, and nobody looked at outboxes before */
uint32_t fake_take_all(fake_pipe *p);                       /* takes and frees; how many */

/* Messages: frames from texts.  fake_is takes m and checks its frames, joined by '|'. */
mmi_msg *fake_text(const char *body);
mmi_msg *fake_frames(uint32_t count, const char *const *bodies);
void fake_is(mmi_msg *m, const char *joined);
int fake_send(fake_sock *s, const char *body);              /* frees what was refused */
int fake_send_msg(fake_sock *s,
                  mmi_msg *m); /* the same, and checks that a refused one is unchanged */
void fake_recv_is(fake_sock *s, const char *joined);
int fake_recv_rc(fake_sock *s); /* what recv says; frees what it gives */
uint64_t fake_dropped(const fake_sock *s);                  /* all dropped_ counters together */
uint64_t fake_queued(const fake_sock *s);                   /* in all queues, backlog, unclaimed */

#define FRAMES(...) \
    fake_frames(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
                (const char *const[]){__VA_ARGS__})

#endif
