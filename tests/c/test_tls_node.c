/*
 * test_tls_node.c: nodes that have one secret, and prove by keys of their own who they are.
 * Not here: the secret alone (test_tls.c), sockets of a mesh (tests/mesh/test_mesh_keys.py).
 * Law: without OpenSSL it says so and checks nothing; private keys are those of RFC 7748.
 */
#include "tls_sides.h"

enum { SECRET_A = 0xa, SECRET_B = 0xb, HELLO_MAX = 1024 };

static const uint8_t private_alice[] = { 0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d,
                                         0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
                                         0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a,
                                         0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a };
static const uint8_t public_alice[] = { 0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54,
                                        0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
                                        0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4,
                                        0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a };
static const uint8_t private_bob[] = { 0x5d, 0xab, 0x08, 0x7e, 0x62, 0x4a, 0x8a, 0x4b,
                                       0x79, 0xe1, 0x7f, 0x8b, 0x83, 0x80, 0x0e, 0xe6,
                                       0x6f, 0x3b, 0xb1, 0x29, 0x26, 0x18, 0xb6, 0xfd,
                                       0x1c, 0x2f, 0x8b, 0x27, 0xff, 0x88, 0xe0, 0xeb };
static const uint8_t public_bob[] = { 0xde, 0x9e, 0xdb, 0x7d, 0x7b, 0x7d, 0xc1, 0xb4,
                                      0xd3, 0x5b, 0x61, 0xc2, 0xec, 0xe4, 0x35, 0x37,
                                      0x3f, 0x83, 0x43, 0xc8, 0x5b, 0x78, 0x67, 0x4d,
                                      0xad, 0xfc, 0x7e, 0x14, 0x6f, 0x88, 0x2b, 0x4f };

/* NULL: whoever has the secret, and is no node. */
static tls_policy *
node(uint8_t secret, const uint8_t *key, const char *name)
{
    tls_policy *p = calloc(1, sizeof *p);
    memset(p->pins, secret, MMI_TLS_KEY_SIZE);
    p->opts.secrets = (mm_body){ .data = p->pins, .size = MMI_TLS_KEY_SIZE };
    if (key != NULL) {
        p->opts.node_key = (mm_body){ .data = key, .size = MMI_TLS_KEY_SIZE };
        p->opts.node_name = (mm_body){ .data = name, .size = strlen(name) };
    }
    return p;
}

static void
expect(mmi_expected *who, const uint8_t *key, const char *name)
{
    memcpy(who->key, key, sizeof who->key);
    snprintf(who->name, sizeof who->name, "%s", name);
}

/* The octets that who dials says first: how many. */
static size_t
begin(tls_sides *s, const mmi_expected *who, uint8_t hello[HELLO_MAX])
{
    const uint8_t *out;
    tls_sides_end(s);
    s->dialer.why = s->listener.why = (mmi_refusal){ 0 };
    s->dialer.shield = tls_table->begin(s->dialer.config, true, NULL, 0, 1 << 20);
    s->listener.shield = tls_table->begin(s->listener.config, false, NULL, 0, 1 << 20);
    CHECK_INT(tls_table->aim(s->dialer.shield, "127.0.0.1", NULL, who), MM_OK);
    s->listener.rc = MMI_STEP_MORE;
    tls_feed(&s->dialer, NULL, 0, 0);
    size_t size = tls_table->output(s->dialer.shield, &out);
    CHECK(size > 0 && size <= HELLO_MAX);
    memcpy(hello, out, size);
    tls_table->sent(s->dialer.shield, size);
    return size;
}

static bool
go_on(tls_sides *s, const uint8_t *hello, size_t size)
{
    tls_feed(&s->listener, hello, size, s->cut);
    for (int i = 0; i < TLS_ROUNDS_MAX; i++) {
        bool moved = tls_carry(&s->listener, &s->dialer, s->cut);
        moved |= tls_carry(&s->dialer, &s->listener, s->cut);
        if (!moved) {
            break;
        }
    }
    return s->dialer.rc == MMI_STEP_DONE && s->listener.rc == MMI_STEP_DONE;
}

static bool
shake(tls_sides *s, const mmi_expected *who)
{
    uint8_t hello[HELLO_MAX];
    size_t size = begin(s, who, hello);
    return go_on(s, hello, size);
}

static void
check_known(const tls_side *side, const uint8_t *key, const char *user_id)
{
    mmi_applicant who = { 0 };
    tls_table->applicant(side->shield, &who);
    CHECK_INT(who.key.size, MMI_TLS_KEY_SIZE);
    CHECK(memcmp(who.key.data, key, MMI_TLS_KEY_SIZE) == 0);
    CHECK(who.user_id != NULL && strcmp(who.user_id, user_id) == 0);
}

static void
test_both_know_which_node_the_other_is(void)
{
    mmi_expected bob;
    expect(&bob, public_bob, "what we call bob");
    tls_sides s =
        tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_A, private_bob, "bob"));
    for (s.cut = 0; s.cut < 8; s.cut++) {
        CHECK(shake(&s, &bob));
        check_known(&s.dialer, public_bob, "what we call bob#de9edb7d7b7dc1b4d35b61c2ece43537");
        check_known(&s.listener, public_alice, "alice#8520f0098930a754748b7ddcb43ef75a");
        tls_talk(&s);
    }
    tls_sides_close(&s);
}

static void
test_who_expects_nobody_is_taken_as_by_the_secret_alone(void)
{
    tls_sides s =
        tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_A, private_bob, "bob"));
    mmi_applicant who = { 0 };
    CHECK(shake(&s, NULL));
    tls_table->applicant(s.listener.shield, &who);
    CHECK(who.user_id == NULL && who.key.size == 0);
    tls_talk(&s);
    tls_sides_close(&s);
}

static void
test_another_node_or_none_is_not_taken_in_the_place_of_one(void)
{
    mmi_expected bob;
    expect(&bob, public_bob, "bob");
    tls_policy *others[] = { node(SECRET_A, private_alice, "bob"), node(SECRET_A, NULL, NULL) };
    for (size_t i = 0; i < MMI_COUNT_OF(others); i++) {
        tls_sides s = tls_sides_open(node(SECRET_A, private_alice, "alice"), others[i]);
        CHECK(!shake(&s, &bob));
        tls_check_why(&s.listener, MM_REASON_CRYPTO, "it expects another node here");
        tls_check_why(&s.dialer, MM_REASON_TLS_ALERT, "another node is most likely there now");
        tls_sides_close(&s);
    }
}

static void
test_the_key_without_the_secret_is_nothing(void)
{
    mmi_expected bob;
    expect(&bob, public_bob, "bob");
    tls_sides s =
        tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_B, private_bob, "bob"));
    CHECK(!shake(&s, &bob));
    tls_check_why(&s.listener, MM_REASON_CRYPTO, "its secret is none of ours");
    tls_sides_close(&s);
}

/* Also one of the name, or of the key that is claimed; but for the head of its record, which says
 * an old version that nobody looks at. */
static void
test_an_octet_of_the_hello_that_was_changed_ends_it(void)
{
    uint8_t hello[HELLO_MAX];
    mmi_expected bob;
    expect(&bob, public_bob, "bob");
    tls_sides s =
        tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_A, private_bob, "bob"));
    size_t size = begin(&s, &bob, hello);
    for (size_t at = 0; at < size; at += at == 1 ? 2 : 1) {
        CHECK_INT(begin(&s, &bob, hello), size);
        hello[at] ^= (uint8_t)(1u << (at % 8));
        CHECK(!go_on(&s, hello, size));
    }
    tls_sides_close(&s);
}

static void
test_a_key_that_is_nobodys_is_not_dialed(void)
{
    static const uint8_t zeros[MMI_TLS_KEY_SIZE];
    mmi_expected nobody;
    expect(&nobody, zeros, "nobody");
    tls_sides s =
        tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_A, private_bob, "bob"));
    s.dialer.shield = tls_table->begin(s.dialer.config, true, NULL, 0, 1 << 20);
    CHECK_INT(tls_table->aim(s.dialer.shield, "127.0.0.1", NULL, &nobody), MM_OK);
    tls_feed(&s.dialer, NULL, 0, 0);
    CHECK_INT(s.dialer.rc, MM_EPROTO);
    tls_sides_close(&s);
}

static void
test_who_is_no_node_expects_none_and_no_name_has_a_line(void)
{
    mmi_expected bob;
    expect(&bob, public_bob, "bob");
    tls_sides s = tls_sides_open(node(SECRET_A, NULL, NULL), node(SECRET_A, private_bob, "bob"));
    s.dialer.shield = tls_table->begin(s.dialer.config, true, NULL, 0, 1 << 20);
    CHECK_INT(tls_table->aim(s.dialer.shield, "127.0.0.1", NULL, &bob), MM_EINVAL);
    tls_sides_close(&s);
    s = tls_sides_open(node(SECRET_A, private_alice, "alice"), node(SECRET_A, private_bob, "bob"));
    s.dialer.shield = tls_table->begin(s.dialer.config, true, NULL, 0, 1 << 20);
    expect(&bob, public_bob, "bo\nb");
    CHECK_INT(tls_table->aim(s.dialer.shield, "127.0.0.1", NULL, &bob), MM_EINVAL);
    tls_sides_close(&s);
}

static void
check_no_policy(const tls_policy *p, const char *words)
{
    mmi_tls_world world = tls_world();
    mmi_tls_context *context;
    char why[MM_WHY_SIZE] = "";
    CHECK_INT(mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why), MM_EINVAL);
    CHECK(strstr(why, words) != NULL);
}

static void
test_a_node_that_cannot_be_is_refused_and_says_why(void)
{
    static char long_name[MM_NODE_NAME_MAX + 2];
    memset(long_name, 'x', MM_NODE_NAME_MAX + 1);
    static const char *const names[] = { "", "a\tb", "\x7f", long_name };
    for (size_t i = 0; i < MMI_COUNT_OF(names); i++) {
        tls_policy *p = node(SECRET_A, private_alice, names[i]);
        check_no_policy(p, "node_key, node_name: 32 octets, and 1 to 128 that are printable");
        free(p);
    }
    tls_policy *p = node(SECRET_A, private_alice, "alice");
    p->opts.node_key.size = 31;
    check_no_policy(p, "node_key, node_name: 32 octets");
    p->opts.node_key.size = 0;
    check_no_policy(p, "node_key, node_name: 32 octets");
    p->opts.secrets.size = 0;
    check_no_policy(p, "node_key, node_name: they go with secrets");
    free(p);
}

int
main(void)
{
    if (mmi_openssl_get() == NULL) {
        printf("no TLS: nothing is tested\n");
        return 0;
    }
    RUN(test_both_know_which_node_the_other_is);
    RUN(test_who_expects_nobody_is_taken_as_by_the_secret_alone);
    RUN(test_another_node_or_none_is_not_taken_in_the_place_of_one);
    RUN(test_the_key_without_the_secret_is_nothing);
    RUN(test_an_octet_of_the_hello_that_was_changed_ends_it);
    RUN(test_a_key_that_is_nobodys_is_not_dialed);
    RUN(test_who_is_no_node_expects_none_and_no_name_has_a_line);
    RUN(test_a_node_that_cannot_be_is_refused_and_says_why);
    return 0;
}
