/*
 * url.c: endpoint text -> parts, strictly: what is not understood is refused, with a reason.
 *
 * Not here: what a host name means.  Law: pure; no input is too long or too odd to be refused.
 */
#include "codec/url.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { URL_WHY_SIZE = 128, URL_IPC_PATH_MAX = 107, URL_PORT_MAX = 65535, URL_PORT_DIGITS_MAX = 5 };

static int
url_fail(char *why, const char *text)
{
    if (why != NULL) {
        snprintf(why, URL_WHY_SIZE, "%s", text);
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
        return url_fail(why, "the port is a number from 0 to 65535, or *");
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
    if (end == NULL || end < host || (bracketed && end[1] != ':')) {
        return url_fail(why, "tcp wants host:port, an IPv6 address in brackets");
    }
    size_t size = (size_t)(end - host);
    if (size >= sizeof out->host || !url_host_valid(host, size, bracketed)) {
        return url_fail(why, "the host is empty, too long or has odd characters");
    }
    memcpy(out->host, host, size);
    out->host[size] = '\0';
    return url_port(bracketed ? end + 2 : end + 1, &out->port, why);
}

static int
url_name(const char *rest, size_t size_max, mmi_url *out, char *why, const char *text)
{
    size_t size = strlen(rest);
    if (size == 0 || size > size_max) {
        return url_fail(why, text);
    }
    memcpy(out->host, rest, size + 1);
    return MM_OK;
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
        return url_name(text + 6, URL_IPC_PATH_MAX, out, why, "an ipc path has 1 to 107 octets");
    }
    if (strncmp(text, "inproc://", 9) == 0 && !out->sp) {
        out->scheme = MMI_INPROC;
        size_t room = sizeof out->host - 1 - strlen("inproc://");
        return url_name(text + 9, room, out, why, "an inproc name has 1 to 246 octets");
    }
    return url_fail(why, "the scheme is not tcp, ipc, inproc, sp+tcp or sp+ipc");
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
