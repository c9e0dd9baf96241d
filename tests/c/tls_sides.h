/*
 * tls_sides.h: two shields of TLS that talk over memory, and certificates from files.
 *
 * Certificates are made before the tests run (tests/support/certificates.py), in the folder that
 * TLS_CERTIFICATES names.  Not here: sockets; OpenSSL as a peer by itself (tls_pair.h).
 * Law: every step is checked; time is the machine's, and what a test adds to it.
 */
#ifndef TLS_SIDES_H
#define TLS_SIDES_H

#include <time.h>

#include "check.h"
#include "crypto/z85.h"
#include "plat/library.h"
#include "wire/tls/tls.h"

enum { TLS_TEXT_MAX = 16 * 1024, TLS_FLIGHT_MAX = 64 * 1024, TLS_ROUNDS_MAX = 20, TLS_DAY_S = 86400 };

typedef struct tls_side {
    mmi_tls_config *config;
    void *shield;
    bool dials;
    int rc;                              /* of its last step */
    mmi_refusal why;
} tls_side;

typedef struct tls_sides {
    tls_side dialer, listener;
    size_t cut;                          /* octets that are fed at once; 0: all */
} tls_sides;

/* A policy that is put together, and the texts in it. */
typedef struct tls_policy {
    mm_tls_opts opts;
    char text[4][TLS_TEXT_MAX];
    uint8_t pins[4 * MMI_TLS_KEY_SIZE];
    uint32_t texts;
} tls_policy;

static const mmi_mechanism *const tls_table = &mmi_mechanism_tls;
static int64_t tls_clock_s;              /* added to the machine's */

static inline uint64_t
tls_wall_ns(void *plat)
{
    (void)plat;
    return (uint64_t)((int64_t)time(NULL) + tls_clock_s) * 1000000000u;
}

static inline mmi_tls_world
tls_world(void)
{
    return (mmi_tls_world){ .openssl = mmi_openssl_get(), .wall_ns = tls_wall_ns };
}

/* false: there are none, as this machine has no way to make them. */
static inline bool
tls_certificates_there(void)
{
    if (mmi_openssl_get() != NULL && getenv("TLS_CERTIFICATES") != NULL) {
        return true;
    }
    printf("no TLS, or no certificates: nothing is tested\n");
    return false;
}

static inline size_t
tls_read(const char *name, char *out)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", getenv("TLS_CERTIFICATES"), name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t size = fread(out, 1, TLS_TEXT_MAX - 1, file);
    CHECK(size > 0 && size < TLS_TEXT_MAX - 1);
    fclose(file);
    out[size] = '\0';
    return size;
}

static inline mm_body
tls_text(tls_policy *p, const char *name)
{
    char *text = p->text[p->texts++];
    CHECK(p->texts <= 4);
    return (mm_body){ .data = text, .size = tls_read(name, text) };
}

/* Who shows that certificate, and believes what those files say. */
static inline tls_policy *
tls_policy_of(const char *name, const char *ca)
{
    tls_policy *p = calloc(1, sizeof *p);
    char file[64];
    if (name != NULL) {
        snprintf(file, sizeof file, "%s.pem", name);
        p->opts.certificate = tls_text(p, file);
        snprintf(file, sizeof file, "%s.key", name);
        p->opts.key = tls_text(p, file);
    }
    if (ca != NULL) {
        snprintf(file, sizeof file, "%s.pem", ca);
        p->opts.ca = tls_text(p, file);
    }
    return p;
}

static inline void
tls_pin(tls_policy *p, const char *name)
{
    char file[64], text[TLS_TEXT_MAX];
    size_t wrong;
    snprintf(file, sizeof file, "%s.pin", name);
    size_t size = tls_read(file, text);
    CHECK_INT(mmi_pin_decode(p->pins + p->opts.pins.size, text, size, &wrong), MMI_TEXT_RIGHT);
    p->opts.pins.data = p->pins;
    p->opts.pins.size += MMI_TLS_KEY_SIZE;
}

static inline mmi_tls_config *
tls_config(const tls_policy *p)
{
    mmi_tls_world world = tls_world();
    mmi_tls_context *context;
    char why[MM_WHY_SIZE] = "";
    if (mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why) != MM_OK) {
        check_failed(why, __FILE__, __LINE__);
    }
    mmi_tls_config *config = mmi_tls_config_new(&world, context);
    CHECK(config != NULL);
    return config;
}

/* Takes both policies. */
static inline tls_sides
tls_sides_open(tls_policy *dialer, tls_policy *listener)
{
    tls_sides s = { .dialer = { .dials = true } };
    s.dialer.config = tls_config(dialer);
    s.listener.config = tls_config(listener);
    free(dialer);
    free(listener);
    return s;
}

static inline void
tls_sides_end(tls_sides *s)
{
    tls_side *sides[] = { &s->dialer, &s->listener };
    for (int i = 0; i < 2; i++) {
        if (sides[i]->shield != NULL) {
            tls_table->end(sides[i]->shield);
            sides[i]->shield = NULL;
        }
    }
}

static inline void
tls_sides_close(tls_sides *s)
{
    tls_sides_end(s);
    mmi_tls_config_drop(s->dialer.config);
    mmi_tls_config_drop(s->listener.config);
}

static inline void
tls_feed(tls_side *to, const uint8_t *data, size_t size, size_t cut)
{
    size_t at = 0;
    do {
        size_t part = cut > 0 && cut < size - at ? cut : size - at, used = 0;
        to->rc = tls_table->feed(to->shield, data + at, part, &used, &to->why);
        CHECK(used <= part);
        at += part;
    } while (at < size && to->rc == MMI_STEP_MORE);
}

/* What one has to say goes to the other, who may be done or refuse it.  Whether it was anything. */
static inline bool
tls_carry(tls_side *from, tls_side *to, size_t cut)
{
    const uint8_t *out;
    uint8_t data[TLS_FLIGHT_MAX];
    size_t size = tls_table->output(from->shield, &out);
    CHECK(size <= sizeof data);
    if (size == 0) {
        return false;
    }
    memcpy(data, out, size);
    tls_table->sent(from->shield, size);
    if (to->rc == MMI_STEP_MORE) {
        tls_feed(to, data, size, cut);
    } else if (to->rc == MMI_STEP_DONE) {
        uint8_t plain[64];
        size_t given;
        to->rc = tls_table->open(to->shield, data, size, plain, sizeof plain, &given, &to->why);
        to->rc = to->rc == MM_OK ? MMI_STEP_DONE : to->rc;
        CHECK_INT(given, 0);
    }
    return true;
}

static inline void
tls_begin(tls_sides *s, const char *host)
{
    tls_sides_end(s);
    s->dialer.why = s->listener.why = (mmi_refusal){ 0 };
    s->dialer.shield = tls_table->begin(s->dialer.config, true, NULL, 0, 1 << 20);
    s->listener.shield = tls_table->begin(s->listener.config, false, NULL, 0, 1 << 20);
    CHECK(s->dialer.shield != NULL && s->listener.shield != NULL);
    CHECK_INT(tls_table->aim(s->dialer.shield, host, NULL, NULL), MM_OK);
    s->listener.rc = MMI_STEP_MORE;
    tls_feed(&s->dialer, NULL, 0, 0);
    CHECK_INT(s->dialer.rc, MMI_STEP_MORE);
}

/* Both handshakes, to the end: whether both are done. */
static inline bool
tls_shake(tls_sides *s, const char *host)
{
    tls_begin(s, host);
    for (int i = 0; i < TLS_ROUNDS_MAX; i++) {
        bool moved = tls_carry(&s->dialer, &s->listener, s->cut);
        moved |= tls_carry(&s->listener, &s->dialer, s->cut);
        if (!moved) {
            break;
        }
    }
    return s->dialer.rc == MMI_STEP_DONE && s->listener.rc >= MMI_STEP_DONE;
}

/* It failed there, for that reason, with those words. */
static inline void
tls_check_why(const tls_side *side, int reason, const char *words)
{
    CHECK_INT(side->rc, MM_EPROTO);
    if (side->why.reason != reason || strstr(side->why.detail, words) == NULL) {
        fprintf(stderr, "%s: %s\n", mm_reason_text(side->why.reason), side->why.detail);
        check_failed(words, __FILE__, __LINE__);
    }
}

/* One record. */
static inline size_t
tls_seal(tls_side *from, const void *plain, size_t size, uint8_t *out)
{
    size_t took = size, room = tls_table->room(from->shield, size);
    int64_t n = tls_table->seal(from->shield, plain, &took, out);
    CHECK(n > 0 && (size_t)n <= room);
    CHECK_INT(took, size);
    return (size_t)n;
}

static inline int
tls_open(tls_side *to, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given)
{
    return tls_table->open(to->shield, in, size, out, cap, given, &to->why);
}

static inline void
tls_say(tls_side *from, tls_side *to, const char *text)
{
    uint8_t sealed[1024], plain[512];
    size_t given, size = tls_seal(from, text, strlen(text), sealed);
    CHECK_INT(tls_open(to, sealed, size, plain, sizeof plain, &given), MM_OK);
    CHECK_INT(given, strlen(text));
    CHECK(memcmp(plain, text, given) == 0);
    CHECK(tls_table->idle(to->shield));
}

static inline void
tls_talk(tls_sides *s)
{
    tls_say(&s->dialer, &s->listener, "there");
    tls_say(&s->listener, &s->dialer, "and back");
}

#endif
