/*
 * wire.c: which wires there are, and the words by which peers of our kind know each other.
 *
 * Not here: what a wire does (zmtp/wire.c, sp/wire.c).  Law: pure; no two wires begin with the same
 * octet, or have the same prefix.
 */
#include "wire/wire.h"

#include <string.h>

enum { WIRE_TEN = 10 };

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

/* A decimal number of at most that, with no 0 or anything else in front; *at is behind it then. */
static bool
wire_number(const char **at, uint64_t most, uint64_t *out)
{
    const char *first = *at, *c = first;
    uint64_t value = 0;
    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (value > (most - digit) / WIRE_TEN) {
            return false;
        }
        value = value * WIRE_TEN + digit;
    }
    bool valid = c > first && (*first != '0' || c == first + 1);
    *at = c;
    *out = value;
    return valid;
}

/* The word there, behind "takes=". */
static bool
wire_takes_of(const char *at, uint64_t *size, uint32_t *frames)
{
    uint64_t count = 0;
    if (!wire_number(&at, UINT64_MAX, size) || *at++ != '/' ||
        !wire_number(&at, UINT32_MAX, &count) || (*at != ' ' && *at != '\0')) {
        return false;
    }
    *frames = (uint32_t)count;
    return count > 0;
}

bool
mmi_wire_takes(const char *features, uint64_t *size, uint32_t *frames)
{
    static const char word[] = "takes=";
    const char *found = NULL;
    for (const char *at = strchr(features, ' '); at != NULL; at = strchr(at, ' ')) {
        at++;
        if (strncmp(at, word, sizeof word - 1) == 0) {
            if (found != NULL) {
                return false;   /* which of them is meant? */
            }
            found = at + sizeof word - 1;
        }
    }
    return found != NULL && wire_takes_of(found, size, frames);
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
