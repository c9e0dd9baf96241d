/*
 * spool/trim.c: what goes from the beginning of a spool: whole segment files.
 *
 * Not here: when, and up to where (spool/shared.c).  Law: the last file stays; a name that is
 * removed and comes back after a crash of the machine is removed again by the next trim.
 */
#include <string.h>

#include "spool/log.h"

uint32_t
mmi_spool_trim_plan(const mmi_spool *s, uint64_t seq, uint32_t most)
{
    uint32_t files = 0;
    if (s->producers.count > 0 && s->listed_seq < seq) { /* else a crash forgets who put it */
        seq = s->listed_seq;
    }
    while (files < most && files + 1 < s->file_count && s->bases[files + 1] - 1 <= seq) {
        files++;
    }
    return files;
}

/* Of a whole file that goes, the room becomes the spare: to write where something was written takes
 * the disk half as long, and new room of the system's cache is spared.  Not before there is a
 * reserve, whose room comes first, and not where others may see the folder later than this
 * machine. */
static bool
trim_keeps(const mmi_spool *s, uint32_t file)
{
    uint64_t size = s->ends[file], whole = s->opts.file_bytes;
    bool again = s->again >= 0 || (s->spare >= 0 && s->spare_stale > 0) || s->trim_failed;
    return !again && s->reserved && !s->opts.remote && size <= whole && size >= whole / 2;
}

uint32_t
mmi_spool_trim_run(mmi_spool *s, uint32_t files)
{
    const mmi_spool_place *p = &s->place;
    char name[MMI_SPOOL_NAME];
    uint64_t before = s->start_seq;
    if (files == 0) {
        return 0;
    }
    s->start_seq = s->bases[files];
    if (mmi_spool_note(s, s->durable_seq) != MM_OK) {
        s->start_seq = before;
        s->trim_failed = true; /* what the state says nobody knows now */
        return 0;
    }
    for (uint32_t i = 0; i < files; i++) { /* one that stays goes when it is opened again */
        mmi_spool_name(s->bases[i], name);
        int spare = -1;
        bool kept = trim_keeps(s, i) && mmi_spool_again(p, name, s->ends[i], s->opts.file_bytes,
                                                        &spare, &s->trim_failed) == MM_OK;
        if (kept) {
            s->again = spare;
            s->again_stale = s->ends[i];
        } else {
            (void)p->files->unlink(p->files->self, p->dir, name);
        }
    }
    return files;
}

/* In place of a spare that has nothing yet, whose name it has. */
static void
trim_spare(mmi_spool *s)
{
    if (s->spare >= 0) {
        s->place.files->close(s->place.files->self, s->spare);
    }
    s->spare = s->again;
    s->spare_stale = s->again_stale;
    s->again = -1;
    s->no_spare = s->wants_spare = false;
}

void
mmi_spool_trim_done(mmi_spool *s, uint32_t files)
{
    s->failed |= s->trim_failed;
    if (s->again >= 0) {
        trim_spare(s);
    }
    for (uint32_t i = 0; i < files; i++) {
        s->sealed_bytes -= s->ends[i];
    }
    s->file_count -= files;
    memmove(s->bases, s->bases + files, s->file_count * sizeof *s->bases);
    memmove(s->ends, s->ends + files, s->file_count * sizeof *s->ends);
}

bool
mmi_spool_roll(mmi_spool *s, uint64_t seq)
{
    const mmi_spool_opts *o = &s->opts;
    uint64_t here = s->written_seq + 1 - s->file.head.base_seq;
    bool much = s->full || s->file.end > o->file_bytes / MMI_SPOOL_FILES_A_LIMIT ||
                (o->max_messages > 0 && here >= o->max_messages / MMI_SPOOL_FILES_A_LIMIT);
    bool worth = !s->failed && here > 0 && seq >= s->written_seq && much;
    s->wants_roll = s->wants_roll || worth;
    return worth;
}

uint64_t
mmi_spool_ages(const mmi_spool *s, uint64_t now_us)
{
    const uint64_t most = s->opts.segment_age_us;
    if (most == 0 || s->begun_us == 0 || s->failed) {
        return UINT64_MAX;
    }
    uint64_t age = now_us > s->begun_us ? now_us - s->begun_us : 0;
    return age >= most ? 0 : most - age;
}
