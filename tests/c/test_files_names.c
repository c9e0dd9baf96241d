/*
 * test_files_names.c: what file.h promises of names, folders and lists, kept by each
 * implementation.
 * Not here: what is in a file (test_files.c); links and other files that only the system has
 * (test_files_posix.c).
 * Law: one suite, many implementations.
 */
#include "files_world.h"

typedef struct listed {
    int count, folders;
    char names[512]; /* each with a space after it */
} listed;

static void
note_entry(void *arg, const mmi_entry *entry)
{
    listed *l = arg;
    size_t at = strlen(l->names);
    l->count++;
    l->folders += entry->kind == MMI_ENTRY_FOLDER;
    CHECK(entry->kind != MMI_ENTRY_OTHER);
    snprintf(l->names + at, sizeof l->names - at, "%s ", entry->name);
}

static listed
list_of(files_world *w, int dir)
{
    listed l = { .count = 0 };
    int count = CALL(w, list, dir, note_entry, &l);
    CHECK_INT(count, l.count);
    return l;
}

static int
folder_of(files_world *w, int dir, const char *name)
{
    int sub;
    CHECK_INT(CALL(w, mkdir, dir, name), MM_OK);
    CHECK_INT(CALL(w, folder, dir, name, &sub), MM_OK);
    return sub;
}

static void
make(files_world *w, int dir, const char *name, const char *text)
{
    CALL(w, close, file_of(&w->files, dir, name, text));
}

static void
refused(files_world *w, const char *name, int rc, int error)
{
    int fd;
    CHECK_ERROR(CALL(w, open, w->dir, name, 0, &fd), rc, error);
    CHECK_ERROR(CALL(w, open, w->dir, name, MMI_FILE_WRITE | MMI_FILE_CREATE, &fd), rc, error);
    CHECK_ERROR(CALL(w, folder, w->dir, name, &fd), rc, error);
    CHECK_ERROR(CALL(w, mkdir, w->dir, name), rc, error);
    CHECK_ERROR(CALL(w, unlink, w->dir, name), rc, error);
    CHECK_ERROR(CALL(w, rename, w->dir, name, w->dir, "g"), rc, error);
    CHECK_ERROR(CALL(w, rename, w->dir, "f", w->dir, name), rc, error);
}

static void
test_a_name_that_could_lead_elsewhere_is_refused_by_every_call(files_world *w)
{
    static const char *const bad[] = {
        "",    ".",    "..",   "/",           "/etc", "../f", "a/b", "f/",  "./f",
        "a b", "a\nb", "a\\b", "caf\xc3\xa9", "a:b",  "*",    "~",   "a+b", "%2e%2e",
    };
    char longest[MMI_FILE_NAME_MAX + 2];
    make(w, w->dir, "f", "abc");
    for (size_t i = 0; i < MMI_COUNT_OF(bad); i++) {
        refused(w, bad[i], MM_EINVAL, EINVAL);
    }
    memset(longest, '.', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refused(w, longest, MM_ENAMETOOLONG, ENAMETOOLONG);
    longest[sizeof longest - 2] = '\0';
    make(w, w->dir, longest, "x");
    CHECK(file_is(&w->files, w->dir, longest, "x"));
    make(w, w->dir, "...", "y");
    CHECK(file_is(&w->files, w->dir, "f", "abc"));
    CHECK_INT(list_of(w, w->dir).count, 3);
}

static void
test_a_file_is_made_only_when_that_is_asked_for(files_world *w)
{
    int file;
    const uint32_t make_it = MMI_FILE_WRITE | MMI_FILE_CREATE;
    CHECK_ERROR(CALL(w, open, w->dir, "f", 0, &file), MM_ENOENT, ENOENT);
    CHECK_ERROR(CALL(w, open, w->dir, "f", MMI_FILE_WRITE, &file), MM_ENOENT, ENOENT);
    CHECK_ERROR(CALL(w, open, w->dir, "f", MMI_FILE_CREATE, &file), MM_EINVAL, EINVAL);
    const uint32_t no_create = MMI_FILE_WRITE | MMI_FILE_NEW;
    CHECK_ERROR(CALL(w, open, w->dir, "f", no_create, &file), MM_EINVAL, EINVAL);
    CHECK_ERROR(CALL(w, open, w->dir, "f", 8, &file), MM_EINVAL, EINVAL);
    CHECK_INT(list_of(w, w->dir).count, 0);
    CHECK_INT(CALL(w, open, w->dir, "f", make_it | MMI_FILE_NEW, &file), MM_OK);
    CHECK_INT(file_size(&w->files, file), 0);
    CHECK_INT(file_put(&w->files, file, 0, "abc", 3), 3);
    CALL(w, close, file);
    CHECK_ERROR(CALL(w, open, w->dir, "f", make_it | MMI_FILE_NEW, &file), MM_EEXIST, EEXIST);
    CHECK_INT(CALL(w, open, w->dir, "f", make_it, &file), MM_OK);
    CHECK(file_holds(&w->files, file, "abc"));
    CALL(w, close, file);
}

static void
test_a_folder_is_a_place_of_its_own(files_world *w)
{
    int sub = folder_of(w, w->dir, "d"), file;
    make(w, w->dir, "f", "outer");
    make(w, sub, "f", "inner");
    CHECK_ERROR(CALL(w, mkdir, w->dir, "d"), MM_EEXIST, EEXIST);
    CHECK_ERROR(CALL(w, mkdir, w->dir, "f"), MM_EEXIST, EEXIST);
    CHECK_ERROR(CALL(w, folder, w->dir, "g", &file), MM_ENOENT, ENOENT);
    CHECK_ERROR(CALL(w, folder, w->dir, "f", &file), MM_ENOTDIR, ENOTDIR);
    CHECK_ERROR(CALL(w, open, w->dir, "d", 0, &file), MM_ENOTSUP, EISDIR);
    CHECK_ERROR(CALL(w, open, w->dir, "d", MMI_FILE_WRITE, &file), MM_ENOTSUP, EISDIR);
    CHECK(file_is(&w->files, w->dir, "f", "outer") && file_is(&w->files, sub, "f", "inner"));
    CHECK_INT(CALL(w, open, sub, "f", 0, &file), MM_OK);
    CHECK_ERROR(CALL(w, mkdir, file, "e"), MM_ENOTDIR, ENOTDIR);
    CALL(w, close, file);
    CHECK_INT(CALL(w, sync_folder, sub), MM_OK);
    CALL(w, close, sub);
}

static void
test_a_root_that_is_not_there_is_told(files_world *w)
{
    int dir;
    CHECK_ERROR(CALL(w, root, "/no/such/folder", &dir), MM_ENOENT, ENOENT);
    CHECK_ERROR(CALL(w, root, "", &dir), MM_ENOENT, ENOENT);
}

static void
test_a_list_has_every_name_with_its_kind(files_world *w)
{
    int sub = folder_of(w, w->dir, "d");
    CHECK_INT(list_of(w, sub).count, 0);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        make(w, w->dir, name, "x");
    }
    for (int round = 0; round < 2; round++) {
        listed l = list_of(w, w->dir);
        CHECK_INT(l.count, 51);
        CHECK_INT(l.folders, 1);
        CHECK(strstr(l.names, "f0 ") != NULL && strstr(l.names, "f49 ") != NULL);
        CHECK(strstr(l.names, "d ") != NULL);
    }
    CALL(w, close, sub);
}

static void
test_a_rename_takes_the_place_of_what_was_there(files_world *w)
{
    int old, sub = folder_of(w, w->dir, "d");
    make(w, w->dir, "f", "new");
    make(w, w->dir, "g", "old");
    CHECK_INT(CALL(w, open, w->dir, "g", 0, &old), MM_OK);
    CHECK_INT(CALL(w, rename, w->dir, "f", w->dir, "g"), MM_OK);
    CHECK(file_is(&w->files, w->dir, "g", "new") && !file_there(&w->files, w->dir, "f"));
    CHECK(file_holds(&w->files, old, "old"));
    CALL(w, close, old);
    CHECK_ERROR(CALL(w, rename, w->dir, "f", w->dir, "g"), MM_ENOENT, ENOENT);
    CHECK_INT(CALL(w, rename, w->dir, "g", w->dir, "g"), MM_OK);
    CHECK_INT(CALL(w, rename, w->dir, "g", sub, "h"), MM_OK);
    CHECK(!file_there(&w->files, w->dir, "g") && file_is(&w->files, sub, "h", "new"));
    CHECK_INT(list_of(w, w->dir).count, 1);
    CALL(w, close, sub);
}

static void
test_a_folder_is_renamed_over_nothing_but_an_empty_one(files_world *w)
{
    int sub = folder_of(w, w->dir, "d"), other = folder_of(w, w->dir, "e");
    make(w, sub, "f", "x");
    make(w, other, "g", "y");
    make(w, w->dir, "h", "z");
    CHECK_INT(CALL(w, rename, w->dir, "d", w->dir, "e"), MM_EEXIST);
    CHECK_INT(CALL(w, rename, w->dir, "h", w->dir, "e"), MM_ENOTSUP);
    CHECK_INT(CALL(w, rename, w->dir, "d", w->dir, "h"), MM_ENOTDIR);
    CHECK_INT(CALL(w, rename, w->dir, "d", sub, "d"), MM_EINVAL);
    CHECK_INT(CALL(w, unlink, other, "g"), MM_OK);
    CHECK_INT(CALL(w, rename, w->dir, "d", w->dir, "e"), MM_OK);
    CHECK(file_is(&w->files, sub, "f", "x"));
    CALL(w, close, other);
    CHECK_INT(CALL(w, folder, w->dir, "e", &other), MM_OK);
    CHECK(file_is(&w->files, other, "f", "x"));
    CHECK_INT(list_of(w, w->dir).folders, 1);
    CALL(w, close, other);
    CALL(w, close, sub);
}

static void
test_a_file_without_a_name_lives_until_it_is_closed(files_world *w)
{
    int file = file_of(&w->files, w->dir, "f", "abc");
    CHECK_INT(CALL(w, unlink, w->dir, "f"), MM_OK);
    CHECK_ERROR(CALL(w, unlink, w->dir, "f"), MM_ENOENT, ENOENT);
    CHECK(!file_there(&w->files, w->dir, "f"));
    make(w, w->dir, "f", "other");
    CHECK_INT(file_put(&w->files, file, 3, "d", 1), 1);
    CHECK(file_holds(&w->files, file, "abcd"));
    CHECK(file_is(&w->files, w->dir, "f", "other"));
    CALL(w, close, file);
    CHECK_INT(CALL(w, mkdir, w->dir, "d"), MM_OK);
    CHECK_INT(CALL(w, unlink, w->dir, "d"), MM_ENOTSUP);
}

int
main(void)
{
    static files_test *const tests[] = {
        test_a_name_that_could_lead_elsewhere_is_refused_by_every_call,
        test_a_file_is_made_only_when_that_is_asked_for,
        test_a_folder_is_a_place_of_its_own,
        test_a_root_that_is_not_there_is_told,
        test_a_list_has_every_name_with_its_kind,
        test_a_rename_takes_the_place_of_what_was_there,
        test_a_folder_is_renamed_over_nothing_but_an_empty_one,
        test_a_file_without_a_name_lives_until_it_is_closed,
    };
    files_run(tests, MMI_COUNT_OF(tests));
    return 0;
}
