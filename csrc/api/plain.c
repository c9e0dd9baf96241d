/*
 * api/plain.c: a socket whose peers say a user and a password.
 *
 * Not here: PLAIN (wire/zmtp/plain.h), who may come in, where PLAIN may be used.
 * Law: no password is left on the stack.
 */
#include <string.h>

#include "api/api.h"
#include "crypto/secret.h"
#include "wire/zmtp/plain.h"

int
mm_socket_plain(mm_handle socket, const mm_plain_opts *opts)
{
    mmi_plain_config config;
    if (opts->user_size > MMI_PLAIN_NAME_MAX || opts->password_size > MMI_PLAIN_NAME_MAX) {
        return MM_EINVAL;
    }
    memset(&config, 0, sizeof config);   /* all octets: equal policies are found by them */
    config.serves = opts->serves != 0;
    config.asks = config.serves && opts->asks != 0;
    if (!config.serves) {
        config.user_size = opts->user_size;
        config.password_size = opts->password_size;
        memcpy(config.user, opts->user, opts->user_size);
        mmi_secret_copy(config.password, opts->password, opts->password_size);
    }
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        rc = mmi_api_leave(s, mmi_api_protect(s, &mmi_mechanism_plain, &config, sizeof config));
    }
    mmi_wipe(&config, sizeof config);
    return rc;
}
