/*
 * wire/tls/inside.h: policies and connections of TLS, as the files that make them see them.
 *
 * Private to wire/.  Not here: what others see (wire/tls/tls.h).
 * Law: a connection's lock is around OpenSSL and what sealing and opening share, and nothing else is
 * called with it held but that and the allocator; a policy is not changed once it is made.
 */
#ifndef MMI_TLS_INSIDE_H
#define MMI_TLS_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "wire/tls/tls.h"

enum {
    TLS_HEAD = 5,                        /* octets of the head of a record          */
    TLS_OVERHEAD = 128,                  /* more than a record and an update of keys add to what is sealed */
    TLS_CLOSE_MAX = 32,                  /* octets of a record that says the end    */
    TLS_IDENTITY = 2 * MMI_TLS_KEY_SIZE, /* characters of what a secret is called   */
    TLS_NAMED_MAX = TLS_IDENTITY + 2 * MMI_TLS_KEY_SIZE + MM_NODE_NAME_MAX,   /* octets that a node names */
    TLS_HOST_MAX = 255,                  /* octets of a name                        */
    TLS_ALPN_MAX = 16,                   /* octets of all that is offered by ALPN   */
    TLS_DATE_SIZE = 32,                  /* octets of a date as text                */
    TLS_ALERT_SEEN = 0x100,              /* above the code of an alert              */
    TLS_NAMES_SIZE = 96                  /* octets of some names as text            */
};

typedef enum tls_kind {
    TLS_BY_CERTIFICATE,                  /* signed by somebody whom we believe      */
    TLS_BY_PIN,
    TLS_BY_ASKING,                       /* any certificate: its key is asked about */
    TLS_BY_SECRET
} tls_kind;

typedef struct tls_secret {
    uint8_t key[MMI_TLS_KEY_SIZE];
} tls_secret;

struct mmi_tls_context {
    mmi_tls_world world;
    atomic_uint refs;
    mmi_tls_context *base;               /* counted: whose ctx and bio it shares; NULL: they are its own */
    tls_kind kind;
    bool asks, serves;                   /* serves: there is something to show to who dials */
    bool dials;                          /* there is somebody to believe            */
    uint32_t clients;                    /* MM_CLIENTS_                             */
    struct ssl_ctx_st *ctx;
    struct bio_method_st *bio;
    uint8_t (*pins)[MMI_TLS_KEY_SIZE];   /* sorted                                  */
    size_t pin_count;
    char *names;                         /* each with a 0 behind it                 */
    size_t names_size;
    mmi_secrets pool;
    tls_secret *secrets;                 /* of the pool                             */
    char identities[MMI_TLS_SECRETS_MAX][TLS_IDENTITY + 1];
    uint32_t secret_count;
    struct evp_pkey_st *node;            /* ours, beside secrets; NULL: no node      */
    uint8_t node_key[MMI_TLS_KEY_SIZE];  /* its public key                          */
    char node_name[MM_NODE_NAME_MAX + 1];
};

struct mmi_tls_config {
    mmi_tls_world world;
    atomic_uint refs;
    bool asks, serves, dials;            /* which no other policy changes           */
    pthread_mutex_t lock;                /* of the two below                        */
    mmi_tls_context *now;
    uint64_t generation;                 /* of it, from 1                           */
};

/* What a peer proved in its handshake. */
struct mmi_tls_proof {
    const mmi_openssl *openssl;
    atomic_uint refs;
    bool dials;                          /* we did                                  */
    char host[TLS_HOST_MAX + 1];         /* of who dials: the peer's                */
    struct x509_st *certificate;         /* NULL: it has none                       */
    struct stack_st_X509 *chain;         /* those it sent with it; NULL: none       */
    bool node;                           /* pin is its public key as a node         */
    uint8_t pin[MMI_TLS_KEY_SIZE];
    char user_id[MM_USER_ID_MAX + 1];    /* of a node                               */
    uint8_t *der;                        /* of the certificate                      */
    const char *version, *cipher;        /* OpenSSL's, for good; NULL: not known yet */
    size_t der_size;
    char identity[TLS_IDENTITY + 1];     /* of the secret; "": none                 */
    pthread_mutex_t lock;                /* of the two below                        */
    uint64_t judged;                     /* generation of the policy that was asked */
    bool stands;                         /* and what it said                        */
};

typedef enum tls_state { TLS_BEGUN, TLS_SHAKES, TLS_ASKS, TLS_DONE, TLS_FAILED } tls_state;

/* Where records begin and end, in what was read. */
typedef struct tls_records {
    uint8_t head[TLS_HEAD];
    size_t head_size, left;              /* left: octets of its body that did not come */
} tls_records;

typedef struct mmi_tls {
    mmi_tls_config *config;
    mmi_tls_context *context;
    const mmi_openssl *openssl;
    struct ssl_st *ssl;
    struct mmi_tls_proof *proof;
    bool dials;
    tls_state state;
    mmi_refusal refusal;                 /* which check of ours failed; reason 0: none */
    int alert;                           /* the peer's last, with TLS_ALERT_SEEN; 0: none */
    bool unknown_secret;                 /* the peer named one that is none of ours */
    bool expects;                        /* we dial, and know the node that is to be there */
    bool other_node;                     /* the peer expects another node than us   */
    uint8_t named[TLS_NAMED_MAX];        /* what we name, as a node that dials      */
    uint64_t heard;                      /* octets of the handshake                 */

    pthread_mutex_t lock;                /* of all below, and of ssl                */
    tls_records records;                 /* that OpenSSL was given                  */
    const uint8_t *from;                 /* what it may read                        */
    size_t from_size;
    uint8_t *into;                       /* where it writes; NULL: to said          */
    size_t into_size, into_cap;
    uint8_t *said;                       /* what it wrote, and nobody took          */
    size_t said_at, said_size, said_cap;
    uint8_t *came;                       /* records there was no room for           */
    size_t came_at, came_size;
    size_t promised;                     /* octets that the next seal may write     */
    uint64_t sealed;                     /* records                                 */
    uint32_t quiet;                      /* records in a row without octets for us  */
    bool no_memory, too_much, opened, closed, seal_failed, open_failed;   /* opened: some octets */
} mmi_tls;

/* tls/config.c.  The policy of now, counted once more. */
mmi_tls_context *mmi_tls_config_now(mmi_tls_config *config, uint64_t *generation);

/* tls/pem.c: the texts of a policy.  MM_ENOMEM; MM_EINVAL: why has the words. */
int mmi_tls_pem_use(mmi_tls_context *context, const mm_tls_opts *opts, char *why, size_t why_size) MMI_WARN_UNUSED;

/* tls/alpn.c: what is spoken inside, as TLS has names for it, each with its size in front. */
#define MMI_TLS_ALPN_TEXT "zmtp/3 or sp/1"
bool mmi_tls_alpn_known(const uint8_t *name);
/* Of the wire of that name; NULL: all.  How many octets. */
size_t mmi_tls_alpn_put(const char *wire, uint8_t out[TLS_ALPN_MAX]);

/* tls/fail.c.  OpenSSL gave up: what that comes to.  MM_EPROTO or MM_ENOMEM. */
int mmi_tls_failed(mmi_tls *t, mmi_refusal *why);
/* The words of the newest error, and no error is left. */
const char *mmi_tls_words(const mmi_openssl *o);

/* tls/stream.c */
struct bio_method_st *mmi_tls_bio_method(const mmi_openssl *o);     /* NULL: no memory */
struct bio_st *mmi_tls_bio(mmi_tls *t);                             /* likewise */
/* Octets up to the next place where a head or a record ends, of so many. */
size_t mmi_tls_records_part(const tls_records *r, size_t size);
bool mmi_tls_between(const tls_records *r);
void mmi_tls_say(mmi_tls *t, const uint8_t *data, size_t size);     /* as it is; if there is memory */
void mmi_tls_said_sent(mmi_tls *t, size_t size);

/* tls/verify.c: the callback of a context, and the same of a proof.  */
int mmi_tls_verify(struct x509_store_ctx_st *chain, void *arg);
/* What OpenSSL calls for each certificate of a chain, where lists of revoked ones are looked at. */
int mmi_tls_forgive(int right_so_far, struct x509_store_ctx_st *chain);
bool mmi_tls_judge(const mmi_tls_context *context, const mmi_tls_proof *proof);
/* Who the peer is, once the handshake is over.  MM_ENOMEM; MM_EPROTO: there was to be a proof, and is none. */
int mmi_tls_prove(mmi_tls *t, mmi_refusal *why);

/* tls/names.c */
/* NULL: one of them is in the certificate. Else what was wanted and what there is, in words. */
const char *mmi_tls_names_miss(const mmi_openssl *o, struct x509_st *certificate, const char *names, size_t size,
                               char text[MM_DETAIL_MAX + 1]);
/* MM_EINVAL: one of them can be in no certificate, and which is in why. */
int mmi_tls_names_check(const char *names, size_t size, char *why, size_t why_size);
bool mmi_tls_is_address(const char *host);

/* tls/secret.c: keys of secrets, and the callbacks that find them. */
int mmi_tls_secrets_set(mmi_tls_context *context, const uint8_t *secrets, size_t size) MMI_WARN_UNUSED;
/* As OpenSSL is to have it, of that connection; NULL: no memory. */
struct ssl_session_st *mmi_tls_secret_psk(const mmi_tls *t, uint32_t index);
bool mmi_tls_secret_known(const mmi_tls_context *context, const char *identity);
/* Of these octets.  NULL: no memory. */
struct ssl_session_st *mmi_tls_psk_of(const mmi_tls *t, const uint8_t key[MMI_TLS_KEY_SIZE]);

/* tls/node.c: which of those that have the secret it is.  MM_EINVAL: why has the words. */
int mmi_tls_node_set(mmi_tls_context *context, const mm_tls_opts *opts, char *why, size_t why_size) MMI_WARN_UNUSED;
/* Of who dials: the peer has to be that one.  MM_EINVAL: we are no node, or that is none. */
int mmi_tls_node_expect(mmi_tls *t, const mmi_expected *who) MMI_WARN_UNUSED;
/* Of who dials, and expects one: what it names, which is t's.  NULL: there is no such key, or no memory. */
struct ssl_session_st *mmi_tls_node_use(mmi_tls *t, const unsigned char **named, size_t *size);
/* Of who listens: the peer named that secret of ours, and more.  NULL: it means another one, or it is wrong. */
struct ssl_session_st *mmi_tls_node_find(mmi_tls *t, uint32_t secret, const uint8_t *named, size_t size);

/* tls/callback.c: what OpenSSL calls with no more than its own. */
void mmi_tls_callbacks(const mmi_tls_context *context);
const mmi_openssl *mmi_tls_library(void);         /* the one of this process */
mmi_tls *mmi_tls_of(const struct ssl_st *ssl);

/* tls/record.c: as of wire/mechanism.h. */
size_t mmi_tls_room(const void *self, size_t size);
int64_t mmi_tls_seal(void *self, const uint8_t *plain, size_t *size, uint8_t *out);
int mmi_tls_open(void *self, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given, mmi_refusal *why);
bool mmi_tls_idle(const void *self);
bool mmi_tls_closed(const void *self);
size_t mmi_tls_farewell(void *self, uint8_t *out);

#endif
