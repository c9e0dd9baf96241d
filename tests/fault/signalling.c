/*
 * signalling.c: a library that is loaded in front of the system's (LD_PRELOAD), by which a signal
 * comes to a thread in the middle of a call that writes or syncs a file.
 *
 * Law: one signal each time that the thread says so (signalling_next), and none in others.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local int signalling_armed;

void signalling_next(void);

/* The next call of this thread brings one. */
void
signalling_next(void)
{
    signalling_armed = 1;
}

static void *
signalling_real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        abort();
    }
    if (signalling_armed) {
        signalling_armed = 0;
        (void)raise(SIGUSR1);
    }
    return found;
}

#define REAL(name) ((__typeof__(&name))signalling_real(#name))

ssize_t
pwritev(int file, const struct iovec *parts, int count, off_t at)
{
    return REAL(pwritev)(file, parts, count, at);
}

ssize_t
pwritev64(int file, const struct iovec *parts, int count, off64_t at)
{
    return REAL(pwritev64)(file, parts, count, at);
}

int
fdatasync(int file)
{
    return REAL(fdatasync)(file);
}
