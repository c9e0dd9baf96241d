/*
 * toy.h: a transport of its own, toy://name: what the smallest one consists of.  A name leads to an
 * address of the platform, in a table; the streams are the platform's.
 * Not here: tests; transports that people use (csrc/tran).
 * Law: a name has one listener, while it is open.  A toy that is shut lets nobody in, and says so.
 */
#ifndef TOY_H
#define TOY_H

#include <pthread.h>
#include <stdatomic.h>

#include "places.h"
#include "tran/tran.h"

enum { TOY_NAME_MAX = 32, TOY_NAMES_MAX = 4 };
static const char TOY_SHUT[] = "the toy is shut";

typedef struct toy_name {
    char text[TOY_NAME_MAX + 1];   /* "": free */
    mmi_addr at;
} toy_name;

static pthread_mutex_t toy_table = PTHREAD_MUTEX_INITIALIZER;
static toy_name toy_names[TOY_NAMES_MAX];
static atomic_bool toy_shut_in, toy_shut_out;              /* for who comes; for who dials */
static int toy_fork_locks, toy_fork_unlocks, toy_fork_children;

static int
toy_parse(const char *rest, mmi_url *out, char *why)
{
    return rest[0] == '\0' ? mmi_url_refuse(why, "the name is missing: toy://name")
                           : mmi_url_name(rest, TOY_NAME_MAX, "name", out, why);
}

/* The table's lock is held.  NULL: there is none. */
static toy_name *
toy_find(const char *text)
{
    for (int i = 0; i < TOY_NAMES_MAX; i++) {
        if (strcmp(toy_names[i].text, text) == 0) {
            return &toy_names[i];
        }
    }
    return NULL;
}

static int
toy_resolve(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap)
{
    (void)pl;
    (void)tag;
    pthread_mutex_lock(&toy_table);
    const toy_name *name = cap > 0 ? toy_find(u->host) : NULL;
    if (name != NULL) {
        *out = name->at;
    }
    pthread_mutex_unlock(&toy_table);
    return name != NULL ? 1 : MM_ENOHOST;
}

static int
toy_turn_away(mmi_tran_why *why)
{
    why->reason = MM_REASON_USER;
    snprintf(why->detail, sizeof why->detail, "%s", TOY_SHUT);
    return MM_EPERM;
}

static int
toy_dial(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream, mmi_tran_why *why)
{
    (void)u;
    return atomic_load(&toy_shut_out) ? toy_turn_away(why) : pl->connect(pl->self, a, stream);
}

static int
toy_listen(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, mmi_tran_listener *l,
           char *bound, size_t bound_size)
{
    (void)a;
    mmi_addr at = addr_tcp4(0);
    pthread_mutex_lock(&toy_table);
    toy_name *name = toy_find("");
    int rc = toy_find(u->host) != NULL ? MM_EADDRINUSE : name == NULL ? MM_EMFILE : MM_OK;
    if (rc == MM_OK) {
        rc = mmi_url_format(u, bound, bound_size);
    }
    if (rc == MM_OK) {
        rc = pl->listen(pl->self, &at, &l->stream);
    }
    if (rc == MM_OK) {
        memcpy(name->text, u->host, strlen(u->host) + 1);
        name->at = at;
        l->state = name;
    }
    pthread_mutex_unlock(&toy_table);
    return rc;
}

static int
toy_accept(const mmi_plat *pl, const mmi_tran_listener *l, int *stream, mmi_addr *peer,
           mmi_tran_why *why)
{
    int rc = pl->accept(pl->self, l->stream, stream, peer);
    peer->kind = MMI_ADDR_NONE;   /* who comes has no name */
    if (rc == MM_OK && atomic_load(&toy_shut_in)) {
        pl->close(pl->self, *stream);
        rc = toy_turn_away(why);
    }
    return rc;
}

static void
toy_close(const mmi_plat *pl, const mmi_tran_listener *l)
{
    toy_name *name = l->state;
    pthread_mutex_lock(&toy_table);
    name->text[0] = '\0';
    pthread_mutex_unlock(&toy_table);
    pl->close(pl->self, l->stream);
}

static void
toy_fork_lock(void)
{
    pthread_mutex_lock(&toy_table);
    toy_fork_locks++;
}

static void
toy_fork_unlock(void)
{
    toy_fork_unlocks++;
    pthread_mutex_unlock(&toy_table);
}

static void
toy_fork_child(void)
{
    pthread_mutex_init(&toy_table, NULL);
    memset(toy_names, 0, sizeof toy_names);   /* they are the parent's */
    toy_fork_children++;
}

static const mmi_tran toy_tran = {
    .scheme = "toy",
    .flags = MMI_TRAN_LOCAL,
    .parse = toy_parse,
    .resolve = toy_resolve,
    .dial = toy_dial,
    .listen = toy_listen,
    .accept = toy_accept,
    .close = toy_close,
    .fork_lock = toy_fork_lock,
    .fork_unlock = toy_fork_unlock,
    .fork_child = toy_fork_child
};

#endif
