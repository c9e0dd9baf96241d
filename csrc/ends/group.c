/*
 * ends/group.c: the groups of a PUB: made as their first member comes, and gone with the PUB or as
 * they are closed.
 *
 * Not here: what one is (socket/group.h).
 * Law: a PUB has MMI_GROUPS_MAX at most; one that nobody ever began in gives its place to another.
 */
#include <stdio.h>
#include <string.h>

#include "ends/ends.h"
#include "queue/replays.h"
#include "socket/group.h"

/* Who reads the spool is to feed it. */
static void
group_begun(mmi_proto_host *host)
{
    const mmi_socket *s = MMI_CONTAINER_OF(host, mmi_socket, host);
    const mmi_replay_source *source = &s->group->home->host.replays->source;
    source->group(source->arg);
}

static mm_socket_opts
group_opts(const mmi_socket *home)
{
    mm_socket_opts opts = home->opts;
    opts.flags |= MM_OPT_AT_LEAST_ONCE | MM_OPT_HASH;
    opts.overflow = MM_OVERFLOW_BLOCK;
    opts.no_peer = MM_NO_PEER_AS_FULL;
    return opts;
}

/* Nobody is in it, and nobody ever was; NULL: there is none such. */
static mmi_socket *
group_unused(const mmi_socket *home)
{
    MMI_LIST_EACH (&home->groups, node, after) {
        mmi_socket *s = mmi_group_of(node)->socket;
        if (mmi_list_empty(&s->links) && s->ops->topics(s->state) == 0) {
            return s;
        }
    }
    return NULL;
}

/* MM_ESTATE: there are too many. */
static int
group_place(const mmi_socket *home)
{
    uint32_t count = 0;
    MMI_LIST_EACH (&home->groups, node, after) {
        count++;
    }
    if (count < (uint32_t)MMI_GROUPS_MAX) {
        return MM_OK;
    }
    mmi_socket *unused = group_unused(home);
    if (unused != NULL) {
        mmi_socket_close(unused);
    }
    return unused != NULL ? MM_OK : MM_ESTATE;
}

static int
group_make(mmi_socket *home, const char *name, mmi_socket **out)
{
    const mm_socket_opts opts = group_opts(home);
    mmi_group *group = mmi_alloc(sizeof *group);
    int rc = group != NULL ? mmi_socket_make(home->engine, &mmi_group_ops, &opts, out) : MM_ENOMEM;
    if (rc != MM_OK) {
        mmi_free(group);
        return MM_ENOMEM;
    }
    mmi_socket *s = *out;
    const mmi_replay_source *source = &home->host.replays->source;
    *group = (mmi_group){ .socket = s, .home = home, .from = source->end(source->arg) };
    snprintf(group->name, sizeof group->name, "%s", name);
    s->group = group;
    s->host.begun = group_begun;
    s->mechanism = home->mechanism;
    s->mechanism_config = home->mechanism_config;
    s->outer = home->outer;
    s->outer_config = home->outer_config;
    memcpy(s->producer, home->producer, sizeof s->producer);
    mmi_list_push_back(&home->groups, &group->node);
    home->behind++;
    return MM_OK;
}

int
mmi_group_find(mmi_socket *home, const char *name, mmi_socket **out)
{
    if (home->closing || !mmi_replays_on(home->host.replays)) {
        return MM_ENOTSUP;
    }
    MMI_LIST_EACH (&home->groups, node, after) {
        if (strcmp(mmi_group_of(node)->name, name) == 0) {
            *out = mmi_group_of(node)->socket;
            return MM_OK;
        }
    }
    int rc = group_place(home);
    return rc == MM_OK ? group_make(home, name, out) : rc;
}
