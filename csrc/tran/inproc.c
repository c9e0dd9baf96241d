/*
 * inproc.c: names of this process.  Dialing one joins two streams of the platform and leaves one
 * end with the listener, whose engine is woken to accept it.
 *
 * Not here: framing; an inproc link speaks the same wire as any other.  Law: under the
 * table's lock only the platform's own are taken; a name is in the table exactly while its listener
 * is open.
 */
#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "tran/tran.h"

enum { INPROC_BACKLOG_MAX = 128, INPROC_NAME_SIZE = MMI_INPROC_NAME_MAX + 1 };

_Static_assert(MMI_INPROC_NAME_MAX + sizeof "inproc://" <= MM_ENDPOINT_MAX + 1, "its text fits");

typedef struct inproc_name {
    mmi_list node;
    mmi_plat plat;                        /* of the listener's engine */
    uint64_t number;                      /* of those there have been */
    char text[INPROC_NAME_SIZE];
    int waiting[INPROC_BACKLOG_MAX];      /* streams nobody accepted yet, oldest first */
    int waiting_count;
} inproc_name;

static pthread_mutex_t inproc_table = PTHREAD_MUTEX_INITIALIZER;
static mmi_list inproc_names = { &inproc_names, &inproc_names };
static uint64_t inproc_last;   /* number */

static int
inproc_parse(const char *rest, mmi_url *out, char *why)
{
    return rest[0] == '\0' ? mmi_url_refuse(why, "the name is missing: inproc://name")
                           : mmi_url_name(rest, MMI_INPROC_NAME_MAX, "name", out, why);
}

static inproc_name *
inproc_find(const mmi_plat *pl, const char *text)
{
    MMI_LIST_EACH (&inproc_names, node, after) {
        inproc_name *name = MMI_CONTAINER_OF(node, inproc_name, node);
        if (name->plat.domain == pl->domain && strcmp(name->text, text) == 0) {
            return name;
        }
    }
    return NULL;
}

static int
inproc_listen(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, mmi_tran_listener *l,
              char *bound, size_t bound_size)
{
    (void)a;
    if (strlen(u->host) >= INPROC_NAME_SIZE || mmi_url_format(u, bound, bound_size) != MM_OK) {
        return MM_ENAMETOOLONG;
    }
    inproc_name *name = mmi_alloc(sizeof *name);
    if (name == NULL) {
        return MM_ENOMEM;
    }
    name->plat = *pl;
    memcpy(name->text, u->host, strlen(u->host) + 1);
    pthread_mutex_lock(&inproc_table);
    bool taken = inproc_find(pl, u->host) != NULL;
    if (!taken) {
        name->number = ++inproc_last;
        mmi_list_push_back(&inproc_names, &name->node);
    }
    pthread_mutex_unlock(&inproc_table);
    if (taken) {
        mmi_free(name);
        return MM_EADDRINUSE;
    }
    l->state = name;
    return MM_OK;
}

static bool
inproc_pending(const mmi_tran_listener *l)
{
    const inproc_name *name = l->state;
    pthread_mutex_lock(&inproc_table);
    bool pending = name->waiting_count > 0;
    pthread_mutex_unlock(&inproc_table);
    return pending;
}

static int
inproc_accept(const mmi_plat *pl, const mmi_tran_listener *l, int *stream, mmi_addr *peer,
              mmi_tran_why *why)
{
    (void)pl;
    (void)why;
    inproc_name *name = l->state;
    int rc = MM_EAGAIN;
    peer->kind = MMI_ADDR_NONE;
    pthread_mutex_lock(&inproc_table);
    if (name->waiting_count > 0) {
        *stream = name->waiting[0];
        name->waiting_count--;
        memmove(name->waiting, name->waiting + 1,
                (size_t)name->waiting_count * sizeof name->waiting[0]);
        rc = MM_OK;
    }
    pthread_mutex_unlock(&inproc_table);
    return rc;
}

static void
inproc_close(const mmi_plat *pl, const mmi_tran_listener *l)
{
    inproc_name *name = l->state;
    pthread_mutex_lock(&inproc_table);
    mmi_list_rm(&name->node);
    pthread_mutex_unlock(&inproc_table);
    for (int i = 0; i < name->waiting_count; i++) {
        pl->close(pl->self, name->waiting[i]);
    }
    mmi_free(name);
}

static int
inproc_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream, mmi_tran_why *why)
{
    (void)a;
    (void)why;
    int ends[2];
    pthread_mutex_lock(&inproc_table);
    inproc_name *name = inproc_find(pl, u->host);
    bool room = name != NULL && name->waiting_count < INPROC_BACKLOG_MAX;
    int rc = room ? pl->pair(pl->self, ends) : MM_ECONNREFUSED;
    if (rc == MM_OK) {
        *stream = ends[0];
        name->waiting[name->waiting_count++] = ends[1];
        name->plat.interrupt(name->plat.self);
    }
    pthread_mutex_unlock(&inproc_table);
    return rc;
}

static uint64_t
inproc_listening(const mmi_plat *pl, const mmi_url *u)
{
    pthread_mutex_lock(&inproc_table);
    const inproc_name *name = inproc_find(pl, u->host);
    uint64_t number = name != NULL ? name->number : 0;
    pthread_mutex_unlock(&inproc_table);
    return number;
}

static void
inproc_fork_lock(void)
{
    pthread_mutex_lock(&inproc_table);
}

static void
inproc_fork_unlock(void)
{
    pthread_mutex_unlock(&inproc_table);
}

static void
inproc_fork_child(void)
{
    pthread_mutex_init(&inproc_table, NULL);
    mmi_list_init(&inproc_names);   /* the names are the parent's */
}

const mmi_tran mmi_tran_inproc = { .scheme = "inproc",
                                   .flags = MMI_TRAN_LOCAL | MMI_TRAN_LENDS,
                                   .redial_ms = MMI_INPROC_RECONNECT_MS,
                                   .parse = inproc_parse,
                                   .dial = inproc_dial,
                                   .listening = inproc_listening,
                                   .listen = inproc_listen,
                                   .pending = inproc_pending,
                                   .accept = inproc_accept,
                                   .close = inproc_close,
                                   .fork_lock = inproc_fork_lock,
                                   .fork_unlock = inproc_fork_unlock,
                                   .fork_child = inproc_fork_child };
