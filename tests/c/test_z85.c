/*
 * test_z85.c: keys as text: RFC 32's own example, each wrong character and overflow told where, and
 * nothing read behind the text.
 * Not here: files of keys (tests/unit/test_keys.py).
 * Law: a text under test has a block of its own, so that the sanitizer sees an octet too far.
 */
#include "check.h"
#include "crypto/z85.h"

/* The public key of the examples in libzmq's manual (zmq_curve). */
static const char TEXT[] = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
static const uint8_t OCTETS[MMI_KEY_OCTETS] = {
    0x54, 0xfc, 0xba, 0x24, 0xe9, 0x32, 0x49, 0x96, 0x93, 0x16, 0xfb, 0x61, 0x7c, 0x87, 0x2b, 0xb0,
    0xc1, 0xd1, 0xff, 0x14, 0x80, 0x04, 0x27, 0xc5, 0x94, 0xcb, 0xfa, 0xcf, 0x1b, 0xc2, 0xd6, 0x52,
};

typedef mmi_text_fault decoder(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size,
                               size_t *at);

/* Decodes a copy that ends where its size says. */
static mmi_text_fault
decode(decoder *with, uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size, size_t *at)
{
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, text, size);
    memset(octets, 0xee, MMI_KEY_OCTETS);
    *at = SIZE_MAX;
    mmi_text_fault fault = with(octets, copy, size, at);
    free(copy);
    return fault;
}

static void
check_wrong(decoder *with, const char *text, size_t size, mmi_text_fault fault, size_t at)
{
    uint8_t octets[MMI_KEY_OCTETS], zeros[MMI_KEY_OCTETS] = { 0 };
    size_t told;
    CHECK_INT(decode(with, octets, text, size, &told), fault);
    CHECK_INT(told, at);
    CHECK(memcmp(octets, zeros, sizeof octets) == 0);
}

static void
check_right(decoder *with, const char *text, const uint8_t wanted[MMI_KEY_OCTETS])
{
    uint8_t octets[MMI_KEY_OCTETS];
    size_t at;
    CHECK_INT(decode(with, octets, text, strlen(text), &at), MMI_TEXT_RIGHT);
    CHECK(memcmp(octets, wanted, sizeof octets) == 0);
}

static void
test_the_keys_of_others_are_read_and_written(void)
{
    char text[MMI_Z85_SIZE + 1];
    check_right(mmi_z85_decode, TEXT, OCTETS);
    mmi_z85_encode(text, OCTETS);
    CHECK(strcmp(text, TEXT) == 0);
    /* RFC 32: the octets 86 4F D2 6F B5 59 F7 5B are HelloWorld. */
    uint8_t hello[MMI_KEY_OCTETS];
    for (size_t i = 0; i < sizeof hello; i++) {
        hello[i] = (uint8_t[]){ 0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b }[i % 8];
    }
    check_right(mmi_z85_decode, "HelloWorldHelloWorldHelloWorldHelloWorld", hello);
}

static void
test_what_is_written_is_read_again(void)
{
    uint32_t seed = 32;
    uint8_t octets[MMI_KEY_OCTETS];
    char text[MMI_Z85_SIZE + 1];
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof octets; i++) {
            octets[i] = round == 0 ? 0 : round == 1 ? 0xff : (uint8_t)check_random(&seed);
        }
        mmi_z85_encode(text, octets);
        CHECK_INT(strlen(text), MMI_Z85_SIZE);
        check_right(mmi_z85_decode, text, octets);
    }
}

static void
test_each_other_size_is_refused(void)
{
    char text[128];
    memset(text, '0', sizeof text);
    for (size_t size = 0; size < sizeof text; size++) {
        if (size != MMI_Z85_SIZE) {
            check_wrong(mmi_z85_decode, text, size, MMI_TEXT_SIZE, size);
        }
        if (size != 64 && size != 95 && size != 44) {
            check_wrong(mmi_pin_decode, text, size, MMI_TEXT_SIZE, size);
        }
    }
}

static void
test_each_wrong_character_is_told_where(void)
{
    for (size_t at = 0; at < MMI_Z85_SIZE; at++) {
        for (int c = 0; c < 256; c++) {
            char text[MMI_Z85_SIZE + 1];
            memcpy(text, TEXT, sizeof text);
            text[at] = (char)c;
            bool digit = c > ' ' && c < 127 && strchr("\"'`,;_|~\\", c) == NULL;
            uint8_t octets[MMI_KEY_OCTETS];
            size_t told;
            mmi_text_fault fault = decode(mmi_z85_decode, octets, text, MMI_Z85_SIZE, &told);
            CHECK_INT(fault == MMI_TEXT_CHARACTER, !digit);
            CHECK(fault != MMI_TEXT_CHARACTER || told == at);
            CHECK(fault != MMI_TEXT_OVERFLOW || told == at / 5 * 5);
        }
    }
}

static void
test_five_that_say_too_much_are_told_where(void)
{
    for (size_t group = 0; group < MMI_Z85_SIZE / 5; group++) {
        char text[MMI_Z85_SIZE + 1];
        memcpy(text, TEXT, sizeof text);
        memcpy(text + 5 * group, "#####", 5);
        check_wrong(mmi_z85_decode, text, MMI_Z85_SIZE, MMI_TEXT_OVERFLOW, 5 * group);
        memcpy(text + 5 * group, "%nSc1", 5); /* 2^32 */
        check_wrong(mmi_z85_decode, text, MMI_Z85_SIZE, MMI_TEXT_OVERFLOW, 5 * group);
        memcpy(text + 5 * group, "%nSc0", 5); /* the greatest that is */
        uint8_t octets[MMI_KEY_OCTETS];
        size_t at;
        CHECK_INT(decode(mmi_z85_decode, octets, text, MMI_Z85_SIZE, &at), MMI_TEXT_RIGHT);
        CHECK(memcmp(octets + 4 * group, "\xff\xff\xff\xff", 4) == 0);
    }
}

static const char HEX[] = "54fcba24e93249969316fb617c872bb0c1d1ff14800427c594cbfacf1bc2d652";
static const char COLONS[] = "54:FC:BA:24:E9:32:49:96:93:16:FB:61:7C:87:2B:B0:"
                             "C1:D1:FF:14:80:04:27:C5:94:CB:FA:CF:1B:C2:D6:52";
static const char BASE64[] = "VPy6JOkySZaTFvthfIcrsMHR/xSABCfFlMv6zxvC1lI=";

static void
test_a_pin_is_read_in_each_of_its_forms(void)
{
    check_right(mmi_pin_decode, HEX, OCTETS);
    check_right(mmi_pin_decode, COLONS, OCTETS);
    check_right(mmi_pin_decode, BASE64, OCTETS);
}

static void
check_spoiled(const char *pin, size_t at, char c, mmi_text_fault fault)
{
    char text[128];
    snprintf(text, sizeof text, "%s", pin);
    text[at] = c;
    check_wrong(mmi_pin_decode, text, strlen(pin), fault, at);
}

static void
test_what_is_wrong_in_a_pin_is_told_where(void)
{
    for (size_t at = 0; at < strlen(HEX); at++) {
        check_spoiled(HEX, at, 'g', MMI_TEXT_CHARACTER);
    }
    for (size_t at = 0; at < strlen(COLONS); at++) {
        check_spoiled(COLONS, at, at % 3 == 2 ? '0' : ':', MMI_TEXT_CHARACTER);
    }
    for (size_t at = 0; at < strlen(BASE64); at++) {
        check_spoiled(BASE64, at, at + 1 < strlen(BASE64) ? '=' : 'A', MMI_TEXT_CHARACTER);
    }
    check_spoiled(BASE64, strlen(BASE64) - 2, 'J', MMI_TEXT_OVERFLOW);
}

int
main(void)
{
    RUN(test_the_keys_of_others_are_read_and_written);
    RUN(test_what_is_written_is_read_again);
    RUN(test_each_other_size_is_refused);
    RUN(test_each_wrong_character_is_told_where);
    RUN(test_five_that_say_too_much_are_told_where);
    RUN(test_a_pin_is_read_in_each_of_its_forms);
    RUN(test_what_is_wrong_in_a_pin_is_told_where);
    return 0;
}
