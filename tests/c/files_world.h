/*
 * files_world.h: one of the two implementations of file.h (the system's in a folder of its own,
 * and the simulated disk) with an open folder in it, for tests that must hold on each.
 * Not here: the tests (test_files*.c); crashes and faults (test_disk*.c).
 * Law: a test knows its files only through the table; it leaves no descriptor open.
 */
#ifndef FILES_WORLD_H
#define FILES_WORLD_H

#include <errno.h>
#include <stdio.h>

#include "places.h"
#include "plat/sim/disk.h"

static const char *const files_kinds[] = { "posix", "sim" };

typedef struct files_world {
    mmi_files files;
    mmi_disk *disk;        /* NULL: the system's */
    char path[PLACE_SIZE]; /* posix: of the folder */
    int dir;
} files_world;

static inline files_world
files_open(const char *kind)
{
    files_world w = { .path = "/" };
    if (strcmp(kind, "sim") == 0) {
        w.disk = mmi_disk_new(1, &(mmi_disk_opts){ .capacity = 0 });
        CHECK(w.disk != NULL);
        mmi_disk_files(w.disk, &w.files);
    } else {
        mmi_files_posix(&w.files);
        place_open(w.path);
    }
    CHECK(strcmp(w.files.name, kind) == 0);
    CHECK_INT(w.files.root(w.files.self, w.path, &w.dir), MM_OK);
    return w;
}

/* Whatever the test left there goes with it; not what it left open. */
static inline void
files_close(files_world *w)
{
    char command[PLACE_SIZE + 16];
    w->files.close(w->files.self, w->dir);
    if (w->disk != NULL) {
        mmi_disk_state state;
        mmi_disk_inspect(w->disk, &state);
        CHECK_INT(state.handles, 0);
        mmi_disk_free(w->disk);
        return;
    }
    snprintf(command, sizeof command, "rm -rf '%s'", w->path);
    CHECK_INT(system(command), 0);
}

/* The calls, said shortly: w is a pointer to what has .files and .dir. */
#define CALL(w, what, ...) ((w)->files.what((w)->files.self, __VA_ARGS__))

/* A call that fails, and the errno that it leaves. */
#define CHECK_ERROR(call, wanted, wanted_errno)                                                    \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK_INT(call, wanted);                                                                   \
        CHECK_INT(errno, wanted_errno);                                                            \
    } while (0)

static inline int64_t
file_put(const mmi_files *f, int file, uint64_t at, const void *data, size_t size)
{
    mmi_iov piece = { .data = (void *)data, .size = size };
    return f->write(f->self, file, at, &piece, 1);
}

/* A file of that name, made or opened, to be written. */
static inline int
file_made(const mmi_files *f, int dir, const char *name)
{
    int file;
    CHECK_INT(f->open(f->self, dir, name, MMI_FILE_WRITE | MMI_FILE_CREATE, &file), MM_OK);
    return file;
}

/* A file of that name that holds this text. */
static inline int
file_of(const mmi_files *f, int dir, const char *name, const char *text)
{
    int file = file_made(f, dir, name);
    CHECK_INT(file_put(f, file, 0, text, strlen(text)), (int64_t)strlen(text));
    return file;
}

/* Whether the open file holds exactly this text. */
static inline bool
file_holds(const mmi_files *f, int file, const char *text)
{
    char buf[256];
    int64_t n = f->read(f->self, file, 0, buf, sizeof buf);
    CHECK(n >= 0);
    return (size_t)n == strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

/* Whether there is a file of that name in the folder, and it holds exactly this text. */
static inline bool
file_is(const mmi_files *f, int dir, const char *name, const char *text)
{
    int file;
    int rc = f->open(f->self, dir, name, 0, &file);
    if (rc == MM_ENOENT) {
        return false;
    }
    CHECK_INT(rc, MM_OK);
    bool same = file_holds(f, file, text);
    f->close(f->self, file);
    return same;
}

static inline bool
file_there(const mmi_files *f, int dir, const char *name)
{
    int file;
    int rc = f->open(f->self, dir, name, 0, &file);
    if (rc == MM_OK) {
        f->close(f->self, file);
    }
    CHECK(rc == MM_OK || rc == MM_ENOENT);
    return rc == MM_OK;
}

static inline uint64_t
file_size(const mmi_files *f, int file)
{
    uint64_t size = UINT64_MAX;
    CHECK_INT(f->size(f->self, file, &size), MM_OK);
    return size;
}

typedef void files_test(files_world *w);

static inline void
files_run_on(const char *kind, files_test *const *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int before = fds_open();
        printf("%s: test %zu\n", kind, i);
        fflush(stdout);
        files_world w = files_open(kind);
        tests[i](&w);
        files_close(&w);
        fds_are(before);
    }
}

/* Every test on every implementation. */
static inline void
files_run(files_test *const *tests, size_t count)
{
    for (size_t k = 0; k < MMI_COUNT_OF(files_kinds); k++) {
        files_run_on(files_kinds[k], tests, count);
    }
}

#endif
