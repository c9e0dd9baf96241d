/*
 * test_tls.c: who is taken by each policy of TLS, who is not, and what both sides are told.
 * Not here: records (test_tls_records.c), sockets, foreign peers.
 * Law: without OpenSSL, or a way to make certificates, it says so and checks nothing.
 */
#include "sockets.h"
#include "tls_sides.h"

enum { SECRET_A = 0xa, SECRET_B = 0xb };

/* SHA-256 of it, as Python says. */
#define PSK_IDENTITY "1ea3a41f7e9078940d5f3ef3e7311a075d0db45c09c4ccf7c3bdc53d96fc3d24"

static void
names(tls_policy *p, const char *list, size_t size)
{
    p->opts.names = (mm_body){ .data = list, .size = size };
}

static tls_sides
mutual(void)
{
    return tls_sides_open(tls_policy_of("client", "ca"), tls_policy_of("server", "ca"));
}

static void
check_applicant(const tls_side *side, const char *name)
{
    tls_policy p = { 0 };
    mmi_applicant who = { 0 };
    tls_pin(&p, name);
    tls_table->applicant(side->shield, &who);
    CHECK_INT(who.key.size, MMI_TLS_KEY_SIZE);
    CHECK(memcmp(who.key.data, p.pins, MMI_TLS_KEY_SIZE) == 0);
    CHECK(who.certificate.size > 100 && who.certificate.data[0] == 0x30);
}

static void
test_both_sides_know_each_other_by_certificates(void)
{
    tls_sides s = mutual();
    for (s.cut = 0; s.cut < 8; s.cut++) {
        CHECK(tls_shake(&s, "peer.example"));
        check_applicant(&s.dialer, "server");
        check_applicant(&s.listener, "client");
        tls_talk(&s);
    }
    tls_sides_close(&s);
}

static void
test_a_chain_may_have_certificates_between(void)
{
    tls_sides s = tls_sides_open(tls_policy_of("client", "ca"), tls_policy_of("far", "ca"));
    CHECK(tls_shake(&s, "peer.example"));
    tls_talk(&s);
    tls_sides_close(&s);
}

static void
test_who_is_dialed_is_to_be_the_host_of_the_address(void)
{
    tls_sides s = mutual();
    static const char *const right[] = { "peer.example",    "PEER.example", "peer.example.",
                                         "127.0.0.1",       "::1",          "::1%lo",
                                         "one.wild.example" };
    for (size_t i = 0; i < MMI_COUNT_OF(right); i++) {
        CHECK(tls_shake(&s, right[i]));
    }
    static const char *const wrong[] = { "server",           "other.example",
                                         "127.0.0.2",        "::2",
                                         "a.peer.example",   "wild.example",
                                         "a.b.wild.example", "example" };
    for (size_t i = 0; i < MMI_COUNT_OF(wrong); i++) {
        char words[MM_DETAIL_MAX + 1];
        CHECK(!tls_shake(&s, wrong[i]));
        snprintf(words, sizeof words,
                 "its certificate is not for '%s', but for peer.example, 127.0.0.1", wrong[i]);
        tls_check_why(&s.dialer, MM_REASON_CERTIFICATE, words);
        tls_check_why(&s.listener, MM_REASON_TLS_ALERT, "it says 'bad certificate'");
    }
    static const char *const none[] = { "", ".", ".example" };
    for (size_t i = 0; i < MMI_COUNT_OF(none); i++) {
        CHECK_INT(tls_table->aim(s.dialer.shield, none[i], NULL, NULL), MM_EINVAL);
    }
    tls_sides_close(&s);
}

static void
test_a_common_name_is_no_name(void)
{
    tls_sides s =
        tls_sides_open(tls_policy_of("client", "ca"), tls_policy_of("peer.example", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.dialer, MM_REASON_CERTIFICATE,
                  "its certificate is not for 'peer.example', but for no name, as it has no SAN");
    tls_sides_close(&s);
}

static bool
shakes_with_names(const char *list, size_t size, bool dialer)
{
    tls_policy *ours = tls_policy_of("client", "ca"), *theirs = tls_policy_of("server", "ca");
    names(dialer ? ours : theirs, list, size);
    tls_sides s = tls_sides_open(ours, theirs);
    bool done = tls_shake(&s, dialer ? "not.that" : "peer.example");
    if (!done) {
        tls_check_why(dialer ? &s.dialer : &s.listener, MM_REASON_CERTIFICATE,
                      "its certificate is ");
    }
    tls_sides_close(&s);
    return done;
}

#define NAMES(list, dialer) shakes_with_names(list, sizeof(list), dialer)

static void
test_names_stand_for_the_host_where_addresses_move(void)
{
    CHECK(NAMES("spiffe://etl/*", true));
    CHECK(NAMES("spiffe://etl/server", true));
    CHECK(NAMES("nobody\0"
                "spiffe://other/*\0"
                "peer.example",
                true));
    CHECK(NAMES("127.0.0.1", true));
    CHECK(NAMES("spiffe://etl/client", false));
    CHECK(NAMES("spiffe://etl/*", false));
    CHECK(!NAMES("spiffe://etl/serve", true));
    CHECK(!NAMES("spiffe://etl/server/*", true));
    CHECK(!NAMES("spiffe://etl/server/more", true));
    CHECK(!NAMES("spiffe://other/*", true));
    CHECK(!NAMES("127.0.0.2\0"
                 "server",
                 true));
    CHECK(!NAMES("spiffe://etl/server", false));
    CHECK(!NAMES("peer.example", false));
}

static void
test_dates_are_those_of_our_clock(void)
{
    tls_sides s = mutual();
    tls_clock_s = 40 * TLS_DAY_S;
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.dialer, MM_REASON_CERTIFICATE, "its certificate expired at 20");
    tls_check_why(&s.listener, MM_REASON_TLS_ALERT,
                  "it says 'certificate expired': our certificate, or its clock");
    tls_clock_s = -2 * TLS_DAY_S;
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.dialer, MM_REASON_CERTIFICATE, "its certificate is not valid before 20");
    tls_clock_s = 0;
    CHECK(tls_shake(&s, "peer.example"));
    tls_sides_close(&s);
}

static void
test_who_was_signed_by_somebody_else_is_not_taken(void)
{
    tls_sides s =
        tls_sides_open(tls_policy_of("client", "other_ca"), tls_policy_of("server", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.dialer, MM_REASON_CERTIFICATE,
                  "nobody in ca= signed its certificate: the issuer is CN=ca");
    tls_check_why(&s.listener, MM_REASON_TLS_ALERT,
                  "it says 'unknown CA': its ca= did not sign our certificate");
    tls_sides_close(&s);
    s = tls_sides_open(tls_policy_of("self", "ca"), tls_policy_of("server", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.listener, MM_REASON_CERTIFICATE,
                  "nobody in ca= signed its certificate: the issuer is CN=self");
    tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "it says");
    tls_sides_close(&s);
}

static void
test_a_certificate_is_for_the_use_it_says(void)
{
    tls_sides s = tls_sides_open(tls_policy_of("client", "ca"), tls_policy_of("client", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.dialer, MM_REASON_CERTIFICATE,
                  "its certificate's extended key usage is not that of a server");
    tls_sides_close(&s);
    s = tls_sides_open(tls_policy_of("server", "ca"), tls_policy_of("server", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.listener, MM_REASON_CERTIFICATE,
                  "its certificate's extended key usage is not that of a client");
    tls_sides_close(&s);
}

static void
test_who_was_revoked_is_not_taken(void)
{
    tls_policy *theirs = tls_policy_of("server", "ca");
    theirs->opts.crl = tls_text(theirs, "crl.pem");
    tls_sides s = tls_sides_open(tls_policy_of("gone", "ca"), theirs);
    CHECK(!tls_shake(&s, "peer.example"));
    tls_check_why(&s.listener, MM_REASON_CERTIFICATE,
                  "crl= says that its certificate was taken back");
    tls_check_why(&s.dialer, MM_REASON_TLS_ALERT,
                  "it says 'certificate revoked': its crl= has our certificate");
    tls_sides_close(&s);
    theirs = tls_policy_of("server", "ca");
    theirs->opts.crl = tls_text(theirs, "crl.pem");
    s = tls_sides_open(tls_policy_of("client", "ca"), theirs);
    CHECK(tls_shake(&s, "peer.example"));
    tls_sides_close(&s);
}

static void
test_who_dials_needs_a_certificate_as_the_listener_says(void)
{
    for (uint32_t clients = MM_CLIENTS_REQUIRED; clients <= MM_CLIENTS_NONE; clients++) {
        tls_policy *theirs = tls_policy_of("server", "ca");
        theirs->opts.clients = clients;
        tls_sides s = tls_sides_open(tls_policy_of(NULL, "ca"), theirs);
        CHECK_INT(tls_shake(&s, "peer.example"), clients != MM_CLIENTS_REQUIRED);
        mmi_applicant who = { 0 };
        tls_table->applicant(s.listener.shield, &who);
        CHECK_INT(who.key.size, 0);
        if (clients == MM_CLIENTS_REQUIRED) {
            tls_check_why(&s.listener, MM_REASON_CERTIFICATE,
                          "it has no certificate, and clients are to have one");
            tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "we have no certificate to show");
        }
        tls_sides_close(&s);
    }
    for (uint32_t clients = MM_CLIENTS_OPTIONAL; clients <= MM_CLIENTS_NONE; clients++) {
        tls_policy *theirs = tls_policy_of("server", "ca");
        theirs->opts.clients = clients;   /* a wrong one is worse than none */
        tls_sides s = tls_sides_open(tls_policy_of("self", "ca"), theirs);
        CHECK_INT(tls_shake(&s, "peer.example"), clients == MM_CLIENTS_NONE);
        tls_sides_close(&s);
    }
}

static void
test_pins_need_no_signer_no_name_and_no_date(void)
{
    tls_policy *ours = tls_policy_of("self", NULL), *theirs = tls_policy_of("another", NULL);
    tls_pin(ours, "another");
    tls_pin(theirs, "server");
    tls_pin(theirs, "self");
    tls_pin(theirs, "ca");
    tls_sides s = tls_sides_open(ours, theirs);
    tls_clock_s = 1000 * TLS_DAY_S;
    CHECK(tls_shake(&s, "whatever"));
    tls_talk(&s);
    tls_clock_s = 0;
    tls_sides_close(&s);
    ours = tls_policy_of("self", NULL);
    theirs = tls_policy_of("another", NULL);
    tls_pin(ours, "another");
    tls_pin(theirs, "server");
    s = tls_sides_open(ours, theirs);
    CHECK(!tls_shake(&s, "whatever"));
    tls_check_why(&s.listener, MM_REASON_CERTIFICATE, "is none of the pins of allow=");
    tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "it does not take our certificate");
    tls_sides_close(&s);
}

static tls_policy *
secrets(int first, int second)
{
    static uint8_t all[4][2 * MMI_TLS_KEY_SIZE];
    static int next;
    uint8_t *at = all[next++ % 4];
    tls_policy *p = calloc(1, sizeof *p);
    memset(at, first, MMI_TLS_KEY_SIZE);
    memset(at + MMI_TLS_KEY_SIZE, second, MMI_TLS_KEY_SIZE);
    p->opts.secrets = (mm_body){ .data = at, .size = MMI_TLS_KEY_SIZE * (second != 0 ? 2 : 1) };
    return p;
}

static void
test_a_shared_secret_stands_for_certificates(void)
{
    tls_sides s = tls_sides_open(secrets(SECRET_A, 0), secrets(SECRET_A, 0));
    for (s.cut = 0; s.cut < 8; s.cut++) {
        CHECK(tls_shake(&s, "whatever"));
        tls_talk(&s);
    }
    tls_sides_close(&s);
    s = tls_sides_open(secrets(SECRET_A, 0), secrets(SECRET_B, SECRET_A));   /* rotated */
    CHECK(tls_shake(&s, "127.0.0.1"));
    tls_talk(&s);
    tls_sides_close(&s);
}

static void
test_who_does_not_know_the_secret_is_not_taken(void)
{
    tls_sides s = tls_sides_open(secrets(SECRET_A, 0), secrets(SECRET_B, 0));
    CHECK(!tls_shake(&s, "whatever"));
    tls_check_why(&s.listener, MM_REASON_CRYPTO, "its secret is none of ours");
    tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "it most likely has another secret, or none");
    tls_sides_close(&s);
    s = tls_sides_open(tls_policy_of("client", "ca"), secrets(SECRET_B, 0));
    CHECK(!tls_shake(&s, "whatever"));
    CHECK_INT(s.listener.rc, MM_EPROTO);
    CHECK_INT(s.dialer.rc, MM_EPROTO);
    tls_sides_close(&s);
    s = tls_sides_open(secrets(SECRET_A, 0), tls_policy_of("server", "ca"));
    CHECK(!tls_shake(&s, "peer.example"));
    CHECK_INT(s.listener.rc, MM_EPROTO);
    CHECK_INT(s.dialer.rc, MM_EPROTO);
    tls_sides_close(&s);
}

/* hashlib.blake2b(b"tls-psk", key=bytes(range(32))).digest()[:32], and what it is called. */
static void
test_the_key_of_a_secret_is_as_anybody_computes_it(void)
{
    tls_policy *p = calloc(1, sizeof *p);
    uint8_t secret[MMI_TLS_KEY_SIZE];
    for (size_t i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)i;
    }
    p->opts.secrets = (mm_body){ .data = secret, .size = sizeof secret };
    tls_policy *other = malloc(sizeof *other);
    memcpy(other, p, sizeof *other);
    tls_sides s = tls_sides_open(p, other);
    tls_begin(&s, "whatever");
    const uint8_t *hello;
    size_t size = tls_table->output(s.dialer.shield, &hello);
    CHECK(memmem(hello, size, PSK_IDENTITY, strlen(PSK_IDENTITY)) != NULL);
    tls_sides_close(&s);
}

static void
test_who_listens_asks_once_the_peer_is_known(void)
{
    for (int kind = MM_LATER; kind <= MM_DENY; kind++) {
        tls_policy *theirs = tls_policy_of("server", NULL);
        theirs->opts.asks = 1;   /* by its key alone */
        tls_sides s = tls_sides_open(tls_policy_of("self", "ca"), theirs);
        CHECK(tls_shake(&s, "peer.example"));
        CHECK_INT(s.listener.rc, MMI_STEP_ASK);
        check_applicant(&s.listener, "self");
        mmi_answer answer = { .kind = kind, .reason = MM_REASON_NOT_ALLOWED, .why = "not today" };
        int rc = tls_table->answer(s.listener.shield, &answer, &s.listener.why);
        CHECK_INT(rc, kind == MM_ALLOW ? (int)MMI_STEP_DONE : (int)MM_EPROTO);
        if (kind == MM_ALLOW) {
            tls_talk(&s);
        } else {   /* who may try again hears nothing */
            CHECK(!tls_table->closed(s.dialer.shield));
            CHECK_INT(tls_carry(&s.listener, &s.dialer, 0), kind == MM_DENY);
            CHECK_INT(tls_table->closed(s.dialer.shield), kind == MM_DENY);
            if (kind == MM_DENY) {
                tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "it does not let us in");
            }
        }
        tls_sides_close(&s);
    }
}

static void
check_no_policy(const tls_policy *p, const char *words)
{
    mmi_tls_world world = tls_world();
    mmi_tls_context *context;
    char why[MM_WHY_SIZE] = "";
    CHECK_INT(mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why), MM_EINVAL);
    if (strstr(why, words) == NULL) {
        check_failed(why, __FILE__, __LINE__);
    }
}

static void
check_no_names(const char *name)
{
    tls_policy *p = tls_policy_of("client", "ca");
    names(p, name, strlen(name) + 1);
    check_no_policy(p, "names: ");
    free(p);
}

static void
test_a_policy_that_cannot_be_is_refused_and_says_why(void)
{
    tls_policy *p = tls_policy_of("client", NULL);
    check_no_policy(p, "whom to believe: ca, pins or secrets");
    p->opts.ca = (mm_body){ .data = "none", .size = 4 };
    check_no_policy(p, "ca: no PEM certificate is in it");
    p->opts.ca = p->opts.certificate;
    p->opts.key.size /= 2;
    check_no_policy(p, "key: no PEM private key is in it");
    p->opts.key.size = 0;
    check_no_policy(p, "certificate and key: one is there without the other");
    free(p);
    p = tls_policy_of("client", "ca");
    p->opts.key = tls_text(p, "server.key");
    check_no_policy(p, "key: it is not the key of the certificate");
    p->opts.secrets = (mm_body){ .data = p->pins, .size = MMI_TLS_KEY_SIZE };
    check_no_policy(p, "secrets: they stand alone");
    p->opts.secrets.size = 31;
    check_no_policy(p, "secrets: 1 to 3 of 32 octets");
    p->opts.secrets.size = 0;
    tls_pin(p, "self");
    check_no_policy(p, "pins: they stand for ca");
    p->opts.clients = 3;
    check_no_policy(p, "no such value");
    free(p);
    static const char *const bad[] = {
        "",   "a b", "*.example", ".example", "spiffe://*", "spiffe://etl/a*", "spiffe://etl/*/b",
        "a/b"
    };
    for (size_t i = 0; i < MMI_COUNT_OF(bad); i++) {
        check_no_names(bad[i]);
    }
    p = tls_policy_of(NULL, "ca");
    names(p, "no end", 3);
    check_no_policy(p, "the last one has no 0");
    free(p);
}

static void
test_who_cannot_listen_or_dial_is_told_so_before(void)
{
    tls_policy *blank = tls_policy_of(NULL, "ca"), *server = tls_policy_of("server", NULL);
    server->opts.clients = MM_CLIENTS_NONE;
    tls_sides s = tls_sides_open(blank, server);
    CHECK_INT(tls_table->may(s.dialer.config, true), MM_OK);
    CHECK_INT(tls_table->may(s.dialer.config, false), MM_EINVAL);
    CHECK_INT(tls_table->may(s.listener.config, true), MM_EINVAL);
    CHECK_INT(tls_table->may(s.listener.config, false), MM_OK);
    CHECK(tls_shake(&s, "peer.example"));
    tls_sides_close(&s);
}

static int
set_policy(mm_handle socket, tls_policy *p, char *why)
{
    int rc = mm_socket_tls(socket, &p->opts, why, MM_WHY_SIZE);
    free(p);
    return rc;
}

static void
test_a_socket_takes_a_policy_and_another_of_the_same_kind(void)
{
    mm_handle engine = open_engine(), socket = open_socket(engine, MM_PUSH),
              plain = open_socket(engine, MM_PULL);
    char why[MM_WHY_SIZE] = "";
    CHECK_INT(strlen(mm_tls_missing()), 0);
    CHECK_INT(set_policy(socket, tls_policy_of("server", "client"), NULL), MM_OK);
    CHECK_INT(set_policy(socket, tls_policy_of("server", "ca"), why), MM_OK);
    CHECK_INT(strlen(why), 0);
    tls_policy *broken = tls_policy_of("server", "ca");
    broken->opts.key.size = 10;
    CHECK_INT(set_policy(socket, broken, why), MM_EINVAL);
    CHECK(strstr(why, "key: ") != NULL);
    CHECK_INT(set_policy(socket, secrets(SECRET_A, 0), why), MM_EINVAL);
    CHECK(strstr(why, "not of the same kind") != NULL);
    CHECK_INT(mm_bind(plain, "tcp://127.0.0.1:0", NULL, 0), MM_OK);
    CHECK_INT(set_policy(plain, tls_policy_of("server", "ca"), why), MM_ESTATE);
    CHECK_INT(mm_socket_close(socket), MM_OK);
    CHECK_INT(set_policy(socket, tls_policy_of("server", "ca"), why), MM_ECLOSED);
    close_engine(engine, 0);
}

int
main(void)
{
    if (!tls_certificates_there()) {
        return 0;
    }
    RUN(test_both_sides_know_each_other_by_certificates);
    RUN(test_a_chain_may_have_certificates_between);
    RUN(test_who_is_dialed_is_to_be_the_host_of_the_address);
    RUN(test_a_common_name_is_no_name);
    RUN(test_names_stand_for_the_host_where_addresses_move);
    RUN(test_dates_are_those_of_our_clock);
    RUN(test_who_was_signed_by_somebody_else_is_not_taken);
    RUN(test_a_certificate_is_for_the_use_it_says);
    RUN(test_who_was_revoked_is_not_taken);
    RUN(test_who_dials_needs_a_certificate_as_the_listener_says);
    RUN(test_pins_need_no_signer_no_name_and_no_date);
    RUN(test_a_shared_secret_stands_for_certificates);
    RUN(test_who_does_not_know_the_secret_is_not_taken);
    RUN(test_the_key_of_a_secret_is_as_anybody_computes_it);
    RUN(test_who_listens_asks_once_the_peer_is_known);
    RUN(test_a_policy_that_cannot_be_is_refused_and_says_why);
    RUN(test_who_cannot_listen_or_dial_is_told_so_before);
    RUN(test_a_socket_takes_a_policy_and_another_of_the_same_kind);
    return 0;
}
