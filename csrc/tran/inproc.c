/*
 * inproc.c: names of this process.  Dialing one joins two streams of the platform and leaves one
 * end with the listener, whose engine is woken to accept it.
 *
 * Not here: framing; an inproc link speaks the same wire as any other.  Law: the table's lock is
 * taken last and nothing else is locked under it; a listener is in the table exactly while it is
 * open.
 */
#include <string.h>

#include "base/list.h"
#include "plat/memory/memory.h"
#include "tran/tran.h"

enum { INPROC_BACKLOG_MAX = 128, INPROC_NAME_SIZE = 256 };

struct mmi_inproc {
    mmi_list node;
    mmi_plat plat;                        /* of the listener's engine */
    char name[INPROC_NAME_SIZE];
    int waiting[INPROC_BACKLOG_MAX];      /* streams nobody accepted yet, oldest first */
    int waiting_count;
};

static pthread_mutex_t inproc_table = PTHREAD_MUTEX_INITIALIZER;
static mmi_list inproc_names = { &inproc_names, &inproc_names };

static mmi_inproc *
inproc_find(const mmi_plat *pl, const char *name)
{
    MMI_LIST_EACH(&inproc_names, node, after) {
        mmi_inproc *l = MMI_CONTAINER_OF(node, mmi_inproc, node);
        if (l->plat.domain == pl->domain && strcmp(l->name, name) == 0) {
            return l;
        }
    }
    return NULL;
}

int
mmi_inproc_listen(const mmi_plat *pl, const char *name, mmi_inproc **out)
{
    if (strlen(name) >= INPROC_NAME_SIZE) {
        return MM_ENAMETOOLONG;
    }
    mmi_inproc *l = mmi_alloc(sizeof *l);
    if (l == NULL) {
        return MM_ENOMEM;
    }
    l->plat = *pl;
    memcpy(l->name, name, strlen(name) + 1);
    pthread_mutex_lock(&inproc_table);
    bool taken = inproc_find(pl, name) != NULL;
    if (!taken) {
        mmi_list_push_back(&inproc_names, &l->node);
    }
    pthread_mutex_unlock(&inproc_table);
    if (taken) {
        mmi_free(l);
        return MM_EADDRINUSE;
    }
    *out = l;
    return MM_OK;
}

int
mmi_inproc_accept(mmi_inproc *l, int *stream)
{
    int rc = MM_EAGAIN;
    pthread_mutex_lock(&inproc_table);
    if (l->waiting_count > 0) {
        *stream = l->waiting[0];
        l->waiting_count--;
        memmove(l->waiting, l->waiting + 1, (size_t)l->waiting_count * sizeof l->waiting[0]);
        rc = MM_OK;
    }
    pthread_mutex_unlock(&inproc_table);
    return rc;
}

bool
mmi_inproc_pending(const mmi_inproc *l)
{
    pthread_mutex_lock(&inproc_table);
    bool pending = l->waiting_count > 0;
    pthread_mutex_unlock(&inproc_table);
    return pending;
}

void
mmi_inproc_close(mmi_inproc *l)
{
    pthread_mutex_lock(&inproc_table);
    mmi_list_rm(&l->node);
    pthread_mutex_unlock(&inproc_table);
    for (int i = 0; i < l->waiting_count; i++) {
        l->plat.close(l->plat.self, l->waiting[i]);
    }
    mmi_free(l);
}

static int
inproc_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream)
{
    (void)a;
    int ends[2];
    pthread_mutex_lock(&inproc_table);
    mmi_inproc *l = inproc_find(pl, u->host);
    int rc = l == NULL || l->waiting_count == INPROC_BACKLOG_MAX ? MM_ECONNREFUSED : MM_OK;
    if (rc == MM_OK) {
        rc = pl->pair(pl->self, ends);
    }
    if (rc == MM_OK) {
        *stream = ends[0];
        l->waiting[l->waiting_count++] = ends[1];
        l->plat.interrupt(l->plat.self);
    }
    pthread_mutex_unlock(&inproc_table);
    return rc;
}

const mmi_tran_ops mmi_inproc_ops = { .scheme = "inproc", .local = true, .dial = inproc_dial };

void
mmi_inproc_lock(void)
{
    pthread_mutex_lock(&inproc_table);
    mmi_memory_lock();
}

void
mmi_inproc_unlock(void)
{
    mmi_memory_unlock();
    pthread_mutex_unlock(&inproc_table);
}

void
mmi_inproc_after_fork(void)
{
    pthread_mutex_init(&inproc_table, NULL);
    mmi_memory_after_fork();
    mmi_list_init(&inproc_names);   /* the names are the parent's */
}
