/*
 * link/fold.c: subscriptions and cancellations that wait to be written, summed up: a topic that
 * came and went, or went and came, need not be told at all.
 *
 * Not here: who is told of what (role/sub.c), the buffer that they wait in (link/command.c).
 * Law: what the peer has in the end is the same; no PING goes in front of a change that it speaks
 * for; what is kept is no more than twice the topics in which the peer and we differ, or
 * MMI_CHANGES_WAITING_BYTES.
 */
#include <string.h>

#include "base/radix.h"
#include "link/inside.h"

typedef struct fold {
    mmi_radix topics;                    /* each has one subscriber: one of the marks below */
    uint8_t *out;
    size_t size;
    const mmi_wire *wire;
} fold;

static char fold_adds, fold_cancels;     /* marks: only their addresses mean something */

static bool
fold_is_change(const mmi_command *c)
{
    return c->kind == MMI_COMMAND_SUBSCRIBE || c->kind == MMI_COMMAND_CANCEL;
}

/* MM_ENOMEM. */
static int
fold_change(fold *f, const mmi_command *c)
{
    bool add = c->kind == MMI_COMMAND_SUBSCRIBE;
    void *same = add ? &fold_adds : &fold_cancels, *other = add ? &fold_cancels : &fold_adds;
    int left = mmi_radix_rm(&f->topics, c->data, c->size, other, NULL);
    if (left != MM_EINVAL) {
        return MM_OK;
    }
    int rc = mmi_radix_add(&f->topics, c->data, c->size, same, NULL);
    return rc < 0 ? rc : MM_OK;
}

static void
fold_put(fold *f, bool add, const uint8_t *topic, size_t size)
{
    f->size += f->wire->put_topic(f->out + f->size, add, topic, size);
}

static void
fold_put_add(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    (void)count;
    fold_put(arg, true, topic, size);
}

static void
fold_put_cancel(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    (void)count;
    fold_put(arg, false, topic, size);
}

/* Those in front of the first change (REPLAY has to be), or those behind it. */
static void
fold_put_others(fold *f, const mmi_link *link, bool front)
{
    bool changed = false;
    for (size_t at = 0; at < link->command_size;) {
        const uint8_t *data = link->commands + at;
        mmi_command c;
        size_t size = f->wire->read_back(data, link->command_size - at, &c);
        changed |= fold_is_change(&c);
        if (!fold_is_change(&c) && changed != front) {
            memcpy(f->out + f->size, data, size);
            f->size += size;
        }
        at += size;
    }
}

/* New topics first: a message that an old one and a new one both ask for is to find one of them at
 * the publisher at any time. */
static void
fold_write(fold *f, mmi_link *link)
{
    fold_put_others(f, link, true);
    mmi_radix_each(&f->topics, &fold_adds, fold_put_add, f);
    mmi_radix_each(&f->topics, &fold_cancels, fold_put_cancel, f);
    fold_put_others(f, link, false);
    MMI_ASSERT(f->size <= link->command_size);
    size_t cap = link->command_size;
    mmi_free(link->commands);
    link->commands = f->out;
    link->command_size = f->size;
    link->command_cap = cap;
}

/* MM_ENOMEM: nothing has changed. */
static int
fold_all(mmi_link *link)
{
    fold f = { .wire = link->wire, .out = mmi_alloc(link->command_size) };
    int rc = f.out != NULL ? MM_OK : MM_ENOMEM;
    mmi_radix_init(&f.topics);
    for (size_t at = 0; rc == MM_OK && at < link->command_size;) {
        const uint8_t *data = link->commands + at;
        mmi_command c;
        at += f.wire->read_back(data, link->command_size - at, &c);
        rc = fold_is_change(&c) ? fold_change(&f, &c) : MM_OK;
    }
    if (rc == MM_OK) {
        fold_write(&f, link);
    } else {
        mmi_free(f.out);
    }
    mmi_radix_fini(&f.topics);
    return rc;
}

int
mmi_link_fold(mmi_link *link, bool add)
{
    link->cancels_wait |= !add;
    size_t least = MMI_CHANGES_WAITING_BYTES;
    size_t limit = link->folded_size > least / 2 ? link->folded_size * 2 : least;
    if (link->command_size <= limit || !link->cancels_wait) {
        return MM_OK;   /* where nothing was cancelled, every topic counts */
    }
    int rc = fold_all(link);
    link->folded_size = rc == MM_OK ? link->command_size : link->folded_size;
    return rc;
}
