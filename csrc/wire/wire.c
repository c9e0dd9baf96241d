/*
 * wire.c: which wires there are, and the words by which peers of our kind know each other.
 *
 * Not here: what a wire does (zmtp/wire.c, sp/wire.c).  Law: pure; no two wires begin with the same
 * octet, or have the same prefix.
 */
#include "wire/wire.h"

#include <string.h>

static const mmi_wire *const wires[] = { &mmi_wire_zmtp, &mmi_wire_sp };

const char mmi_wire_features[] = "1 refuse stop ack meta";

const mmi_wire *
mmi_wire_sniff(uint8_t first)
{
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        if (wires[i]->hello->first == first) {
            return wires[i];
        }
    }
    return NULL;
}

const mmi_wire *
mmi_wire_of_text(const char **text)
{
    for (size_t i = 1; i < MMI_COUNT_OF(wires); i++) {   /* the first has none */
        size_t size = strlen(wires[i]->prefix);
        if (strncmp(*text, wires[i]->prefix, size) == 0) {
            *text += size;
            return wires[i];
        }
    }
    return wires[0];
}

bool
mmi_wire_knows(const char *features, const char *word)
{
    const char *at = strchr(features, ' ');   /* behind the version */
    while (at != NULL) {
        at++;
        const char *end = strchr(at, ' ');
        size_t size = end != NULL ? (size_t)(end - at) : strlen(at);
        if (size == strlen(word) && memcmp(at, word, size) == 0) {
            return true;
        }
        at = end;
    }
    return false;
}

bool
mmi_wire_group_valid(const uint8_t *name, size_t size)
{
    static const char those[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    bool valid = size > 0 && size <= (size_t)MMI_GROUP_NAME_MAX;
    for (size_t i = 0; valid && i < size; i++) {
        valid = memchr(those, name[i], sizeof those - 1) != NULL;
    }
    return valid;
}
