/*
 * url.c: endpoint text -> parts, strictly: what is not understood is refused, with a reason.
 *
 * Not here: what a host name means.  Law: pure; no input is too long or too odd to be refused.
 */
#include "wire/url.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

enum { URL_PORT_MAX = 65535, URL_PORT_DIGITS_MAX = 5 };

_Static_assert(MMI_INPROC_NAME_MAX + sizeof "inproc://" <= MM_ENDPOINT_MAX + 1, "its text fits");

static int
url_fail(char *why, const char *text)
{
    if (why != NULL) {
        snprintf(why, MM_WHY_SIZE, "%s", text);
    }
    return MM_EADDRINVAL;
}

static int
url_port(const char *text, uint16_t *port, char *why)
{
    size_t digits = strlen(text);
    uint32_t value = 0;
    if (strcmp(text, "*") == 0) {
        *port = 0;
        return MM_OK;
    }
    if (digits == 0 || digits > URL_PORT_DIGITS_MAX) {
        return url_fail(why, digits == 0 ? "the port is missing: tcp://host:port"
                                         : "the port is a number from 0 to 65535, or *");
    }
    for (size_t i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)text[i])) {
            return url_fail(why, "the port is a number from 0 to 65535, or *");
        }
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    if (value > URL_PORT_MAX) {
        return url_fail(why, "the port is a number from 0 to 65535, or *");
    }
    *port = (uint16_t)value;
    return MM_OK;
}

static bool
url_host_valid(const char *host, size_t size, bool bracketed)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)host[i];
        if (!isgraph(c) || c == '/' || c == '[' || c == ']' || (c == ':' && !bracketed)) {
            return false;
        }
    }
    return size > 0;
}

static int
url_tcp(const char *rest, mmi_url *out, char *why)
{
    bool bracketed = rest[0] == '[';
    const char *host = bracketed ? rest + 1 : rest;
    const char *end = bracketed ? strchr(rest, ']') : strrchr(rest, ':');
    if (bracketed && end != NULL && end[1] == '\0') {
        end = NULL;
    }
    if (end == NULL && (!bracketed || strchr(rest, ']') != NULL)) {
        return url_fail(why, rest[0] == '\0' ? "the host and the port are missing: tcp://host:port"
                                             : "the port is missing: tcp://host:port");
    }
    if (end == NULL || end < host || (bracketed && end[1] != ':')) {
        return url_fail(why, "tcp wants host:port, an IPv6 address in brackets");
    }
    size_t size = (size_t)(end - host);
    if (!bracketed && memchr(host, ':', size) != NULL) {
        return url_fail(why, "a host with : is IPv6 and stands in brackets: tcp://[::1]:port");
    }
    if (size >= sizeof out->host || !url_host_valid(host, size, bracketed)) {
        return url_fail(why, "the host is empty, too long or has odd characters");
    }
    memcpy(out->host, host, size);
    out->host[size] = '\0';
    return url_port(bracketed ? end + 2 : end + 1, &out->port, why);
}

/* what: "path" or "name" */
static int
url_name(const char *rest, size_t size_max, mmi_url *out, char *why, const char *what)
{
    size_t size = strlen(rest);
    if (size > size_max) {
        if (why != NULL) {
            snprintf(why, MM_WHY_SIZE, "the %s has %zu octets; %zu is the limit", what, size,
                     size_max);
        }
        return MM_ENAMETOOLONG;
    }
    memcpy(out->host, rest, size + 1);
    return MM_OK;
}

static int
url_ipc(const char *rest, mmi_url *out, char *why)
{
    if (rest[0] == '\0') {
        return url_fail(why, "the path is missing: ipc:///path/of/a/file");
    }
    if (strcmp(rest, "@") == 0) {
        return url_fail(why, "the name behind @ is missing");
    }
    return url_name(rest, MMI_IPC_PATH_MAX, out, why, rest[0] == '@' ? "name with its @" : "path");
}

static int
url_inproc(const char *rest, mmi_url *out, char *why)
{
    return rest[0] == '\0' ? url_fail(why, "the name is missing: inproc://name")
                           : url_name(rest, MMI_INPROC_NAME_MAX, out, why, "name");
}

int
mmi_url_parse(const char *text, mmi_url *out, char *why)
{
    memset(out, 0, sizeof *out);
    if (strncmp(text, "sp+", 3) == 0) {
        out->sp = true;
        text += 3;
    }
    if (strncmp(text, "tcp://", 6) == 0) {
        out->scheme = MMI_TCP;
        return url_tcp(text + 6, out, why);
    }
    if (strncmp(text, "ipc://", 6) == 0) {
        out->scheme = MMI_IPC;
        return url_ipc(text + 6, out, why);
    }
    if (strncmp(text, "inproc://", 9) == 0 && !out->sp) {
        out->scheme = MMI_INPROC;
        return url_inproc(text + 9, out, why);
    }
    return url_fail(why, strstr(text, "://") != NULL
                             ? "the scheme is not tcp, ipc, inproc, sp+tcp or sp+ipc"
                             : "the scheme is missing");
}

int
mmi_url_parse_to_connect(const char *text, mmi_url *out, char *why)
{
    int rc = mmi_url_parse(text, out, why);
    if (rc != MM_OK) {
        return rc;
    }
    if (strcmp(out->host, "*") == 0 && out->scheme != MMI_INPROC) {
        return url_fail(why, "* is for bind; connect to what the other side's endpoint says");
    }
    if (out->scheme == MMI_TCP && out->port == 0) {
        return url_fail(why, "port 0 is for bind; connect to what the other side's endpoint says");
    }
    return MM_OK;
}

int
mmi_url_parse_to_bind(const char *text, mmi_url *out, char *why)
{
    int rc = mmi_url_parse(text, out, why);
    if (rc == MM_OK && out->sp) {
        return url_fail(why, "bind without sp+; a listener takes peers of ZMTP and of SP alike");
    }
    return rc;
}

int
mmi_url_format(const mmi_url *u, char *out, size_t size)
{
    const char *wire = u->sp ? "sp+" : "";
    int n;
    switch (u->scheme) {
    case MMI_TCP:
        n = snprintf(out, size, strchr(u->host, ':') != NULL ? "%stcp://[%s]:%u" : "%stcp://%s:%u",
                     wire, u->host, (unsigned)u->port);
        break;
    case MMI_IPC:
        n = snprintf(out, size, "%sipc://%s", wire, u->host);
        break;
    default:
        n = snprintf(out, size, "inproc://%s", u->host);
        break;
    }
    return n >= 0 && (size_t)n < size ? MM_OK : MM_EINVAL;
}
