/*
 * fuzz_plain.c: libFuzzer harness of PLAIN, both roles, until the handshake is done: whole and in
 * pieces it ends the same, and takes as many octets.
 *
 * The first octet says how the rest is cut, the second which role we are, whether somebody is
 * asked, and what the answer is.
 */
#include <string.h>

#include "wire/zmtp/plain.h"

enum { FUZZ_SERVES = 1, FUZZ_ASKS = 2, FUZZ_DENIES = 4 };

typedef struct fuzz_end {
    int rc, reason;
    size_t used, said;
} fuzz_end;

static void
fuzz_answer(void *shield, fuzz_end *end, bool denies, mmi_refusal *why)
{
    const mmi_answer answer = { .kind = denies ? MM_DENY : MM_ALLOW };
    mmi_applicant who = { .mechanism = NULL };
    mmi_mechanism_plain.applicant(shield, &who);
    MMI_ASSERT(who.user.size <= MMI_PLAIN_NAME_MAX && who.password.size <= MMI_PLAIN_NAME_MAX);
    end->rc = mmi_mechanism_plain.answer(shield, &answer, why);
    MMI_ASSERT((end->rc == MMI_STEP_MORE) == !denies);
}

static void
fuzz_feed(void *shield, fuzz_end *end, const uint8_t *data, size_t size, int kind, mmi_refusal *why)
{
    const mmi_mechanism *m = &mmi_mechanism_plain;
    const uint8_t *out;
    while (end->rc == MMI_STEP_MORE && size > 0) {
        size_t used = 0;
        end->rc = m->feed(shield, data, size, &used, why);
        MMI_ASSERT(used <= size);
        end->used += used;
        data += used;
        size -= used;
        if (end->rc == MMI_STEP_ASK) {
            fuzz_answer(shield, end, (kind & FUZZ_DENIES) != 0, why);
        } else if (end->rc < 0) {
            MMI_ASSERT(m->output(shield, &out) == 0);
        }
        size_t there = m->output(shield, &out);
        end->said += there;
        m->sent(shield, there);
    }
}

static fuzz_end
fuzz_run(const uint8_t *data, size_t size, size_t piece, int kind)
{
    const mmi_plain_config config = { .serves = (kind & FUZZ_SERVES) != 0,
                                      .asks = (kind & FUZZ_ASKS) != 0,
                                      .user_size = 1,
                                      .user = "u" };
    fuzz_end end = { .rc = MMI_STEP_MORE };
    mmi_refusal why = { .reason = 0, .detail = "" };
    const uint8_t *properties;
    size_t there;
    void *shield = mmi_mechanism_plain.begin(&config, false, (const uint8_t *)"xy", 2, 0);
    MMI_ASSERT(shield != NULL);
    while (size > 0) {
        size_t part = piece < size ? piece : size;
        uint8_t *copy = mmi_alloc(part);
        memcpy(copy, data, part);
        fuzz_feed(shield, &end, copy, part, kind, &why);
        mmi_free(copy);
        data += part;
        size -= part;
    }
    properties = mmi_mechanism_plain.metadata(shield, &there);
    MMI_ASSERT(end.rc != MMI_STEP_DONE || properties != NULL);
    end.reason = end.rc < 0 ? why.reason : 0;
    MMI_ASSERT(end.rc >= 0 || (end.reason != 0 && why.detail[0] != '\0'));
    mmi_mechanism_plain.end(shield);
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) {
        return 0;
    }
    fuzz_end whole = fuzz_run(data + 2, size - 2, size, data[1]);
    fuzz_end cut = fuzz_run(data + 2, size - 2, 1 + data[0] % 64, data[1]);
    MMI_ASSERT(whole.rc == cut.rc && whole.reason == cut.reason);
    MMI_ASSERT(whole.rc < 0 || (whole.used == cut.used && whole.said == cut.said));
    return 0;
}
