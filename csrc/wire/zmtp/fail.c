/*
 * wire/zmtp/fail.c: a handshake that failed: the cause, and the words for it.
 *
 * Not here: what fails it (wire/zmtp/hello.c, wire/zmtp/ready.c).
 */
#include <stdarg.h>
#include <stdio.h>

#include "wire/zmtp/hello.h"

int
mmi_hello_fail(mmi_hello *h, int reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(h->detail, sizeof h->detail, format, args);
    va_end(args);
    h->reason = reason;
    return MM_EPROTO;
}
