/*
 * link/queue.c: what a link does for the pipe that the protocol sees: flushing it, reading on,
 * closing.
 *
 * Not here: the queues themselves (queue/pipe.c), when it is written (link/tx.h).
 * Law: nothing is written or read here: it is noted, for the settle that follows or the runner.
 */
#include "link/inside.h"

static mmi_link *
pipe_link(mmi_pipe *p)
{
    return MMI_CONTAINER_OF(p, mmi_link, pipe);
}

/* In a burst the runner comes by every so often, or poll tells when the kernel has room again. */
static uint32_t
pipe_slack(const mmi_pipe *p, size_t *bytes)
{
    const mmi_link *link = MMI_CONTAINER_OF(p, mmi_link, pipe);
    const mmi_ring *out = &p->outbox;
    uint32_t count_max = out->count_max;
    size_t bytes_max = out->bytes_max;
    /* One less than what is worth a write by the sender. */
    if (!mmi_link_polled_for_room(link)) {
        count_max = count_max >= 2 ? count_max / 2 - 1 : 0;
        bytes_max = bytes_max < MMI_LINK_WORTH_BYTES ? bytes_max : (size_t)MMI_LINK_WORTH_BYTES - 1;
    }
    if (!mmi_tx_is_paced(link) || out->count >= count_max || out->bytes >= bytes_max) {
        return 0;
    }
    *bytes = bytes_max - out->bytes;
    return count_max - out->count;
}

static void
pipe_room(mmi_pipe *p)
{
    mmi_tx_then(pipe_link(p), MMI_TX_RESUME);
    mmi_link_dirty(pipe_link(p));
}

static int
pipe_subscription(mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    mmi_link *link = pipe_link(p);
    if (!link->wire->tells_topics) {
        return MM_OK;   /* it sends everything, and we compare */
    }
    uint8_t *frame = mmi_alloc(size + MMI_COMMAND_OVERHEAD);
    if (frame == NULL) {
        return MM_ENOMEM;
    }
    size_t total = link->wire->put_topic(frame, add, topic, size);
    int rc = mmi_link_control(link, frame, total);
    mmi_free(frame);
    link->asked += rc == MM_OK;
    return rc == MM_OK ? mmi_link_fold(link, add) : rc;
}

static void
pipe_close(mmi_pipe *p, int reason, const char *detail)
{
    mmi_link *link = pipe_link(p);
    mmi_link_doom(link, MMI_TX_PART, reason, detail);
    mmi_link_dirty(link);
}

static void
pipe_left_out(mmi_pipe *p)
{
    mmi_replay_left_out(pipe_link(p));
}

const mmi_pipe_ops mmi_link_pipe_ops = {
    .wrote = mmi_tx_queued,
    .room = pipe_room,
    .subscription = pipe_subscription,
    .close = pipe_close,
    .slack = pipe_slack,
    .left_out = pipe_left_out,
};
