/*
 * plat/posix/library.c: libsodium, by dlopen or by addresses that somebody offers; OpenSSL, the
 * copy that is mapped already, else by dlopen.
 *
 * Law: the first that works is the answer of all later calls.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "plat/library.h"

enum { LIBRARY_TEXT_MAX = 512, LIBRARY_WHY_MAX = 128 };   /* octets of why there is none */

/* The newest first: libsodium 1.0.19 and later; 1.0.12 to 1.0.18. */
static const char *const SODIUM_FILES[] = { "libsodium.so.26", "libsodium.so.23" };

static const char *const OPENSSL_FILES[] = { "libssl.so.4", "libssl.so.3" };
/* A static interpreter exports the names of a copy of its own, which may be older: the library's
 * calls of itself must not end there.  The sanitizers refuse a library that is bound so. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { OPENSSL_BIND = RTLD_DEEPBIND };
#else
enum { OPENSSL_BIND = 0 };
#endif

static pthread_once_t openssl_once = PTHREAD_ONCE_INIT;
static mmi_openssl openssl_table;                 /* written within openssl_once only */
static bool openssl_there;                        /* so is this */
static char openssl_text[LIBRARY_TEXT_MAX];       /* and this */

static pthread_once_t sodium_once = PTHREAD_ONCE_INIT;
static mmi_sodium sodium_loaded;                  /* written within sodium_once only */
static char sodium_text[LIBRARY_TEXT_MAX];        /* so is this */
static atomic_flag sodium_claimed = ATOMIC_FLAG_INIT;
static mmi_sodium sodium_offered;                 /* of whoever claimed it, before it is chosen */
static _Atomic(const mmi_sodium *) sodium_chosen; /* set once: one of the two */

static void
library_note(char *text, const char *file, const char *why)
{
    size_t used = strlen(text);
    /* What glibc says begins with the name of the file; what others say may not. */
    bool named = strncmp(why, file, strlen(file)) == 0;
    snprintf(text + used, LIBRARY_TEXT_MAX - used, "%s%s%s%s", used > 0 ? "; " : "",
             named ? "" : file, named ? "" : ": ", why);
}

static void *
library_open(const char *file, int flags, char *text)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == NULL) {
        const char *why = dlerror();
        library_note(text, file, why != NULL ? why : "not found");
    }
    return library;
}

static void
library_find(void *library, const char *const *names, int count, void **functions)
{
    for (int i = 0; i < count; i++) {
        functions[i] = dlsym(library, names[i]);
    }
}

static bool
sodium_choose(const mmi_sodium *table)
{
    const mmi_sodium *none = NULL;
    return atomic_compare_exchange_strong(&sodium_chosen, &none, table);
}

/* Before it, libsodium computes the same with code for any processor: half as fast.  It also opens
 * libsodium's own randomness, and aborts where there is none: so the system is asked first. */
static void
sodium_quicken(void *library)
{
    int (*init)(void) = NULL;
    uint8_t any[16];
    library_find(library, (const char *const[]){ "sodium_init" }, 1, (void **)&init);
    if (init != NULL && getrandom(any, sizeof any, GRND_NONBLOCK) == (ssize_t)sizeof any) {
        (void)init(); /* refused: slower, and that is all */
    }
}

static void
sodium_add_pieces(mmi_sodium *table, void *library)
{
    void *pieces[MMI_SODIUM_PIECES];
    library_find(library, mmi_sodium_piece_names, MMI_SODIUM_PIECES, pieces);
    mmi_sodium_add_pieces(table, pieces);
}

/* Who offers a copy gives no addresses of the pieces: they are looked for where the others are. */
static void
sodium_add_pieces_beside(mmi_sodium *table, void *function)
{
    Dl_info where;
    void *library = dladdr(function, &where) != 0 && where.dli_fname != NULL
                        ? dlopen(where.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)
                        : NULL;
    if (library != NULL) {
        sodium_add_pieces(table, library);
    }
}

static bool
sodium_load(const char *file)
{
    void *functions[MMI_SODIUM_FUNCTIONS];
    void *library = library_open(file, 0, sodium_text);
    if (library == NULL) {
        return false;
    }
    library_find(library, mmi_sodium_names, MMI_SODIUM_FUNCTIONS, functions);
    sodium_quicken(library);
    const char *wrong = NULL;
    if (mmi_sodium_fill(&sodium_loaded, functions, &wrong) == MM_OK) {
        sodium_add_pieces(&sodium_loaded, library);
        return true;
    }
    char why[LIBRARY_WHY_MAX];
    snprintf(why, sizeof why, "%s is not there or computes wrongly", wrong);
    library_note(sodium_text, file, why);
    dlclose(library);
    return false;
}

static void
sodium_find(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(SODIUM_FILES); i++) {
        if (sodium_load(SODIUM_FILES[i])) {
            (void)sodium_choose(&sodium_loaded); /* else one was offered meanwhile */
            return;
        }
    }
    size_t used = strlen(sodium_text);
    snprintf(sodium_text + used, LIBRARY_TEXT_MAX - used,
             ": pip install meshmsg[curve] (PyNaCl, which brings libsodium), or install libsodium "
             "itself (Debian: apt-get install libsodium23)");
}

const mmi_sodium *
mmi_sodium_get(void)
{
    const mmi_sodium *chosen = atomic_load(&sodium_chosen);
    if (chosen != NULL) {
        return chosen;
    }
    (void)pthread_once(&sodium_once, sodium_find);
    return atomic_load(&sodium_chosen);
}

const char *
mmi_sodium_missing(void)
{
    return mmi_sodium_get() != NULL ? "" : sodium_text;
}

int
mmi_sodium_offer(void *const functions[MMI_SODIUM_FUNCTIONS], const char **wrong)
{
    mmi_sodium table;
    int rc = mmi_sodium_fill(&table, functions, wrong);
    if (rc == MM_OK && !atomic_flag_test_and_set(&sodium_claimed)) {
        sodium_add_pieces_beside(&table, functions[0]);
        sodium_offered = table;
        (void)sodium_choose(&sodium_offered);
    }
    return rc;
}

static bool
openssl_load(const char *file, int flags)
{
    void *functions[MMI_OPENSSL_COUNT];
    void *library = library_open(file, flags, openssl_text);
    if (library == NULL) {
        return false;
    }
    library_find(library, mmi_openssl_names, MMI_OPENSSL_COUNT, functions);
    char why[LIBRARY_WHY_MAX];
    if (mmi_openssl_fill(&openssl_table, functions, why, sizeof why) == MM_OK) {
        return true;
    }
    library_note(openssl_text, file, why);
    dlclose(library);
    return false;
}

/* A copy that is mapped, by Python's ssl mostly, comes first: one copy is less than two. */
static void
openssl_find(void)
{
    for (size_t i = 0; !openssl_there && i < MMI_COUNT_OF(OPENSSL_FILES); i++) {
        openssl_there = openssl_load(OPENSSL_FILES[i], RTLD_NOLOAD);
    }
    openssl_text[0] = 0; /* what is not mapped is no news */
    for (size_t i = 0; !openssl_there && i < MMI_COUNT_OF(OPENSSL_FILES); i++) {
        openssl_there = openssl_load(OPENSSL_FILES[i], OPENSSL_BIND);
    }
    size_t used = strlen(openssl_text);
    snprintf(openssl_text + used, LIBRARY_TEXT_MAX - used,
             ": install OpenSSL 3.0 or later (Debian: apt-get install libssl3)");
}

const mmi_openssl *
mmi_openssl_get(void)
{
    (void)pthread_once(&openssl_once, openssl_find);
    return openssl_there ? &openssl_table : NULL;
}

const char *
mmi_openssl_missing(void)
{
    return mmi_openssl_get() != NULL ? "" : openssl_text;
}
