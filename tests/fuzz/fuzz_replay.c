/*
 * fuzz_replay.c: libFuzzer harness of what a subscriber may say to a PUB over a spool: REPLAY,
 * SUBSCRIBE and CANCEL in any order, between turns of who reads the spool for it.
 *
 * The spool is made once, of messages "a" or "b" and their number; the live ones are in the midst.
 * Not here: what a publisher may say (fuzz_replayed.c), harmed spools (fuzz_spool.c).
 * Law: what comes over a connection goes up, and is what its AT says; nothing comes twice.
 */
#include <sys/stat.h>

#include "api/replay.h"
#include "base/octets.h"
#include "meshmsg_spool.h"
#include "scripted.h"

enum {
    FUZZ_STEPS = 10,
    FUZZ_MESSAGES = 400, /* in the spool */
    FUZZ_LIVE = 150,     /* from here on they are live */
    FUZZ_TURNS = 60,     /* at the end */
    FUZZ_BODY = 9,       /* octets of a message: a topic, a number */
    FUZZ_LONG = 2,       /* a flag of a frame, as the next */
    FUZZ_COMMAND = 4
};

static mm_spool *fuzz_spool;

/* What came over this connection. */
typedef struct fuzz_came {
    uint8_t data[SCRIPT_READ_MAX];
    size_t size;
    bool greeted, numbered;
    uint64_t next;           /* the number of the message that comes next */
} fuzz_came;

static fuzz_came fuzz_in;

static void
fuzz_open_spool(void)
{
    static char place[PLACE_SIZE];
    char path[PLACE_SIZE + 16];
    uint8_t octets[FUZZ_BODY];
    mm_spool_report report;
    const mm_body body = { .data = octets, .size = sizeof octets };
    const mm_spool_opts opts = {
        .level = MM_SPOOL_OS, .file_bytes = 1 << 20, .sync_every_ms = 10, .owner = "a fuzzer"
    };
    place_open(place);
    snprintf(path, sizeof path, "%s/spool", place);
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(mm_spool_open(path, &opts, &report, &fuzz_spool), MM_OK);
    for (uint64_t number = 1; number <= FUZZ_MESSAGES; number++) {
        mm_spool_did did = { .done = 0 };
        octets[0] = number % 3 == 0 ? 'a' : 'b';
        mmi_be64_put(octets + 1, number);
        uint32_t waits = number % 7 == 0 || number == FUZZ_MESSAGES;
        CHECK_INT(mm_spool_append(fuzz_spool, &body, 1, NULL, 0, waits, -1, 0, &did), MM_OK);
    }
}

/* One frame of what came; how many octets it had, 0: not all of it came yet. */
static size_t
fuzz_frame(fuzz_came *in, const uint8_t *at, size_t left)
{
    size_t head = left > 0 && (at[0] & FUZZ_LONG) != 0 ? 9 : 2;
    if (left < head) {
        return 0;
    }
    size_t size = head == 2 ? at[1] : (size_t)mmi_be64_get(at + 1);
    if (left - head < size) {
        return 0;
    }
    const uint8_t *body = at + head;
    if ((at[0] & FUZZ_COMMAND) == 0) {
        MMI_ASSERT(size == FUZZ_BODY);
        uint64_t number = mmi_be64_get(body + 1);
        MMI_ASSERT(!in->numbered || number == in->next);
        MMI_ASSERT(number >= in->next && number <= FUZZ_MESSAGES);
        in->next = number + 1;
    } else if (size == 3 + MMI_AT_SIZE && memcmp(body, "\2AT", 3) == 0) {
        uint64_t number = mmi_be64_get(body + 3);
        MMI_ASSERT(number >= in->next);
        in->numbered = true;
        in->next = number;
    }
    return head + size;
}

static void
fuzz_read(script *s)
{
    fuzz_came *in = &fuzz_in;
    size_t at = 0, used;
    int64_t n;
    script_run(s);
    while ((n = plat_get(&s->raw.plat, s->raw.stream, in->data + in->size,
                         sizeof in->data - in->size)) > 0) {
        in->size += (size_t)n;
    }
    if (!in->greeted) {
        if (in->size < sizeof RAW_GREETING) {
            return;
        }
        in->greeted = true;
        at = sizeof RAW_GREETING;
    }
    while ((used = fuzz_frame(in, in->data + at, in->size - at)) > 0) {
        at += used;
    }
    in->size -= at;
    memmove(in->data, in->data + at, in->size);
}

static void
fuzz_connect(script *s)
{
    fuzz_in.size = 0;
    fuzz_in.greeted = fuzz_in.numbered = false;
    fuzz_in.next = 0;
    script_connect(s, "SUB");
    fuzz_read(s);
}

static void
fuzz_asks(script *s)
{
    mmi_replay replay = { .kind = (mmi_replay_kind)(script_next(s) % 6),
                          .place_count = script_next(s) % 3 };
    uint8_t data[MMI_REPLAY_SIZE + 2 * MMI_REPLAY_PLACE_SIZE];
    uint8_t how = script_next(s);
    replay.value = how < 250 ? (uint64_t)how * 2 : script_number(s);
    for (uint32_t i = 0; i < replay.place_count; i++) {
        mmi_replay_place *place = &replay.places[i];
        uint8_t next = script_next(s);
        if (next % 2 == 0) {
            memcpy(place->producer, fuzz_spool->shared.spool.uuid, sizeof place->producer);
        }
        place->next = (uint64_t)next * 2;
    }
    mmi_replay_put(data, &replay);
    script_command(s, "REPLAY", data, mmi_replay_size(&replay));
}

static void
fuzz_topic(script *s, bool add)
{
    static const char *const topics[] = { "", "a", "b", "a\0" };
    const char *topic = topics[script_next(s) % MMI_COUNT_OF(topics)];
    script_command(s, add ? "SUBSCRIBE" : "CANCEL", (const uint8_t *)topic, strlen(topic));
}

static int
fuzz_turn(mm_replay *r)
{
    bool retry;
    int rc = mmi_replay_turn(r, &retry);
    MMI_ASSERT(rc == 1 || rc == 0 || rc == MM_EAGAIN);
    return rc;
}

static void
fuzz_step(script *s, mm_replay *r)
{
    uint8_t data[SCRIPT_DATA_MAX];
    size_t size;
    switch (script_next(s) % FUZZ_STEPS) {
    case 0:
        size = script_octets(s, data);
        script_put(s, data, size);
        break;
    case 1: fuzz_asks(s); break;
    case 2:
        size = script_octets(s, data);
        script_command(s, "REPLAY", data, size);
        break;
    case 3: script_command(s, "REPLAY", NULL, 0); break;
    case 4: fuzz_topic(s, true); break;
    case 5: fuzz_topic(s, false); break;
    case 6: (void)fuzz_turn(r); break;
    case 7: fuzz_read(s); break;
    case 8:
        script_hang_up(s);
        fuzz_connect(s);
        break;
    default: script_run(s); break;
    }
}

/* As mm_replay_open, but that the live ones are in the midst, and that it has no thread. */
static mm_replay *
fuzz_open(const script *s)
{
    mm_replay *r;
    mmi_socket *socket;
    CHECK_INT(mmi_replay_make(s->raw.ours, fuzz_spool, &r), MM_OK);
    r->published = FUZZ_LIVE - 1;
    mmi_spool_reader_seek(&r->reader, FUZZ_LIVE);
    CHECK_INT(mmi_api_enter(s->raw.ours, &socket), MM_OK);
    socket->host.replays->next = FUZZ_LIVE;
    CHECK_INT(mmi_api_leave(socket, MM_OK), MM_OK);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fuzz_spool == NULL) {
        fuzz_open_spool();
    }
    mm_socket_opts opts = opts_of(MM_PUB);
    script s = { .at = data, .left = size };
    opts.send_queue_messages = 1 + script_next(&s) % 64;
    s.raw = raw_open(MM_PUB, &SCRIPT_WORLD, &opts);
    mm_replay *r = fuzz_open(&s);
    script_bind(&s);
    fuzz_connect(&s);
    while (s.left > 0) {
        fuzz_step(&s, r);
    }
    for (int i = 0; i < FUZZ_TURNS && fuzz_turn(r) == 1; i++) {
        fuzz_read(&s);
    }
    mmi_replay_run_drop(&r->live);
    mmi_replay_slots_end(r);
    mm_replay_close(r);
    raw_close(&s.raw);
    return 0;
}
