/*
 * trace.c: notes which blocks of a traced library have run, in a file that all processes of a test
 * share.
 *
 * Linked into both builds of tests/mutants. The compiler calls the function below at the start of
 * every block (-fsanitize-coverage=trace-pc). Not here: which lines a block stands for (blocks.py).
 * Law: one octet for each place in the library; without MESHMSG_TRACE nothing is noted. The file is
 * mapped, so that what a killed process has run is noted too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TRACE_SIZE = 1 << 23 }; /* octets; blocks.py has the same number */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
static volatile unsigned char *seen;

__attribute__((constructor)) static void
trace_open(void)
{
    const char *path = getenv("MESHMSG_TRACE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void *place = mmap(NULL, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    seen = place == MAP_FAILED ? NULL : place;
    (void)close(fd);
}

__attribute__((visibility("hidden"))) void
__sanitizer_cov_trace_pc(void)
{
    if (seen != NULL) {
        uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__ehdr_start;
        if (at < TRACE_SIZE) {
            seen[at] = 1;
        }
    }
}
