/*
 * meshmsg_testing.h: what tests, benchmarks and meshmsg.testing look into: the codecs as pure functions, the simulated
 * world, and hooks for memory, processors and what is left open.
 * Not here: what a program uses (meshmsg.h); nothing here is exported by libmeshmsg.
 */
#ifndef MESHMSG_TESTING_H
#define MESHMSG_TESTING_H

#include "meshmsg_binding.h"

/* cdef:begin */

/* ---- the codec, for tests and tools (csrc/wire/zmtp): pure functions ---- */
typedef struct mm_codec_reader mm_codec_reader;
typedef struct mm_codec_hello mm_codec_hello;
int mm_codec_frame_head(const uint8_t *buf, size_t size, uint8_t *flags, uint64_t *body_size);
mm_codec_reader *mm_codec_reader_new(uint64_t message_size_max, uint32_t frames_max, uint32_t command_size_max);
void mm_codec_reader_free(mm_codec_reader *r);
/* 1: a message (*msg, to be freed) or a command (its kind and data, valid until the next call); 0: need more; < 0 */
int mm_codec_reader_next(mm_codec_reader *r, const uint8_t *buf, size_t size, size_t *used, mm_msg **msg,
                         int *command, const uint8_t **data, size_t *data_size);
void mm_msg_free(mm_msg *msg);
int mm_codec_reader_reason(const mm_codec_reader *r);
uint64_t mm_codec_reader_held(const mm_codec_reader *r);   /* bytes it has taken for an unfinished frame */
mm_codec_hello *mm_codec_hello_new(int role, const uint8_t *identity, size_t identity_size);
void mm_codec_hello_free(mm_codec_hello *h);
int mm_codec_hello_feed(mm_codec_hello *h, const uint8_t *buf, size_t size, size_t *used);
size_t mm_codec_hello_output(mm_codec_hello *h, uint8_t *out, size_t size);
/* mm_reason */
int mm_codec_hello_result(const mm_codec_hello *h, int *role, int *minor, uint8_t *identity, size_t *size);

/* ---- the SP codec (csrc/wire/sp), likewise.  id: a protocol's number on the wire; marked: the mapping to IPC ---- */
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
mm_codec_sp_reader *mm_codec_sp_reader_new(uint64_t message_size_max, uint32_t hops_max, int marked, uint32_t id);
void mm_codec_sp_reader_free(mm_codec_sp_reader *r);
/* 1: a message, to be freed; 0: need more; < 0 */
int mm_codec_sp_reader_next(mm_codec_sp_reader *r, const uint8_t *buf, size_t size, size_t *used, mm_msg **msg);
/* mm_reason; held: bytes taken for an unfinished message; skipped: messages with too many hops */
int mm_codec_sp_reader_inspect(const mm_codec_sp_reader *r, uint64_t *held, uint64_t *skipped);
/* What goes in front of the octets of these frames, 13 at most; MM_EINVAL, MM_ENOTSUP: not in SP's form. */
int mm_codec_sp_head(uint32_t id, int marked, uint32_t hops_max, const uint8_t *bodies, const uint64_t *sizes,
                     uint32_t count, uint8_t *out, size_t *size);

/* ---- PLAIN (csrc/wire/zmtp/plain.h), likewise.  user NULL: a server ---- */
typedef struct mm_codec_plain mm_codec_plain;
mm_codec_plain *mm_codec_plain_new(const uint8_t *user, size_t user_size, const uint8_t *password, size_t password_size,
                                   int asks, const uint8_t *properties, size_t size);   /* NULL: over a limit */
void mm_codec_plain_free(mm_codec_plain *p);
/* As of CURVE. */
int mm_codec_plain_feed(mm_codec_plain *p, const uint8_t *buf, size_t size, size_t *used);
int mm_codec_plain_answer(mm_codec_plain *p, int kind);
int mm_codec_plain_failure(const mm_codec_plain *p, char *detail, size_t size);
size_t mm_codec_plain_output(mm_codec_plain *p, uint8_t *out, size_t size);
size_t mm_codec_plain_properties(const mm_codec_plain *p, uint8_t *out, size_t size);
/* Who is asked about: sizes, and octets where there is room for 255 each. */
void mm_codec_plain_applicant(const mm_codec_plain *p, uint8_t *user, size_t *user_size, uint8_t *password,
                              size_t *password_size);

/* ---- CURVE (csrc/wire/zmtp/curve.h), likewise.  Keys have 32 octets ---- */
typedef struct mm_codec_curve mm_codec_curve;
/* secrets: ours, end to end, 1 to 3; server: of a client, the server's public key, else NULL.  drawn: what is drawn as
 * random, in order.  NULL: as by mm_socket_curve, or our properties are over 256 octets. */
mm_codec_curve *mm_codec_curve_new(const uint8_t *secrets, uint32_t count, const uint8_t *server, int asks,
                                   const uint8_t *properties, size_t size, uint64_t frame_max,
                                   const uint8_t *drawn, size_t drawn_size);
void mm_codec_curve_free(mm_codec_curve *c);
/* 0: needs more, 1: done, 2: asks, < 0: see mm_codec_curve_failure.  answer: an mm_answer */
int mm_codec_curve_feed(mm_codec_curve *c, const uint8_t *buf, size_t size, size_t *used);
int mm_codec_curve_answer(mm_codec_curve *c, int kind);
int mm_codec_curve_failure(const mm_codec_curve *c, char *detail, size_t size);   /* mm_reason */
size_t mm_codec_curve_output(mm_codec_curve *c, uint8_t *out, size_t size);
/* Octets of the peer's properties, as many as there is room for; key: its own. */
size_t mm_codec_curve_peer(const mm_codec_curve *c, uint8_t *properties, size_t size, uint8_t *key);
/* As of csrc/wire/mechanism.h; out has room for size + 64 octets and what seal was given before, or for cap. */
int64_t mm_codec_curve_seal(mm_codec_curve *c, const uint8_t *plain, size_t *size, uint8_t *out);
int mm_codec_curve_open(mm_codec_curve *c, const uint8_t *in, size_t size, uint8_t *out, size_t cap,
                        size_t *given);
/* The last numbers; to be others, before the next. */
void mm_codec_curve_number(mm_codec_curve *c, uint64_t sealed, uint64_t opened);
void mm_codec_curve_later(mm_codec_curve *c, uint64_t ms);   /* so much time goes by */
uint64_t mm_codec_curve_held(const mm_codec_curve *c, int *idle);   /* bytes taken for what is not whole */

/* ---- the simulated world (csrc/plat/sim) ---- */
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
    uint64_t writes, resets;                   /* that were taken, whole or in part; of connections  */
    uint64_t found;                            /* how often what mm_sim_seek seeks was written       */
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
/* The nth write from now that would be taken finds its connection reset, once; 0: none does. */
int mm_sim_reset_in(mm_handle world, uint64_t nth);
/* From now on these octets are sought in what is written, 64 at most, also across several writes; 0: none */
int mm_sim_seek(mm_handle world, const uint8_t *octets, size_t size);
int mm_sim_jump_wall(mm_handle world, int64_t by_ns);
/* The clock goes on for so long, and nobody runs meanwhile: every machine was suspended. */
int mm_sim_suspend(mm_handle world, uint64_t for_ns);
int mm_sim_inspect(mm_handle world, mm_sim_state *out);
int mm_sim_trace(mm_handle world, uint64_t line, char *out, size_t size);   /* the last 512 lines are kept */

/* ---- test hooks ---- */
int mm_live_handles(void);                        /* engines and sockets open now, for leak checks */
/* The n-th allocation from now fails once; 0: none does.  Returns what was left of the last n: 0 or less, it failed. */
int64_t mm_test_alloc_fail(int64_t countdown);
/* Blocks of memory the core holds, and their bytes, as the allocator rounds them: of those made since the first call.
 * Only differences mean something: what was made before and freed since counts below zero. */
int64_t mm_test_alloc_live(int64_t *bytes);

/* Connections that an engine makes from now on say these features (docs/wire.md) in place of ours, or "": none, as one
 * who is not of meshmsg.  They know no less by it.  MM_EINVAL: too long. */
int mm_test_features(mm_handle engine, const char *features);
/* Engines opened from now on behave as with so many processors; 0: as with those there are. */
void mm_test_cpus(uint32_t count);
/* Spools see a wall clock that is so much ahead of the system's from now on; 0: the system's. */
void mm_test_wall_ahead(int64_t by_us);

/* cdef:end */

#endif
