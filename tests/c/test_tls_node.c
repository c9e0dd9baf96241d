/*
 * test_tls_node.c: nodes that have one secret, and prove by keys of their own who they are.
 * Not here: the secret alone (test_tls.c), sockets of a mesh (tests/mesh/test_mesh_keys.py).
 * Law: without OpenSSL it says so and checks nothing.
 */
#include "tls_nodes.h"

enum { SECRET_A = 0xa, SECRET_B = 0xb, HELLO_MAX = 1024 };

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
    tls_expect(&bob, public_bob, "what we call bob");
    tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                                 tls_node(SECRET_A, private_bob, "bob"));
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
    tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                                 tls_node(SECRET_A, private_bob, "bob"));
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
    tls_expect(&bob, public_bob, "bob");
    tls_policy *others[] = { tls_node(SECRET_A, private_alice, "bob"),
                             tls_node(SECRET_A, NULL, NULL) };
    for (size_t i = 0; i < MMI_COUNT_OF(others); i++) {
        tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"), others[i]);
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
    tls_expect(&bob, public_bob, "bob");
    tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                                 tls_node(SECRET_B, private_bob, "bob"));
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
    tls_expect(&bob, public_bob, "bob");
    tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                                 tls_node(SECRET_A, private_bob, "bob"));
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
    tls_expect(&nobody, zeros, "nobody");
    tls_sides s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                                 tls_node(SECRET_A, private_bob, "bob"));
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
    tls_expect(&bob, public_bob, "bob");
    tls_sides s =
        tls_sides_open(tls_node(SECRET_A, NULL, NULL), tls_node(SECRET_A, private_bob, "bob"));
    s.dialer.shield = tls_table->begin(s.dialer.config, true, NULL, 0, 1 << 20);
    CHECK_INT(tls_table->aim(s.dialer.shield, "127.0.0.1", NULL, &bob), MM_EINVAL);
    tls_sides_close(&s);
    s = tls_sides_open(tls_node(SECRET_A, private_alice, "alice"),
                       tls_node(SECRET_A, private_bob, "bob"));
    s.dialer.shield = tls_table->begin(s.dialer.config, true, NULL, 0, 1 << 20);
    tls_expect(&bob, public_bob, "bo\nb");
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
        tls_policy *p = tls_node(SECRET_A, private_alice, names[i]);
        check_no_policy(p, "node_key, node_name: 32 octets, and 1 to 128 that are printable");
        free(p);
    }
    tls_policy *p = tls_node(SECRET_A, private_alice, "alice");
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
