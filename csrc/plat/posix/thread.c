/*
 * plat/posix/thread.c: threads of our own: an engine's, and those that look up names.
 *
 * Law: signals belong to the threads of the application.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "plat/posix/posix.h"

enum {
    THREAD_STACK_SIZE = 1024 * 1024,   /* bytes */
    THREAD_SLACK_NS = 1000             /* how late a timer of an engine's thread may be */
};

typedef struct posix_thread {
    pthread_t id;
    void (*run)(void *arg);
    void *arg;
} posix_thread;

static void *
thread_run(void *arg)
{
    posix_thread *t = arg;
    (void)prctl(PR_SET_TIMERSLACK, THREAD_SLACK_NS, 0, 0, 0); /* refused: burst writes come later */
    (void)prctl(PR_SET_NAME, "meshmsg", 0, 0, 0); /* for top -H and debuggers */
    t->run(t->arg);
    return NULL;
}

static int
thread_spawn(pthread_t *id, void *(*run)(void *), void *arg, bool detached)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE);
    pthread_attr_setdetachstate(&attr,
                                detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(id, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return error == 0 ? MM_OK : MM_ENOMEM;
}

int
mmi_posix_detach(void *(*run)(void *arg), void *arg)
{
    pthread_t id;
    return thread_spawn(&id, run, arg, true);
}

int
mmi_posix_thread_start(void *self, void (*run)(void *arg), void *arg, void **thread)
{
    (void)self;
    posix_thread *t = mmi_alloc(sizeof *t);
    if (t == NULL) {
        return MM_ENOMEM;
    }
    t->run = run;
    t->arg = arg;
    int rc = thread_spawn(&t->id, thread_run, t, false);
    if (rc != MM_OK) {
        mmi_free(t);
        return rc;
    }
    *thread = t;
    return MM_OK;
}

void
mmi_posix_thread_join(void *self, void *thread)
{
    (void)self;
    posix_thread *t = thread;
    pthread_join(t->id, NULL);
    mmi_free(t);
}
