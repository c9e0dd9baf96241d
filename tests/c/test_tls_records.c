/*
 * test_tls_records.c: records of TLS: cut anywhere, changed, repeated, left out; new keys, the end,
 * two threads at once, no memory; a policy that is replaced.
 * Not here: who is taken (test_tls.c).
 * Law: what opens is what was sealed, in order, or nothing.
 */
#include <pthread.h>

#include "base/limits.h"
#include "tls_sides.h"
#include "wire/tls/inside.h"

enum { SECRET = 0x5e, RECORDS = 400, FAILURES = 60, ENDED = -1000 };

static tls_policy *
shared(uint8_t first)
{
    tls_policy *p = calloc(1, sizeof *p);
    memset(p->pins, first, MMI_TLS_KEY_SIZE);
    p->opts.secrets = (mm_body){ .data = p->pins, .size = MMI_TLS_KEY_SIZE };
    return p;
}

static tls_sides
joined(void)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    CHECK(tls_shake(&s, "peer"));
    return s;
}

/* All of it opens, whatever the cuts and however little room there is. */
static void
open_in_parts(tls_side *to, const uint8_t *sealed, size_t size, size_t cut, size_t cap,
              const uint8_t *plain, size_t plain_size)
{
    uint8_t in[64], out[64];
    size_t got = 0, given = 0;
    CHECK(cut <= sizeof in && cap <= sizeof out);
    for (size_t at = 0; at < size;) {
        size_t part = cut < size - at ? cut : size - at;
        memcpy(in, sealed + at, part);
        at += part;
        CHECK_INT(tls_open(to, in, part, out, cap, &given), MM_OK);
        do {
            CHECK(got + given <= plain_size && memcmp(out, plain + got, given) == 0);
            got += given;
        } while (given == cap && tls_open(to, NULL, 0, out, cap, &given) == MM_OK);
    }
    CHECK_INT(got, plain_size);
    CHECK(tls_table->idle(to->shield));
}

static void
test_records_may_be_cut_anywhere_and_given_in_pieces(void)
{
    tls_sides s = joined();
    uint8_t plain[300], sealed[1024];
    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (uint8_t)(i * 7);
    }
    for (size_t cut = 1; cut <= 40; cut++) {
        for (size_t cap = 1; cap <= 64; cap += 21) {
            size_t size = tls_seal(&s.dialer, plain, 100, sealed);
            size += tls_seal(&s.dialer, plain + 100, 200, sealed + size);
            open_in_parts(&s.listener, sealed, size, cut, cap, plain, sizeof plain);
        }
    }
    tls_sides_close(&s);
}

static void
test_a_large_record_is_one_and_room_is_enough(void)
{
    tls_sides s = joined();
    static uint8_t plain[MMI_TLS_RECORD_MAX], sealed[2 * MMI_TLS_RECORD_MAX],
        out[2 * MMI_TLS_RECORD_MAX];
    size_t given, size = tls_seal(&s.listener, plain, sizeof plain, sealed);
    CHECK(size < sizeof plain + 64);
    CHECK_INT(tls_open(&s.dialer, sealed, size, out, sizeof out, &given), MM_OK);
    CHECK_INT(given, sizeof plain);
    tls_sides_close(&s);
}

/* A change anywhere ends the connection, and nothing of that record is given. */
static void
test_a_record_with_any_bit_changed_does_not_open(void)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    for (size_t bit = 0; bit < 8 * 32; bit++) {
        uint8_t sealed[512], plain[64];
        size_t given;
        CHECK(tls_shake(&s, "peer"));
        size_t first = tls_seal(&s.dialer, "in front", 8, sealed);
        size_t size = first + tls_seal(&s.dialer, "changed", 7, sealed + first);
        if (bit / 8 >= size - first) {
            break;
        }
        sealed[first + bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = tls_open(&s.listener, sealed, size, plain, sizeof plain, &given);
        CHECK_INT(given, 8);
        bool longer =
            (bit / 8 == 3 || bit / 8 == 4) && rc == MM_OK;   /* it waits for the rest of it */
        CHECK(rc == MM_EPROTO || longer);
        CHECK(longer || s.listener.why.reason == MM_REASON_CRYPTO);
        CHECK(!longer || !tls_table->idle(s.listener.shield));
        CHECK(longer || tls_open(&s.listener, sealed, 0, plain, sizeof plain, &given) == MM_EPROTO);
    }
    tls_sides_close(&s);
}

static void
check_not_taken(tls_sides *s, uint8_t *sealed, size_t size, size_t wanted)
{
    uint8_t plain[64];
    size_t given;
    CHECK_INT(tls_open(&s->listener, sealed, size, plain, sizeof plain, &given), MM_EPROTO);
    CHECK_INT(given, wanted);
    CHECK_INT(s->listener.why.reason, MM_REASON_CRYPTO);
}

static void
test_a_record_that_comes_twice_or_behind_one_left_out_is_not_taken(void)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    uint8_t sealed[512];
    CHECK(tls_shake(&s, "peer"));
    size_t one = tls_seal(&s.dialer, "one", 3, sealed);
    memcpy(sealed + one, sealed, one);
    check_not_taken(&s, sealed, 2 * one, 3);
    CHECK(tls_shake(&s, "peer"));
    (void)tls_seal(&s.dialer, "one", 3, sealed);
    check_not_taken(&s, sealed, tls_seal(&s.dialer, "two", 3, sealed), 0);
    CHECK(tls_shake(&s, "peer"));   /* and what the other way went comes back */
    check_not_taken(&s, sealed, tls_seal(&s.listener, "own", 3, sealed), 0);
    tls_sides_close(&s);
}

static void
test_plain_octets_among_records_are_not_taken(void)
{
    static const char *const plain[] = { "GET / HTTP/1.1\r\n\r\n", "\xff\0\0\0\0\0\0\0\1\x7f\3",
                                         "\0SP\0\0\x50\0\0" };
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    for (size_t i = 0; i < MMI_COUNT_OF(plain); i++) {
        uint8_t in[16];
        size_t given;
        CHECK(tls_shake(&s, "peer"));
        memcpy(in, plain[i], 8);
        CHECK_INT(tls_open(&s.listener, in, 8, in, sizeof in, &given), MM_EPROTO);
        tls_begin(&s, "peer");
        tls_feed(&s.listener, (const uint8_t *)plain[i], 8, 1);
        tls_check_why(&s.listener, MM_REASON_TLS_EXPECTED,
                      i == 0   ? "it said 'G'"
                      : i == 1 ? "ZMTP"
                               : "SP");
        tls_begin(&s, "peer");
        tls_feed(&s.dialer, (const uint8_t *)plain[i], 8, 0);
        tls_check_why(&s.dialer, MM_REASON_TLS_EXPECTED, i == 0 ? "GET / HT" : "first octet is");
    }
    tls_sides_close(&s);
}

static void
test_a_stranger_is_told_that_this_is_tls_however_its_octets_are_cut(void)
{
    static const char *const strangers[] = { "GET / HTTP/1.1", "\x16\7\1\0\4" };
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    for (size_t cut = 1; cut <= 3; cut++) {
        for (size_t i = 0; i < MMI_COUNT_OF(strangers); i++) {
            const uint8_t *out;
            tls_begin(&s, "peer");
            tls_feed(&s.listener, (const uint8_t *)strangers[i], 5, cut);
            tls_check_why(&s.listener, MM_REASON_TLS_EXPECTED, i == 0 ? "it said 'G" : "second");
            CHECK_INT(tls_table->output(s.listener.shield, &out), 7);
            CHECK(memcmp(out, "\x15\3\3\0\2\2\x0a", 7) == 0);   /* unexpected_message */
        }
    }
    tls_sides_close(&s);
}

/* Plain octets behind the ClientHello, and handshakes that are cut, changed or too long. */
static void
test_a_handshake_that_is_changed_anywhere_is_not_done(void)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    tls_begin(&s, "peer");
    uint8_t hello[TLS_FLIGHT_MAX];
    const uint8_t *out;
    size_t size = tls_table->output(s.dialer.shield, &out);
    memcpy(hello, out, size);
    memcpy(hello + size, "and plain octets", 16);
    tls_feed(&s.listener, hello, size + 16, 0);
    CHECK_INT(s.listener.rc, MM_EPROTO);
    for (size_t at = 0; at < size; at++) {
        tls_begin(&s, "peer");
        size = tls_table->output(s.dialer.shield, &out);
        memcpy(hello, out, size);
        hello[at] ^= 0x10;
        tls_feed(&s.listener, hello, size, 0);
        s.listener.rc = s.listener.rc == MMI_STEP_MORE ? MMI_STEP_MORE : ENDED;
        for (int i = 0; i < 4 && s.listener.rc == MMI_STEP_MORE; i++) {
            (void)tls_carry(&s.listener, &s.dialer, 0);
            (void)tls_carry(&s.dialer, &s.listener, 0);
        }
        CHECK(s.listener.rc != MMI_STEP_DONE);
    }
    tls_sides_close(&s);
}

static void
test_before_the_peer_is_known_it_may_send_so_much_and_no_more(void)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    static uint8_t endless[MMI_HANDSHAKE_SIZE_MAX + 4096];
    tls_begin(&s, "peer");
    for (size_t at = 0; at + 9 <= sizeof endless; at += 9) {   /* records of a hello of 16 MiB */
        memcpy(endless + at, at == 0 ? "\x16\3\1\0\4\1\0\x3f\xff" : "\x16\3\1\0\4\3\3\0\0", 9);
    }
    tls_feed(&s.listener, endless, sizeof endless, 0);
    CHECK_INT(s.listener.rc, MM_EPROTO);
    tls_sides_close(&s);
}

static void
test_the_end_is_said_and_heard(void)
{
    tls_sides s = joined();
    uint8_t out[MMI_FAREWELL_MAX + 64], plain[64];
    size_t given, took = 1;
    size_t size = tls_seal(&s.dialer, "last", 4, out);
    size_t said = tls_table->farewell(s.dialer.shield, out + size);
    CHECK(said > 0 && said <= MMI_FAREWELL_MAX);
    CHECK_INT(tls_open(&s.listener, out, size + said - 1, plain, sizeof plain, &given), MM_OK);
    CHECK(given == 4 && !tls_table->closed(s.listener.shield) &&
          !tls_table->idle(s.listener.shield));
    CHECK_INT(tls_open(&s.listener, out + size + said - 1, 1, plain, sizeof plain, &given), MM_OK);
    CHECK(given == 0 && tls_table->closed(s.listener.shield) && tls_table->idle(s.listener.shield));
    CHECK_INT(tls_open(&s.listener, out, size, plain, sizeof plain, &given), MM_OK);
    CHECK_INT(given, 0);
    CHECK_INT(tls_table->seal(s.dialer.shield, plain, &took, out), MM_EPROTO);
    CHECK_INT(tls_table->farewell(s.dialer.shield, out), 0);
    tls_sides_close(&s);
}

/* Once so many were sealed, which no test does: it says that they were. */
static void
test_keys_are_new_after_so_many_records(void)
{
    tls_sides s = joined();
    uint8_t sealed[3][256], plain[64];
    size_t sizes[3], given;
    ((mmi_tls *)s.dialer.shield)->sealed = MMI_TLS_UPDATE_RECORDS - 1;
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        sizes[i] = tls_seal(&s.dialer, "the same", 8, sealed[i]);
    }
    CHECK(sizes[1] > sizes[0] && sizes[2] == sizes[0]);   /* an update of keys is in front */
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        CHECK_INT(tls_open(&s.listener, sealed[i], sizes[i], plain, sizeof plain, &given), MM_OK);
        CHECK_INT(given, 8);
    }
    tls_talk(&s);
    tls_sides_close(&s);
}

/* ---- both ways at once ---- */

typedef struct half {
    tls_side *from;
    uint8_t (*sealed)[128];
    size_t *sizes;
} half;

static void *
seal_many(void *arg)
{
    const half *h = arg;
    for (size_t i = 0; i < RECORDS; i++) {
        h->sizes[i] = tls_seal(h->from, &i, sizeof i, h->sealed[i]);
    }
    return NULL;
}

static void
test_one_thread_seals_while_another_opens(void)
{
    tls_sides s = joined();
    static uint8_t first[RECORDS][128], second[RECORDS][128];
    static size_t first_sizes[RECORDS], second_sizes[RECORDS];
    half there = { &s.dialer, first, first_sizes }, back = { &s.listener, second, second_sizes };
    pthread_t thread;
    (void)seal_many(&there);
    CHECK_INT(pthread_create(&thread, NULL, seal_many, &back), 0);
    for (size_t i = 0; i < RECORDS; i++) {
        size_t got = 0, given;
        CHECK_INT(
            tls_open(&s.listener, first[i], first_sizes[i], (uint8_t *)&got, sizeof got, &given),
            MM_OK);
        CHECK(given == sizeof got && got == i);
    }
    CHECK_INT(pthread_join(thread, NULL), 0);
    for (size_t i = 0; i < RECORDS; i++) {
        size_t got = 0, given;
        CHECK_INT(
            tls_open(&s.dialer, second[i], second_sizes[i], (uint8_t *)&got, sizeof got, &given),
            MM_OK);
        CHECK(given == sizeof got && got == i);
    }
    tls_sides_close(&s);
}

/* ---- memory ---- */

static int
life_without_memory(int64_t n)
{
    tls_sides s = tls_sides_open(shared(SECRET), shared(SECRET));
    uint8_t sealed[512], plain[64];
    size_t given;
    tls_begin(&s, "peer");
    mm_test_alloc_fail(n);
    bool failed = false;
    for (int i = 0; i < 4 && !failed; i++) {
        (void)tls_carry(&s.dialer, &s.listener, 3);
        (void)tls_carry(&s.listener, &s.dialer, 3);
        failed = s.dialer.rc < 0 || s.listener.rc < 0;
    }
    if (!failed) {
        size_t size = tls_seal(&s.dialer, "some octets to be kept", 22, sealed);
        size += tls_seal(&s.dialer, "and more", 8, sealed + size);
        s.listener.rc = tls_open(&s.listener, sealed, size, plain, 4, &given);
        failed = s.listener.rc < 0;
    }
    CHECK(!failed || s.dialer.rc == MM_ENOMEM || s.listener.rc == MM_ENOMEM ||
          s.dialer.rc == MM_EPROTO);
    mm_test_alloc_fail(0);
    tls_sides_close(&s);
    return failed;
}

static void
test_without_memory_a_connection_fails_and_nothing_leaks(void)
{
    int failed = 0;
    for (int64_t n = 1; n <= FAILURES; n++) {
        failed += life_without_memory(n);
    }
    CHECK(failed > 2 && failed < FAILURES);
    for (int64_t n = 1; n <= 8; n++) {
        mmi_tls_world world = tls_world();
        mmi_tls_context *context = NULL;
        tls_policy *p = shared(SECRET);
        char why[MM_WHY_SIZE];
        mm_test_alloc_fail(n);
        int rc = mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why);
        mmi_tls_config *config = rc == MM_OK ? mmi_tls_config_new(&world, context) : NULL;
        void *shield = config != NULL ? tls_table->begin(config, true, NULL, 0, 0) : NULL;
        CHECK(rc == MM_OK || rc == MM_ENOMEM);
        CHECK((shield != NULL) == (mm_test_alloc_fail(0) > 0));
        if (shield != NULL) {
            tls_table->end(shield);
        }
        mmi_tls_config_drop(config);
        free(p);
    }
}

/* ---- a policy that is replaced ---- */

static bool
stands_after(tls_sides *s, tls_policy *p)
{
    mmi_tls_world world = tls_world();
    mmi_tls_context *context;
    char why[MM_WHY_SIZE];
    CHECK_INT(mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why), MM_OK);
    CHECK_INT(mmi_tls_config_swap(s->listener.config, context, why, sizeof why), MM_OK);
    free(p);
    return tls_table->stands(s->listener.shield);
}

static void
test_who_is_connected_stands_by_the_policy_of_now(void)
{
    tls_sides s = tls_sides_open(tls_policy_of("gone", "ca"), tls_policy_of("server", "ca"));
    CHECK(tls_shake(&s, "peer.example") && tls_table->stands(s.listener.shield));
    CHECK(stands_after(&s, tls_policy_of("far", "ca")));
    tls_clock_s = 100 * TLS_DAY_S;   /* whatever the dates say */
    CHECK(stands_after(&s, tls_policy_of("server", "ca")));
    tls_clock_s = 0;
    CHECK(!stands_after(&s, tls_policy_of("server", "other_ca")));
    tls_policy *crl = tls_policy_of("server", "ca");
    crl->opts.crl = tls_text(crl, "crl.pem");
    CHECK(!stands_after(&s, crl));
    tls_policy *named = tls_policy_of("server", "ca");
    named->opts.names = (mm_body){ .data = "spiffe://other/*", .size = 17 };
    CHECK(!stands_after(&s, named));
    CHECK(stands_after(&s, tls_policy_of("server", "ca")));
    tls_talk(&s);
    tls_sides_close(&s);
    s = joined();
    CHECK(stands_after(&s, shared(SECRET)));
    CHECK(!stands_after(&s, shared(SECRET + 1)));
    CHECK(tls_table->stands(s.dialer.shield));
    tls_sides_close(&s);
}

int
main(void)
{
    if (!tls_certificates_there()) {
        return 0;
    }
    RUN(test_records_may_be_cut_anywhere_and_given_in_pieces);
    RUN(test_a_large_record_is_one_and_room_is_enough);
    RUN(test_a_record_with_any_bit_changed_does_not_open);
    RUN(test_a_record_that_comes_twice_or_behind_one_left_out_is_not_taken);
    RUN(test_plain_octets_among_records_are_not_taken);
    RUN(test_a_stranger_is_told_that_this_is_tls_however_its_octets_are_cut);
    RUN(test_a_handshake_that_is_changed_anywhere_is_not_done);
    RUN(test_before_the_peer_is_known_it_may_send_so_much_and_no_more);
    RUN(test_the_end_is_said_and_heard);
    RUN(test_keys_are_new_after_so_many_records);
    RUN(test_one_thread_seals_while_another_opens);
    RUN(test_without_memory_a_connection_fails_and_nothing_leaks);
    RUN(test_who_is_connected_stands_by_the_policy_of_now);
    return 0;
}
