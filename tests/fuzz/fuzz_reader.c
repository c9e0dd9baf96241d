/*
 * fuzz_reader.c: libFuzzer harness of the frame reader: the same bytes whole and in pieces give the
 * same.
 *
 * The first octet says how the rest is cut.  Law: no crash, no leak, invariants hold after every
 * call.
 */
#include <string.h>

#include "wire/zmtp/reader.h"

static const mmi_reader_limits fuzz_limits = { .message_size_max = 100000,
                                               .frames_max = 64,
                                               .command_size_max = 5000 };

/* Feeds one piece; returns a hash of what came out, and -1 in *failed when it was refused. */
static uint64_t
fuzz_feed(mmi_reader *r, const uint8_t *data, size_t size, uint64_t hash, int *failed)
{
    mmi_input input;
    for (;;) {
        int rc = mmi_reader_next(r, &data, &size, &input);
        mmi_reader_invariants(r);
        if (rc <= 0) {
            *failed = rc;
            return hash;
        }
        hash = hash * 31 + 1;
        if (input.msg == NULL) {
            hash = hash * 31 + (uint64_t)input.command.kind + input.command.size;
            continue;
        }
        for (uint32_t i = 0; i < input.msg->frame_count; i++) {
            for (size_t j = 0; j < input.msg->frames[i].size; j++) {
                hash = hash * 31 + input.msg->frames[i].data[j];
            }
        }
        mmi_msg_unref(input.msg);
    }
}

static uint64_t
fuzz_run(const uint8_t *data, size_t size, size_t piece, int *failed)
{
    mmi_reader r;
    uint64_t hash = 7;
    *failed = 0;
    mmi_reader_init(&r, &fuzz_limits);
    while (size > 0 && *failed == 0) {
        size_t part = piece < size ? piece : size;
        uint8_t *copy = mmi_alloc(part); /* its own block, so that a read beyond it is noticed */
        memcpy(copy, data, part);
        hash = fuzz_feed(&r, copy, part, hash, failed);
        mmi_free(copy);
        data += part;
        size -= part;
    }
    mmi_reader_fini(&r);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    int whole_failed, cut_failed;
    uint64_t whole = fuzz_run(data + 1, size - 1, size, &whole_failed);
    uint64_t cut = fuzz_run(data + 1, size - 1, 1 + data[0] % 16, &cut_failed);
    MMI_ASSERT(whole == cut && whole_failed == cut_failed);
    return 0;
}
