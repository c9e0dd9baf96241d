/*
 * reader.h: reading a spool from a number on, batch by batch, while it is written.
 *
 * Not here: up to where a reader may see (spool/log.h), named readers (spool/cursor.h).
 * Law: what is given was checked as it was read, each time; nothing is left out without a word, but for numbers that
 * compaction removed: those are passed.  A reader has its own descriptor, so a file that goes, or that compaction wrote
 * anew, is read to its end.  Locating needs the spool's lock, reading does not.
 */
#ifndef MMI_SPOOL_READER_H
#define MMI_SPOOL_READER_H

#include "spool/log.h"

typedef struct mmi_spool_reader {
    mmi_spool_place place;
    mmi_spool_file file;         /* file < 0: none is open */
    mmi_spool_scan scan;         /* the batch that was read, if `loaded` */
    bool loaded;
    uint64_t next_seq;           /* of the next record that is given; what compaction removed before it is passed */
    mmi_spool_walk walk;         /* of the batch, and it is at next_seq, if `begun` */
    bool begun;
    bool walks;                  /* the walk is of the batch, and at next_seq or before it: it goes on from there */
    bool each;                   /* gives each batch, also one that compaction left no record */
    uint64_t lost_last;          /* of MMI_SPOOL_HARMED, and of a gap: next_seq to this are gone */
} mmi_spool_reader;

/* Where a number is, as the spool knows at that moment. */
typedef struct mmi_spool_where {
    uint64_t visible;            /* readers see up to this */
    uint64_t base;               /* of the file that has it; 0: it went (see first) */
    uint64_t bound;              /* the first number of the next file; 0: there is none yet */
    uint64_t first;              /* of the spool */
    const uint8_t *uuid;         /* likewise */
} mmi_spool_where;

void mmi_spool_locate(const mmi_spool *s, uint64_t seq, mmi_spool_where *out);

/* Of that folder, which stays open for as long; from seq on. */
void mmi_spool_reader_open(mmi_spool_reader *r, const mmi_files *files, int dir, uint64_t seq);
void mmi_spool_reader_close(mmi_spool_reader *r);
void mmi_spool_reader_seek(mmi_spool_reader *r, uint64_t seq);
enum { MMI_SPOOL_PASSED = 2 };           /* beside 1 and 0 */
/* Makes the batch with next_seq ready, or with the first number behind it that compaction left, which next_seq is then.
 * 1; 0: it is not to be seen yet; MMI_SPOOL_PASSED: what it left is in another file, to be located; MM_ENOENT: it went;
 * MMI_SPOOL_HARMED: up to lost_last it is harmed, or was, and a GAP says so: who goes on seeks behind it; or an error
 * of reading. */
int mmi_spool_reader_load(mmi_spool_reader *r, const mmi_spool_where *where);
/* Of a batch that stands in scan, loaded: is the walk at next_seq, or at the first number behind it that is there?  1;
 * 0: it has none, and next_seq is behind it; MM_EPROTO. */
int mmi_spool_reader_begin(mmi_spool_reader *r);
/* The next record of it.  1; 0: it has no more; MM_EPROTO: the record makes no sense, though its CRC is right. */
int mmi_spool_reader_next(mmi_spool_reader *r, mmi_spool_record *out, uint64_t *seq);
/* spool/producers_open.c: notes who put all that the reader has of its batch.  As reader_next at the end; MM_ENOMEM. */
int mmi_spool_producers_heard(mmi_producers *p, mmi_spool_reader *r) MMI_WARN_UNUSED;

#endif
