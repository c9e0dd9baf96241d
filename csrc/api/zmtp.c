/*
 * api/zmtp.c: the codec from outside, for tests and tools: only marshalling.
 *
 * Law: nothing here that codec/ does not do by itself.
 */
#include <stdio.h>
#include <string.h>

#include "meshmsg_testing.h"
#include "role/role.h"
#include "tran/tran.h"
#include "wire/zmtp/hello.h"
#include "wire/zmtp/reader.h"

struct mm_codec_reader {
    mmi_reader reader;
    mmi_input input;
};

struct mm_codec_hello {
    mmi_hello hello;
    uint8_t identity[MM_IDENTITY_MAX];
};

int
mm_codec_frame_head(const uint8_t *buf, size_t size, uint8_t *flags, uint64_t *body_size)
{
    mmi_frame_head head = { 0 };
    int rc = mmi_frame_head_parse(buf, size, &head);
    *flags = head.flags;
    *body_size = head.size;
    return rc;
}

mm_codec_reader *
mm_codec_reader_new(uint64_t message_size_max, uint32_t frames_max, uint32_t command_size_max)
{
    mm_codec_reader *r = mmi_alloc(sizeof *r);
    mmi_reader_limits limits = { message_size_max, frames_max, command_size_max };
    if (r != NULL) {
        mmi_reader_init(&r->reader, &limits);
    }
    return r;
}

void
mm_codec_reader_free(mm_codec_reader *r)
{
    mmi_reader_fini(&r->reader);
    mmi_free(r);
}

int
mm_codec_reader_next(mm_codec_reader *r, const uint8_t *buf, size_t size, size_t *used,
                     mm_msg **msg, int *command, const uint8_t **data, size_t *data_size)
{
    const uint8_t *at = buf;
    size_t left = size;
    int rc = mmi_reader_next(&r->reader, &at, &left, &r->input);
    mmi_reader_invariants(&r->reader);
    *used = size - left;
    *msg = NULL;
    *command = 0;
    if (rc == 1) {
        *msg = r->input.msg;
        *command = r->input.msg == NULL ? r->input.command.kind : 0;
        *data = r->input.command.data;
        *data_size = r->input.command.size;
    }
    return rc;
}

void
mm_msg_free(mm_msg *msg)
{
    mmi_msg_unref(msg);
}

int
mm_codec_reader_reason(const mm_codec_reader *r)
{
    return r->reader.reason;
}

uint64_t
mm_codec_reader_held(const mm_codec_reader *r)
{
    return r->reader.block.cap;
}

mm_codec_hello *
mm_codec_hello_new(int role, const uint8_t *identity, size_t identity_size)
{
    if (identity_size > MM_IDENTITY_MAX || mmi_proto_find(role) == NULL) {
        return NULL;
    }
    mm_codec_hello *h = mmi_alloc(sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    if (identity_size > 0) {
        memcpy(h->identity, identity, identity_size);
    }
    mmi_hello_config config = { .role = role,
                                .roles = &mmi_roles_known,
                                .identity = h->identity,
                                .identity_size = identity_size,
                                .features = mmi_wire_features,
                                .takes_size = MMI_MESSAGE_SIZE_MAX,
                                .takes_frames = MMI_FRAMES_MAX };
    if (mmi_hello_init(&h->hello, &config) != MM_OK) {
        mmi_free(h);
        return NULL;
    }
    return h;
}

void
mm_codec_hello_free(mm_codec_hello *h)
{
    mmi_hello_fini(&h->hello);
    mmi_free(h);
}

int
mm_codec_hello_feed(mm_codec_hello *h, const uint8_t *buf, size_t size, size_t *used)
{
    return mmi_hello_feed(&h->hello, buf, size, used);
}

size_t
mm_codec_hello_output(mm_codec_hello *h, uint8_t *out, size_t size)
{
    const uint8_t *from;
    size_t there = mmi_hello_output(&h->hello, &from);
    size_t part = there < size ? there : size;
    memcpy(out, from, part);
    mmi_hello_sent(&h->hello, part);
    return part;
}

int
mm_codec_hello_result(const mm_codec_hello *h, int *role, int *minor, uint8_t *identity,
                      size_t *size)
{
    *role = h->hello.peer.role;
    *minor = h->hello.peer.minor;
    *size = h->hello.peer.identity_size;
    memcpy(identity, h->hello.peer.identity, *size);
    return h->hello.reason;
}

int
mm_url_why(const char *url, int use, char *why, size_t why_size)
{
    mmi_url parsed;
    char text[MM_WHY_SIZE] = "";
    int rc = mmi_tran_parse(url, use == MM_USE_BIND ? MM_USE_BIND : MM_USE_CONNECT, &parsed, text);
    snprintf(why, why_size, "%s", text);
    return rc;
}

int
mm_url_parts(const char *text, char *host, size_t host_size, uint16_t *port, char *again,
             size_t again_size)
{
    mmi_url url;
    int rc = mmi_tran_parse(text, 0, &url, NULL);
    if (rc != MM_OK) {
        return rc;
    }
    snprintf(host, host_size, "%s", url.host);
    *port = url.port;
    return mmi_url_format(&url, again, again_size);
}
