/*
 * z85.c: 32 octets as text, and back.
 *
 * Law: no more characters are looked at than the size says, which is checked first; the alphabet is
 * one string, and what is not in it is wrong.
 */
#include <string.h>

#include "crypto/z85.h"

static const char Z85_DIGITS[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
static const char BASE64_DIGITS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char HEX_DIGITS[] = "0123456789abcdef0123456789ABCDEF";
enum { Z85_BASE = 85, Z85_GROUP = 5, Z85_OCTETS = 4 };

_Static_assert(sizeof Z85_DIGITS == Z85_BASE + 1, "a digit for each value");

/* The value of a character, or -1. */
static int
text_value(const char *digits, char c)
{
    const char *found = c != 0 ? strchr(digits, c) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

static mmi_text_fault
text_wrong(uint8_t octets[MMI_KEY_OCTETS], mmi_text_fault fault, size_t is_at, size_t *at)
{
    memset(octets, 0, MMI_KEY_OCTETS);
    *at = is_at;
    return fault;
}

mmi_text_fault
mmi_z85_decode(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size, size_t *at)
{
    if (size != MMI_Z85_SIZE) {
        return text_wrong(octets, MMI_TEXT_SIZE, size, at);
    }
    for (size_t i = 0; i < MMI_Z85_SIZE / Z85_GROUP; i++) {
        uint64_t number = 0;
        for (size_t j = i * Z85_GROUP; j < (i + 1) * Z85_GROUP; j++) {
            int value = text_value(Z85_DIGITS, text[j]);
            if (value < 0) {
                return text_wrong(octets, MMI_TEXT_CHARACTER, j, at);
            }
            number = number * Z85_BASE + (uint64_t)value;
        }
        if (number > UINT32_MAX) {
            return text_wrong(octets, MMI_TEXT_OVERFLOW, i * Z85_GROUP, at);
        }
        for (size_t j = 0; j < Z85_OCTETS; j++) {
            octets[i * Z85_OCTETS + j] = (uint8_t)(number >> (24 - 8 * j));
        }
    }
    return MMI_TEXT_RIGHT;
}

void
mmi_z85_encode(char text[MMI_Z85_SIZE + 1], const uint8_t octets[MMI_KEY_OCTETS])
{
    for (size_t i = 0; i < MMI_KEY_OCTETS / Z85_OCTETS; i++) {
        uint32_t number = 0;
        for (size_t j = 0; j < Z85_OCTETS; j++) {
            number = number << 8 | octets[i * Z85_OCTETS + j];
        }
        for (size_t j = Z85_GROUP; j-- > 0; number /= Z85_BASE) {
            text[i * Z85_GROUP + j] = Z85_DIGITS[number % Z85_BASE];
        }
    }
    text[MMI_Z85_SIZE] = 0;
}

/* step: characters an octet, of which the third is a colon. */
static mmi_text_fault
pin_hex(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t step, size_t *at)
{
    for (size_t i = 0; i < MMI_KEY_OCTETS; i++) {
        unsigned octet = 0;
        for (size_t j = i * step; j < i * step + 2; j++) {
            int value = text_value(HEX_DIGITS, text[j]);
            if (value < 0) {
                return text_wrong(octets, MMI_TEXT_CHARACTER, j, at);
            }
            octet = octet << 4 | (unsigned)value % 16;
        }
        if (step == 3 && i + 1 < MMI_KEY_OCTETS && text[i * step + 2] != ':') {
            return text_wrong(octets, MMI_TEXT_CHARACTER, i * step + 2, at);
        }
        octets[i] = (uint8_t)octet;
    }
    return MMI_TEXT_RIGHT;
}

/* 43 characters of six bits and "=": two bits more than the octets, which must be zeros. */
static mmi_text_fault
pin_base64(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t *at)
{
    uint32_t bits = 0;
    int count = 0;
    size_t filled = 0;
    for (size_t i = 0; i < MMI_PIN_BASE64_SIZE - 1; i++) {
        int value = text_value(BASE64_DIGITS, text[i]);
        if (value < 0) {
            return text_wrong(octets, MMI_TEXT_CHARACTER, i, at);
        }
        bits = (bits << 6 | (uint32_t)value) & 0xffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            octets[filled++] = (uint8_t)(bits >> count);
        }
    }
    if ((bits & 3) != 0) {
        return text_wrong(octets, MMI_TEXT_OVERFLOW, MMI_PIN_BASE64_SIZE - 2, at);
    }
    if (text[MMI_PIN_BASE64_SIZE - 1] != '=') {
        return text_wrong(octets, MMI_TEXT_CHARACTER, MMI_PIN_BASE64_SIZE - 1, at);
    }
    return MMI_TEXT_RIGHT;
}

mmi_text_fault
mmi_pin_decode(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size, size_t *at)
{
    switch (size) {
    case MMI_PIN_HEX_SIZE: return pin_hex(octets, text, 2, at);
    case MMI_PIN_HEX_SIZE + MMI_KEY_OCTETS - 1: return pin_hex(octets, text, 3, at);
    case MMI_PIN_BASE64_SIZE: return pin_base64(octets, text, at);
    default: return text_wrong(octets, MMI_TEXT_SIZE, size, at);
    }
}
