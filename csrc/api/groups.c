/*
 * api/groups.c: the groups of a PUB whose messages are in a spool: each is fed once it has begun,
 * from its cursor of the spool; looked at, moved, forgotten.
 *
 * Not here: its members and messages (role/group.c), the thread that feeds it (api/feed_run.c).
 * Law: `tending` is held while a group is opened or moved, so neither sees the other half done.  A
 * group is moved only while nobody is in it: its socket goes, and the next member finds another.
 */
#include <stdio.h>
#include <string.h>

#include "api/feed.h"
#include "api/replay.h"
#include "queue/backlog.h"
#include "socket/group.h"

static const char groups_prefix[] = "group.";   /* of the name of a group's cursor */

enum { GROUPS_CURSOR_CAP = MMI_CURSOR_NAME_MAX + 1 };

_Static_assert((int)MM_GROUP_NAME_MAX == (int)MMI_GROUP_NAME_MAX, "names");
_Static_assert((int)MM_GROUPS_MAX == (int)MMI_GROUPS_MAX, "groups");
_Static_assert(sizeof groups_prefix - 1 + MMI_GROUP_NAME_MAX == (size_t)MMI_CURSOR_NAME_MAX,
               "the longest name is a cursor's");

static void
groups_cursor(const char *name, char out[GROUPS_CURSOR_CAP])
{
    snprintf(out, GROUPS_CURSOR_CAP, "%s%s", groups_prefix, name);
}

/* Is that the name of a group?  Each is that of a cursor, behind the prefix. */
static bool
groups_named(const char *name)
{
    return mmi_wire_group_valid((const uint8_t *)name, strlen(name));
}

/* Cursors of groups; whether that one is among them. */
typedef struct groups_known {
    const char *cursor;
    uint32_t count;
    bool has;
} groups_known;

static void
groups_know(void *arg, const mmi_entry *entry)
{
    groups_known *known = arg;
    const size_t prefix = sizeof groups_prefix - 1;
    if (entry->kind == MMI_ENTRY_FILE && strncmp(entry->name, groups_prefix, prefix) == 0 &&
        groups_named(entry->name + prefix)) {
        known->count++;
        known->has = known->has || strcmp(entry->name, known->cursor) == 0;
    }
}

/* May that cursor be opened, and made if need be?  MM_EAGAIN: there are too many others. */
static int
groups_room(mmi_spool_shared *shared, const char *cursor)
{
    groups_known known = { .cursor = cursor };
    int rc = mmi_cursor_list(&shared->files, shared->dir, groups_know, &known);
    if (rc < 0) {
        return rc;
    }
    return known.has || known.count < (uint32_t)MMI_GROUPS_MAX ? MM_OK : MM_EAGAIN;
}

/* A place for one; there is one, as no more are open than that. */
static replay_group *
groups_slot(mm_replay *r)
{
    for (size_t i = 0; i < MMI_COUNT_OF(r->groups); i++) {
        if (r->groups[i].feed == NULL) {
            return &r->groups[i];
        }
    }
    return NULL;
}

static replay_group *
groups_find(mm_replay *r, const char *name)
{
    for (size_t i = 0; i < MMI_COUNT_OF(r->groups); i++) {
        if (r->groups[i].feed != NULL && strcmp(r->groups[i].name, name) == 0) {
            return &r->groups[i];
        }
    }
    return NULL;
}

/* What is to be fed. */
typedef struct groups_due {
    char name[MMI_GROUP_NAME_MAX + 1];
    mm_handle socket;
    uint64_t from;
} groups_due;

/* false: there is none. */
static bool
groups_next(mm_replay *r, groups_due *out)
{
    mmi_socket *s;
    out->socket = 0;
    if (mmi_api_enter_quick(r->socket, &s) != MM_OK) {
        return false;
    }
    MMI_LIST_EACH (&s->groups, node, after) {
        const mmi_group *group = mmi_group_of(node);
        const mmi_socket *one = group->socket;
        if (one->ops->topics(one->state) > 0 && !mmi_back_sourced(one->host.back)) {
            *out = (groups_due){ .socket = one->handle, .from = group->from };
            memcpy(out->name, group->name, sizeof out->name);
            break;
        }
    }
    (void)mmi_api_leave(s, MM_OK);
    return out->socket != 0;
}

/* It cannot be kept: whoever is in it is told, and comes again. */
static void
groups_failed(const groups_due *due, int rc)
{
    mmi_socket *s;
    char detail[MM_DETAIL_MAX + 1];
    if (mmi_api_enter(due->socket, &s) != MM_OK) {
        return;
    }
    mmi_engine *e = s->engine;
    const char *why = rc == MM_EAGAIN   ? "there are as many as may be"
                      : rc == MM_EPROTO ? "its cursor is harmed, or of another spool"
                                        : mm_strerror(rc);
    snprintf(detail, sizeof detail, "group %s: %s", due->name, why);
    mmi_socket_event(s, MM_EVENT_SPOOL_STOPPED, MM_REASON_GROUP, 0, 1, NULL, NULL, detail);
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        (void)mmi_link_say_why(link, detail);
        mmi_link_part(link, MM_REASON_GROUP, detail);
    }
    mmi_socket_close(s);
    (void)mmi_api_end(e, MM_OK);
}

static void
groups_feed(mm_replay *r, const groups_due *due)
{
    char cursor[GROUPS_CURSOR_CAP];
    replay_group *slot = groups_slot(r);
    groups_cursor(due->name, cursor);
    int rc = slot != NULL ? groups_room(r->shared, cursor) : MM_EAGAIN;
    if (rc == MM_OK) {
        rc = mmi_feed_open_group(due->socket, r->shared, cursor, due->from, &slot->feed);
    }
    if (rc != MM_OK) {
        groups_failed(due, rc);
        return;
    }
    memcpy(slot->name, due->name, sizeof slot->name);
    slot->socket = due->socket;
    mmi_api_note(due->socket, MM_PEERS); /* its members count from now on */
}

/* Those that have begun are fed, before anybody looks or moves one: whoever was in one, however
 * briefly, has made it.  MM_ECLOSED. */
static int
groups_feed_all(mm_replay *r)
{
    groups_due due;
    while (!r->ended && groups_next(r, &due)) {
        groups_feed(r, &due);
    }
    return r->ended ? MM_ECLOSED : MM_OK;
}

void
mmi_groups_tend(mm_replay *r)
{
    pthread_mutex_lock(&r->lock);
    bool some = r->groups_due;
    r->groups_due = false;
    pthread_mutex_unlock(&r->lock);
    if (!some) {
        return;
    }
    pthread_mutex_lock(&r->tending);
    (void)groups_feed_all(r);
    pthread_mutex_unlock(&r->tending);
}

void
mmi_groups_end(mm_replay *r)
{
    pthread_mutex_lock(&r->tending);
    r->ended = true;
    for (size_t i = 0; i < MMI_COUNT_OF(r->groups); i++) {
        if (r->groups[i].feed != NULL) {
            mm_feed_close(r->groups[i].feed);
            r->groups[i].feed = NULL;
        }
    }
    pthread_mutex_unlock(&r->tending);
}

/* Nobody is in it, and it is open no more.  MM_ESTATE: somebody is. */
static int
groups_empty(mm_replay *r, const char *name)
{
    mmi_socket *s;
    int rc = mmi_api_enter(r->socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    MMI_LIST_EACH (&s->groups, node, after) {
        const mmi_group *group = mmi_group_of(node);
        if (strcmp(group->name, name) == 0) {
            rc = group->socket->peer_count > 0 ? MM_ESTATE : MM_OK;
            if (rc == MM_OK) {
                mmi_socket_close(group->socket);
            }
            break;
        }
    }
    rc = mmi_api_end(e, rc);
    replay_group *slot = rc == MM_OK ? groups_find(r, name) : NULL;
    if (slot != NULL) {
        mm_feed_close(slot->feed);
        slot->feed = NULL;
    }
    return rc;
}

int
mm_group_seek(mm_replay *r, const char *name, uint64_t seq)
{
    char cursor[GROUPS_CURSOR_CAP];
    if (!groups_named(name)) {
        return MM_EINVAL;
    }
    groups_cursor(name, cursor);
    pthread_mutex_lock(&r->tending);
    int rc = groups_feed_all(r);
    rc = rc == MM_OK ? groups_empty(r, name) : rc;
    rc = rc == MM_OK ? groups_room(r->shared, cursor) : rc;
    rc = rc == MM_OK ? mmi_spool_shared_cursor_move(r->shared, cursor, seq) : rc;
    pthread_mutex_unlock(&r->tending);
    return rc;
}

int
mm_group_forget(mm_replay *r, const char *name)
{
    char cursor[GROUPS_CURSOR_CAP];
    if (!groups_named(name)) {
        return MM_EINVAL;
    }
    groups_cursor(name, cursor);
    pthread_mutex_lock(&r->tending);
    int rc = groups_feed_all(r);
    rc = rc == MM_OK ? groups_empty(r, name) : rc;
    rc = rc == MM_OK ? mmi_spool_shared_cursor_delete(r->shared, cursor) : rc;
    pthread_mutex_unlock(&r->tending);
    return rc;
}

/* As far as its socket knows. */
static void
groups_inspect(mmi_group *group, mm_group_info *out)
{
    mm_stats stats;
    mmi_socket_stats_now(group->socket, &stats);
    uint64_t back = stats.redelivered_messages, spent = group->socket->host.back->spent;
    *out =
        (mm_group_info){ .unacked = stats.unacked_messages,
                         .acked = stats.acked_messages,
                         .redelivered = back > spent ? back - spent : 0,
                         .unwanted = stats.unwanted_messages,
                         .expired = stats.dropped_expired,
                         .attempts = stats.dropped_attempts,
                         .dead = stats.dead_messages,
                         .members = mmi_group_kept(group->socket) ? group->socket->peer_count : 0 };
    snprintf(out->name, sizeof out->name, "%s", group->name);
}

int
mm_replay_groups(mm_replay *r, mm_group_info *out, uint32_t cap, uint32_t *count)
{
    mmi_socket *s;
    pthread_mutex_lock(&r->tending);
    *count = 0;
    int rc = groups_feed_all(r);
    rc = rc == MM_OK ? mmi_api_enter(r->socket, &s) : rc;
    if (rc == MM_OK) {
        MMI_LIST_EACH (&s->groups, node, after) {
            if ((*count)++ < cap) {
                groups_inspect(mmi_group_of(node), &out[*count - 1]);
            }
        }
        rc = mmi_api_leave(s, MM_OK);
    }
    for (uint32_t i = 0; i < *count && i < cap; i++) {
        replay_group *slot = groups_find(r, out[i].name);
        mm_feed_info info = { .left = 0 };
        if (slot != NULL) {
            mm_feed_inspect(slot->feed, &info);
        }
        out[i].removed = info.removed;
        out[i].harmed = info.harmed;
        out[i].refused = info.refused;
    }
    pthread_mutex_unlock(&r->tending);
    return rc;
}

int
mm_sub_group(mm_handle socket, const char *name)
{
    mmi_socket *s;
    if (!groups_named(name)) {
        return MM_EINVAL;
    }
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if ((s->opts.flags & MM_OPT_GROUP) == 0) {
        rc = MM_ENOTSUP;
    } else if (!mmi_api_fresh(s)) {
        rc = MM_ESTATE;
    } else {
        snprintf(s->member_of, sizeof s->member_of, "%s", name);
    }
    return mmi_api_leave(s, rc);
}
