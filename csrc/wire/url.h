/*
 * url.h: the text of endpoints: [sp+][tls+]scheme://rest, where the rest is host:port or a name.
 *
 * Not here: which schemes there are, and what each takes (tran/tran.h: mmi_tran_parse); what a host
 * name means (plat).  Law: pure.
 */
#ifndef MMI_URL_H
#define MMI_URL_H

#include "wire/wire.h"

#define MMI_URL_OUTER "tls+"
enum {
    MMI_SCHEME_MAX = 15,        /* octets */
    MMI_SCHEME_TEXT_CAP = sizeof MMI_URL_OUTER + MMI_SCHEME_MAX
};

typedef struct mmi_url {
    char scheme[MMI_SCHEME_MAX + 1];
    const mmi_wire *wire; /* to connect over                                                       */
    bool outer;           /* tls+: an outer mechanism comes before the wire                        */
    bool any;             /* the host is "*": where to listen is left open                        */
    bool ported;          /* host:port, not a name                                                */
    char host[256];       /* or the name; an IPv6 address without its brackets                    */
    uint16_t port;        /* 0: left open */
} mmi_url;

/* Clears *out, takes sp+, tls+ and the scheme off the front and returns the rest; NULL: no scheme is there.
 * One longer than MMI_SCHEME_MAX is none that anybody has: out gets "". */
const char *mmi_url_split(const char *text, mmi_url *out) MMI_WARN_UNUSED;

/* The rest, after mmi_url_split.  MM_OK, or MM_EADDRINVAL or MM_ENAMETOOLONG with a reason in why (may
 * be NULL, else MM_WHY_SIZE octets).  host:port, [v6%scope]:port, and * for either: trailing octets, missing
 * or over-large ports and empty hosts are refused. */
int mmi_url_host(const char *rest, mmi_url *out, char *why) MMI_WARN_UNUSED;
/* A name of at most size_max octets (less than there are in mmi_url.host); what: what to call it. */
int mmi_url_name(const char *rest, size_t size_max, const char *what, mmi_url *out,
                 char *why) MMI_WARN_UNUSED;
/* Puts down the reason.  MM_EADDRINVAL. */
int mmi_url_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The scheme as it is written, with tls+ but without sp+; out has MMI_SCHEME_TEXT_CAP octets. */
const char *mmi_url_scheme(const mmi_url *u, char *out);
/* The whole text again.  MM_EINVAL: it does not fit. */
int mmi_url_format(const mmi_url *u, char *out, size_t size) MMI_WARN_UNUSED;

#endif
