/*
 * test_url.c: endpoint text to parts and back, each transport's: what is understood, and what is
 * refused.
 * Not here: what a host name means (test_resolve.c).
 * Law: what was parsed and formatted parses to the same; no text is read beyond its end.
 */
#include "check.h"
#include "tran/tran.h"

enum { WHY_SIZE = MM_WHY_SIZE };

/* Parses a copy without a spare octet behind it, so that the sanitizer sees every step too far. */
static int
parse(const char *text, mmi_url *out, char *why)
{
    char *copy = malloc(strlen(text) + 1);
    CHECK(copy != NULL);
    memcpy(copy, text, strlen(text) + 1);
    int rc = mmi_tran_parse(copy, 0, out, why);
    free(copy);
    return rc;
}

static bool
same(const mmi_url *u, const mmi_url *v)
{
    return strcmp(u->scheme, v->scheme) == 0 && strcmp(u->host, v->host) == 0 &&
           u->port == v->port && u->wire == v->wire && u->outer == v->outer && u->any == v->any &&
           u->ported == v->ported;
}

static void
test_what_is_understood(void)
{
    static const struct {
        const char *text;
        const char *scheme;
        const char *host;
        uint16_t port;
        const char *again;     /* NULL: as it was */
    } table[] = {
        { "tcp://127.0.0.1:5555", "tcp", "127.0.0.1", 5555, NULL },
        { "tcp://host.example-1.org:1", "tcp", "host.example-1.org", 1, NULL },
        { "tcp://*:80", "tcp", "*", 80, NULL },
        { "tcp://*:*", "tcp", "*", 0, "tcp://*:0" },
        { "tcp://localhost:*", "tcp", "localhost", 0, "tcp://localhost:0" },
        { "tcp://a:0", "tcp", "a", 0, NULL },
        { "tcp://a:65535", "tcp", "a", 65535, NULL },
        { "tcp://a:00080", "tcp", "a", 80, "tcp://a:80" },
        { "tcp://[::1]:5", "tcp", "::1", 5, NULL },
        { "tcp://[::]:*", "tcp", "::", 0, "tcp://[::]:0" },
        { "tcp://[fe80::1%eth0]:5", "tcp", "fe80::1%eth0", 5, NULL },
        { "tcp://[2001:db8::1]:65535", "tcp", "2001:db8::1", 65535, NULL },
        { "tcp://[name]:5", "tcp", "name", 5, "tcp://name:5" },
        { "tls+tcp://a:5", "tcp", "a", 5, NULL },
        { "tls+tcp://[::1]:*", "tcp", "::1", 0, "tls+tcp://[::1]:0" },
        { "sp+tls+tcp://a:5", "tcp", "a", 5, NULL },
        { "ipc:///run/x", "ipc", "/run/x", 0, NULL },
        { "ipc://relative", "ipc", "relative", 0, NULL },
        { "ipc://@name", "ipc", "@name", 0, NULL },
        { "ipc://@/a/b c", "ipc", "@/a/b c", 0, NULL },
        { "ipc://./@name", "ipc", "./@name", 0, NULL },
        { "ipc://*", "ipc", "*", 0, NULL },
        { "ipc:// a b:c?[", "ipc", " a b:c?[", 0, NULL },
        { "inproc://name", "inproc", "name", 0, NULL },
        { "inproc://a/b:c d", "inproc", "a/b:c d", 0, NULL },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_url u, v;
        char again[300];
        CHECK_INT(parse(table[i].text, &u, NULL), MM_OK);
        CHECK(strcmp(u.scheme, table[i].scheme) == 0 && u.port == table[i].port);
        CHECK(strcmp(u.host, table[i].host) == 0);
        CHECK_INT(u.outer, strstr(table[i].text, "tls+") != NULL);
        CHECK_INT(mmi_url_format(&u, again, sizeof again), MM_OK);
        CHECK(strcmp(again, table[i].again != NULL ? table[i].again : table[i].text) == 0);
        CHECK_INT(parse(again, &v, NULL), MM_OK);
        CHECK(same(&u, &v));
    }
}

typedef struct refusal {
    const char *text, *why;   /* why: a word of the reason */
} refusal;

static void
refused_all(const refusal *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mmi_url u;
        char why[WHY_SIZE] = "";
        CHECK_INT(parse(table[i].text, &u, why), MM_EADDRINVAL);
        if (strstr(why, table[i].why) == NULL) {
            fprintf(stderr, "'%s' is refused with '%s'\n", table[i].text, why);
            exit(1);
        }
        CHECK_INT(parse(table[i].text, &u, NULL), MM_EADDRINVAL);
    }
}

static void
test_what_is_refused_with_a_reason(void)
{
    static const refusal table[] = {
        { "", "scheme" },
        { "tcp", "scheme" },
        { "tcp:", "scheme" },
        { "tcp:/", "scheme" },
        { "TCP://a:1", "scheme" },
        { "udp://a:1", "scheme" },
        { " tcp://a:1", "scheme" },
        { "inproc:/x", "scheme" },
        { "ipc:/x", "scheme" },
        { "pgm://a:1", "scheme" },
        { "tcp://", "host and the port" },
        { "tcp://a", "port is missing" },
        { "tcp://[::1]", "port is missing" },
        { "tcp://[::1", "host:port" },
        { "tcp://[", "host:port" },
        { "tcp://[]", "host:port" },
        { "tcp://[::1]5", "host:port" },
        { "tcp://[::1] :5", "host:port" },
        { "tcp://:5", "host" },
        { "tcp://[]:5", "host" },
        { "tcp://::1:5", "host" },
        { "tcp://a b:5", "host" },
        { "tcp://a\t:5", "host" },
        { "tcp://a/b:5", "host" },
        { "tcp://a]:5", "host" },
        { "tcp://[a[b]:5", "host" },
        { "tcp://a\x7f:5", "host" },
        { "tcp://\xc3\xa4:5", "host" },
        { "tcp://a:b:5", "host" },
        { "tcp://[a/b]:5", "host" },
        { "tcp://a:", "port" },
        { "tcp://[::1]:", "port" },
        { "tcp://a:65536", "port" },
        { "tcp://a:99999", "port" },
        { "tcp://a:000080", "port" },
        { "tcp://a:5x", "port" },
        { "tcp://a: 5", "port" },
        { "tcp://a:5 ", "port" },
        { "tcp://a:-1", "port" },
        { "tcp://a:+1", "port" },
        { "tcp://a:0x5", "port" },
        { "tcp://a:**", "port" },
        { "tcp://a:5/", "port" },
        { "tcp://a:4294967376", "port" },
        { "tcp://a:5*", "port" },
        { "ipc://", "path" },
        { "ipc://@", "name" },
        { "inproc://", "name" },
        { "127.0.0.1:5555", "scheme is missing" },
        { "://a:1", "scheme is not" },
        { "http://a:1",
          "scheme is not one of tcp, ipc, inproc, sp+tcp, sp+ipc, tls+tcp, sp+tls+tcp" },
        { "sp+inproc://a", "scheme is not one of" },
        { "sp+sp+tcp://a:1", "scheme is not" },
        { "abcdefghijklmno://a", "scheme is not" },
        { "abcdefghijklmnop://a", "scheme is not" },
    };
    refused_all(table, MMI_COUNT_OF(table));
}

static void
test_only_tcp_has_an_outer_mechanism_and_only_one(void)
{
    static const refusal table[] = {
        { "tls+ipc:///x", "scheme is not one of" },
        { "tls+inproc://a", "scheme is not one of" },
        { "sp+tls+ipc:///x", "scheme is not one of" },
        { "tls+tls+tcp://a:1", "scheme is not one of" },
        { "tls+sp+tcp://a:1", "scheme is not one of" },
        { "tls+://a:1", "scheme is not one of" },
        { "tls://a:1", "scheme is not one of" },
        { "tls+tcp", "scheme is missing" },
        { "tls+tcp://a", "the port is missing: tls+tcp://host:port" },
    };
    refused_all(table, MMI_COUNT_OF(table));
}

/* Is a text with so many octets of 'x' in it taken? */
static int
parse_long(const char *before, size_t count, const char *after, mmi_url *u)
{
    char text[700];
    CHECK(strlen(before) + count + strlen(after) < sizeof text);
    strcpy(text, before);
    memset(text + strlen(before), 'x', count);
    strcpy(text + strlen(before) + count, after);
    return parse(text, u, NULL);
}

static void
test_lengths_at_the_limit_and_one_over(void)
{
    static const struct {
        const char *before, *after;
        size_t max;
    } table[] = {
        { "tcp://", ":1", 255 }, { "tcp://[", "]:1", 255 }, { "ipc://", "", 107 },
        { "ipc://@x", "", 105 }, { "inproc://", "", 246 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_url u;
        for (size_t size = table[i].max - 1; size <= table[i].max; size++) {
            CHECK_INT(parse_long(table[i].before, size, table[i].after, &u), MM_OK);
            CHECK_INT(strlen(u.host), size + (table[i].max == 105 ? 2 : 0));
        }
        int wanted = i < 2 ? MM_EADDRINVAL : MM_ENAMETOOLONG;   /* no host has such a name */
        CHECK_INT(parse_long(table[i].before, table[i].max + 1, table[i].after, &u), wanted);
        CHECK_INT(parse_long(table[i].before, 600, table[i].after, &u), wanted);
    }
}

static void
test_a_limit_is_told_with_what_was_there(void)
{
    char text[200] = "ipc://", why[WHY_SIZE] = "";
    mmi_url u;
    memset(text + 6, 'x', 108);
    CHECK_INT(parse(text, &u, why), MM_ENAMETOOLONG);
    CHECK(strcmp(why, "the path has 108 octets; 107 is the limit") == 0);
}

static void
test_some_endpoints_are_for_one_side_only(void)
{
    static const struct {
        const char *text;
        bool bind, connect;
    } table[] = {
        { "tcp://*:5", true, false },        { "tcp://127.0.0.1:*", true, false },
        { "tcp://a:0", true, false },        { "ipc://*", true, false },
        { "inproc://*", true, true },        { "ipc://@a", true, true },
        { "sp+ipc://*", false, false },      { "sp+tcp://a:1", false, true },
        { "tls+tcp://a:1", true, true },     { "tls+tcp://*:1", true, false },
        { "sp+tls+tcp://a:1", false, true }, { "sp+ipc://@a", false, true },
        { "tcp://a", false, false },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(table); i++) {
        mmi_url u;
        char why[WHY_SIZE] = "";
        CHECK_INT(mmi_tran_parse(table[i].text, MM_USE_BIND, &u, why),
                  table[i].bind ? MM_OK : MM_EADDRINVAL);
        CHECK(table[i].bind == (why[0] == '\0'));
        why[0] = '\0';
        CHECK_INT(mmi_tran_parse(table[i].text, MM_USE_CONNECT, &u, why),
                  table[i].connect ? MM_OK : MM_EADDRINVAL);
        CHECK(table[i].connect == (why[0] == '\0'));
    }
}

static void
test_formatting_says_when_there_is_no_room(void)
{
    const char *texts[] = { "tcp://[::1]:65535", "tcp://a:1", "ipc:///run/x", "inproc://n" };
    for (size_t i = 0; i < MMI_COUNT_OF(texts); i++) {
        mmi_url u;
        CHECK_INT(parse(texts[i], &u, NULL), MM_OK);
        for (size_t size = 0; size <= strlen(texts[i]) + 1; size++) {
            char *out = malloc(size + 1);
            out[size] = '#';
            int rc = mmi_url_format(&u, out, size);
            CHECK_INT(rc, size > strlen(texts[i]) ? MM_OK : MM_EINVAL);
            CHECK_INT(out[size], '#');
            free(out);
        }
    }
}

static void
test_no_text_at_all_does_harm(void)
{
    static const char pieces[] = "tcp://ipc:inproc[]:*.%059ax\x01\xff /\\";
    uint32_t seed = 3;
    int taken = 0;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        const char *const starts[] = { "", "tcp://", "ipc://", "inproc://", "tcp://[" };
        size_t size = (size_t)snprintf(text, sizeof text, "%s", starts[check_random(&seed) % 5]);
        size_t more = check_random(&seed) % 20;
        for (size_t k = 0; k < more; k++) {
            text[size++] = pieces[check_random(&seed) % (sizeof pieces - 1)];
        }
        text[size] = '\0';
        mmi_url u, v;
        char why[WHY_SIZE] = "", again[300];
        int rc = parse(text, &u, why);
        CHECK(rc == MM_OK || (rc == MM_EADDRINVAL && why[0] != '\0'));
        if (rc == MM_OK) {
            taken++;
            CHECK_INT(mmi_url_format(&u, again, sizeof again), MM_OK);
            CHECK_INT(parse(again, &v, NULL), MM_OK);
            CHECK(same(&u, &v));
        }
    }
    CHECK(taken > 1000);
}

int
main(void)
{
    RUN(test_what_is_understood);
    RUN(test_what_is_refused_with_a_reason);
    RUN(test_only_tcp_has_an_outer_mechanism_and_only_one);
    RUN(test_lengths_at_the_limit_and_one_over);
    RUN(test_a_limit_is_told_with_what_was_there);
    RUN(test_some_endpoints_are_for_one_side_only);
    RUN(test_formatting_says_when_there_is_no_room);
    RUN(test_no_text_at_all_does_harm);
    return 0;
}
