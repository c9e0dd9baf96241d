/*
 * plat/sim/world.h: what the files of the simulated world share, api/sim.c among them.
 *
 * A stream is two ends; each end holds what is on its way to it, in chunks that become visible at
 * their time.  Law: one thread; all chance comes from the world's generator; every operation is
 * folded into the trace.
 */
#ifndef MMI_SIM_WORLD_H
#define MMI_SIM_WORLD_H

#include "base/list.h"
#include "meshmsg_testing.h"
#include "plat/sim/sim.h"

enum {
    SIM_ENGINES_MAX = 64, SIM_NOTIFIERS_MAX = 1024, SIM_TRACE_LINES = 512, SIM_TRACE_WIDTH = 96,
    SIM_BACKLOG_MAX = 128, SIM_FIRST_PORT = 40000, SIM_LOOKUPS_MAX = 64,
    SIM_SOUGHT_MAX = 64
};

typedef struct sim_engine {
    mmi_sim *world;
    uint32_t index;                 /* in the order of opening */
    bool open, interrupted;
    void (*step)(void *arg);
    void *arg;
    uint64_t deadline_ns;           /* as it told poll */
} sim_engine;

typedef struct sim_chunk {
    uint64_t due_ns;
    size_t size;
} sim_chunk;

/* One end of a stream, or a listener. */
typedef struct sim_end {
    int id;
    sim_engine *owner;              /* who watches it; NULL: nobody yet */
    uint32_t watched;
    uint64_t tag;
    struct sim_end *peer;           /* NULL: closed, or a listener */
    sim_engine *peer_was;           /* whose the closed peer was: a partition holds it still */
    uint8_t *data;                  /* on its way here: chunks, end to end */
    size_t data_size, data_cap;
    sim_chunk *chunks;
    uint32_t chunk_count, chunk_cap;
    uint64_t fin_ns;                /* when the peer's FIN is here; 0: none */
    uint64_t connected_ns;          /* dialed: when it is connected */
    uint64_t bytes_written;
    uint64_t last_due_ns;           /* when what was written last is with the peer */
    uint32_t sought;                /* octets of what is sought that were written last */
    bool reset, finished, black_hole;
    bool listening;
    mmi_addr addr;
    int waiting[SIM_BACKLOG_MAX];
    int waiting_count;
} sim_end;

typedef struct sim_slot {
    int id;
    sim_end *end;                   /* NULL: freed */
} sim_slot;

typedef struct sim_lookup {
    sim_engine *engine;
    uint64_t tag, due_ns;
    uint16_t port;
    bool used, told, known;
} sim_lookup;

typedef struct sim_partition {
    uint64_t since_ns, until_ns;    /* from engine a to engine b nothing arrives in between */
} sim_partition;

struct mmi_sim {
    mm_sim_opts opts;
    uint64_t now_ns, wall_jump_ns, random_state, hash, steps_here;
    sim_engine engines[SIM_ENGINES_MAX];
    uint32_t engine_count;
    sim_slot *ends;                      /* by id, with gaps where one was freed */
    uint32_t end_count, end_cap;
    int end_last_id;
    bool notifiers[SIM_NOTIFIERS_MAX], notifier_used[SIM_NOTIFIERS_MAX];
    sim_lookup lookups[SIM_LOOKUPS_MAX];
    sim_partition cut[SIM_ENGINES_MAX][SIM_ENGINES_MAX];
    uint16_t next_port;
    uint64_t writes, resets;        /* that were taken; of streams */
    uint64_t reset_in;              /* writes until one finds its stream reset; 0: none does */
    uint8_t sought[SIM_SOUGHT_MAX], borders[SIM_SOUGHT_MAX];
    uint32_t sought_size;
    uint64_t found;
    char trace[SIM_TRACE_LINES][SIM_TRACE_WIDTH];
    uint64_t trace_count;
};

/* plat/sim/trace.c */
uint64_t mmi_sim_random(mmi_sim *w);
bool mmi_sim_chance(mmi_sim *w, uint32_t ppm);                /* parts per million */
uint64_t mmi_sim_between(mmi_sim *w, uint64_t low, uint64_t high);
void mmi_sim_trace(mmi_sim *w, const sim_engine *e, const char *what, int id, int64_t value);

/* plat/sim/seek.c */
/* size: SIM_SOUGHT_MAX at most */
void mmi_sim_seek(mmi_sim *w, const uint8_t *octets, size_t size);
void mmi_sim_seek_in(mmi_sim *w, sim_end *writes, const uint8_t *data, size_t size);

/* plat/sim/sim.c */
/* Runs until the time, or until *stop is true (may be NULL). */
void mmi_sim_run_until(mmi_sim *w, uint64_t until_ns, const bool *stop);

/* plat/sim/stream.c */
sim_end *mmi_sim_end(mmi_sim *w, int id);                     /* NULL: no such */
uint32_t mmi_sim_end_ready(const mmi_sim *w, const sim_end *end);
uint64_t mmi_sim_end_next(const mmi_sim *w,
                          const sim_end *end); /* when that may change by itself */
void mmi_sim_end_reset(mmi_sim *w, sim_end *end);
uint32_t mmi_sim_open_ends(const mmi_sim *w);
void mmi_sim_free_ends(mmi_sim *w);
int mmi_sim_connect(void *self, const mmi_addr *a, int *s);
int mmi_sim_connected(void *self, int s);
int mmi_sim_listen(void *self, mmi_addr *a, int *l);
int mmi_sim_accept(void *self, int l, int *s, mmi_addr *peer);
int mmi_sim_pair(void *self, int s[2]);
int64_t mmi_sim_readv(void *self, int s, const mmi_iov *iov, int n);
int64_t mmi_sim_writev(void *self, int s, const mmi_iov *iov, int n);
size_t mmi_sim_room(const mmi_sim *w, const sim_end *end);    /* that the peer has for octets */
void mmi_sim_finish(void *self, int s);
void mmi_sim_close(void *self, int s);

/* plat/sim/transit.c */
void mmi_sim_transit(void *self, int s, uint32_t probe_ms, mmi_transit *out);
int mmi_sim_credentials(void *self, int s, mmi_credentials *out);
int mmi_sim_of_group(void *self, int s, const uint32_t *gids, uint32_t count);
uint32_t mmi_sim_user(void *self);

#endif
