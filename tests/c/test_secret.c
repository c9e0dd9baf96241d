/*
 * test_secret.c: memory for keys: wiped when given back, in no dump, zeros in a forked child, with
 * guards around.
 * Not here: what is kept there.
 * Law: what the kernel says of a page (/proc/self/smaps) is believed, where it says anything.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "plat/pages.h"

enum { MANY = 600, PIECES = MMI_SECRETS_CHUNK_MIN / MMI_SECRET_SIZE - 1 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LOCKS = 0 };   /* under these mlock does nothing, and says that it did */
#else
enum { LOCKS = 1 };
#endif

static const mmi_pages *const BOTH[] = { &mmi_pages_plain, &mmi_pages_posix };

static bool
all_zeros(const uint8_t *octets, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (octets[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Random news and frees; each secret is zeros when new, and nobody else's afterwards. */
static void
test_secrets_are_new_and_apart(void)
{
    for (size_t kind = 0; kind < MMI_COUNT_OF(BOTH); kind++) {
        mmi_secrets pool;
        uint8_t *held[MANY] = { NULL };
        uint32_t seed = 20, live = 0;
        mmi_secrets_init(&pool, BOTH[kind], MMI_SECRETS_CHUNK_MIN);
        for (int round = 0; round < 20000; round++) {
            uint32_t i = check_random(&seed) % (round < 10000 ? MANY : MANY / 8);
            if (held[i] == NULL) {
                held[i] = mmi_secret_new(&pool);
                CHECK(held[i] != NULL && all_zeros(held[i], MMI_SECRET_SIZE));
                CHECK_INT((uintptr_t)held[i] % 16, 0);
                memset(held[i], (int)(i % 255 + 1), MMI_SECRET_SIZE);
                live++;
            } else {
                for (size_t j = 0; j < MMI_SECRET_SIZE; j++) {
                    CHECK_INT(held[i][j], i % 255 + 1);
                }
                mmi_secret_free(&pool, held[i]);
                held[i] = NULL;
                live--;
            }
            CHECK_INT(pool.live, live);
        }
        CHECK(!mmi_secrets_lost(&pool));
        mmi_secrets_fini(&pool);
    }
}

/* The octets of the last chunk that was unmapped, as they were then. */
static uint8_t unmapped[MMI_SECRETS_CHUNK_MIN];
static int maps, unmaps, maps_max = 1000;

static void *
noted_map(size_t size, uint32_t *lacks)
{
    if (maps - unmaps == maps_max) {
        return NULL;
    }
    maps++;
    *lacks |= MMI_LACKS_LOCK;
    return mmi_pages_plain.map(size, lacks);
}

static void
noted_unmap(void *at, size_t size)
{
    memcpy(unmapped, at, size);
    unmaps++;
    mmi_pages_plain.unmap(at, size);
}

static const mmi_pages NOTED = { noted_map, noted_unmap };

static void
test_what_is_given_back_is_wiped(void)
{
    mmi_secrets pool;
    mmi_secrets_init(&pool, &NOTED, MMI_SECRETS_CHUNK_MIN);
    uint8_t *first = mmi_secret_new(&pool), *second = mmi_secret_new(&pool);
    memset(first, 0xaa, MMI_SECRET_SIZE);
    memset(second, 0xbb, MMI_SECRET_SIZE);
    mmi_secret_free(&pool, first);
    CHECK(all_zeros(first, MMI_SECRET_SIZE));
    mmi_secret_free(&pool, NULL);
    mmi_secrets_fini(&pool); /* the second is still out */
    CHECK_INT(unmaps, maps);
    CHECK(all_zeros(unmapped, sizeof unmapped));
    CHECK_INT(pool.lacks, MMI_LACKS_LOCK);
}

static void
test_pages_that_are_not_needed_go_back(void)
{
    mmi_secrets pool;
    void *held[3 * PIECES];
    maps = unmaps = 0;
    mmi_secrets_init(&pool, &NOTED, MMI_SECRETS_CHUNK_MIN);
    for (int i = 0; i < 3 * PIECES; i++) {
        held[i] = mmi_secret_new(&pool);
        CHECK(held[i] != NULL);
    }
    CHECK_INT(maps, 3);
    for (int i = 0; i < 3 * PIECES; i++) {
        mmi_secret_free(&pool, held[i]);
    }
    CHECK_INT(unmaps, 2); /* one stays, for the next */
    CHECK(mmi_secret_new(&pool) != NULL);
    CHECK_INT(maps, 3);
    mmi_secrets_fini(&pool);
}

static void
test_without_memory_nothing_is_given(void)
{
    mmi_secrets pool;
    maps = unmaps = 0;
    maps_max = 1;
    mmi_secrets_init(&pool, &NOTED, MMI_SECRETS_CHUNK_MIN);
    for (int i = 0; i < PIECES; i++) {
        CHECK(mmi_secret_new(&pool) != NULL);
    }
    CHECK(mmi_secret_new(&pool) == NULL);
    CHECK_INT(pool.live, PIECES);
    mmi_secrets_fini(&pool);
    maps_max = 1000;
    mmi_secrets_init(&pool, NULL, MMI_SECRETS_CHUNK_MIN);
    for (int64_t fail = 1; fail <= 2; fail++) {
        (void)mm_test_alloc_fail(fail);
        CHECK(mmi_secret_new(&pool) == NULL);
        (void)mm_test_alloc_fail(0);
    }
    mmi_secrets_fini(&pool);
}

/* The flags of the mapping that has an address, " rd wr ... "; "" if the kernel does not tell. */
static void
flags_of(const void *at, char *flags, size_t size)
{
    char line[512];
    bool here = false;
    FILE *maps_file = fopen("/proc/self/smaps", "r");
    flags[0] = 0;
    while (maps_file != NULL && fgets(line, sizeof line, maps_file) != NULL) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            here = (uintptr_t)at >= from && (uintptr_t)at < to;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            snprintf(flags, size, "%.200s", line + 8);
        }
    }
    if (maps_file != NULL) {
        fclose(maps_file);
    }
}

static void
test_pages_are_in_no_dump_nor_swap_nor_child(void)
{
    mmi_secrets pool;
    char flags[256];
    mmi_secrets_init(&pool, &mmi_pages_posix, MMI_SECRETS_CHUNK_MIN);
    uint8_t *secret = mmi_secret_new(&pool);
    CHECK(secret != NULL);
    flags_of(secret, flags, sizeof flags);
    printf("lacks %u, flags%s\n", pool.lacks, flags);
    if (flags[0] != 0) {
        CHECK_INT(strstr(flags, " dd") == NULL, (pool.lacks & MMI_LACKS_DONTDUMP) != 0);
        CHECK_INT(strstr(flags, " wf") == NULL, (pool.lacks & MMI_LACKS_WIPEONFORK) != 0);
        CHECK(!LOCKS || (strstr(flags, " lo") == NULL) == ((pool.lacks & MMI_LACKS_LOCK) != 0));
    }
    mmi_secrets_fini(&pool);
}

static void
test_what_may_not_be_locked_is_told_and_works(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        mmi_secrets pool;
        struct rlimit none = { 0, 0 };
        CHECK_INT(setrlimit(RLIMIT_MEMLOCK, &none), 0);
        bool mortal = geteuid() != 0; /* root may lock what it likes */
        mmi_secrets_init(&pool, &mmi_pages_posix, MMI_SECRETS_CHUNK_MIN);
        CHECK(mmi_secret_new(&pool) != NULL);
        CHECK(!LOCKS || !mortal || (pool.lacks & MMI_LACKS_LOCK) != 0);
        mmi_secrets_fini(&pool);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void
test_a_forked_child_has_no_keys_and_can_tell(void)
{
    mmi_secrets pool;
    mmi_secrets_init(&pool, &mmi_pages_posix, MMI_SECRETS_CHUNK_MIN);
    uint8_t *secret = mmi_secret_new(&pool);
    memset(secret, 0xcc, MMI_SECRET_SIZE);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bool kept = (pool.lacks & MMI_LACKS_WIPEONFORK) != 0;
        CHECK_INT(mmi_secrets_lost(&pool), !kept);
        CHECK_INT(all_zeros(secret, MMI_SECRET_SIZE), !kept);
        mmi_secret_free(&pool, secret);
        CHECK(mmi_secret_new(&pool) != NULL);
        mmi_secrets_fini(&pool);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(!mmi_secrets_lost(&pool));
    CHECK_INT(secret[0], 0xcc);
    mmi_secrets_fini(&pool);
}

static sigjmp_buf touched;

static void
on_fault(int signal)
{
    (void)signal;
    siglongjmp(touched, 1);
}

__attribute__((no_sanitize("address"))) static bool
faults(const volatile uint8_t *at)
{
    if (sigsetjmp(touched, 1) != 0) {
        return true;
    }
    (void)*at;
    return false;
}

static void
test_nobody_reads_on_into_keys(void)
{
    struct sigaction act = { .sa_handler = on_fault }, old;
    uint32_t lacks = 0;
    sigaction(SIGSEGV, &act, &old);
    uint8_t *pages = mmi_pages_posix.map(MMI_SECRETS_CHUNK_MAX, &lacks);
    CHECK(!faults(pages) && !faults(pages + MMI_SECRETS_CHUNK_MAX - 1));
    CHECK(faults(pages - 1) && faults(pages + MMI_SECRETS_CHUNK_MAX));
    mmi_pages_posix.unmap(pages, MMI_SECRETS_CHUNK_MAX);
    sigaction(SIGSEGV, &old, NULL);
}

static void
test_equal_is_all_octets_equal(void)
{
    uint8_t a[33] = { 1, 2, 3 }, b[33] = { 1, 2, 3 };
    CHECK(mmi_secret_equal(a, b, sizeof a));
    CHECK(mmi_secret_equal(a, b, 0));
    for (size_t i = 0; i < sizeof a; i++) {
        for (int bit = 0; bit < 8; bit++) {
            b[i] ^= (uint8_t)(1 << bit);
            CHECK(!mmi_secret_equal(a, b, sizeof a));
            b[i] ^= (uint8_t)(1 << bit);
        }
    }
    mmi_wipe(a, sizeof a);
    CHECK(all_zeros(a, sizeof a));
}

int
main(void)
{
    RUN(test_secrets_are_new_and_apart);
    RUN(test_what_is_given_back_is_wiped);
    RUN(test_pages_that_are_not_needed_go_back);
    RUN(test_without_memory_nothing_is_given);
    RUN(test_pages_are_in_no_dump_nor_swap_nor_child);
    RUN(test_what_may_not_be_locked_is_told_and_works);
    RUN(test_a_forked_child_has_no_keys_and_can_tell);
    RUN(test_nobody_reads_on_into_keys);
    RUN(test_equal_is_all_octets_equal);
    return 0;
}
