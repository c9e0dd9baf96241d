/*
 * wire/tls/record.c: records, once the handshake is over.
 *
 * Sealing and opening may run at once: OpenSSL is called with the connection's lock.  What opening
 * has to say, an answer to new keys of the peer, waits for the next record of ours and goes in
 * front of it.
 * Not here: the handshake (tls.c).
 * Law: memory is taken for a record that is not whole (OpenSSL's) and for one there was no room
 * for, not for a message; keys are new after MMI_TLS_UPDATE_RECORDS.
 */
#include <string.h>

#include "wire/tls/inside.h"

static mmi_tls *
record_lock(const void *self)
{
    mmi_tls *t = (mmi_tls *)self;   /* for its lock */
    pthread_mutex_lock(&t->lock);
    return t;
}

static size_t
record_room(const mmi_tls *t, size_t size)
{
    return t->said_size - t->said_at + size + TLS_OVERHEAD;
}

size_t
mmi_tls_room(const void *self, size_t size)
{
    mmi_tls *t = record_lock(self);
    t->promised = record_room(t, size);
    size_t room = t->promised;
    pthread_mutex_unlock(&t->lock);
    return room;
}

/* What was said and not taken goes in front. */
static void
record_said(mmi_tls *t)
{
    size_t size = t->said_size - t->said_at;
    if (size > 0) {
        memcpy(t->into, t->said + t->said_at, size);
        t->into_size = size;
        mmi_tls_said_sent(t, size);
    }
}

/* One record, where t->into is.  MM_OK; MM_EPROTO; MM_ENOMEM. */
static int
record_write(mmi_tls *t, const uint8_t *plain, size_t *size)
{
    const mmi_openssl *o = t->openssl;
    size_t written = 0;
    o->ERR_clear_error();
    record_said(t);
    bool update = t->sealed > 0 && t->sealed % MMI_TLS_UPDATE_RECORDS == 0 &&
                  o->SSL_version(t->ssl) == MMI_TLS1_3_VERSION;
    bool done = (!update || o->SSL_key_update(t->ssl, MMI_SSL_KEY_UPDATE_NOT_REQUESTED) == 1) &&
                o->SSL_write_ex(t->ssl, plain, *size, &written) == 1;
    if (done) {
        t->sealed++;
        *size = written;
        return MM_OK;
    }
    mmi_refusal why = { 0 };
    t->seal_failed = true;
    return mmi_tls_failed(t, &why);
}

int64_t
mmi_tls_seal(void *self, const uint8_t *plain, size_t *size, uint8_t *out)
{
    mmi_tls *t = record_lock(self);
    int64_t n = MM_EPROTO;
    if (t->promised < record_room(t, *size)) {
        n = MM_EAGAIN;
    } else if (!t->seal_failed) {
        t->into = out;
        t->into_cap = t->promised;
        t->into_size = 0;
        int rc = record_write(t, plain, size);
        n = rc == MM_OK ? (int64_t)t->into_size : rc;
        t->into = NULL;
    }
    pthread_mutex_unlock(&t->lock);
    return n;
}

size_t
mmi_tls_farewell(void *self, uint8_t *out)
{
    mmi_tls *t = record_lock(self);
    size_t size = 0;
    if (!t->seal_failed && t->said_size - t->said_at + TLS_CLOSE_MAX <= MMI_FAREWELL_MAX) {
        t->into = out;
        t->into_cap = MMI_FAREWELL_MAX;
        t->into_size = 0;
        t->openssl->ERR_clear_error();
        record_said(t);
        (void)t->openssl->SSL_shutdown(t->ssl);
        t->openssl->ERR_clear_error();
        size = t->into_size;
        t->into = NULL;
    }
    t->seal_failed = true;
    pthread_mutex_unlock(&t->lock);
    return size;
}

/* ---- opening ---- */

static void
came_free(mmi_tls *t)
{
    mmi_free(t->came);
    t->came = NULL;
    t->came_at = t->came_size = 0;
}

/* More to read: what was kept, then what came.  false: that was all. */
static bool
open_next(mmi_tls *t, const uint8_t **in, size_t *size)
{
    came_free(t);
    t->from = *in;
    t->from_size = *size;
    *size = 0;
    return t->from_size > 0;
}

/* What was not read is kept for a call that has room.  MM_ENOMEM. */
static int
open_keep(mmi_tls *t, const uint8_t *in, size_t size)
{
    if (t->came == NULL) {   /* it read from this call's octets */
        in = t->from;
        size = t->from_size;
    } else if (t->from_size == 0) {
        came_free(t);
    } else {
        t->came_at = t->came_size - t->from_size;
    }
    if (size == 0) {
        return MM_OK;
    }
    uint8_t *grown = mmi_realloc(t->came, t->came_size + size);
    if (grown == NULL) {
        return MM_ENOMEM;
    }
    memcpy(grown + t->came_size, in, size);
    t->came = grown;
    t->came_size += size;
    return MM_OK;
}

/* The peer says that it ends.  Who listens can refuse whom it knows by no other alert (tls.c). */
static int
open_closed(mmi_tls *t, mmi_refusal *why)
{
    t->closed = true;
    return t->opened || !t->dials
               ? 0
               : mmi_refuse(why, MM_REASON_TLS_ALERT,
                            "it says 'close notify' once it knows who we are: it does not let "
                            "us in");
}

/* OpenSSL gave nothing: is there more for it to read, or is that the end?  1: go on; 0: no. */
static int
open_stopped(mmi_tls *t, int rc, const uint8_t **in, size_t *size, mmi_refusal *why)
{
    switch (t->openssl->SSL_get_error(t->ssl, rc)) {
    case MMI_SSL_ERROR_WANT_READ: return open_next(t, in, size) ? 1 : 0;
    case MMI_SSL_ERROR_ZERO_RETURN: return open_closed(t, why);
    default: return mmi_tls_failed(t, why);
    }
}

static int
open_all(mmi_tls *t, const uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
         mmi_refusal *why)
{
    const mmi_openssl *o = t->openssl;
    int rc = 1;
    if (t->came == NULL) {
        (void)open_next(t, &in, &size);
    } else {
        t->from = t->came + t->came_at;
        t->from_size = t->came_size - t->came_at;
    }
    while (rc == 1 && *given < cap) {
        size_t got = 0;
        o->ERR_clear_error();
        int done = o->SSL_read_ex(t->ssl, out + *given, cap - *given, &got);
        *given += got;
        t->opened = t->opened || got > 0;
        t->quiet = done == 1 ? 0 : t->quiet;
        rc = done == 1 ? 1 : open_stopped(t, done, &in, &size, why);
    }
    return rc < 0 || t->closed ? rc : open_keep(t, in, size);
}

int
mmi_tls_open(void *self, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
             mmi_refusal *why)
{
    mmi_tls *t = record_lock(self);
    int rc = MM_EPROTO;
    *given = 0;
    if (!t->open_failed) {
        rc = t->closed ? MM_OK : open_all(t, in, size, out, cap, given, why);
        t->open_failed = rc < 0;
    }
    t->from_size = 0;
    pthread_mutex_unlock(&t->lock);
    return rc < 0 ? rc : MM_OK;
}

bool
mmi_tls_idle(const void *self)
{
    mmi_tls *t = record_lock(self);
    bool idle = t->closed || (mmi_tls_between(&t->records) && t->came == NULL &&
                              t->openssl->SSL_pending(t->ssl) == 0);
    pthread_mutex_unlock(&t->lock);
    return idle;
}

bool
mmi_tls_closed(const void *self)
{
    mmi_tls *t = record_lock(self);
    bool closed = t->closed;
    pthread_mutex_unlock(&t->lock);
    return closed;
}
