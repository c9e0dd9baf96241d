/*
 * base.h: what every file of the core may use.  Not a place for anything with state.
 * Law: assertions are for our own mistakes only; nothing a peer or a user sends is ever asserted.
 */
#ifndef MMI_BASE_H
#define MMI_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshmsg.h"

#define MMI_WARN_UNUSED __attribute__((warn_unused_result))
#define MMI_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define MMI_ASSERT(cond) ((cond) ? (void)0 : mmi_assert_failed(#cond, __FILE__, __LINE__))
#define MMI_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* clang says by a feature what gcc says by a name: the names are what is asked for. */
#if defined(__clang__) && defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* Builds for finding faults look at state machines after each change: MESHMSG_DEBUG, sanitizers. */
#if !defined(MMI_CHECKED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define MMI_CHECKED
#endif

_Noreturn void mmi_assert_failed(const char *text, const char *file, int line);

/* Allocation: zeroed; NULL when there is no memory (or mm_test_alloc_fail says so).  free takes
 * NULL. */
void *mmi_alloc(size_t size) MMI_WARN_UNUSED;
void *mmi_realloc(void *old, size_t size) MMI_WARN_UNUSED;   /* new bytes are not zeroed */
void mmi_free(void *ptr);
size_t mmi_alloc_size(void *ptr);   /* bytes it has room for; NULL: 0 */

/* Processors that mm_test_cpus told of; 0: it did not. */
uint32_t mmi_cpus_told(void);
/* What mm_test_wall_ahead told of. */
int64_t mmi_wall_ahead_us(void);

/* What a word ends with behind a number: 1 octet, 2 octets. */
static inline const char *
mmi_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* text.c: data as text, what is not printable as '?', cut to fit out. */
void mmi_text_excerpt(char *out, size_t cap, const uint8_t *data, size_t size);
/* text.c: a text, cut to fit out: several are copied for each connection, where snprintf takes long.
 * cap: 1 at least; text: NULL is "". */
void mmi_text_copy(char *out, size_t cap, const char *text);

#endif
