/*
 * spool/compact_commit.c: a file that compaction wrote takes the place of those that it was made
 * of.
 *
 * Not here: who waits meanwhile (spool/shared_compact.c).
 * Law: it is synced before it is named, and its name is durable before another file goes: so at
 * each moment every number that is to be read is in a file that is durable.  Where a crash comes
 * between, the one or the other has them, and where both do, each file's own numbers count.  Names
 * survive a crash in any order, so each is durable before the next changes.
 */
#include <string.h>

#include "spool/compact.h"

bool
mmi_compact_commit_plan(const mmi_compact *c, const mmi_spool *s, uint32_t *at)
{
    const mmi_compact_group *g = &c->group;
    uint32_t i = 0;
    while (i < s->file_count && s->bases[i] < c->bases[g->first]) {
        i++;
    }
    *at = i;
    if (s->failed || i + g->count >= s->file_count) {
        return false;
    }
    for (uint32_t k = 0; k <= g->count; k++) {
        if (s->bases[i + k] != c->bases[g->first + k]) {
            return false;
        }
    }
    return true;
}

int
mmi_compact_commit_run(mmi_compact *c, mmi_compact_names *names)
{
    const mmi_files *f = c->place.files;
    const mmi_compact_group *g = &c->group;
    const int dir = c->place.dir;
    char name[MMI_SPOOL_NAME];
    mmi_spool_name(c->bases[g->first], name);
    int rc = f->rename(f->self, dir, mmi_compact_name, dir, name);
    *names = (mmi_compact_names){ .named = rc == MM_OK };
    rc = rc == MM_OK ? f->sync_folder(f->self, dir) : rc;
    /* One that stays has its own numbers; of one that is gone those before it have them: so they go
     * one by one, the first one first. */
    for (uint32_t k = 1; k < g->count && rc == MM_OK; k++) {
        mmi_spool_name(c->bases[g->first + k], name);
        rc = f->unlink(f->self, dir, name);
        rc = rc == MM_ENOENT ? MM_OK : rc; /* somebody else removed it, and it was copied */
        names->gone += rc == MM_OK;
        rc = rc == MM_OK ? f->sync_folder(f->self, dir) : rc;
    }
    return rc;
}

void
mmi_compact_commit_done(const mmi_compact *c, mmi_spool *s, uint32_t at,
                        const mmi_compact_names *names)
{
    const uint32_t gone = names->gone, behind = s->file_count - at - 1 - gone;
    if (!names->named) {
        return;
    }
    for (uint32_t k = 0; k <= gone; k++) {
        s->sealed_bytes -= s->ends[at + k];
    }
    s->ends[at] = c->to.end;
    s->sealed_bytes += c->to.end;
    memmove(s->bases + at + 1, s->bases + at + 1 + gone, behind * sizeof *s->bases);
    memmove(s->ends + at + 1, s->ends + at + 1 + gone, behind * sizeof *s->ends);
    s->file_count -= gone;
}
