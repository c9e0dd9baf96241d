/*
 * test_tls_foreign.c: TLS as OpenSSL alone speaks it, with us: old versions, other names by ALPN,
 * new keys asked for by the hundred.
 * Not here: peers of ours (test_tls.c).
 * Law: what a foreign peer does is answered or refused, and costs no more than it sends.
 */
#include "plat/library.h"
#include "tls_pair.h"
#include "wire/tls/tls.h"

enum { UPDATE_REQUESTED = 1, FLOOD = 5000, OURS_MAX = 64 * 1024, EACH = 5 };

static const mmi_openssl *tls;
static const mmi_mechanism *const table = &mmi_mechanism_tls;

typedef struct foreign {
    mmi_tls_config *config;
    void *ours;
    tls_end theirs;
    bool dials;                          /* we do */
    int rc;                              /* of our last step */
    bool there;                          /* theirs is done */
    mmi_refusal why;
} foreign;

static uint64_t
wall_ns(void *plat)
{
    (void)plat;
    return (uint64_t)TLS_NOW * 1000000000u;
}

static mmi_tls_config *
config_of(uint32_t min_version)
{
    mmi_tls_world world = { .openssl = tls, .wall_ns = wall_ns };
    mm_body certificate = { TLS_CERTIFICATE, strlen(TLS_CERTIFICATE) };
    mm_tls_opts opts = { .certificate = certificate,
                         .key = { TLS_KEY, strlen(TLS_KEY) },
                         .ca = certificate,
                         .min_version = min_version };
    mmi_tls_context *context;
    char why[MM_WHY_SIZE];
    CHECK_INT(mmi_tls_context_new(&world, &opts, &context, why, sizeof why), MM_OK);
    return mmi_tls_config_new(&world, context);
}

/* version: of theirs, the only one. */
static void
foreign_open(foreign *f, bool dials, uint32_t min_version, int version, const char *alpn)
{
    *f = (foreign){ .dials = dials, .config = config_of(min_version) };
    tls_now_used = tls;
    tls_begin(tls, &f->theirs, version, false);
    if (alpn != NULL) {
        CHECK_INT(tls->SSL_CTX_set_alpn_protos(f->theirs.ctx, (const unsigned char *)alpn,
                                               (unsigned)strlen(alpn)),
                  0);
    }
    tls_open(tls, &f->theirs);
    if (dials) {
        tls->SSL_set_accept_state(f->theirs.ssl);
    } else {
        tls->SSL_set_connect_state(f->theirs.ssl);
    }
    f->ours = table->begin(f->config, dials, NULL, 0, 1 << 20);
    CHECK(f->ours != NULL);
    CHECK(!dials || table->aim(f->ours, "peer.example", "SP", NULL) == MM_OK);
}

static void
foreign_close(foreign *f)
{
    tls->SSL_free(f->theirs.ssl);
    tls->SSL_CTX_free(f->theirs.ctx);
    table->end(f->ours);
    mmi_tls_config_drop(f->config);
}

static void
to_theirs(foreign *f)
{
    const uint8_t *out;
    size_t put, size = table->output(f->ours, &out);
    if (size > 0) {
        CHECK_INT(tls->BIO_write_ex(f->theirs.in, out, size, &put), 1);
        table->sent(f->ours, size);
    }
}

static size_t
from_theirs(foreign *f, uint8_t *out, size_t cap)
{
    size_t got = 0;
    return tls->BIO_ctrl_pending(f->theirs.out) > 0 &&
                   tls->BIO_read_ex(f->theirs.out, out, cap, &got) == 1
               ? got
               : 0;
}

static bool
shake(foreign *f)
{
    uint8_t in[OURS_MAX];
    size_t used = 0, given;
    f->rc = table->feed(f->ours, NULL, 0, &used, &f->why);
    for (int i = 0; i < TLS_STEPS_MAX; i++) {
        to_theirs(f);
        tls->ERR_clear_error();
        f->there = tls->SSL_do_handshake(f->theirs.ssl) == 1;
        size_t size = from_theirs(f, in, sizeof in);
        used = 0;
        if (size > 0 && f->rc == MMI_STEP_MORE) {
            f->rc = table->feed(f->ours, in, size, &used, &f->why);
        }
        if (size > used && f->rc == MMI_STEP_DONE) {
            CHECK_INT(table->open(f->ours, in + used, size - used, in, 0, &given, &f->why), MM_OK);
        }
    }
    tls->ERR_clear_error();
    return f->rc == MMI_STEP_DONE && f->there;
}

static void
say(foreign *f, const char *text)
{
    uint8_t sealed[1024];
    char got[256];
    size_t put, size = strlen(text), room = table->room(f->ours, size);
    int64_t n = table->seal(f->ours, (const uint8_t *)text, &size, sealed);
    CHECK(n > 0 && (size_t)n <= room && room <= sizeof sealed && size == strlen(text));
    CHECK_INT(tls->BIO_write_ex(f->theirs.in, sealed, (size_t)n, &put), 1);
    CHECK_INT(tls->SSL_read_ex(f->theirs.ssl, got, sizeof got, &put), 1);
    CHECK(put == size && memcmp(got, text, size) == 0);
}

/* As our open says; what they wrote since. */
static int
hear(foreign *f, const char *text)
{
    static uint8_t in[OURS_MAX * 4];
    uint8_t out[256];
    size_t given, put;
    if (text != NULL) {
        CHECK_INT(tls->SSL_write_ex(f->theirs.ssl, text, strlen(text), &put), 1);
    }
    int rc =
        table->open(f->ours, in, from_theirs(f, in, sizeof in), out, sizeof out, &given, &f->why);
    CHECK(rc != MM_OK ||
          (text == NULL ? given == 0 : given == strlen(text) && memcmp(out, text, given) == 0));
    return rc;
}

static void
test_openssl_alone_is_a_peer_either_way(void)
{
    for (int dials = 0; dials < 2; dials++) {
        foreign f;
        foreign_open(&f, dials, MM_TLS_1_3, MMI_TLS1_3_VERSION, dials ? NULL : "\4sp/1");
        CHECK(shake(&f));
        say(&f, "to them");
        CHECK_INT(hear(&f, "to us"), MM_OK);
        foreign_close(&f);
    }
}

static void
test_tls_1_2_is_spoken_where_it_is_asked_for(void)
{
    for (int dials = 0; dials < 2; dials++) {
        foreign f;
        foreign_open(&f, dials, MM_TLS_1_2, MMI_TLS1_2_VERSION, NULL);
        CHECK(shake(&f));
        say(&f, "to them");
        CHECK_INT(hear(&f, "to us"), MM_OK);
        foreign_close(&f);
        foreign_open(&f, dials, MM_TLS_1_3, MMI_TLS1_2_VERSION, NULL);
        CHECK(!shake(&f));
        CHECK_INT(f.rc, MM_EPROTO);
        CHECK_INT(f.why.reason, dials ? MM_REASON_TLS_ALERT : MM_REASON_MECHANISM);
        CHECK(strstr(f.why.detail, dials ? "no version of TLS that both speak"
                                         : "no TLS that both can do") != NULL);
        foreign_close(&f);
    }
}

/* Their flight of that number comes with one octet changed, or cut there: whether ours is done. */
static bool
shake_harmed(foreign *f, int flight, size_t at, bool cut, size_t *size)
{
    uint8_t in[OURS_MAX];
    size_t used = 0;
    f->rc = table->feed(f->ours, NULL, 0, &used, &f->why);
    for (int i = 0, seen = 0; i < TLS_STEPS_MAX && f->rc == MMI_STEP_MORE; i++) {
        to_theirs(f);
        tls->ERR_clear_error();
        f->there = tls->SSL_do_handshake(f->theirs.ssl) == 1;
        size_t came = from_theirs(f, in, sizeof in);
        bool harmed = came > 0 && seen++ == flight;
        if (harmed) {
            *size = came;
            at = at < came ? at : came - 1; /* signatures are not all of one size */
            in[at] ^= cut ? 0 : 0x10;
            came = cut ? at : came;
        }
        if (came > 0) {
            f->rc = table->feed(f->ours, in, came, &used, &f->why);
        }
        if (harmed && cut) {
            break;
        }
    }
    tls->ERR_clear_error();
    return f->rc == MMI_STEP_DONE;
}

/* All that both say is plain until then: certificates, and the keys that are signed. */
static void
test_a_plain_flight_of_tls_1_2_that_is_changed_or_cut_anywhere_is_not_done(void)
{
    for (int dials = 0; dials < 2; dials++) {
        for (int flight = 0; flight < 2 - dials; flight++) {
            size_t size = 1, refused = 0;
            for (size_t at = 0; at < 2 * size; at += EACH) {
                foreign f;
                foreign_open(&f, dials, MM_TLS_1_2, MMI_TLS1_2_VERSION, NULL);
                CHECK(!shake_harmed(&f, flight, at / 2, at % 2 == 0, &size));
                CHECK(f.rc == MMI_STEP_MORE || (f.rc == MM_EPROTO && f.why.reason != 0));
                refused += f.rc == MM_EPROTO;
                foreign_close(&f);
            }
            CHECK(refused > 10);
        }
    }
}

static void
test_tls_1_2_has_forward_secrecy_and_no_old_cipher(void)
{
    static const char *const weak[] = { "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA" };
    for (size_t i = 0; i < MMI_COUNT_OF(weak); i++) {
        foreign f;
        foreign_open(&f, false, MM_TLS_1_2, MMI_TLS1_2_VERSION, NULL);
        CHECK_INT(tls->SSL_CTX_set_cipher_list(f.theirs.ctx, weak[i]), 1);
        tls->SSL_free(f.theirs.ssl);
        tls_open(tls, &f.theirs);
        tls->SSL_set_connect_state(f.theirs.ssl);
        CHECK(!shake(&f));
        CHECK_INT(f.why.reason, MM_REASON_MECHANISM);
        foreign_close(&f);
    }
}

/* Of DHE one hello would cost a listener 0.1 s. */
static void
test_groups_that_cost_a_listener_much_are_not_taken(void)
{
    static char *const groups[] = { "X25519", "P-256", "P-384", "P-521", "ffdhe2048", "ffdhe8192" };
    enum { TAKEN = 3 };
    for (int i = 0; i < (int)MMI_COUNT_OF(groups); i++) {
        foreign f;
        foreign_open(&f, false, MM_TLS_1_3, MMI_TLS1_3_VERSION, NULL);
        CHECK_INT(tls->SSL_CTX_ctrl(f.theirs.ctx, MMI_SSL_CTRL_SET_GROUPS_LIST, 0, groups[i]), 1);
        tls->SSL_free(f.theirs.ssl);
        tls_open(tls, &f.theirs);
        tls->SSL_set_connect_state(f.theirs.ssl);
        CHECK_INT(shake(&f), i < TAKEN);
        CHECK(i < TAKEN || f.why.reason == MM_REASON_MECHANISM);
        foreign_close(&f);
    }
}

static void
test_who_offers_something_else_by_alpn_is_no_peer(void)
{
    foreign f;
    foreign_open(&f, false, MM_TLS_1_3, MMI_TLS1_3_VERSION, "\2h2\x08http/1.1");
    CHECK(!shake(&f));
    CHECK_INT(f.why.reason, MM_REASON_MECHANISM);
    CHECK(strcmp(f.why.detail, "by ALPN it speaks 'h2', not zmtp/3 or sp/1") == 0);
    foreign_close(&f);
    foreign_open(&f, false, MM_TLS_1_3, MMI_TLS1_3_VERSION, "\2h2\6zmtp/3");
    CHECK(shake(&f));
    foreign_close(&f);
}

static void
test_new_keys_are_answered_in_front_of_the_next_record(void)
{
    foreign f;
    foreign_open(&f, true, MM_TLS_1_3, MMI_TLS1_3_VERSION, NULL);
    CHECK(shake(&f));
    for (int i = 0; i < 20; i++) {
        size_t size = 4, room = table->room(f.ours, size);
        uint8_t out[512];
        CHECK(room <= sizeof out);
        for (int update = 0; update < 2; update++) {
            CHECK_INT(tls->SSL_key_update(f.theirs.ssl, UPDATE_REQUESTED), 1);
            CHECK_INT(hear(&f, "under new keys"), MM_OK);
        }
        CHECK_INT(table->seal(f.ours, (const uint8_t *)"none", &size, out), MM_EAGAIN);
        say(&f, "and our own");
    }
    foreign_close(&f);
}

/* One who asks for new keys, and does not hear that we have them. */
static void
test_a_flood_of_new_keys_ends(void)
{
    for (int data = 0; data < 2; data++) {
        foreign f;
        int rc = MM_OK, updates = 0;
        foreign_open(&f, true, MM_TLS_1_3, MMI_TLS1_3_VERSION, NULL);
        CHECK(shake(&f));
        while (rc == MM_OK && updates < FLOOD) {
            CHECK_INT(tls->SSL_key_update(f.theirs.ssl, UPDATE_REQUESTED), 1);
            CHECK_INT(tls->SSL_do_handshake(f.theirs.ssl), 1);
            rc = hear(&f, data ? "x" : NULL);
            updates++;
        }
        CHECK_INT(rc, MM_EPROTO);
        CHECK(data || updates <= MMI_TLS_QUIET_MAX + 1);
        CHECK(strstr(f.why.detail, "more records without data than are taken") != NULL);
        CHECK(table->room(f.ours, 1) < MMI_TLS_SAID_MAX + 512);
        foreign_close(&f);
    }
}

static void
test_an_alert_is_told_in_words(void)
{
    foreign f;
    foreign_open(&f, true, MM_TLS_1_3, MMI_TLS1_3_VERSION, NULL);
    struct X509_VERIFY_PARAM_st *param = tls->SSL_get0_param(f.theirs.ssl);
    CHECK_INT(tls->X509_VERIFY_PARAM_set1_host(param, "somebody.else", 0), 1);
    (void)shake(&f);
    if (f.rc == MMI_STEP_DONE) {   /* in 1.3 who dials hears it later */
        f.rc = hear(&f, NULL);
    }
    CHECK_INT(f.rc, MM_EPROTO);
    CHECK_INT(f.why.reason, MM_REASON_TLS_ALERT);
    CHECK(strstr(f.why.detail, "it says 'bad certificate': it does not take our certificate") !=
          NULL);
    foreign_close(&f);
}

int
main(void)
{
    tls = mmi_openssl_get();
    if (tls == NULL) {
        printf("no OpenSSL: %s\n", mmi_openssl_missing());
        return 0;
    }
    RUN(test_openssl_alone_is_a_peer_either_way);
    RUN(test_tls_1_2_is_spoken_where_it_is_asked_for);
    RUN(test_a_plain_flight_of_tls_1_2_that_is_changed_or_cut_anywhere_is_not_done);
    RUN(test_tls_1_2_has_forward_secrecy_and_no_old_cipher);
    RUN(test_groups_that_cost_a_listener_much_are_not_taken);
    RUN(test_who_offers_something_else_by_alpn_is_no_peer);
    RUN(test_new_keys_are_answered_in_front_of_the_next_record);
    RUN(test_a_flood_of_new_keys_ends);
    RUN(test_an_alert_is_told_in_words);
    return 0;
}
