/*
 * wire/tls/fail.c: why a connection ends, in words: a check of ours, an alert of the peer, or what
 * OpenSSL says.
 *
 * Not here: which check of a certificate failed (verify.c).
 * Law: the errors of a thread are read once, and none is left for the next call.
 */
#include <stdio.h>
#include <string.h>

#include "wire/tls/inside.h"

enum {
    ALERT_CODE = 0xff,                   /* of what is kept of an alert */
    ALERT_WORDS_SIZE = 32,
    ALERT_CLOSE_NOTIFY = 0,
    ALERT_HANDSHAKE_FAILURE = 40,
    ALERT_BAD_CERTIFICATE = 42,
    ALERT_UNSUPPORTED_CERTIFICATE = 43,
    ALERT_REVOKED = 44,
    ALERT_EXPIRED = 45,
    ALERT_CERTIFICATE_UNKNOWN = 46,
    ALERT_UNKNOWN_CA = 48,
    ALERT_PROTOCOL_VERSION = 70,
    ALERT_CERTIFICATE_REQUIRED = 116,
    ALERT_NO_APPLICATION_PROTOCOL = 120
};

const char *
mmi_tls_words(const mmi_openssl *o)
{
    const char *words = o->ERR_reason_error_string(o->ERR_peek_last_error());
    o->ERR_clear_error();
    return words != NULL ? words : "no reason given";
}

/* What usually is behind an alert. */
static const char *
alert_guess(const mmi_tls *t, int code)
{
    bool secret = t->context->kind == TLS_BY_SECRET;
    switch (code) {
    case ALERT_HANDSHAKE_FAILURE:
        return t->expects ? ": another node is most likely there now, or it has another secret"
               : secret   ? ": it most likely has another secret, or none"
                          : ": nothing that both can do, or it wants a secret";
    case ALERT_BAD_CERTIFICATE: return ": it does not take our certificate, its name, pin or date";
    case ALERT_UNSUPPORTED_CERTIFICATE:
        return t->dials ? ": our certificate is not for a client"
                        : ": our certificate is not for a server";
    case ALERT_REVOKED: return ": its crl= has our certificate";
    case ALERT_EXPIRED: return ": our certificate, or its clock";
    case ALERT_CERTIFICATE_UNKNOWN: return ": it does not take our certificate";
    case ALERT_UNKNOWN_CA: return ": its ca= did not sign our certificate";
    case ALERT_PROTOCOL_VERSION: return ": no version of TLS that both speak";
    case ALERT_CERTIFICATE_REQUIRED: return ": we have no certificate to show";
    case ALERT_NO_APPLICATION_PROTOCOL: return ": it is no peer for messages";
    default: return "";
    }
}

/* OpenSSL 3.0 has no words for two of them. */
static const char *
alert_words(const mmi_tls *t, int code, char number[ALERT_WORDS_SIZE])
{
    const char *words = code == ALERT_CERTIFICATE_REQUIRED ? "certificate required"
                        : code == ALERT_NO_APPLICATION_PROTOCOL
                            ? "no application protocol"
                            : t->openssl->SSL_alert_desc_string_long(code);
    if (strcmp(words, "unknown") == 0) {
        snprintf(number, ALERT_WORDS_SIZE, "alert %d", code);
        words = number;
    }
    return words;
}

/* Whether it is the peer's alert that OpenSSL ends for; one that only warns may be long past. */
static bool
alert_ends(const mmi_tls *t, unsigned long error)
{
    unsigned long code = (unsigned long)(t->alert & ALERT_CODE);
    return t->alert != 0 &&
           (error == 0 || (error & MMI_ERR_REASON_MASK) == MMI_SSL_AD_REASON_OFFSET + code);
}

static int
fail_alert(const mmi_tls *t, mmi_refusal *why)
{
    char number[ALERT_WORDS_SIZE];
    int code = t->alert & ALERT_CODE;
    if (code == ALERT_CLOSE_NOTIFY) {
        return mmi_refuse(why, MM_REASON_HANDSHAKE_EOF,
                          "it says 'close notify' before it has said who it is");
    }
    return mmi_refuse(why, MM_REASON_TLS_ALERT, "it says '%s'%s", alert_words(t, code, number),
                      alert_guess(t, code));
}

/* There is no TLS that both can do. */
static bool
fail_unlike(const mmi_tls *t, unsigned long code)
{
    switch (code) {
    case MMI_SSL_R_NO_SHARED_CIPHER:
    case MMI_SSL_R_UNSUPPORTED_PROTOCOL:
    case MMI_SSL_R_VERSION_TOO_LOW: return true;
    case MMI_SSL_R_NO_SUITABLE_KEY_SHARE:
    case MMI_SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM: return !t->dials;
    default: return false;
    }
}

/* An error that is none of a check of ours. */
static int
fail_words(mmi_tls *t, unsigned long error, mmi_refusal *why)
{
    unsigned long code = error & MMI_ERR_REASON_MASK;
    const char *words = t->openssl->ERR_reason_error_string(error);
    words = words != NULL ? words : "no reason given";
    if (code == MMI_ERR_R_MALLOC_FAILURE) {
        return MM_ENOMEM;
    }
    if (t->other_node) {
        return mmi_refuse(why, MM_REASON_CRYPTO,
                          "it expects another node here: the address is an old one, or is wrong");
    }
    if (t->unknown_secret) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "its secret is none of ours");
    }
    if (code == MMI_SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
        return mmi_refuse(why, MM_REASON_CERTIFICATE,
                          "it has no certificate, and clients are to have one");
    }
    if (code == MMI_SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM && t->context->kind == TLS_BY_SECRET) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "it named no secret, and wants a certificate");
    }
    if (fail_unlike(t, code)) {
        return mmi_refuse(why, MM_REASON_MECHANISM, "no TLS that both can do: %s", words);
    }
    /* NNG protects that alert by keys that it does not use yet. */
    bool first = t->dials && t->state == TLS_DONE && !t->opened &&
                 code == MMI_SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC;
    return mmi_refuse(why, MM_REASON_CRYPTO, "%s%s", words,
                      first ? ": so does NNG if it does not take our certificate, or wants one"
                            : "");
}

int
mmi_tls_failed(mmi_tls *t, mmi_refusal *why)
{
    unsigned long error = t->openssl->ERR_peek_last_error();
    int rc = MM_EPROTO;
    if (t->no_memory) {
        rc = MM_ENOMEM;
    } else if (t->too_much) {
        rc = mmi_refuse(why, MM_REASON_CRYPTO, "more records without data than are taken");
    } else if (t->refusal.reason != 0) {
        *why = t->refusal;
    } else if (alert_ends(t, error)) {
        rc = fail_alert(t, why);
    } else {
        rc = fail_words(t, error, why);
    }
    t->openssl->ERR_clear_error();
    return rc;
}
