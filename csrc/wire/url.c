/*
 * url.c: the two ways in which an endpoint is written, strictly: what is not understood is refused,
 * with a reason.
 *
 * Not here: which schemes there are, and which way is whose (tran); what a host name means.  Law:
 * pure; no input is too long or too odd to be refused.
 */
#include "wire/url.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { URL_PORT_MAX = 65535, URL_PORT_DIGITS_MAX = 5 };
static const char URL_BEHIND[] = "://";

int
mmi_url_refuse(char *why, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(why, MM_WHY_SIZE, format, args);
        va_end(args);
    }
    return MM_EADDRINVAL;
}

const char *
mmi_url_split(const char *text, mmi_url *out)
{
    memset(out, 0, sizeof *out);
    out->wire = mmi_wire_of_text(&text);
    if (strncmp(text, MMI_URL_OUTER, strlen(MMI_URL_OUTER)) == 0) {
        out->outer = true;
        text += strlen(MMI_URL_OUTER);
    }
    const char *end = strstr(text, URL_BEHIND);
    if (end == NULL) {
        return NULL;
    }
    if (end - text <= MMI_SCHEME_MAX) {
        memcpy(out->scheme, text, (size_t)(end - text));
    }
    return end + strlen(URL_BEHIND);
}

const char *
mmi_url_scheme(const mmi_url *u, char *out)
{
    size_t outer = u->outer ? strlen(MMI_URL_OUTER) : 0;
    memcpy(out, MMI_URL_OUTER, outer);
    mmi_text_copy(out + outer, MMI_SCHEME_TEXT_CAP - outer, u->scheme);
    return out;
}

static int
url_port(const char *text, mmi_url *out, char *why)
{
    char scheme[MMI_SCHEME_TEXT_CAP];
    size_t digits = strlen(text), good = strspn(text, "0123456789");
    uint32_t value = 0;
    out->ported = true;
    if (strcmp(text, "*") == 0) {
        return MM_OK;
    }
    if (digits == 0) {
        return mmi_url_refuse(why, "the port is missing: %s://host:port",
                              mmi_url_scheme(out, scheme));
    }
    for (size_t i = 0; i < digits && i < URL_PORT_DIGITS_MAX; i++) {
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    if (good < digits || digits > URL_PORT_DIGITS_MAX || value > URL_PORT_MAX) {
        return mmi_url_refuse(why, "the port is a number from 0 to %d, or *", (int)URL_PORT_MAX);
    }
    out->port = (uint16_t)value;
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

int
mmi_url_host(const char *rest, mmi_url *out, char *why)
{
    char scheme[MMI_SCHEME_TEXT_CAP];
    bool bracketed = rest[0] == '[';
    const char *host = bracketed ? rest + 1 : rest;
    const char *end = bracketed ? strchr(rest, ']') : strrchr(rest, ':');
    if (rest[0] == '\0') {
        return mmi_url_refuse(why, "the host and the port are missing: %s://host:port",
                              mmi_url_scheme(out, scheme));
    }
    if (bracketed ? end != NULL && end[1] == '\0' : end == NULL) {
        return mmi_url_refuse(why, "the port is missing: %s://host:port",
                              mmi_url_scheme(out, scheme));
    }
    if (end == NULL || end < host || (bracketed && end[1] != ':')) {
        return mmi_url_refuse(why, "%s wants host:port, an IPv6 address in brackets",
                              mmi_url_scheme(out, scheme));
    }
    size_t size = (size_t)(end - host);
    if (!bracketed && memchr(host, ':', size) != NULL) {
        return mmi_url_refuse(why, "a host with : is IPv6 and stands in brackets: %s://[::1]:port",
                              mmi_url_scheme(out, scheme));
    }
    if (size >= sizeof out->host || !url_host_valid(host, size, bracketed)) {
        return mmi_url_refuse(why, "the host is empty, too long or has odd characters");
    }
    memcpy(out->host, host, size);
    out->host[size] = '\0';
    out->any = strcmp(out->host, "*") == 0;
    return url_port(bracketed ? end + 2 : end + 1, out, why);
}

int
mmi_url_name(const char *rest, size_t size_max, const char *what, mmi_url *out, char *why)
{
    size_t size = strlen(rest);
    if (size > size_max || size >= sizeof out->host) {
        (void)mmi_url_refuse(why, "the %s has %zu octets; %zu is the limit", what, size, size_max);
        return MM_ENAMETOOLONG;
    }
    memcpy(out->host, rest, size + 1);
    return MM_OK;
}

int
mmi_url_format(const mmi_url *u, char *out, size_t size)
{
    const char *wire = u->wire->prefix;
    char scheme[MMI_SCHEME_TEXT_CAP];
    int n;
    (void)mmi_url_scheme(u, scheme);
    if (u->ported) {
        bool v6 = strchr(u->host, ':') != NULL;
        n = snprintf(out, size, v6 ? "%s%s://[%s]:%u" : "%s%s://%s:%u", wire, scheme, u->host,
                     (unsigned)u->port);
    } else {
        n = snprintf(out, size, "%s%s://%s", wire, scheme, u->host);
    }
    return n >= 0 && (size_t)n < size ? MM_OK : MM_EINVAL;
}
