/*
 * api/spool_compact.c: compaction of a spool, as the binding asks for it.
 *
 * Not here: what it does (spool/shared_compact.h).
 */
#include "api/spool.h"
#include "spool/shared_compact.h"

int
mm_spool_compact(mm_spool *s, int64_t timeout_ms, int64_t slice_ms, mm_spool_compacted *did)
{
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    mmi_spool_compacted one = { .messages = 0 };
    uint64_t until = did->until;
    int rc = mmi_spool_shared_compact(&s->shared, &wait, &until, &one);
    *did = (mm_spool_compacted){ .until = until,
                                 .messages = one.messages,
                                 .tombstones = one.tombstones,
                                 .files = one.written,
                                 .merged_files = one.merged,
                                 .skipped_files = one.skipped,
                                 .held_files = one.held,
                                 .bytes = one.bytes };
    return mmi_spool_rc(rc, timeout_ms);
}
