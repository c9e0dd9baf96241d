/*
 * wire/tls/names.c: whether a certificate is for one of some names.
 *
 * A name is a host, an address, or a URI (anything with "://"), which may end with "/" and "*":
 * any rest that is not empty.  Not here: who signed it (verify.c).
 * Law: only the subjectAltName counts, and a wildcard of a certificate stands for one whole label.
 */
#include <stdio.h>
#include <string.h>

#include "wire/tls/inside.h"

enum {
    NAMES_FLAGS = MMI_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | MMI_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
};

bool
mmi_tls_is_address(const char *host)
{
    return strchr(host, ':') != NULL || host[strspn(host, "0123456789.")] == '\0';
}

static bool
name_is_uri(const char *name)
{
    return strstr(name, "://") != NULL;
}

static bool
name_is_plain(const uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (at[i] <= 0x20 || at[i] >= 0x7f) {
            return false;
        }
    }
    return size > 0;
}

/* What is wrong with one; NULL: nothing. */
static const char *
name_wrong(const char *name)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t size = strlen(name);
    if (!name_is_plain((const uint8_t *)name, size) || size > TLS_HOST_MAX) {
        return "it is empty, too long, or has other characters than printable ASCII";
    }
    if (name_is_uri(name)) {
        const char *star = strchr(name, '*'), *path = strchr(strstr(name, "://") + 3, '/');
        bool may = star == NULL || (star[1] == '\0' && star[-1] == '/' && path != NULL &&
                                    path > strstr(name, "://") + 3);
        return may ? NULL : "'*' may only be the end of a URI with a host, behind a '/'";
    }
    if (mmi_tls_is_address(name)) {
        return NULL;
    }
    return name[strspn(name, host)] == '\0' && name[0] != '.'
               ? NULL
               : "it is no host, no address and no URI; wildcards are for certificates";
}

int
mmi_tls_names_check(const char *names, size_t size, char *why, size_t why_size)
{
    for (size_t at = 0; at < size; at += strlen(names + at) + 1) {
        if (memchr(names + at, '\0', size - at) == NULL) {
            snprintf(why, why_size, "names: the last one has no 0 behind it");
            return MM_EINVAL;
        }
        const char *wrong = name_wrong(names + at);
        if (wrong != NULL) {
            snprintf(why, why_size, "names: '%.40s': %s", names + at, wrong);
            return MM_EINVAL;
        }
    }
    return MM_OK;
}

/* The i-th entry of subjectAltName: what it says, or NULL where that is no text or address. */
static const uint8_t *
names_entry(const mmi_openssl *o, const struct stack_st_GENERAL_NAME *names, int i, int *kind,
            size_t *size)
{
    const struct GENERAL_NAME_st *name = o->OPENSSL_sk_value((const struct stack_st *)names, i);
    const struct asn1_string_st *text = o->GENERAL_NAME_get0_value(name, kind);
    if (*kind != MMI_GEN_DNS && *kind != MMI_GEN_URI && *kind != MMI_GEN_IPADD) {
        return NULL;
    }
    *size = (size_t)o->ASN1_STRING_length(text);
    return o->ASN1_STRING_get0_data(text);
}

static struct stack_st_GENERAL_NAME *
names_of(const mmi_openssl *o, const struct x509_st *certificate, int *count)
{
    struct stack_st_GENERAL_NAME *names =
        o->X509_get_ext_d2i(certificate, MMI_NID_SUBJECT_ALT_NAME, NULL, NULL);
    *count = names != NULL ? o->OPENSSL_sk_num((const struct stack_st *)names) : 0;
    return names;
}

static bool
uri_is(const char *wanted, const uint8_t *text, size_t size)
{
    size_t prefix = strlen(wanted);
    bool any = prefix > 0 && wanted[prefix - 1] == '*';
    prefix -= any ? 1 : 0;
    return name_is_plain(text, size) && (any ? size > prefix : size == prefix) &&
           memcmp(text, wanted, prefix) == 0;
}

static bool
uri_hit(const mmi_openssl *o, const struct x509_st *certificate, const char *wanted)
{
    int count, kind;
    size_t size = 0;
    bool hit = false;
    struct stack_st_GENERAL_NAME *names = names_of(o, certificate, &count);
    for (int i = 0; i < count && !hit; i++) {
        const uint8_t *text = names_entry(o, names, i, &kind, &size);
        hit = text != NULL && kind == MMI_GEN_URI && uri_is(wanted, text, size);
    }
    o->GENERAL_NAMES_free(names);
    return hit;
}

static bool
name_hit(const mmi_openssl *o, struct x509_st *certificate, const char *name)
{
    if (name_is_uri(name)) {
        return uri_hit(o, certificate, name);
    }
    return mmi_tls_is_address(name)
               ? o->X509_check_ip_asc(certificate, name, NAMES_FLAGS) == 1
               : o->X509_check_host(certificate, name, strlen(name), NAMES_FLAGS, NULL) == 1;
}

static void
entry_format(char *out, size_t cap, int kind, const uint8_t *text, size_t size)
{
    char said[TLS_NAMES_SIZE];
    if (kind != MMI_GEN_IPADD) {
        mmi_text_excerpt(said, sizeof said, text, size);
        snprintf(out, cap, "%s", said);
    } else if (size == 4) {
        snprintf(out, cap, "%u.%u.%u.%u", text[0], text[1], text[2], text[3]);
    } else {
        size_t used = 0;
        for (size_t i = 0; i + 1 < size && used < cap; i += 2) {
            used += (size_t)snprintf(out + used, cap - used, "%s%x", i > 0 ? ":" : "",
                                     (unsigned)(text[i] << 8 | text[i + 1]));
        }
    }
}

/* Those there are, as many as fit. */
static void
names_format(const mmi_openssl *o, const struct x509_st *certificate, char *out, size_t cap)
{
    int count, kind;
    size_t size = 0, used = 0;
    struct stack_st_GENERAL_NAME *names = names_of(o, certificate, &count);
    out[0] = '\0';
    for (int i = 0; i < count && used < cap; i++) {
        const uint8_t *text = names_entry(o, names, i, &kind, &size);
        char said[TLS_NAMES_SIZE] = "";
        if (text != NULL) {
            entry_format(said, sizeof said, kind, text, size);
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used > 0 ? ", " : "", said);
        }
    }
    o->GENERAL_NAMES_free(names);
    if (used == 0) {
        snprintf(out, cap, "no name, as it has no SAN");
    }
}

const char *
mmi_tls_names_miss(const mmi_openssl *o, struct x509_st *certificate, const char *names,
                   size_t size, char text[MM_DETAIL_MAX + 1])
{
    size_t count = 0;
    for (size_t at = 0; at < size; at += strlen(names + at) + 1, count++) {
        if (name_hit(o, certificate, names + at)) {
            return NULL;
        }
    }
    char there[TLS_NAMES_SIZE];
    names_format(o, certificate, there, sizeof there);
    if (count > 1) {
        snprintf(text, MM_DETAIL_MAX + 1,
                 "its certificate is for none of names=, '%.20s' and more, but for %.40s", names,
                 there);
    } else {
        snprintf(text, MM_DETAIL_MAX + 1, "its certificate is not for '%.40s', but for %.45s",
                 count > 0 ? names : "", there);
    }
    return text;
}
