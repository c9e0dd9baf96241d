/*
 * test_hello_steps.c: a handshake with a mechanism, as octets in and out: its steps, wherever they
 * are cut; a question and its answer; and what ends it.
 * Not here: NULL (test_hello.c), connections (test_mechanism_steps.c), who is asked
 * (test_applicants.c).
 * Law: only the octets of the handshake are used; an error stays.
 */
#include "role/role.h"
#include "toy_mechanism.h"
#include "wire/zmtp/hello.h"

enum { SAID_MAX = 1024 };

static const mmi_mechanism toyxor = TOY("TOYXOR", 1000);
static const toy_config toy_key = { .key = 0x42 };
static const char GREETING[64] = "\xff\0\0\0\0\0\0\0\0\x7f\x03\x01TOYXOR",
                  PUSH[] = "\x0bSocket-Type\0\0\0\x04PUSH",
                  PULL[] = "\x0bSocket-Type\0\0\0\x04PULL";

static uint32_t lists_asked;

static bool
knows_nothing(const void *config, const mmi_applicant *who, mmi_answer *out)
{
    (void)config;
    (void)out;
    CHECK_INT(who->key.size, 1);
    CHECK(who->properties.size == sizeof PUSH - 1);
    lists_asked++;
    return false;
}

static mmi_hello
server(const toy_config *config)
{
    mmi_hello h;
    mmi_hello_config ours = { .role = MM_PULL,
                              .roles = &mmi_roles_known,
                              .identity = (const uint8_t *)"",
                              .mechanism = &toyxor,
                              .mechanism_config = config,
                              .allow = knows_nothing };
    CHECK_INT(mmi_hello_init(&h, &ours), MM_OK);
    return h;
}

/* What a client says: its greeting, the toy's hello with these properties, and what is behind. */
static size_t
client_says(uint8_t *out, const char *properties, size_t size, const char *behind)
{
    toy *client = toy_begin(&toy_key, true, (const uint8_t *)properties, size, 1 << 20);
    memcpy(out, GREETING, sizeof GREETING);
    memcpy(out + sizeof GREETING, client->out, client->out_size);
    size_t all = sizeof GREETING + client->out_size, more = strlen(behind);
    memcpy(out + all, behind, more);
    toy_end(client);
    return all + more;
}

static const mmi_answer yes = { .kind = MM_ALLOW, .user_id = "alice" },
                        no = { .kind = MM_DENY, .reason = MM_REASON_NOT_ALLOWED, .why = "no" };

/* Feeds these octets as they come, in pieces of that size; answers when it asks.  What the last
 * step came to, and how many octets were used. */
static int
feed(mmi_hello *h, const uint8_t *in, size_t size, size_t piece, const mmi_answer *answer,
     size_t *used)
{
    int rc = MMI_STEP_MORE;
    *used = 0;
    for (size_t end = piece; rc == MMI_STEP_MORE && *used < size; end += piece) {
        size_t until = end < size ? end : size, part = 0;
        do {
            rc = mmi_hello_feed(h, in + *used, until - *used, &part);
            *used += part;
            part = 0;
            if (rc == MMI_STEP_DUE) {
                rc = mmi_hello_step(h, in + *used, until - *used, &part);
                *used += part;
            }
            rc = rc == MMI_STEP_ASK ? mmi_hello_answer(h, answer) : rc;
        } while (rc == MMI_STEP_MORE && *used < until);
    }
    return rc;
}

static void
test_steps_may_be_cut_everywhere_and_go_on_behind_the_answer(void)
{
    const toy_config confirms = { .key = 0x42, .asks = true, .confirms = true };
    uint8_t in[SAID_MAX];
    size_t size = client_says(in, PUSH, sizeof PUSH - 1, "YESand more");
    for (size_t piece = 1; piece <= size; piece++) {
        mmi_hello h = server(&confirms);
        size_t used;
        lists_asked = 0;
        CHECK_INT(feed(&h, in, size, piece, &yes, &used), MMI_STEP_DONE);
        CHECK_INT(used, size - strlen("and more"));
        CHECK(strcmp(h.user_id, "alice") == 0 && h.peer.role == MM_PUSH);
        CHECK_INT(lists_asked, 1);
        mmi_hello_fini(&h);
    }
}

/* Ends in that error, and stays in it; whether the lists were asked by then. */
static void
fails(const toy_config *config, const char *properties, size_t size, const char *behind,
      const mmi_answer *answer, int reason, const char *words)
{
    uint8_t in[SAID_MAX];
    size_t used, all = client_says(in, properties, size, behind);
    mmi_hello h = server(config);
    lists_asked = 0;
    CHECK_INT(feed(&h, in, all, all, answer, &used), MM_EPROTO);
    CHECK_INT(h.reason, reason);
    CHECK(strstr(h.detail, words) != NULL);
    CHECK_INT(mmi_hello_feed(&h, in, 1, &used), MM_EPROTO);
    CHECK(answer->kind == MM_ALLOW || h.user_id[0] == 0);
    mmi_hello_fini(&h);
}

static void
test_only_a_yes_goes_on(void)
{
    const toy_config asks = { .key = 0x42, .asks = true };
    const mmi_answer late = { .kind = MM_LATER, .reason = MM_REASON_ALLOW_TIMEOUT, .why = "late" };
    const mmi_answer later = { .kind = MM_LATER, .reason = MM_REASON_NOT_ALLOWED, .why = "busy" };
    fails(&asks, PUSH, sizeof PUSH - 1, "", &no, MM_REASON_NOT_ALLOWED, "no");
    fails(&asks, PUSH, sizeof PUSH - 1, "", &later, MM_REASON_NOT_ALLOWED, "later: busy");
    fails(&asks, PUSH, sizeof PUSH - 1, "", &late, MM_REASON_ALLOW_TIMEOUT, "late");
    CHECK_INT(lists_asked, 1);
}

static void
test_nobody_is_asked_about_who_could_be_no_peer(void)
{
    const toy_config asks = { .key = 0x42, .asks = true }, other = { .key = 0x43, .asks = true };
    fails(&asks, PULL, sizeof PULL - 1, "", &yes, MM_REASON_SOCKET_TYPE,
          "PULL cannot talk to PULL");
    CHECK_INT(lists_asked, 0);
    fails(&asks, PUSH, sizeof PUSH - 2, "", &yes, MM_REASON_METADATA, "malformed");
    CHECK_INT(lists_asked, 0);
    fails(&other, PUSH, sizeof PUSH - 1, "", &yes, MM_REASON_CRYPTO, "TOYXOR: another key");
    CHECK_INT(lists_asked, 0);
}

static void
test_a_mechanism_asks_once(void)
{
    const toy_config twice = { .key = 0x42, .asks = true, .confirms = true, .asks_twice = true };
    fails(&twice, PUSH, sizeof PUSH - 1, "YES", &yes, MM_REASON_MECHANISM, "TOYXOR: it asks twice");
}

int
main(void)
{
    RUN(test_steps_may_be_cut_everywhere_and_go_on_behind_the_answer);
    RUN(test_only_a_yes_goes_on);
    RUN(test_nobody_is_asked_about_who_could_be_no_peer);
    RUN(test_a_mechanism_asks_once);
    return 0;
}
