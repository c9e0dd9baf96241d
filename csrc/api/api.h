/*
 * api.h: what the files of the public surface share.  Each public function: handle, lock, call,
 * wait if asked, leave.
 */
#ifndef MMI_API_H
#define MMI_API_H

#include "base/meta.h"
#include "ends/ends.h"
#include "link/link.h"
#include "meshmsg_binding.h"
#include "meshmsg_feed.h"
#include "plat/sim/sim.h"
#include "sched/sched.h"

/* MM_OK: *s is valid, its engine locked, the clock read. */
int mmi_api_enter(mm_handle socket, mmi_socket **s) MMI_WARN_UNUSED;
/* The same, once whoever waits for that engine had it: for threads that enter over and over. */
int mmi_api_enter_last(mm_handle socket, mmi_socket **s) MMI_WARN_UNUSED;
/* The same, but the clock is not read: for calls that most often need no time. */
int mmi_api_enter_quick(mm_handle socket, mmi_socket **s) MMI_WARN_UNUSED;
int mmi_api_leave(mmi_socket *s, int rc);            /* settles, unlocks, returns rc */
void mmi_api_note(mm_handle socket, uint32_t events);  /* wakes who waits for those; of one that is gone nothing */

/* May a socket of that role have them?  api/options.c */
bool mmi_api_opts_valid(const mmi_proto_ops *role, const mm_socket_opts *o);

/* Does it give receipts? */
static inline bool
mmi_api_confirms(const mmi_socket *s)
{
    return s->host.back != NULL && (s->opts.flags & MM_OPT_AT_LEAST_ONCE) != 0;
}

/* Has it no endpoint and no connection yet? */
static inline bool
mmi_api_fresh(const mmi_socket *s)
{
    return mmi_list_empty(&s->dialers) && mmi_list_empty(&s->listeners) && mmi_list_empty(&s->links);
}

/* Is that what may go with a message? */
static inline bool
mmi_api_meta_valid(const uint8_t *meta, size_t size)
{
    return size == 0 || mmi_meta_check(meta, size);
}

/* Of a socket without an endpoint yet; else MM_ESTATE.  MM_ENOMEM. */
int mmi_api_keep(mmi_socket *s, const void *config, size_t size, const void **kept);
/* The same, for all its connections from now on. */
int mmi_api_protect(mmi_socket *s, const mmi_mechanism *mechanism, const void *config, size_t size);

/* One blocked call: the deadline is fixed at its start. */
typedef struct mmi_api_wait {
    int64_t timeout_ms, slice_ms;
    uint64_t deadline_ns;
    bool started;
} mmi_api_wait;

static inline mmi_api_wait
mmi_api_wait_of(int64_t timeout_ms, int64_t slice_ms)
{
    return (mmi_api_wait){ .timeout_ms = timeout_ms, .slice_ms = slice_ms };
}

/* When the call is to end at the latest. */
uint64_t mmi_api_deadline(const mmi_socket *s, mmi_api_wait *w);
/* MM_OK: try again. Else what the call is to return; on MM_ECLOSED the lock is still held, by *e.
 */
int mmi_api_wait_for(mmi_socket *s, mmi_api_wait *w, uint32_t events, uint64_t key) MMI_WARN_UNUSED;
/* Sends m as the socket's policy says, waiting if it may.  MM_OK: m is no longer the caller's. Else
 * as mmi_api_wait_for. */
int mmi_api_send_locked(mmi_socket *s, mmi_msg *m, mmi_api_wait *w) MMI_WARN_UNUSED;
/* The same of a message that its source gives (queue/source.h): users cannot send with such a socket. */
int mmi_api_feed_locked(mmi_socket *s, mmi_msg *m, mmi_api_wait *w) MMI_WARN_UNUSED;
/* MM_EMSGSIZE: such a socket sends no message of that size, or so many frames. */
int mmi_api_sizes(const mmi_socket *s, uint64_t size, uint32_t frames) MMI_WARN_UNUSED;
/* Ends a call whose socket may be gone: settles and unlocks the engine. */
int mmi_api_end(mmi_engine *e, int rc);

/* A message of packed frames, and of what goes with it: MM_EINVAL, MM_EMSGSIZE, MM_ENOMEM. */
int mmi_api_packed(const uint8_t *bodies, const uint64_t *sizes, uint32_t count, const uint8_t *meta,
                   size_t meta_size, mmi_msg **out);
/* Sends a message that was just made (NULL: there was no memory); *key gets its request id. */
int mmi_api_send(mm_handle socket, mmi_msg *m, int64_t timeout_ms, int64_t slice_ms, uint64_t *key);
/* Makes the arrays of what was taken: the count, or an error that was counted as a loss. */
struct mmi_batch;
int mmi_api_fill(mm_handle socket, struct mmi_batch *b);

#endif
