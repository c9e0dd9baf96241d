/*
 * tran.c: the list of transports.
 *
 * Not here: what one does (its own file).
 */
#include "tran/tran.h"

static const mmi_tran *const trans[] = { &mmi_tran_tcp, &mmi_tran_ipc, &mmi_tran_inproc };

const mmi_tran *
mmi_tran_find(int scheme)
{
    for (size_t i = 0; i < MMI_COUNT_OF(trans); i++) {
        if (trans[i]->scheme == scheme) {
            return trans[i];
        }
    }
    return NULL;
}

void
mmi_tran_fork_lock(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(trans); i++) {
        if (trans[i]->fork_lock != NULL) {
            trans[i]->fork_lock();
        }
    }
}

void
mmi_tran_fork_unlock(void)
{
    for (size_t i = MMI_COUNT_OF(trans); i-- > 0;) {
        if (trans[i]->fork_unlock != NULL) {
            trans[i]->fork_unlock();
        }
    }
}

void
mmi_tran_fork_child(void)
{
    for (size_t i = 0; i < MMI_COUNT_OF(trans); i++) {
        if (trans[i]->fork_child != NULL) {
            trans[i]->fork_child();
        }
    }
}
