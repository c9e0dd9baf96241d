/*
 * test_tls_no_memory.c: OpenSSL's own n-th allocation fails, in the life of a policy and of a
 * connection: its handshake, a few octets each way, and whether its peer would be taken again.
 *
 * Not here: allocations of ours (test_tls_records.c).  OpenSSL may lose what it had begun to make;
 * that is not looked at.
 * Law: nothing crashes; who is not to be taken never is, and what comes is what was sent; with
 * memory again, the next connection works.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "tls_sides.h"

enum { ALL = 60, STRIDE = 199, SEALED = 512 };   /* each of the first ones, then one of so many */

static int64_t left;   /* allocations until one fails; 0: none does */
static int64_t asked;

static bool
fails(void)
{
    asked++;
    return left > 0 && --left == 0;
}

static void *
take(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : malloc(size);
}

static void *
grow(void *at, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : realloc(at, size);
}

static void
give(void *at, const char *file, int line)
{
    (void)file, (void)line;
    free(at);
}

/* Before it has allocated anything; false: it is not there, or does not let us. */
static bool
own_allocator(void)
{
    static const char *const FILES[] = { "libcrypto.so.4", "libcrypto.so.3" };
    typedef int set_functions(void *(*)(size_t, const char *, int),
                              void *(*)(void *, size_t, const char *, int),
                              void (*)(void *, const char *, int));
    for (size_t i = 0; i < 2; i++) {
        void *library = dlopen(FILES[i], RTLD_NOW | RTLD_LOCAL);
        set_functions *set = NULL;
        if (library != NULL) {
            *(void **)&set = dlsym(library, "CRYPTO_set_mem_functions");
        }
        if (set != NULL) {
            return set(take, grow, give) == 1;
        }
    }
    return false;
}

typedef struct life {
    const char *dialer, *dialer_ca, *listener_ca, *crl;
    bool taken;   /* both take each other */
} life;

static tls_policy *
life_policy(const char *name, const char *ca, const char *crl)
{
    tls_policy *p = tls_policy_of(name, ca);
    if (crl != NULL) {
        p->opts.crl = tls_text(p, crl);
    }
    return p;
}

/* NULL: no memory. */
static mmi_tls_config *
life_config(tls_policy *p)
{
    mmi_tls_world world = tls_world();
    mmi_tls_context *context;
    char why[MM_WHY_SIZE] = "";
    int rc = mmi_tls_context_new(&world, &p->opts, &context, why, sizeof why);
    CHECK(rc == MM_OK || rc == MM_ENOMEM || rc == MM_EINVAL);
    mmi_tls_config *config = rc == MM_OK ? mmi_tls_config_new(&world, context) : NULL;
    free(p);
    return config;
}

static bool
life_begin(tls_sides *s)
{
    s->dialer.shield = tls_table->begin(s->dialer.config, true, NULL, 0, 1 << 20);
    s->listener.shield = tls_table->begin(s->listener.config, false, NULL, 0, 1 << 20);
    return s->dialer.shield != NULL && s->listener.shield != NULL &&
           tls_table->aim(s->dialer.shield, "peer.example", NULL, NULL) == MM_OK;
}

/* What was sent comes, or nothing does. */
static void
life_say(tls_side *from, tls_side *to)
{
    uint8_t sealed[SEALED], plain[SEALED];
    size_t took = 6, given = 0;
    int64_t size = tls_table->seal(from->shield, (const uint8_t *)"octets", &took, sealed);
    if (size <= 0) {
        return;
    }
    int rc = tls_open(to, sealed, (size_t)size, plain, sizeof plain, &given);
    CHECK(rc == MM_OK || rc == MM_ENOMEM || rc == MM_EPROTO);
    CHECK(given == 0 || (given <= took && memcmp(plain, "octets", given) == 0));
}

static bool
life_shake(tls_sides *s)
{
    s->listener.rc = MMI_STEP_MORE;
    tls_feed(&s->dialer, NULL, 0, 0);
    for (int i = 0; i < TLS_ROUNDS_MAX; i++) {
        bool moved = tls_carry(&s->dialer, &s->listener, 0);
        moved |= tls_carry(&s->listener, &s->dialer, 0);
        if (!moved) {
            break;
        }
    }
    return s->dialer.rc == MMI_STEP_DONE && s->listener.rc >= MMI_STEP_DONE;
}

/* Whether the handshake was done, and whether all was. */
static bool
live(const life *one, int64_t n)
{
    tls_policy *dialer = life_policy(one->dialer, one->dialer_ca, NULL);
    tls_policy *listener = life_policy("server", one->listener_ca, one->crl);
    left = n;
    asked = 0;
    tls_sides s = { .dialer = { .dials = true } };
    s.dialer.config = life_config(dialer);
    s.listener.config = life_config(listener);
    bool done =
        s.dialer.config != NULL && s.listener.config != NULL && life_begin(&s) && life_shake(&s);
    CHECK(!done || one->taken);
    if (done) {
        life_say(&s.dialer, &s.listener);
        life_say(&s.listener, &s.dialer);
        (void)tls_table->stands(s.listener.shield);
    }
    left = 0;
    tls_sides_end(&s);
    if (s.dialer.config != NULL) {
        mmi_tls_config_drop(s.dialer.config);
    }
    if (s.listener.config != NULL) {
        mmi_tls_config_drop(s.listener.config);
    }
    return done;
}

static void
check_life(const life *one)
{
    CHECK(live(one, 0) == one->taken);
    CHECK(live(one, 0) == one->taken);   /* what it makes once is made */
    int64_t all = asked;
    int failed = 0, lives = 0;
    for (int64_t n = 1; n <= all; n += n < ALL ? 1 : STRIDE) {
        failed += !live(one, n);
        lives++;
    }
    printf("%d of %d lives ended early, of %d allocations\n", failed, lives, (int)all);
    CHECK(failed > 0);
    CHECK(live(one, 0) == one->taken);
}

static void
test_whom_both_take_comes_in_or_not_and_the_next_one_does(void)
{
    check_life(&(life){ "client", "ca", "ca", NULL, true });
    check_life(&(life){ "client", "ca", "ca", "crl.pem", true });
}

static void
test_whom_nobody_signed_never_comes_in(void)
{
    check_life(&(life){ "another", "ca", "ca", NULL, false });
}

static void
test_who_was_revoked_never_comes_in(void)
{
    check_life(&(life){ "gone", "ca", "ca", "crl.pem", false });
}

static void
test_a_server_that_nobody_signed_is_never_believed(void)
{
    check_life(&(life){ "client", "other_ca", "ca", NULL, false });
}

int
main(void)
{
    if (!own_allocator() || !tls_certificates_there()) {
        printf("no OpenSSL that asks us for memory: nothing is tested\n");
        return 0;
    }
    RUN(test_whom_both_take_comes_in_or_not_and_the_next_one_does);
    RUN(test_whom_nobody_signed_never_comes_in);
    RUN(test_who_was_revoked_never_comes_in);
    RUN(test_a_server_that_nobody_signed_is_never_believed);
    return 0;
}
