/*
 * fuzz_replayed.c: libFuzzer harness of what a publisher may say to a SUB that asked for a replay:
 * COUNT, AT, LOST and messages in any order, over connections that come and go.
 *
 * Not here: what a subscriber may say (fuzz_replay.c), the commands' frames (fuzz_reader.c).
 * Law: whatever was heard, the next publisher is asked in a way that it takes.
 */
#include "scripted.h"

enum { FUZZ_STEPS = 9, FUZZ_TAKE = 100, FUZZ_NAMES = 6 };

static const char *const fuzz_names[FUZZ_NAMES] = {
    "COUNT", "AT", "LOST", "REPLAY", "AGAIN", "META"
};

/* What it would ask the next one. */
static void
fuzz_asks(const script *s)
{
    mmi_socket *socket;
    mmi_replay asked, read;
    uint8_t data[MMI_REPLAY_SIZE + MMI_REPLAY_PLACES_MAX * MMI_REPLAY_PLACE_SIZE];
    CHECK_INT(mmi_api_enter(s->raw.ours, &socket), MM_OK);
    mmi_resume_ask(socket->resume, &asked);
    CHECK_INT(mmi_api_leave(socket, MM_OK), MM_OK);
    mmi_replay_put(data, &asked);
    MMI_ASSERT(mmi_replay_get(data, mmi_replay_size(&asked), &read));
}

static void
fuzz_take(const script *s, mm_batch *batch)
{
    int count = mm_recv(s->raw.ours, batch, FUZZ_TAKE, 1 << 20, 0, 0);
    MMI_ASSERT(count > 0 || count == MM_EAGAIN || count == MM_ETIMEDOUT);
}

static void
fuzz_count(script *s)
{
    mmi_count count = { .epoch = script_next(s) };
    uint8_t data[MMI_COUNT_SIZE];
    memset(count.producer, script_next(s) % (MMI_REPLAY_PLACES_MAX + 4), sizeof count.producer);
    mmi_count_put(data, &count);
    script_command(s, "COUNT", data, sizeof data);
}

/* Mostly a bit further on, and also at the ends of what there is. */
static uint64_t
fuzz_number(script *s, uint64_t *last)
{
    uint8_t how = script_next(s);
    *last = how < 200   ? *last + how % 8
            : how < 240 ? script_number(s)
                        : MMI_REPLAY_VALUE_MAX - how % 8;
    return *last;
}

static void
fuzz_step(script *s, mm_batch *batch, uint64_t *last)
{
    uint8_t data[SCRIPT_DATA_MAX];
    mmi_lost lost;
    size_t size;
    switch (script_next(s) % FUZZ_STEPS) {
    case 0:
        size = script_octets(s, data);
        script_put(s, data, size);
        break;
    case 1: fuzz_count(s); break;
    case 2:
        mmi_at_put(data, fuzz_number(s, last));
        script_command(s, "AT", data, MMI_AT_SIZE);
        break;
    case 3:
        for (unsigned i = script_next(s) % 70; i > 0; i--) {
            script_put(s, "\0\2ab", 4);
        }
        break;
    case 4:
        lost = (mmi_lost){ .why = script_next(s) % 3, .count = script_number(s) };
        mmi_lost_put(data, &lost);
        script_command(s, "LOST", data, MMI_LOST_SIZE);
        break;
    case 5: {
        const char *name = fuzz_names[script_next(s) % FUZZ_NAMES];
        size = script_octets(s, data);
        script_command(s, name, data, size);
        break;
    }
    case 6: fuzz_take(s, batch); break;
    case 7:
        script_hang_up(s);
        script_connect(s, "PUB");
        break;
    default: script_run(s); break;
    }
    fuzz_asks(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mm_batch *batch;
    uint64_t last = 0;
    mm_socket_opts opts = opts_of(MM_SUB);
    opts.flags |= MM_OPT_REPLAY;
    script s = { .at = data, .left = size, .raw = raw_open(MM_SUB, &SCRIPT_WORLD, &opts) };
    CHECK_INT(mm_batch_new(&batch), MM_OK);
    CHECK_INT(mm_sub_replay(s.raw.ours, 1 + script_next(&s) % MM_REPLAY_EARLIEST, 1), MM_OK);
    CHECK_INT(mm_subscribe(s.raw.ours, "", 0), MM_OK);
    script_bind(&s);
    script_connect(&s, "PUB");
    while (s.left > 0) {
        fuzz_step(&s, batch, &last);
    }
    script_run(&s);
    fuzz_asks(&s);
    mm_batch_free(batch);
    raw_close(&s.raw);
    return 0;
}
