/*
 * resolve.c: names to addresses without stopping anybody: getaddrinfo runs in threads of its own.
 *
 * Law: at most MMI_RESOLVERS_MAX of them; a look-up that outlives its platform ends by itself and
 * its result goes nowhere; numbers never need a thread.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/limits.h"
#include "base/list.h"
#include "plat/posix/posix.h"

typedef struct resolve_job {
    mmi_list node;
    uint64_t tag;
    char host[256];
    uint16_t port;
    bool done, told, forgotten;
    int count;
    mmi_addr addrs[MMI_ADDRS_MAX];
} resolve_job;

struct mmi_resolver {
    pthread_mutex_t lock;
    mmi_list waiting, running, finished;
    uint32_t threads;
    mmi_posix *posix;          /* NULL once the platform is gone */
};

int
mmi_resolve_now(const char *host, uint16_t port, mmi_addr *out, int cap, bool number_only)
{
    char service[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    hints.ai_flags = AI_NUMERICSERV | (number_only ? AI_NUMERICHOST : 0);
    struct addrinfo *list = NULL;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int failed = getaddrinfo(host, service, &hints, &list);
    if (failed != 0) {
        return failed == EAI_MEMORY ? MM_ENOMEM : MM_ENOHOST;
    }
    int count = 0;
    for (const struct addrinfo *at = list; at != NULL && count < cap; at = at->ai_next) {
        struct sockaddr_storage addr;
        memset(&addr, 0, sizeof addr);
        memcpy(&addr, at->ai_addr, at->ai_addrlen);
        mmi_addr_from_sockaddr(&addr, &out[count]);
        count += out[count].kind == MMI_ADDR_TCP4 || out[count].kind == MMI_ADDR_TCP6;
    }
    freeaddrinfo(list);
    return count > 0 ? count : MM_ENOHOST;
}

mmi_resolver *
mmi_resolver_new(mmi_posix *p)
{
    mmi_resolver *r = mmi_alloc(sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    pthread_mutex_init(&r->lock, NULL);
    mmi_list_init(&r->waiting);
    mmi_list_init(&r->running);
    mmi_list_init(&r->finished);
    r->posix = p;
    return r;
}

static void
resolve_clear(mmi_list *jobs)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(jobs)) != NULL) {
        mmi_free(MMI_CONTAINER_OF(node, resolve_job, node));
    }
}

/* Lock held; released. The last to leave, platform or thread, frees. */
static void
resolve_leave(mmi_resolver *r)
{
    bool last = r->posix == NULL && r->threads == 0;
    pthread_mutex_unlock(&r->lock);
    if (last) {
        resolve_clear(&r->waiting);
        resolve_clear(&r->finished);
        pthread_mutex_destroy(&r->lock);
        mmi_free(r);
    }
}

void
mmi_resolver_free(mmi_resolver *r)
{
    pthread_mutex_lock(&r->lock);
    r->posix = NULL;
    resolve_clear(&r->waiting);
    resolve_leave(r);
}

static void *
resolve_run(void *arg)
{
    mmi_resolver *r = arg;
    (void)prctl(PR_SET_NAME, "meshmsg-resolve", 0, 0, 0);
    pthread_mutex_lock(&r->lock);
    mmi_list *node;
    while ((node = mmi_list_pop_front(&r->waiting)) != NULL) {
        resolve_job *job = MMI_CONTAINER_OF(node, resolve_job, node);
        mmi_list_push_back(&r->running, node);
        pthread_mutex_unlock(&r->lock);
        mmi_addr found[MMI_ADDRS_MAX];
        int count = mmi_resolve_now(job->host, job->port, found, MMI_ADDRS_MAX, false);
        pthread_mutex_lock(&r->lock);
        mmi_list_rm(node);
        if (job->forgotten || r->posix == NULL) {
            mmi_free(job);
            continue;
        }
        memcpy(job->addrs, found, sizeof found);
        job->count = count;
        job->done = true;
        mmi_list_push_back(&r->finished, node);
        r->posix->ops->interrupt(r->posix->poller);
    }
    r->threads--;
    resolve_leave(r);
    return NULL;
}

int
mmi_resolver_start(mmi_resolver *r, const char *host, uint16_t port, uint64_t tag, mmi_addr *out,
                   int cap)
{
    int count = mmi_resolve_now(host, port, out, cap, true);
    if (count > 0) {
        return count;
    }
    resolve_job *job = mmi_alloc(sizeof *job);
    if (job == NULL) {
        return MM_ENOMEM;
    }
    job->tag = tag;
    job->port = port;
    snprintf(job->host, sizeof job->host, "%s", host);
    pthread_mutex_lock(&r->lock);
    mmi_list_push_back(&r->waiting, &job->node);
    int rc = MM_EAGAIN;
    if (r->threads < MMI_RESOLVERS_MAX) {
        rc = mmi_posix_detach(resolve_run, r) == MM_OK ? MM_EAGAIN : MM_ENOMEM;
        r->threads += rc == MM_EAGAIN;
        if (rc != MM_EAGAIN && r->threads > 0) {
            rc = MM_EAGAIN;   /* one of those that run takes it */
        } else if (rc != MM_EAGAIN) {
            mmi_list_rm(&job->node);
            mmi_free(job);
        }
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static resolve_job *
resolve_find(mmi_list *jobs, uint64_t tag)
{
    MMI_LIST_EACH (jobs, node, after) {
        resolve_job *job = MMI_CONTAINER_OF(node, resolve_job, node);
        if (job->tag == tag && !job->forgotten) {
            return job;
        }
    }
    return NULL;
}

int
mmi_resolver_take(mmi_resolver *r, uint64_t tag, mmi_addr *out, int cap)
{
    pthread_mutex_lock(&r->lock);
    resolve_job *job = resolve_find(&r->finished, tag);
    int count = MM_EAGAIN;
    if (job != NULL) {
        count = job->count < cap ? job->count : cap;
        for (int i = 0; i < count; i++) {
            out[i] = job->addrs[i];
        }
        mmi_list_rm(&job->node);
        mmi_free(job);
    }
    pthread_mutex_unlock(&r->lock);
    return count;
}

void
mmi_resolver_forget(mmi_resolver *r, uint64_t tag)
{
    pthread_mutex_lock(&r->lock);
    resolve_job *job = resolve_find(&r->running, tag);
    if (job != NULL) {
        job->forgotten = true;
    }
    mmi_list *const idle[] = { &r->waiting, &r->finished };
    for (size_t i = 0; i < MMI_COUNT_OF(idle); i++) {
        job = resolve_find(idle[i], tag);
        if (job != NULL) {
            mmi_list_rm(&job->node);
            mmi_free(job);
        }
    }
    pthread_mutex_unlock(&r->lock);
}

int
mmi_resolver_done(mmi_resolver *r, mmi_event *out, int cap)
{
    int count = 0;
    pthread_mutex_lock(&r->lock);
    MMI_LIST_EACH (&r->finished, node, after) {
        resolve_job *job = MMI_CONTAINER_OF(node, resolve_job, node);
        if (!job->told && count < cap) {
            job->told = true;
            out[count++] = (mmi_event){ .tag = job->tag, .events = MMI_RESOLVED };
        }
    }
    pthread_mutex_unlock(&r->lock);
    return count;
}

int
mmi_posix_resolve(void *self, const char *host, uint16_t port, uint64_t tag, mmi_addr *out, int cap)
{
    return mmi_resolver_start(((mmi_posix *)self)->resolver, host, port, tag, out, cap);
}

int
mmi_posix_resolve_take(void *self, uint64_t tag, mmi_addr *out, int cap)
{
    return mmi_resolver_take(((mmi_posix *)self)->resolver, tag, out, cap);
}

void
mmi_posix_resolve_forget(void *self, uint64_t tag)
{
    mmi_resolver_forget(((mmi_posix *)self)->resolver, tag);
}

int
mmi_posix_resolve_wait(void *self, const char *host, uint16_t port, mmi_addr *out, int cap)
{
    (void)self;
    return mmi_resolve_now(host, port, out, cap, false);
}
