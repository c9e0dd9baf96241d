/*
 * fork.c: what a fork does to engines: in the parent nothing, in the child everything is forgotten.
 *
 * The parent owns the connections, the poller and the eventfds, which the child shares: it closes
 * its copies and never reads, writes or shuts them down.  Law: every lock is held across the fork,
 * so no structure is copied in the middle of a change.  Called by pthread_atfork, and by
 * os.register_at_fork as well: the depth makes the second call harmless.
 */
#include <pthread.h>

#include "engine/engine.h"
#include "meshmsg_binding.h"
#include "plat/memory/memory.h"
#include "tran/tran.h"

static pthread_mutex_t fork_lock;
static int fork_depth;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void
fork_lock_init(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&fork_lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

__attribute__((constructor)) static void
fork_register(void)
{
    pthread_atfork(mm_fork_prepare, mm_fork_parent, mm_fork_child);
}

void
mm_fork_prepare(void)
{
    pthread_once(&fork_once, fork_lock_init);
    pthread_mutex_lock(&fork_lock);
    if (fork_depth++ > 0) {
        return;
    }
    mmi_engines_lock();
    mmi_tran_fork_lock();
    mmi_memory_lock();
    mmi_handle_table_lock();
}

void
mm_fork_parent(void)
{
    if (--fork_depth == 0) {
        mmi_handle_table_unlock();
        mmi_memory_unlock();
        mmi_tran_fork_unlock();
        mmi_engines_unlock();
    }
    pthread_mutex_unlock(&fork_lock);
}

void
mm_fork_child(void)
{
    if (fork_depth == 0) {
        return;   /* the first of the two hooks has done it */
    }
    fork_depth = 0;
    fork_lock_init();
    mmi_handle_after_fork();
    mmi_memory_after_fork();
    mmi_tran_fork_child();
    mmi_engines_after_fork();
}
