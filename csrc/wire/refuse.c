/*
 * wire/refuse.c: the words of a refusal are put together.
 * Not here: what is refused.
 */
#include "wire/refuse.h"

#include <stdarg.h>
#include <stdio.h>

int
mmi_refuse_into(int *reason, char detail[MM_DETAIL_MAX + 1], int why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(detail, MM_DETAIL_MAX + 1, format, args);
    va_end(args);
    *reason = why;
    return why == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}
