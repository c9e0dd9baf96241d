/*
 * plat/posix/pages.c: pages for secrets: locked, in no core dump, zeros in a forked child, with a
 * page before and one behind that nobody may touch.
 *
 * Law: what the system refuses is told, not insisted on: where memory may not be locked, keys are
 * as safe as those of any other program.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "plat/pages.h"

static size_t
pages_rounded(size_t size, size_t page)
{
    return (size + page - 1) / page * page;
}

static void
pages_protect(void *at, size_t size, uint32_t *lacks)
{
#ifdef MADV_DONTDUMP
    *lacks |= madvise(at, size, MADV_DONTDUMP) != 0 ? MMI_LACKS_DONTDUMP : 0;
#else
    *lacks |= MMI_LACKS_DONTDUMP;
#endif
#ifdef MADV_WIPEONFORK
    *lacks |= madvise(at, size, MADV_WIPEONFORK) != 0 ? MMI_LACKS_WIPEONFORK : 0;
#else
    *lacks |= MMI_LACKS_WIPEONFORK;
#endif
    *lacks |= mlock(at, size) != 0 ? MMI_LACKS_LOCK : 0;
}

static void *
pages_map(size_t size, uint32_t *lacks)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = pages_rounded(size, page);
    uint8_t *at = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    if (mprotect(at + page, whole, PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(at, whole + 2 * page);
        return NULL;
    }
    pages_protect(at + page, whole, lacks);
    return at + page;
}

/* Unlocks it, too. */
static void
pages_unmap(void *at, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = pages_rounded(size, page);
    (void)munmap((uint8_t *)at - page, whole + 2 * page);
}

const mmi_pages mmi_pages_posix = { pages_map, pages_unmap };
