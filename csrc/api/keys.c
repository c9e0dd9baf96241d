/*
 * keys.c: keys as the Python binding reads, writes and makes them; the libraries that protection
 * needs, as it hands over and asks for them.
 *
 * Not here: files (src/meshmsg/_security); what a socket does with a key (api/curve.c).
 * Law: no handle and no lock; a secret is written where the caller said, and nowhere else.
 */
#include <string.h>

#include "crypto/secret.h"
#include "crypto/z85.h"
#include "meshmsg_binding.h"
#include "plat/library.h"

_Static_assert((int)MM_KEY_SIZE == (int)MMI_KEY_OCTETS && (int)MM_KEY_TEXT_SIZE == MMI_Z85_SIZE + 1,
               "the same");
_Static_assert((int)MM_KEY_WRONG_SIZE == (int)MMI_TEXT_SIZE, "the same faults");
_Static_assert((int)MM_KEY_WRONG_CHARACTER == (int)MMI_TEXT_CHARACTER, "the same faults");
_Static_assert((int)MM_KEY_OVERFLOW == (int)MMI_TEXT_OVERFLOW, "the same faults");
_Static_assert((int)MM_SODIUM_FUNCTIONS == (int)MMI_SODIUM_FUNCTIONS, "the same functions");

int
mm_key_parse(const char *text, size_t size, uint8_t key[MM_KEY_SIZE], size_t *at)
{
    return (int)mmi_z85_decode(key, text, size, at);
}

void
mm_key_text(const uint8_t key[MM_KEY_SIZE], char text[MM_KEY_TEXT_SIZE])
{
    mmi_z85_encode(text, key);
}

int
mm_key_public(const uint8_t secret[MM_KEY_SIZE], uint8_t key[MM_KEY_SIZE])
{
    const mmi_sodium *sodium = mmi_sodium_get();
    return sodium == NULL                              ? MM_ENOTSUP
           : sodium->scalarmult_base(key, secret) == 0 ? MM_OK
                                                       : MM_EINVAL;
}

void
mm_key_wipe(uint8_t key[MM_KEY_SIZE])
{
    mmi_wipe(key, MM_KEY_SIZE);
}

const char *
mm_sodium_name(uint32_t index)
{
    return index < MMI_SODIUM_FUNCTIONS ? mmi_sodium_names[index] : NULL;
}

const char *
mm_sodium_offer(const uint64_t addresses[MM_SODIUM_FUNCTIONS])
{
    void *functions[MMI_SODIUM_FUNCTIONS];
    const char *wrong = NULL;
    for (int i = 0; i < MMI_SODIUM_FUNCTIONS; i++) {
        functions[i] = (void *)(uintptr_t)addresses[i];
    }
    return mmi_sodium_offer(functions, &wrong) == MM_OK ? "" : wrong;
}
