/*
 * api/curve.c: a socket whose connections CURVE protects.
 *
 * Not here: CURVE (wire/zmtp/curve.h), who may come in.
 * Law: no key is left on the stack.
 */
#include <string.h>

#include "api/api.h"
#include "crypto/secret.h"
#include "plat/library.h"
#include "wire/zmtp/curve.h"

/* MM_EINVAL, MM_ENOMEM */
static int
curve_config(mmi_engine *e, const mm_curve_opts *opts, mmi_curve_config *out)
{
    bool serves = opts->serves != 0;
    if (opts->secret_count > (serves ? MMI_CURVE_KEYS_MAX : 1)) {
        return MM_EINVAL;
    }
    out->vault = mmi_engine_vault(e);
    if (out->vault == NULL) {
        return MM_ENOMEM;
    }
    out->plat = e->plat.self;
    out->random = e->plat.random;
    out->now_ns = e->plat.now_ns;
    out->serves = serves;
    out->asks = serves && opts->asks != 0;
    out->pair_count = opts->secret_count;
    for (uint32_t i = 0; i < opts->secret_count; i++) {
        mmi_secret_copy(out->pairs[i].secret, opts->secrets + (size_t)i * MMI_KEY_SIZE,
                        MMI_KEY_SIZE);
    }
    if (!serves) {
        memcpy(out->server, opts->server, MMI_KEY_SIZE);
    }
    return mmi_curve_config_check(out);
}

int
mm_socket_curve(mm_handle socket, const mm_curve_opts *opts)
{
    mmi_curve_config config;
    memset(&config, 0, sizeof config);   /* all octets: equal policies are found by them */
    config.sodium = mmi_sodium_get();
    mmi_socket *s;
    int rc = config.sodium == NULL ? MM_ENOTSUP : mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    rc = s->opts.identity_size <= MMI_CURVE_IDENTITY_MAX ? curve_config(s->engine, opts, &config)
                                                         : MM_EINVAL;
    if (rc == MM_OK) {
        rc = mmi_api_protect(s, &mmi_mechanism_curve, &config, sizeof config);
    }
    mmi_wipe(&config, sizeof config);
    return mmi_api_leave(s, rc);
}

uint32_t
mm_secrets_lack(mm_handle socket)
{
    mmi_socket *s;
    if (mmi_api_enter(socket, &s) != MM_OK) {
        return 0;
    }
    uint32_t lack = mmi_engine_secrets_lack(s->engine);
    (void)mmi_api_end(s->engine, MM_OK);
    return lack;
}

const char *
mm_curve_missing(void)
{
    return mmi_sodium_missing();
}
