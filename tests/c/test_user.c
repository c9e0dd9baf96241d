/*
 * test_user.c: whose programs may be at the other side of an ipc connection, over a platform that
 * says what it is told to.
 * Not here: that the system says it (test_unix_name.c), sockets (tests/unit/test_local.py).
 * Law: every row of the table is asked both ways.
 */
#include "check.h"
#include "ends/ends.h"
#include "engine/engine.h"
#include "wire/mechanism.h"

#define CHECK_WHY(words) CHECK(strcmp(why.detail, words) == 0)

enum { US = 33, STRANGER = 4242, GROUP = 50, OTHER_GROUP = 51 };

static struct {
    uint32_t ours, uid, gid, group;   /* group: one more of theirs */
    bool tells, tells_groups;
    int asked;
} world;

static int
world_credentials(void *self, int s, mmi_credentials *out)
{
    (void)self, (void)s;
    world.asked++;
    *out = (mmi_credentials){ .pid = 1, .uid = world.uid, .gid = world.gid };
    return world.tells ? MM_OK : MM_ENOTSUP;
}

static int
world_of_group(void *self, int s, const uint32_t *gids, uint32_t count)
{
    (void)self, (void)s;
    for (uint32_t i = 0; world.tells_groups && i < count; i++) {
        if (gids[i] == world.group) {
            return MM_OK;
        }
    }
    return world.tells_groups ? MM_EPERM : MM_ENOTSUP;
}

static uint32_t
world_user(void *self)
{
    (void)self;
    return world.ours;
}

static mmi_engine engine;
static mmi_socket sock;
static mmi_tran_why why;

static void
world_new(uint32_t ours, uint32_t theirs)
{
    memset(&world, 0, sizeof world);
    world.ours = ours;
    world.uid = theirs;
    world.gid = world.group = OTHER_GROUP;
    world.tells = world.tells_groups = true;
    memset(&engine, 0, sizeof engine);
    engine.plat.peer_credentials = world_credentials;
    engine.plat.peer_of_group = world_of_group;
    engine.plat.user = world_user;
    memset(&sock, 0, sizeof sock);
    sock.engine = &engine;
}

static bool
fits(bool dials)
{
    why = (mmi_tran_why){ .reason = MM_REASON_NONE };
    int rc = mmi_user_fits(&sock, 7, dials, &why);
    CHECK(rc == MM_OK || rc == MM_EPERM);
    CHECK_INT(why.reason, rc == MM_OK ? MM_REASON_NONE : MM_REASON_USER);
    CHECK((why.detail[0] != '\0') == (rc != MM_OK));
    return rc == MM_OK;
}

static void
test_our_own_user_and_root_may_and_root_goes_to_no_other_either(void)
{
    static const struct {
        uint32_t ours, theirs;
        bool may;
    } table[] = { { US, US, true },
                  { US, 0, true },
                  { 0, 0, true },
                  { US, STRANGER, false },
                  { 0, STRANGER, false } };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        world_new(table[i].ours, table[i].theirs);
        CHECK(fits(false) == table[i].may);
        CHECK(fits(true) == table[i].may);
    }
}

static void
test_what_is_told_names_both_and_what_to_do(void)
{
    world_new(4000000000u, 4000000001u);
    CHECK(!fits(false));
    CHECK_WHY("it is of the user 4000000001: only our own (4000000000) and root may, "
              "unless mm.Local(uids=[4000000001])");
    CHECK(!fits(true));
    CHECK_WHY("there listens the user 4000000001: only our own (4000000000) and "
              "root may, unless mm.Local(uids=[4000000001])");
    const mmi_users nobody = { .uid_count = 0 };
    sock.users = &nobody;
    CHECK(!fits(false));
    CHECK_WHY("it is of the user 4000000001 (group 51), whom mm.Local has not");
}

static void
test_who_is_named_may_as_well(void)
{
    const mmi_users users = { .uid_count = 2, .uids = { 1, STRANGER } };
    world_new(US, STRANGER);
    CHECK(!mmi_users_open(&sock));
    sock.users = &users;
    CHECK(mmi_users_open(&sock));
    CHECK(fits(false) && fits(true));
    world.uid = STRANGER + 1;
    CHECK(!fits(false) && !fits(true));
    world.uid = US;
    CHECK(fits(false) && fits(true));
    world.uid = 0;
    CHECK(fits(false) && fits(true));
}

static void
test_who_is_of_a_group_that_is_named_may_as_well(void)
{
    const mmi_users users = { .gid_count = 1, .gids = { GROUP } };
    world_new(US, STRANGER);
    sock.users = &users;
    CHECK(!fits(false));
    world.gid = GROUP;
    CHECK(fits(false));
    world.gid = OTHER_GROUP;
    world.group = GROUP;
    CHECK(fits(false) && fits(true));
    world.tells_groups = false;
    CHECK(!fits(false) && !fits(true));
}

static void
test_a_list_of_nobody_is_our_own_and_root(void)
{
    const mmi_users nobody = { .uid_count = 0 };
    world_new(0, STRANGER);
    sock.users = &nobody;
    CHECK(!mmi_users_open(&sock));
    CHECK(!fits(true) && !fits(false));
    world.uid = 0;
    CHECK(fits(true) && fits(false));
}

static void
test_whom_the_system_does_not_tell_is_refused(void)
{
    const mmi_users users = { .uid_count = 1, .uids = { STRANGER } };
    world_new(US, US);
    world.tells = false;
    CHECK(!fits(false) && !fits(true));
    CHECK_WHY("the system does not tell its user");
    sock.users = &users;
    CHECK(!fits(false) && !fits(true));
}

static int64_t
seals(void *self, const uint8_t *plain, size_t *size, uint8_t *out)
{
    (void)self, (void)plain, (void)size, (void)out;
    return 0;
}

static void
test_where_keys_or_passwords_say_it_no_user_is_asked(void)
{
    static const mmi_mechanism keys = { .name = "KEYS", .seal = seals };
    static const mmi_mechanism words = { .name = "WORDS" };
    const mmi_users nobody = { .uid_count = 0 };
    world_new(US, STRANGER);
    sock.mechanism = &keys;
    CHECK(fits(false) && fits(true));
    CHECK_INT(world.asked, 0);
    sock.mechanism = &words;
    CHECK(fits(false));
    CHECK_INT(world.asked, 0);
    CHECK(!fits(true));   /* who listens proves nothing by it */
    world.ours = 0;
    CHECK(!fits(true));   /* root says no password to a stranger either */
    sock.users = &nobody;
    CHECK(!fits(false) && !fits(true));
}

int
main(void)
{
    RUN(test_our_own_user_and_root_may_and_root_goes_to_no_other_either);
    RUN(test_what_is_told_names_both_and_what_to_do);
    RUN(test_who_is_named_may_as_well);
    RUN(test_who_is_of_a_group_that_is_named_may_as_well);
    RUN(test_a_list_of_nobody_is_our_own_and_root);
    RUN(test_whom_the_system_does_not_tell_is_refused);
    RUN(test_where_keys_or_passwords_say_it_no_user_is_asked);
    return 0;
}
