/*
 * format.h: what stands in the files of a spool, little-endian, as docs/spool-format.md draws it.
 *
 * A segment file begins with a head of MMI_SPOOL_FILE_HEAD octets:
 *    0  "MMSPOOL1"     8 version u32, 0 u32        16 uuid of the spool (16)
 *   32  base_seq u64  40 salt u64                  48 made_us u64    56 epoch u32    60 CRC-32C of octets 0 to 59
 *   64  zeros
 * Behind it come batches, each at a multiple of MMI_SPOOL_ALIGN, with zeros up to it:
 *    0  "MMB1"         4 head_crc u32 (of octets 8 to 55, behind the salt)
 *    8  body_size u32 12 body_crc u32 (of the body, behind the salt)
 *   16  first_seq u64 24 epoch u32                 28 count u16      30 type u8      31 0
 *   32  time_us u64   40 durable_seq u64           48 chain u32 (head_crc of the batch before; of the first one: of the
 *                                                     head of the file, octets 60 to 63)               52 0 u32
 *   56  body
 * A body of DATA is `count` records, end to end:
 *   size varint (of what follows), attrs varint, then by its bits: META: size varint (1 and more) and octets
 *   (base/meta.h); ORIGIN: producer (16), its number u64; DUE: due_us u64 (1 and more); PRIORITY: u8 (1 and more);
 *   FRAMES: count varint (2 and more), size varint of each but the last; then the octets of the frames, end to end.
 *   Varints are as in base/varint.h.
 * GAP: the last number of those that are gone u64, why u32.  CLOSE has no body: the spool was closed in order.
 * SPARSE: what compaction left of first_seq to a last number (spool/compact.h): that u64, since when nothing older is
 * there of the keys of its tombstones, in microseconds since 1970 u64 (0: it was not looked for), and `count` records,
 * perhaps none, with a varint before each: how many numbers were passed over since the one before it, or first_seq.
 * The version is 1; 2 of a file that compaction wrote: the only one where SPARSE may stand; 3 of a file whose room
 * another had: behind its last batch stand 56 zeros, and then what that one left.
 * "Behind the salt": CRC-32C of the 8 octets of the salt, then of what is protected.  A later version keeps octets 0 to
 * 63 of the head of a file where they are.
 *
 * Not here: files (spool/file.h), what is believed after a crash (spool/recover.h).
 * Law: pure.  Nothing that is read is believed before its CRC is right, and then it is bounds-checked all the same.
 */
#ifndef MMI_SPOOL_FORMAT_H
#define MMI_SPOOL_FORMAT_H

#include "base/base.h"

enum {
    MMI_SPOOL_VERSION = 1,
    MMI_SPOOL_COMPACTED = 2,             /* the version of a file that compaction wrote */
    MMI_SPOOL_AGAIN = 3,                 /* the version of a file whose room another had before */
    MMI_SPOOL_FILE_HEAD = 4096,          /* octets */
    MMI_SPOOL_BATCH_HEAD = 56,           /* octets */
    MMI_SPOOL_ALIGN = 8,                 /* octets */
    MMI_SPOOL_BODY_MAX = 64 * 1024 * 1024, /* octets of a batch's body */
    MMI_SPOOL_COUNT_MAX = 65535,         /* records of a batch */
    MMI_SPOOL_FRAMES_MAX = 1024,         /* frames of a record */
    MMI_SPOOL_UUID = 16                  /* octets */
};

typedef struct mmi_spool_head {
    uint8_t uuid[MMI_SPOOL_UUID];
    uint64_t base_seq, salt, made_us;
    uint32_t epoch;
    uint32_t version;                    /* to be put: 0 is MMI_SPOOL_VERSION */
    uint32_t crc;                        /* as it stands there: the first batch's chain */
} mmi_spool_head;

void mmi_spool_head_put(uint8_t out[MMI_SPOOL_FILE_HEAD], mmi_spool_head *head);   /* sets its crc */
/* MM_OK; MM_EPROTO: it is none, or harmed, or its base_seq is 0; MM_ENOTSUP: of a later version. */
int mmi_spool_head_get(const uint8_t data[MMI_SPOOL_FILE_HEAD], mmi_spool_head *out);

typedef enum mmi_spool_type {
    MMI_SPOOL_DATA = 1, MMI_SPOOL_GAP, MMI_SPOOL_CLOSE, MMI_SPOOL_SPARSE, MMI_SPOOL_TYPES
} mmi_spool_type;

typedef struct mmi_spool_batch {
    uint32_t body_size, body_crc, head_crc, epoch, chain;
    uint16_t count;                      /* of DATA and SPARSE only, else 0 */
    uint8_t type;
    uint64_t first_seq, time_us, durable_seq;
} mmi_spool_batch;

/* Octets that a batch takes in a file, with the zeros behind it. */
static inline uint64_t
mmi_spool_batch_size(uint32_t body_size)
{
    const uint64_t mask = MMI_SPOOL_ALIGN - 1;
    return (MMI_SPOOL_BATCH_HEAD + (uint64_t)body_size + mask) & ~mask;
}

/* Writes a head for that body, and sets body_size, body_crc and head_crc.  The rest is asserted to be what can be. */
void mmi_spool_batch_put(uint8_t out[MMI_SPOOL_BATCH_HEAD], mmi_spool_batch *batch, uint64_t salt, const uint8_t *body,
                         uint32_t body_size);
/* The head alone.  MM_OK; MM_EPROTO: it is none, or harmed, or says what cannot be: a type that there is not, a DATA of
 * no records or another of some, a body over MMI_SPOOL_BODY_MAX or not that of a GAP, CLOSE or SPARSE, a first_seq of
 * 0, numbers that go past 64 bits.  Whether it may stand in that file, the caller sees. */
int mmi_spool_batch_get(const uint8_t data[MMI_SPOOL_BATCH_HEAD], uint64_t salt, mmi_spool_batch *out);
/* Whether a batch seems to begin there, by MMI_SPOOL_ALIGN octets alone. */
bool mmi_spool_batch_begins(const uint8_t *data);
/* Of one that seems to, and whose CRC cannot be checked as the salt is lost: its first number, and the one behind its
 * last, if it is a DATA; anything may stand there. */
void mmi_spool_batch_guess(const uint8_t data[MMI_SPOOL_BATCH_HEAD], uint64_t *first_seq, uint64_t *behind);
/* Is that its body? */
bool mmi_spool_body_check(const mmi_spool_batch *batch, uint64_t salt, const uint8_t *body);

typedef struct mmi_spool_gap { uint64_t last_seq; uint32_t why; } mmi_spool_gap;
enum { MMI_SPOOL_GAP_BODY = 12 };        /* octets */
void mmi_spool_gap_put(uint8_t out[MMI_SPOOL_GAP_BODY], const mmi_spool_gap *gap);
/* MM_OK; MM_EPROTO: not of that size.  Whether last_seq is below the batch's first_seq, the caller sees. */
int mmi_spool_gap_get(const uint8_t *body, size_t size, mmi_spool_gap *out);

/* spool/format_sparse.c: what stands before the records of a SPARSE. */
typedef struct mmi_spool_sparse { uint64_t last_seq, clean_us; } mmi_spool_sparse;
enum {
    MMI_SPOOL_SPARSE_BODY = 16,          /* octets, without its records */
    MMI_SPOOL_SKIP_MAX = 10              /* octets of the varint before a record, at most */
};
void mmi_spool_sparse_put(uint8_t out[MMI_SPOOL_SPARSE_BODY], const mmi_spool_sparse *sparse);
/* MM_OK; MM_EPROTO: too short.  Whether last_seq goes with the batch, the caller sees. */
int mmi_spool_sparse_get(const uint8_t *body, size_t size, mmi_spool_sparse *out);

/* The attrs of a record; each other bit is for a later version, and refused. */
enum {
    MMI_SPOOL_META = 1, MMI_SPOOL_ORIGIN = 2, MMI_SPOOL_FRAMES = 4, MMI_SPOOL_DUE = 8, MMI_SPOOL_PRIORITY = 16,
    MMI_SPOOL_ATTRS = 32
};

/* A message as a record has it; what is pointed to stays whose it is. */
typedef struct mmi_spool_record {
    const uint8_t *meta;
    uint32_t meta_size;                  /* 0: none */
    const uint8_t *producer;             /* MMI_SPOOL_UUID octets; NULL: none */
    uint64_t number;                     /* the producer's */
    uint64_t due_us;                     /* since 1970: not to be sent before; 0: at once */
    uint8_t priority;                    /* 0: the highest */
    uint32_t frames;                     /* 1 and more */
    const uint64_t *sizes;               /* of each but the last, to be written; read: mmi_spool_record_frames */
    const uint8_t *sizes_at;             /* when read, of 2 frames and more: their varints */
    const uint8_t *data;                 /* of all frames, end to end; NULL when written: the caller puts them */
    uint64_t size;                       /* octets of all frames */
} mmi_spool_record;

uint64_t mmi_spool_record_size(const mmi_spool_record *r);          /* octets it takes in a body */
/* What is behind it; without data: where the octets of its frames go, which stand behind all else. */
uint8_t *mmi_spool_record_put(uint8_t *out, const mmi_spool_record *r);
/* The record at the beginning of that much.  How many octets it takes; MM_EPROTO: it is none.  Its meta is within
 * MMI_META_SIZE_MAX, but is checked by who uses it (mmi_meta_check). */
int64_t mmi_spool_record_get(const uint8_t *data, uint64_t size, mmi_spool_record *out);
/* The sizes of its frames, of one that was read; there is room for them. */
void mmi_spool_record_frames(const mmi_spool_record *r, uint64_t *sizes);
/* Of one that was read: octets at sizes_at; and of the first of several frames, else 0. */
uint64_t mmi_spool_record_sizes_size(const mmi_spool_record *r);
uint64_t mmi_spool_record_first(const mmi_spool_record *r);
/* The same as mmi_spool_record_frames, of varints that were read and checked, wherever they lie. */
void mmi_spool_frame_sizes(const uint8_t *at, uint64_t at_size, uint32_t frames, uint64_t size, uint64_t *sizes);

/* The records of a DATA or a SPARSE, one after another. */
typedef struct mmi_spool_walk {
    const uint8_t *at;                   /* the next record, or behind the last */
    uint64_t left;                       /* octets there */
    uint64_t seq;                        /* of that record; behind the last: the number behind the batch */
    uint64_t behind;                     /* the number behind the batch */
    uint32_t records;                    /* that are left */
    bool sparse;
} mmi_spool_walk;

/* Of a batch whose body was checked, and the number behind it.  MM_EPROTO: it makes no sense. */
int mmi_spool_walk_begin(mmi_spool_walk *w, const mmi_spool_batch *batch, const uint8_t *body, uint64_t behind);
/* The record that it is at, and on to the next; *seq is its number.  1; 0: there is none; MM_EPROTO. */
int mmi_spool_walk_next(mmi_spool_walk *w, mmi_spool_record *out, uint64_t *seq);

#endif
