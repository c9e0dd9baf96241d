/*
 * test_arrow.c: which arrays are read, and where their elements are: binary of fixed size, and
 * schemas that lie.
 * Not here: sending them, and whatever comes by way of a library (tests/unit/test_arrow.py).
 * Law: a format that is not wholly understood is refused before a buffer is looked at.
 */
#include "batch/arrow.h"

#include "check.h"

enum { WIDTH_MAX = INT32_MAX };

static int
open_as(const char *format, int64_t buffers, mmi_arrow_view *view)
{
    static const void *none[3];
    static mmi_arrow_array array;
    mmi_arrow_schema schema = { .format = format };
    array = (mmi_arrow_array){ .length = 1, .n_buffers = buffers, .buffers = none };
    return mmi_arrow_open(&schema, &array, view);
}

static void
test_a_width_is_read_up_to_its_limit(void)
{
    mmi_arrow_view view;
    char format[32];
    for (int64_t width = WIDTH_MAX - 1; width <= (int64_t)WIDTH_MAX + 1; width++) {
        (void)snprintf(format, sizeof format, "w:%" PRId64, width);
        CHECK_INT(open_as(format, 2, &view), width <= WIDTH_MAX ? MM_OK : MM_EINVAL);
    }
    CHECK_INT(open_as("w:0", 2, &view), MM_OK);
    CHECK(view.kind == 'w' && view.width == 0);
    CHECK_INT(open_as("w:0016", 2, &view), MM_OK);
    CHECK_INT(view.width, 16);
}

static void
test_a_format_that_lies_is_refused(void)
{
    static const char *const formats[] = {
        "",
        "w",
        "w:",
        "w:-1",
        "w:+1",
        "w: 1",
        "w:1 ",
        "w:1.5",
        "w:1,2",
        "w:x",
        "w:0x10",
        "W:4",
        "w;4",
        "ww:4",
        "w:9223372036854775808",
        "w:18446744073709551617",
        "w:99999999999999999999999999999999999999999",
        "+w:4",
        "d:4,2",
        "zz",
        "v",
        "vw",
    };
    mmi_arrow_view view;
    for (size_t i = 0; i < MMI_COUNT_OF(formats); i++) {
        CHECK_INT(open_as(formats[i], 3, &view), MM_EINVAL);
    }
}

static void
test_an_array_with_too_few_buffers_is_refused(void)
{
    static const struct {
        const char *format;
        int64_t buffers;
    } least[] = {
        { "w:4", 2 },
        { "z", 3 },
        { "U", 3 },
        { "vz", 2 },
    };
    mmi_arrow_view view;
    for (size_t i = 0; i < MMI_COUNT_OF(least); i++) {
        CHECK_INT(open_as(least[i].format, least[i].buffers, &view), MM_OK);
        CHECK_INT(open_as(least[i].format, least[i].buffers - 1, &view), MM_EINVAL);
        CHECK_INT(open_as(least[i].format, -1, &view), MM_EINVAL);
    }
    mmi_arrow_schema keys = { .format = "w:4" }, coded = { .format = "w:4", .dictionary = &keys };
    mmi_arrow_array array = { .n_buffers = 3 };
    CHECK_INT(mmi_arrow_open(&coded, &array, &view), MM_EINVAL);
}

static void
test_elements_of_one_width_are_where_they_should_be(void)
{
    static const uint8_t data[] = "aaabbbcccddd", valid[] = { 0x0b };   /* the third is null */
    const void *buffers[] = { valid, data };
    mmi_arrow_schema schema = { .format = "w:3" };
    mmi_arrow_array array = {
        .length = 3, .null_count = 1, .offset = 1, .n_buffers = 2, .buffers = buffers
    };
    mmi_arrow_view view;
    size_t size;
    CHECK_INT(mmi_arrow_open(&schema, &array, &view), MM_OK);
    CHECK(mmi_arrow_at(&view, 0, &size) == data + 3 && size == 3);
    CHECK(mmi_arrow_at(&view, 2, &size) == data + 9 && size == 3);
    CHECK(!mmi_arrow_null(&view, 0) && mmi_arrow_null(&view, 1) && !mmi_arrow_null(&view, 2));
}

static void
test_elements_of_no_width_need_no_bytes(void)
{
    const void *buffers[] = { NULL, NULL };
    mmi_arrow_schema schema = { .format = "w:0" };
    mmi_arrow_array array = { .length = 2, .n_buffers = 2, .buffers = buffers };
    mmi_arrow_view view;
    size_t size = 7;
    CHECK_INT(mmi_arrow_open(&schema, &array, &view), MM_OK);
    CHECK(mmi_arrow_at(&view, 1, &size) != NULL && size == 0);
    CHECK(mmi_arrow_at(&view, 0, &size) == mmi_arrow_at(&view, 1, &size));
}

int
main(void)
{
    RUN(test_a_width_is_read_up_to_its_limit);
    RUN(test_a_format_that_lies_is_refused);
    RUN(test_an_array_with_too_few_buffers_is_refused);
    RUN(test_elements_of_one_width_are_where_they_should_be);
    RUN(test_elements_of_no_width_need_no_bytes);
    return 0;
}
