/*
 * spool_threads.h: a spool that threads share, in a folder of its own on the system's files.
 *
 * Not here: the simulated disk (spool_rig.h).  Law: what the spool calls is changed while its own
 * thread waits, so that the change is no race.
 */
#ifndef SPOOL_THREADS_H
#define SPOOL_THREADS_H

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "places.h"
#include "sockets.h"
#include "spool/shared.h"

static const mmi_spool_wait PATIENTLY = { .deadline_ns = UINT64_MAX };

typedef struct threads_rig {
    mmi_spool_shared spool;
    char path[PLACE_SIZE + 16];
    char place[PLACE_SIZE];
    mmi_spool_shared_opts opts;
} threads_rig;

static inline void
threads_open(threads_rig *r)
{
    mmi_spool_report report;
    CHECK_INT(mmi_spool_shared_open(&r->spool, r->path, &r->opts, &report), MM_OK);
}

/* Options of small files, and an empty folder; nothing is open. */
static inline void
threads_prepare(threads_rig *r, mmi_spool_level level)
{
    *r = (threads_rig){ .opts = { .spool = { .level = level, .file_bytes = MMI_SPOOL_FILE_MIN },
                                  .sync_every_ns = 1000000 } };
    place_open(r->place);
    snprintf(r->path, sizeof r->path, "%s/spool", r->place);
    CHECK_INT(mkdir(r->path, 0700), 0);
}

static inline void
threads_new(threads_rig *r, mmi_spool_level level)
{
    threads_prepare(r, level);
    threads_open(r);
}

static inline void
threads_remove(const char *place)
{
    char command[PLACE_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", place);
    CHECK_INT(system(command), 0);
}

static inline void
threads_free(threads_rig *r)
{
    CHECK_INT(mmi_spool_shared_close(&r->spool), MM_OK);
    threads_remove(r->place);
}

static inline bool
threads_idle(mmi_spool_shared *h)
{
    bool is = h->idle && !h->spool.busy;
    if (!is) {
        pthread_mutex_unlock(&h->lock);
        sched_yield();
        pthread_mutex_lock(&h->lock);
    }
    return is;
}

/* Holds the lock; the spool's own thread waits for it, or for work. */
static inline void
threads_stop(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    AWAIT(threads_idle(h));
}

static inline void
threads_go_on(mmi_spool_shared *h)
{
    pthread_mutex_unlock(&h->lock);
}

#endif
