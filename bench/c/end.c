/*
 * end.c: what every rival in C has, unless it says more itself.
 * Not here: how it measures (main.c).
 */
#include "end.h"

#include <stdio.h>
#include <stdlib.h>

void
bench_fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Rivals without a library. */
__attribute__((weak)) const char *
bench_version(void)
{
    return "";
}
