/*
 * link/replay.c: messages that were published before, on one connection: a subscriber asks for them
 * (REPLAY), and what it gets has the numbers of the publisher's spool (COUNT and AT).
 *
 * AT stands in front of a message only where its number is not the one behind that of the message
 * before, and COUNT where the epoch of the spool changes: so a message in a row has no octet more.
 * Not here: who is behind (queue/replays.h), who reads the spool (api/replay_run.c).
 * Law: what stands in front of a message is known by what was written before it alone; it is one
 * piece with the message, as META is.
 */
#include <stdio.h>
#include <string.h>

#include "link/inside.h"
#include "queue/replays.h"
#include "queue/route.h"

struct mmi_replaying {
    mmi_numbering out, in;
    mmi_resume_place *place; /* of the publisher, in what its socket resumes; or NULL */
    uint8_t producer[MMI_PRODUCER_SIZE];   /* whose numbers come, once in.epoch is not 0 */
    uint64_t epoch;          /* of its spool */
    uint64_t left_out;       /* that the last LOST of them says; 0: there was none */
    bool told_copy;          /* that it has the spool of another, or an earlier life of its own */
};

static const char replay_word[] = "replay"; /* of the features of who publishes from a spool */
static const char replay_words[] = "replay group";   /* of all that they are */

/* Either end asks: made at the first, for few connections ever have it.  NULL: no memory. */
static struct mmi_replaying *
replay_make(mmi_link *link)
{
    if (link->replaying == NULL) {
        link->replaying = mmi_alloc(sizeof *link->replaying);
    }
    return link->replaying;
}

/* What comes has numbers, for we asked; or NULL. */
static mmi_numbering *
replay_in(const mmi_link *link)
{
    return link->replaying != NULL && link->replaying->in.on ? &link->replaying->in : NULL;
}

bool
mmi_replay_can(const mmi_link *link)
{
    return link->wire->put_replay != NULL && mmi_wire_knows(link->features, replay_word);
}

void
mmi_replay_say(mmi_socket *s)
{
    const char *ours = s->engine->features;
    if (ours[0] != '\0') {
        snprintf(s->features, sizeof s->features, "%.*s %s",
                 (int)(sizeof s->features - sizeof replay_words - 1), ours, replay_words);
    }
}

int
mmi_replay_ask(mmi_link *link)
{
    const mmi_resume *resume = link->socket->resume;
    if (resume == NULL || !mmi_replay_can(link)) {
        return MM_OK;
    }
    mmi_replay replay;
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_REPLAY_SIZE +
                  MMI_REPLAY_PLACES_MAX * MMI_REPLAY_PLACE_SIZE];
    if (replay_make(link) == NULL) {
        return MM_ENOMEM;
    }
    mmi_resume_ask(resume, &replay);
    link->replaying->in.on = true;
    return mmi_link_control(link, frame, link->wire->put_replay(frame, &replay));
}

int
mmi_replay_begin(mmi_link *link)
{
    const mmi_replay begin = { .kind = MMI_REPLAY_BEGIN };
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    return replay_in(link) != NULL
               ? mmi_link_control(link, frame, link->wire->put_replay(frame, &begin))
               : MM_OK;
}

void
mmi_replay_asked(mmi_link *link)
{
    if (link->socket->resume != NULL && !mmi_replay_can(link)) {
        mmi_link_tell(link, MM_EVENT_PEER_LIVE, MM_REASON_NONE,
                      "it publishes from no spool: only what it sends from now on comes "
                      "(replay; require refuses it)");
    }
}

void
mmi_replay_came(mmi_link *link, const mmi_command *command)
{
    mmi_socket *s = link->socket;
    mmi_replay replay;
    if (s->ops->replay == NULL || !mmi_replays_on(s->host.replays) || link->wire->put_at == NULL) {
        return; /* a command we have no use for is ignored */
    }
    if (replay_make(link) == NULL) {
        mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
        return;
    }
    if (!mmi_replay_get(command->data, command->size, &replay) ||
        s->ops->replay(s->state, &link->pipe, &replay) == MM_EPROTO) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a REPLAY that is malformed, or not in its place");
        return;
    }
    link->replaying->out.on = true;
}

/* Where the connection came by: all of one endpoint are of one publisher. */
static const void *
replay_endpoint(const mmi_link *link)
{
    const void *dialed = link->dialer, *bound = link->listener;
    return dialed != NULL ? dialed : bound != NULL ? bound : link;
}

/* A copy of a spool has its uuid.  Where two of one are heard, or one goes on where another was,
 * the numbers of one mean nothing in the other: nothing tells what is missed, but that it is so. */
static void
replay_copied(mmi_link *link, uint64_t epoch, const uint8_t *producer)
{
    struct mmi_replaying *r = link->replaying;
    const void *here = replay_endpoint(link);
    bool twice = r->place == NULL && mmi_resume_taken(link->socket->resume, producer, here);
    bool earlier = r->place != NULL && r->in.next == 0 && epoch < r->place->epoch;
    if ((!twice && !earlier) || r->told_copy) {
        return;
    }
    r->told_copy = true;
    mmi_link_tell_count(link, MM_EVENT_REPLAY_LOST, MM_REASON_NONE, 0,
                        twice
                            ? "two publishers say they have this spool, so one has a copy, or is "
                              "connected twice: messages may be missing, or come twice"
                            : "the spool goes on in an earlier life, as a copy does: what that has "
                              "below its next message, and nobody heard, is missing");
}

void
mmi_replay_counted(mmi_link *link, const mmi_command *command)
{
    mmi_count count;
    struct mmi_replaying *r = link->replaying;
    if (replay_in(link) == NULL) {
        return; /* we did not ask */
    }
    if (!mmi_count_get(command->data, command->size, &count)) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a malformed COUNT");
        return;
    }
    bool other =
        r->in.epoch == 0 || memcmp(r->producer, count.producer, sizeof count.producer) != 0;
    if (other || r->place == NULL) {
        mmi_resume_leave(r->place);
        r->place = mmi_resume_find(link->socket->resume, count.producer, replay_endpoint(link));
        r->in.next = other ? 0 : r->in.next; /* else it goes on, whosever the place is */
        memcpy(r->producer, count.producer, sizeof r->producer);
    }
    replay_copied(link, count.epoch, count.producer);
    r->epoch = count.epoch;
    /* As a group and a PUSH name it, so that the pair of a message is that of no other spool. */
    r->in.epoch = mmi_route_life(count.producer, (uint32_t)count.epoch);
}

/* So much was heard of the publisher. */
static void
replay_heard(mmi_link *link)
{
    mmi_resume_place *place = link->replaying->place;
    if (place != NULL && link->replaying->in.next > place->of.next) {
        place->of.next = link->replaying->in.next;
        place->epoch = link->replaying->epoch;
    }
}

/* It begins there, and a higher number was asked for: what is there was not, so it is told. */
static void
replay_begins(const mmi_link *link, uint64_t number)
{
    const mmi_replay *from = &link->socket->resume->from;
    const mmi_resume_place *place = link->replaying->place;
    if (from->kind != MMI_REPLAY_SEQ || number >= from->value ||
        (place != NULL && place->of.next > 0)) { /* it goes on where it was */
        return;
    }
    char detail[MM_DETAIL_MAX + 1];
    snprintf(detail, sizeof detail,
             "seq:%llu is behind the end of its spool: it goes on with the next message, %llu",
             (unsigned long long)from->value, (unsigned long long)number);
    mmi_link_tell_count(link, MM_EVENT_REPLAY_LOST, MM_REASON_NONE, 0, detail);
}

void
mmi_replay_at(mmi_link *link, const mmi_command *command)
{
    mmi_numbering *in = replay_in(link);
    uint64_t number;
    if (in == NULL) {
        return;
    }
    if (in->epoch == 0 || !mmi_at_get(command->data, command->size, &number) || number < in->next) {
        mmi_link_breach(link, MM_REASON_COMMAND,
                        "an AT that is malformed, goes back, or is not behind COUNT");
        return;
    }
    if (in->next == 0) {
        replay_begins(link, number);
    }
    if (in->next == 0 && link->replaying->place != NULL) {
        link->replaying->place->of.next =
            number; /* it knows best, also where it has less than before */
    }
    in->next = number;
    replay_heard(link);
}

static const char *const replay_lost_texts[MMI_LOST_WHYS] = {
    [MMI_LOST_REMOVED] = "the publisher has removed them from its spool (retention)",
    [MMI_LOST_HARMED] = "they are harmed in the spool of the publisher",
    [MMI_LOST_TOO_LARGE] = "larger than what this socket takes (message_size_max, frames_max)",
};

void
mmi_replay_lost(mmi_link *link, const mmi_command *command)
{
    mmi_lost lost;
    if (replay_in(link) == NULL) {
        return;
    }
    if (!mmi_lost_get(command->data, command->size, &lost)) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a malformed LOST");
        return;
    }
    mmi_link_tell_count(link, MM_EVENT_REPLAY_LOST, MM_REASON_NONE, lost.count,
                        replay_lost_texts[lost.why]);
}

void
mmi_replay_number(mmi_link *link, mmi_msg *m, uint32_t count)
{
    mmi_numbering *in = replay_in(link);
    if (in == NULL || in->next == 0) {
        return; /* it is not numbered */
    }
    if (in->next + count >
        MMI_REPLAY_VALUE_MAX) { /* nor is what has no number, and next to it none */
        in->next = 0;
        return;
    }
    m->number = in->next;
    m->origin = (mmi_origin){ .epoch = in->epoch };
    in->next += count;
    replay_heard(link);
}

size_t
mmi_replay_put_before(const mmi_link *link, const mmi_numbering *at, const mmi_msg *m,
                      uint8_t out[MMI_NUMBERED_MAX])
{
    size_t size = 0;
    if (!at->on || m->origin.number == 0) {
        return 0;
    }
    if (m->origin.epoch != at->epoch) {
        mmi_count count = { .epoch = m->origin.epoch };
        memcpy(count.producer, link->socket->producer, sizeof count.producer);
        size += link->wire->put_count(out, &count);
    }
    if (m->origin.number != at->next) {
        size += link->wire->put_at(out + size, m->origin.number);
    }
    return size;
}

size_t
mmi_replay_before(const mmi_link *link, const mmi_msg *m)
{
    uint8_t out[MMI_NUMBERED_MAX];
    return link->replaying == NULL ? 0 : mmi_replay_put_before(link, &link->replaying->out, m, out);
}

void
mmi_replay_passed(mmi_numbering *at, const mmi_msg *m)
{
    if (at->on && m->origin.number > 0) {
        at->epoch = m->origin.epoch;
        at->next = m->origin.number + 1;
    }
}

mmi_numbering
mmi_replay_wrote_last(const mmi_link *link)
{
    return link->replaying == NULL ? (mmi_numbering){ .on = false } : link->replaying->out;
}

void
mmi_replay_wrote(mmi_link *link, const mmi_msg *m)
{
    if (link->replaying != NULL) {
        mmi_replay_passed(&link->replaying->out, m);
    }
}

int
mmi_replay_place_at(mmi_link *link, uint64_t epoch, uint64_t number)
{
    uint8_t frame[MMI_NUMBERED_MAX];
    const mmi_msg first = { .origin = { .epoch = epoch, .number = number } };
    mmi_numbering *out = &link->replaying->out;
    size_t size = mmi_replay_put_before(link, out, &first, frame);
    int rc = mmi_link_control(link, frame, size);
    if (rc == MM_OK) {
        out->epoch = epoch;
        out->next = number;
    }
    return rc;
}

void
mmi_replay_tell_lost(mmi_link *link, const mmi_lost *lost)
{
    uint8_t frame[MMI_COMMAND_OVERHEAD];
    if (mmi_link_control(link, frame, link->wire->put_lost(frame, lost)) != MM_OK &&
        !mmi_tx_ends(link)) {
        mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
    }
}

/* While the peer reads nothing, one LOST that waits to be written counts all of them. */
void
mmi_replay_left_out(mmi_link *link)
{
    struct mmi_replaying *r = link->replaying;
    mmi_lost lost = { .why = MMI_LOST_TOO_LARGE, .count = r->left_out };
    uint8_t last[MMI_COMMAND_OVERHEAD];
    size_t size = link->wire->put_lost(last, &lost);
    bool waits = r->left_out > 0 && link->command_size >= size &&
                 memcmp(link->commands + link->command_size - size, last, size) == 0;
    link->command_size -= waits ? size : 0;
    r->left_out = waits ? r->left_out + 1 : 1;
    lost.count = r->left_out;
    mmi_replay_tell_lost(link, &lost);
}

void
mmi_replay_end_harmed(mmi_link *link, uint64_t first, uint64_t last)
{
    char detail[MM_DETAIL_MAX + 1];
    snprintf(detail, sizeof detail,
             "messages %llu to %llu of its spool are harmed, and not passed over (on_corruption)",
             (unsigned long long)first, (unsigned long long)last);
    mmi_link_breach(link, MM_REASON_SPOOL, detail);
}

void
mmi_replay_left(mmi_link *link)
{
    if (link->replaying != NULL) {
        mmi_resume_leave(link->replaying->place);
        mmi_free(link->replaying);
        link->replaying = NULL;
    }
}
