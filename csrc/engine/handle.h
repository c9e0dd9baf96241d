/*
 * handle.h: handles, not pointers, cross the border.  A handle is {generation:32, kind:4,
 * index:28}.
 *
 * Slots and engines are static memory that is never given back, so a stale handle can always be
 * looked up safely; the generation, checked under the engine's lock, says whether it still means
 * anything.  Law: a slot's generation changes when its object is closed; its fork epoch says which
 * process opened it.
 */
#ifndef MMI_HANDLE_H
#define MMI_HANDLE_H

#include "base/base.h"

struct mmi_engine;

typedef enum mmi_handle_kind {
    MMI_HANDLE_ENGINE = 1,
    MMI_HANDLE_SOCKET,
    MMI_HANDLE_WAKER,
    MMI_HANDLE_POLLSET
} mmi_handle_kind;

/* Takes a free slot. 0: none left.  The engine lock is held. */
mm_handle mmi_handle_new(mmi_handle_kind kind, struct mmi_engine *engine, void *object);
void mmi_handle_free(mm_handle handle);
/* MM_OK: *object is valid and its engine is locked.  MM_EINVAL, MM_ECLOSED, MM_EFORKED: nothing is
 * locked. */
int mmi_handle_lock(mm_handle handle, mmi_handle_kind kind, void **object,
                    struct mmi_engine **engine) MMI_WARN_UNUSED;
/* The same for who must not wait for the lock, as it holds the interpreter's: a fork takes ours
 * first and then that.  MM_EAGAIN: somebody has it. */
int mmi_handle_trylock(mm_handle handle, mmi_handle_kind kind, void **object,
                       struct mmi_engine **engine) MMI_WARN_UNUSED;
/* As mmi_handle_lock, as mmi_engine_lock_last. */
int mmi_handle_lock_last(mm_handle handle, mmi_handle_kind kind, void **object,
                         struct mmi_engine **engine) MMI_WARN_UNUSED;
/* The object of a handle whose engine is already locked; NULL when it is not one of that engine. */
void *mmi_handle_object(mm_handle handle, mmi_handle_kind kind, const struct mmi_engine *engine);
int mmi_handle_count(void);

/* For fork.c: the lock of the table, and what a child does with it. */
void mmi_handle_table_lock(void);
void mmi_handle_table_unlock(void);
void mmi_handle_after_fork(void);   /* re-initialises the lock and forgets every handle */
uint32_t mmi_fork_epoch(void);

#endif
