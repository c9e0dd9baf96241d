/*
 * link/plan.c: see link/plan.h.
 * Not here: how a message is framed (wire/framing.h).
 * Law: commands go between messages, never inside one.
 */
#include "link/plan.h"

static void
plan_refer(mmi_link_plan *plan, const uint8_t *data, size_t size, mmi_msg *owner)
{
    if (size == 0 || plan->full) {
        return;
    }
    plan->owner[plan->iov_count] = owner;
    plan->iov[plan->iov_count++] = (mmi_iov){ .data = (void *)data, .size = size };
    plan->total += size;
    plan->full = plan->iov_count == MMI_LINK_PLAN_PIECES || plan->total >= plan->limit;
}

/* The octets of a part from the from-th of the message on; returns how many of them are still to be
 * left out of the next one. */
static uint64_t
plan_part(mmi_link_plan *plan, const uint8_t *data, size_t size, uint64_t from, mmi_msg *owner)
{
    size_t skip = from < size ? (size_t)from : size;
    plan_refer(plan, data + skip, size - skip, owner);
    return from - skip;
}

/* The number of the message that was kept last, where it is said; from: as of plan_part. */
static uint64_t
plan_number(mmi_link_plan *plan, const mmi_msg *m, uint64_t from)
{
    uint8_t *out = plan->befores[plan->kept_count - 1];
    size_t size = mmi_replay_put_before(plan->link, &plan->numbers, m, out);
    return plan_part(plan, out, size, from, NULL);
}

/* What goes with the message that was kept last, in front of it; from: as of plan_part. */
static uint64_t
plan_meta(mmi_link_plan *plan, mmi_msg *m, uint64_t from)
{
    if (m->meta == NULL || plan->put_meta == NULL) {
        return from;
    }
    uint8_t *head = plan->metas[plan->kept_count - 1];
    from = plan_part(plan, head, plan->put_meta(head, m->meta->size), from, NULL);
    return plan_part(plan, m->meta->data, m->meta->size, from, m);
}

/* The message that was kept last, from an octet of its i-th frame on. */
static void
plan_message(mmi_link_plan *plan, mmi_msg *m, uint32_t i, uint64_t from)
{
    const mmi_framing *f = plan->framing;
    uint8_t *own = plan->heads[plan->kept_count - 1];
    if (i == 0) {
        from = plan_meta(plan, m, plan_number(plan, m, from));
    }
    mmi_replay_passed(&plan->numbers, m);
    for (; i < m->frame_count && !plan->full; i++) {
        size_t size;
        const uint8_t *head = f->head(f, m, i, own, &size);
        from = plan_part(plan, head, size, from, head == own ? NULL : m);
        from = plan_part(plan, m->frames[i].data, m->frames[i].size, from, m);
    }
}

static void
plan_keep(mmi_link_plan *plan, mmi_msg *m)
{
    plan->kept[plan->kept_count++] = mmi_msg_ref(m);
}

/* The rest of the begun message at the front. true: it and its entry are all in the plan. */
static bool
plan_begun(mmi_link *link, mmi_link_plan *plan, size_t *next)
{
    mmi_msg *m = mmi_ring_at(&link->pipe.outbox, 0);
    mmi_segment_out *segment = mmi_segment_out_of(m);
    plan_keep(plan, m);
    if (segment == NULL) {
        plan_message(plan, m, link->msg_frame, link->msg_offset - link->msg_frame_at);
        return true;
    }
    size_t cost;
    size_t size = plan->framing->next(plan->framing, segment->data + segment->first, &cost);
    plan_refer(plan, segment->data + segment->first + link->msg_offset, size - link->msg_offset, m);
    *next = segment->first + size;
    return *next == segment->used;
}

/* The i-th entry, a segment from the octet from on. */
static void
plan_entry(mmi_link *link, mmi_link_plan *plan, uint32_t i, size_t from)
{
    mmi_msg *m = mmi_ring_at(&link->pipe.outbox, i);
    mmi_segment_out *segment = mmi_segment_out_of(m);
    if (i >= (uint32_t)plan->kept_count) {
        plan_keep(plan, m);
    }
    if (segment == NULL) {
        plan_message(plan, m, 0, 0);
        return;
    }
    plan_refer(plan, segment->data + from, segment->used - from, m);
}

/* The rest of a begun message, then commands, then as many messages as fit. */
void
mmi_link_plan_gather(mmi_link *link, mmi_link_plan *plan)
{
    mmi_ring *outbox = &link->pipe.outbox;
    bool active = link->state == MMI_LINK_ACTIVE;
    uint32_t i = 0;
    size_t from = 0;
    bool inside = false;
    plan->link = link;
    plan->numbers = mmi_replay_wrote_last(link);
    plan->framing = link->pipe.framing;
    plan->put_meta = link->pipe.takes_meta ? link->wire->put_meta : NULL;
    plan->iov_count = plan->kept_count = 0;
    plan->total = 0;
    plan->limit = link->shield == NULL ? (size_t)MMI_IO_BUFFER_SIZE : (size_t)MMI_LINK_PLAN_SEALED;
    plan->full = false;
    if (active && link->msg_offset > 0) {
        inside = !plan_begun(link, plan, &from);
        i = inside ? 0 : 1;
    }
    if (link->command_out_size == 0 && link->command_size > 0) {
        mmi_link_commands_begin(link);
    }
    if (link->command_out_size > 0) {
        plan_refer(plan, link->command_out + link->command_sent,
                   link->command_out_size - link->command_sent, NULL);
    }
    for (; active && i < outbox->slot_count && !plan->full; i++) {
        mmi_segment_out *segment = inside ? NULL : mmi_segment_out_of(mmi_ring_at(outbox, i));
        plan_entry(link, plan, i, segment != NULL ? segment->first : from);
        inside = false;
    }
}

void
mmi_link_plan_release(mmi_link_plan *plan)
{
    for (int i = 0; i < plan->kept_count; i++) {
        mmi_msg_unref(plan->kept[i]);
    }
}
