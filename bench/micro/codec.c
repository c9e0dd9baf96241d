/*
 * codec.c: loops over what no Python can reach: the writers of both wires, and the tree of topics.
 *
 * Not here: the readers, which the library gives (test_codec.py).  Law: no clock; whoever calls
 * takes the time, of so many turns that the call itself does not count.
 */
#include <stdio.h>

#include "base/radix.h"
#include "wire/framing.h"
#include "wire/sp/body.h"
#include "wire/zmtp/frame.h"

enum { MICRO_TOPIC_MAX = 32 };

/* Writes a message so many times, end to end; the octets of one, or 0: there is no such wire. */
size_t
micro_write(int sp, const uint8_t *body, size_t size, uint32_t count, uint8_t *out)
{
    const mmi_framing *framing = &mmi_framing_zmtp;
    if (sp) {
        framing = mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_find(MMI_SP_PUSH));
    }
    size_t octets = 0;
    for (uint32_t i = 0; i < count && framing != NULL; i++) {
        mmi_msg m;
        mmi_frame frame;
        size_t cost;
        mmi_msg_borrow(&m, &frame, body, size);
        octets = framing->size(framing, &m, &cost);
        framing->put(framing, &m, out + i * octets);
    }
    return octets;
}

static bool
count_one(void *arg, void *subscriber)
{
    (void)subscriber;
    *(uint32_t *)arg += 1;
    return true;
}

static mmi_radix topics;

/* A tree of so many topics, "news.0." and on; 0, or a negative mm_err. */
int
micro_topics(uint32_t count)
{
    static int somebody;
    mmi_radix_init(&topics);
    for (uint32_t i = 0; i < count; i++) {
        char topic[MICRO_TOPIC_MAX];
        int size = snprintf(topic, sizeof topic, "news.%u.", i);
        int rc = mmi_radix_add(&topics, (const uint8_t *)topic, (size_t)size, &somebody, NULL);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* Looks a text up so many times; the matches of all. */
uint32_t
micro_match(const uint8_t *text, size_t size, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        mmi_radix_match(&topics, text, size, count_one, &found);
    }
    return found;
}

void
micro_no_topics(void)
{
    mmi_radix_fini(&topics);
}
