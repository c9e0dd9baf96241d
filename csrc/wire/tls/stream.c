/*
 * wire/tls/stream.c: what OpenSSL reads from and writes to: octets where they lie, so that an idle
 * connection keeps none.
 *
 * Not here: when it reads or writes (tls.c, record.c).
 * Law: called by OpenSSL only, within a call of ours, with the connection's lock held where two
 * threads may be in it; what may be said and not taken is bounded.
 */
#include <string.h>

#include "wire/tls/inside.h"

enum { STREAM_KIND = 0x7f, STREAM_SAID_MIN = 512 /* octets of the first block */ };

size_t
mmi_tls_records_part(const tls_records *r, size_t size)
{
    size_t left = r->head_size < TLS_HEAD ? TLS_HEAD - r->head_size : r->left;
    return size < left ? size : left;
}

bool
mmi_tls_between(const tls_records *r)
{
    return r->head_size == 0;
}

/* It took these octets, of which part told that no record ends among them but at their end. */
static void
records_took(mmi_tls *t, const uint8_t *at, size_t size)
{
    tls_records *r = &t->records;
    if (r->head_size < TLS_HEAD) {
        memcpy(r->head + r->head_size, at, size);
        r->head_size += size;
        r->left = (size_t)r->head[3] << 8 | r->head[4];
    } else {
        r->left -= size;
    }
    if (r->head_size == TLS_HEAD && r->left == 0) {
        r->head_size = 0;
        t->quiet++;
    }
}

/* Nothing more is there to read: it asks again. */
static int
stream_wait(const mmi_openssl *o, struct bio_st *bio)
{
    o->BIO_set_flags(bio, MMI_BIO_FLAGS_READ | MMI_BIO_FLAGS_SHOULD_RETRY);
    return -1;
}

static int
stream_read(struct bio_st *bio, char *buf, size_t size, size_t *read)
{
    const mmi_openssl *o = mmi_tls_library();
    mmi_tls *t = o->BIO_get_data(bio);
    *read = 0;
    o->BIO_clear_flags(bio, MMI_BIO_FLAGS_READ | MMI_BIO_FLAGS_SHOULD_RETRY);
    if (t->from_size == 0) {
        return stream_wait(o, bio);
    }
    if (t->quiet > MMI_TLS_QUIET_MAX) {
        t->too_much = true;
        return -1;
    }
    size_t most = size < t->from_size ? size : t->from_size;
    while (*read < most) {
        size_t part = mmi_tls_records_part(&t->records, most - *read);
        memcpy(buf + *read, t->from, part);
        records_took(t, t->from, part);
        t->from += part;
        t->from_size -= part;
        *read += part;
    }
    return 1;
}

/* MM_ENOMEM */
static int
said_grow(mmi_tls *t, size_t size)
{
    size_t cap = t->said_cap == 0 ? (size_t)STREAM_SAID_MIN : t->said_cap;
    while (cap < t->said_size + size) {
        cap *= 2;
    }
    uint8_t *grown = cap > t->said_cap ? mmi_realloc(t->said, cap) : t->said;
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    t->said = grown;
    t->said_cap = cap;
    return MM_OK;
}

static bool
stream_say(mmi_tls *t, const char *buf, size_t size)
{
    t->too_much = t->too_much || t->said_size + size > MMI_TLS_SAID_MAX;
    if (t->too_much) {
        return false;
    }
    if (said_grow(t, size) != MM_OK) {
        t->no_memory = true;
        return false;
    }
    memcpy(t->said + t->said_size, buf, size);
    t->said_size += size;
    return true;
}

void
mmi_tls_say(mmi_tls *t, const uint8_t *data, size_t size)
{
    (void)stream_say(t, (const char *)data, size);
}

static int
stream_write(struct bio_st *bio, const char *buf, size_t size, size_t *written)
{
    mmi_tls *t = mmi_tls_library()->BIO_get_data(bio);
    *written = size;
    if (t->into == NULL) {
        return stream_say(t, buf, size) ? 1 : -1;
    }
    if (size > t->into_cap - t->into_size) {
        t->too_much = true;   /* a record is no larger than what was promised */
        return -1;
    }
    memcpy(t->into + t->into_size, buf, size);
    t->into_size += size;
    return 1;
}

static long
stream_ctrl(struct bio_st *bio, int what, long value, void *arg)
{
    (void)bio, (void)value, (void)arg;
    return what == MMI_BIO_CTRL_FLUSH ? 1 : 0;
}

struct bio_method_st *
mmi_tls_bio_method(const mmi_openssl *o)
{
    struct bio_method_st *kind = o->BIO_meth_new(MMI_BIO_TYPE_SOURCE_SINK | STREAM_KIND, "octets");
    if (kind != NULL && (o->BIO_meth_set_read_ex(kind, stream_read) != 1 ||
                         o->BIO_meth_set_write_ex(kind, stream_write) != 1 ||
                         o->BIO_meth_set_ctrl(kind, stream_ctrl) != 1)) {
        o->BIO_meth_free(kind);
        kind = NULL;
    }
    return kind;
}

struct bio_st *
mmi_tls_bio(mmi_tls *t)
{
    struct bio_st *bio = t->openssl->BIO_new(t->context->bio);
    if (bio != NULL) {
        t->openssl->BIO_set_data(bio, t);
        t->openssl->BIO_set_init(bio, 1);
    }
    return bio;
}

void
mmi_tls_said_sent(mmi_tls *t, size_t size)
{
    t->said_at += size;
    if (t->said_at == t->said_size) {
        mmi_free(t->said);
        t->said = NULL;
        t->said_at = t->said_size = t->said_cap = 0;
    }
}
