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
#include "wire/zmtp/frame.h"
#include "link/link.h"

/* A frame of the buffer. */
typedef struct fold_frame {
    size_t size;
    bool change;                         /* else some other command */
    bool add;
    const uint8_t *topic;
    size_t topic_size;
} fold_frame;

typedef struct fold {
    mmi_radix topics;                    /* each has one subscriber: one of the marks below */
    uint8_t *out;
    size_t size;
    uint8_t minor;
} fold;

static char fold_adds, fold_cancels;     /* marks: only their addresses mean something */

static fold_frame
fold_read(const uint8_t *data, size_t size, uint8_t minor)
{
    mmi_frame_head head;
    int n = mmi_frame_head_parse(data, size, &head);
    MMI_ASSERT(n > 0 && head.size <= size - (size_t)n);   /* we wrote it */
    const uint8_t *body = data + n;
    fold_frame frame = { .size = (size_t)n + (size_t)head.size };
    mmi_command c;
    if (minor == 0) {
        frame.change = (head.flags & MMI_FRAME_COMMAND) == 0;
        frame.add = head.size > 0 && body[0] == 1;
        frame.topic = body + 1;
        frame.topic_size = (size_t)head.size - 1;
    } else if (mmi_command_parse(body, (size_t)head.size, &c) == MM_OK) {
        frame.change = c.kind == MMI_COMMAND_SUBSCRIBE || c.kind == MMI_COMMAND_CANCEL;
        frame.add = c.kind == MMI_COMMAND_SUBSCRIBE;
        frame.topic = c.data;
        frame.topic_size = c.size;
    }
    return frame;
}

/* MM_ENOMEM. */
static int
fold_change(fold *f, const fold_frame *frame)
{
    void *same = frame->add ? &fold_adds : &fold_cancels;
    void *other = frame->add ? &fold_cancels : &fold_adds;
    int left = mmi_radix_rm(&f->topics, frame->topic, frame->topic_size, other, NULL);
    if (left != MM_EINVAL) {
        return MM_OK;
    }
    int rc = mmi_radix_add(&f->topics, frame->topic, frame->topic_size, same, NULL);
    return rc < 0 ? rc : MM_OK;
}

static void
fold_put(fold *f, bool add, const uint8_t *topic, size_t size)
{
    f->size += mmi_command_put_subscription(f->out + f->size, f->minor, add, topic, size);
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

static void
fold_put_others(fold *f, const mmi_link *link)
{
    for (size_t at = 0; at < link->command_size;) {
        const uint8_t *data = link->commands + at;
        fold_frame frame = fold_read(data, link->command_size - at, link->minor);
        if (!frame.change) {
            memcpy(f->out + f->size, data, frame.size);
            f->size += frame.size;
        }
        at += frame.size;
    }
}

/* New topics first: a message that an old one and a new one both ask for is to find one of them at
 * the publisher at any time. */
static void
fold_write(fold *f, mmi_link *link)
{
    mmi_radix_each(&f->topics, &fold_adds, fold_put_add, f);
    mmi_radix_each(&f->topics, &fold_cancels, fold_put_cancel, f);
    fold_put_others(f, link);
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
    fold f = { .minor = link->minor, .out = mmi_alloc(link->command_size) };
    int rc = f.out != NULL ? MM_OK : MM_ENOMEM;
    mmi_radix_init(&f.topics);
    for (size_t at = 0; rc == MM_OK && at < link->command_size;) {
        const uint8_t *data = link->commands + at;
        fold_frame frame = fold_read(data, link->command_size - at, link->minor);
        rc = frame.change ? fold_change(&f, &frame) : MM_OK;
        at += frame.size;
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
