/*
 * rows.h: messages of a spool as a table of columns, as Arrow lays it out.
 *
 *   seq, time, epoch: int64, microseconds since 1970 in UTC, int64
 *   topic: binary, the first of several frames, null for one; key: binary, null for none
 *   headers: a list of (key: string, value: binary); data: binary, the other frames, end to end
 *   timestamp, expires: microseconds since 1970 in UTC, of what goes with it; null: that was not said
 *
 * All of them may be null, as the interface says it, and none is unsigned: so a table is taken by Spark as it is.
 * Not here: which messages (spool/reader.h).
 * Law: counted by reference: its owner, and each array that was made of it.  What is taken is copied once; octets of
 * all rows stay within what 32 bits with a sign can count.
 */
#ifndef MMI_SPOOL_ROWS_H
#define MMI_SPOOL_ROWS_H

#include <stdatomic.h>

#include "batch/arrow.h"
#include "spool/reader.h"

#define MMI_SPOOL_ROWS_BYTES_MAX (UINT64_C(1) << 30)   /* octets of data and what goes with it; and a message */
enum {
    MMI_SPOOL_ROWS_MAX = 16 * 1024 * 1024,             /* messages */
    MMI_SPOOL_ROWS_FIELDS = 13,                        /* of the schema, with those of headers and the table itself */
    MMI_SPOOL_ROWS_BUFFERS = 3
};

/* A column of octets: those of each row end to end, and where each begins. */
typedef struct mmi_spool_texts {
    uint8_t *data;
    uint64_t size, cap;
    int32_t *offset;             /* one more than rows */
    uint32_t count, offset_cap;
} mmi_spool_texts;

/* A column of times that some rows have. */
typedef struct mmi_spool_times {
    int64_t *us;                 /* since 1970 */
    uint8_t *valid;              /* a bit for each row */
    uint32_t without;            /* rows */
} mmi_spool_times;

typedef struct mmi_spool_rows {
    atomic_uint refs;
    uint32_t count, cap, keyless, topicless;
    uint64_t bytes;              /* of frames, their sizes, and what goes with them */
    int64_t *seq, *time_us, *epoch;
    uint8_t *key_valid, *topic_valid;   /* a bit for each row */
    mmi_spool_times made, expires;
    mmi_spool_texts data, topic, key, meta, names, values;
    mmi_spool_texts sizes;       /* of the frames of each but the last, as the record has them */
    int32_t *headers;            /* where those of each row begin, among names and values; one more than rows */
    const void *buffers[MMI_SPOOL_ROWS_FIELDS][MMI_SPOOL_ROWS_BUFFERS];   /* as spool/rows_arrow.c has them */
} mmi_spool_rows;

mmi_spool_rows *mmi_spool_rows_new(void);                        /* NULL: no memory */
void mmi_spool_rows_unref(mmi_spool_rows *rows);
/* Room for so many octets of bodies, so that they are not moved as more are taken.  MM_OK, MM_ENOMEM. */
int mmi_spool_rows_room(mmi_spool_rows *rows, uint64_t octets);
/* Takes records of the reader's batch.  1: it has no more; 0: there are so many, or the next one would be over, or has
 * not a number below that one; MM_ENOMEM, MM_EPROTO: as mmi_spool_reader_next.  What is not taken the reader still
 * has. */
int mmi_spool_rows_take(mmi_spool_rows *rows, mmi_spool_reader *reader, uint64_t below, uint32_t most,
                        uint64_t max_bytes);

/* spool/rows_arrow.c: the type of such a table, and the table.  MM_ENOMEM. */
int mmi_spool_rows_schema(mmi_arrow_schema *out);
int mmi_spool_rows_export(mmi_spool_rows *rows, mmi_arrow_array *out);

#endif
