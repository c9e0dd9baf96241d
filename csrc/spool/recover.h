/*
 * recover.h: what is believed of the last segment file after a crash, by evidence.
 *
 * A machine that stops leaves of what was not synced any part.  So the first place that is no sound batch is either
 * torn (it was never said to be durable) or harmed (it was).  It was durable if something that is sound says so: a
 * later batch, in whose head stands up to where all was durable when it was written, or what the spool and its readers
 * keep beside it (known_seq).  What the disk does not give is not judged: it is harm, as nobody knows what it was.
 *
 * Not here: what is done then (spool/repair.h).  Law: a look changes nothing; what is torn is never called sound, and
 * what was durable never torn.
 */
#ifndef MMI_SPOOL_RECOVER_H
#define MMI_SPOOL_RECOVER_H

#include "spool/file.h"

typedef struct mmi_spool_found {
    uint64_t next_seq;                   /* behind the sound batches at its beginning */
    uint64_t end;                        /* where the last of those ends */
    uint32_t chain;                      /* of that */
    uint64_t time_us;                    /* likewise; 0: there is none */
    uint64_t first_us;                   /* of the first message there; 0: there is none */
    uint64_t proved_seq;                 /* all up to it were durable */
    uint64_t told_seq;                   /* likewise, or may have been: what is told of, if it is not there */
    uint64_t proved_end;                 /* where the last batch ends of which all is */
    uint64_t proved_next;                /* and the number behind it */
    uint32_t proved_chain;               /* its head_crc */
    uint32_t close_chain;                /* of the batch before that CLOSE */
    uint32_t epoch;                      /* the highest of a batch */
    bool closed;                         /* the last sound batch is CLOSE, and nothing is behind it */
    uint64_t used;                       /* the last octet behind `end` that is not zero, and one further; where another
                                          * file left some: of those, what may be of this one */
    uint64_t stale;                      /* up to there another file may have left something; 0: nothing */
    bool unreadable;                     /* what is at `end` the disk does not give */
    bool harmed;                         /* what is behind `end` was durable, or cannot be read: from next_seq on */
    uint64_t lost_last;                  /* then: the last number that is gone; < next_seq: none is */
    uint64_t again;                      /* then: where sound batches go on; 0: nowhere */
} mmi_spool_found;

/* MM_OK, or an error of reading; MM_EIO: something could be read, but not each time. */
int mmi_spool_look(const mmi_spool_place *place, const mmi_spool_file *f, uint64_t known_seq, mmi_spool_found *out);

#endif
