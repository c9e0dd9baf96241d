/*
 * view.h: a look at a spool that another process may write: without its lock, and without writing anything.
 *
 * What is shown is what was proved to be durable: a head of a batch says up to where all was synced when it was
 * written, a file is named once all before it was, and the state says it.  So nothing is shown that a crash may take
 * back.
 *
 * Not here: reading (spool/reader.h), writing (spool/log.h).
 * Law: any thread; the view's lock is held while it looks, which reads names, the state and heads.  What a writer does
 * meanwhile is seen by a later look.  `lives` goes up when files may have been replaced: a reader begins anew then.
 */
#ifndef MMI_SPOOL_VIEW_H
#define MMI_SPOOL_VIEW_H

#include "plat/thread.h"
#include "spool/reader.h"
#include "spool/shared_cursors.h"

#define MMI_SPOOL_VIEW_NS UINT64_C(20000000)     /* nanoseconds from one look to the next, while somebody follows */

typedef struct mmi_spool_view mmi_spool_view;
struct mmi_spool_view {
    pthread_mutex_t lock;
    pthread_cond_t tick;                 /* nobody signals it: who follows sleeps there */
    mmi_files files;
    int dir;
    uint8_t uuid[MMI_SPOOL_UUID];
    uint32_t epoch;
    uint64_t lives;
    uint64_t visible;                    /* all up to it is proved to be durable */
    uint64_t clean;                      /* as the state says: mmi_spool.clean_seq */
    uint64_t origin;                     /* likewise mmi_spool.origin_seq; 1 if no state says it */
    uint64_t *bases;                     /* of each file, ascending */
    uint32_t count;
    mmi_spool_file tail;                 /* the last of them, as far as its heads were read */
    uint8_t *window;                     /* octets that are read at once */
};

/* MM_ENOENT: there is no spool; MM_ENOTSUP: of a later version; as mmi_spool_folder_check; or an error. */
int mmi_spool_view_open(mmi_spool_view *v, const char *path, bool remote);
void mmi_spool_view_close(mmi_spool_view *v);
/* Sees what was written since.  Or an error of reading, and all is as before. */
int mmi_spool_view_look(mmi_spool_view *v);
/* As mmi_spool_locate, of the last look. */
uint64_t mmi_spool_view_locate(mmi_spool_view *v, uint64_t seq, mmi_spool_where *out);   /* lives */
/* As mmi_spool_shared_since, of the last look. */
uint64_t mmi_spool_view_since(mmi_spool_view *v, uint64_t time_us);
/* Until something above that number can be read.  As mmi_spool_shared_follow. */
int mmi_spool_view_follow(mmi_spool_view *v, uint64_t seq, const mmi_spool_wait *wait);
/* What was saved in a cursor, as far as the last look goes; what is of who has it open is 0.  As mmi_cursor_look. */
int mmi_spool_view_cursor(mmi_spool_view *v, const char *name, mmi_spool_cursor_info *out) MMI_WARN_UNUSED;

#endif
