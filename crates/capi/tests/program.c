/* Calls every function of libhaul in a folder of its own, and ends with a message if a promise is broken. */

#include <errno.h>
#include <fcntl.h>
#include <haul.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEMAND(is_true)                                                                           \
    do {                                                                                          \
        if (!(is_true)) {                                                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #is_true);                                 \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    DEMAND(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int holds(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t bytes = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}

/* Makes a tree with so many files. */
static void tree(const char *top, int files)
{
    char path[256];
    DEMAND(mkdir(top, 0755) == 0);
    snprintf(path, sizeof path, "%s/below", top);
    DEMAND(mkdir(path, 0750) == 0);
    for (int at = 0; at < files; at++) {
        snprintf(path, sizeof path, "%s/below/%d", top, at);
        put(path, "content");
    }
    snprintf(path, sizeof path, "%s/link", top);
    DEMAND(symlink("below/0", path) == 0);
}

struct seen {
    pthread_t thread;
    int reports;
    int items;
    int answer;
    uint64_t files;
    const char *expected;
};

static int progress(void *context, const struct haul_totals *totals)
{
    struct seen *seen = context;
    DEMAND(pthread_equal(seen->thread, pthread_self()));
    seen->reports++;
    seen->files = totals->files;
    return seen->answer;
}

static void found(void *context, const struct haul_item *item)
{
    struct seen *seen = context;
    DEMAND(pthread_equal(seen->thread, pthread_self()));
    DEMAND(item->action && item->source && item->target && item->message);
    if (seen->expected)
        DEMAND(strcmp(item->action, seen->expected) == 0);
    seen->items++;
}

static struct haul_options listening(struct seen *seen, uint64_t flags)
{
    struct haul_options options = HAUL_OPTIONS;
    memset(seen, 0, sizeof *seen);
    seen->thread = pthread_self();
    options.flags = flags;
    options.progress = progress;
    options.found = found;
    options.context = seen;
    return options;
}

/* Copies, compares, moves and removes a tree. */
static void usual(const char *name)
{
    char a[64], b[64], c[64], path[128];
    struct seen seen;
    struct stat stat_a, stat_b;
    struct haul_report *report;
    struct haul_options options = listening(&seen, HAUL_KEEP_ALL);
    snprintf(a, sizeof a, "%s.a", name);
    snprintf(b, sizeof b, "%s.b", name);
    snprintf(c, sizeof c, "%s.c", name);
    tree(a, 40);
    DEMAND(haul_copy_tree(a, b, &options, &report) == HAUL_OK);
    DEMAND(seen.reports >= 2 && seen.files == 40 && seen.items == 0);
    DEMAND(haul_report_totals(report)->bytes == 40 * strlen("content"));
    DEMAND(haul_report_totals(report)->directories == 2);
    DEMAND(haul_report_items(report) == 0 && haul_report_omitted(report) == 0);
    DEMAND(haul_report_item(report, 0) == NULL);
    haul_report_free(report);
    DEMAND(stat(a, &stat_a) == 0 && stat(b, &stat_b) == 0);
    DEMAND(stat_a.st_mtim.tv_sec == stat_b.st_mtim.tv_sec);
    DEMAND(haul_compare(a, b, NULL, NULL) == HAUL_OK);
    const char *patterns[] = { "/below/7", "1*" };
    options.exclude = patterns;
    options.exclude_count = 2;
    DEMAND(haul_copy_tree(a, c, &options, &report) == HAUL_OK);
    /* All but 1, 10 to 19, and 7. */
    DEMAND(haul_report_totals(report)->files == 28);
    haul_report_free(report);
    DEMAND(haul_remove(c, &options, NULL) == HAUL_INVALID && haul_remove(c, NULL, NULL) == HAUL_OK);
    DEMAND(haul_move(b, c, NULL, NULL) == HAUL_OK);
    DEMAND(lstat(b, &stat_b) != 0 && lstat(c, &stat_b) == 0);
    snprintf(path, sizeof path, "%s/below/7", c);
    put(path, "another");
    options = listening(&seen, HAUL_CONTENTS_ONLY);
    seen.expected = "bytes";
    DEMAND(haul_compare(a, c, &options, &report) == HAUL_DIFFERENT);
    DEMAND(seen.items == 1 && haul_report_totals(report)->differences == 1);
    DEMAND(haul_report_item(report, 0)->kind == HAUL_DIFFERENCE);
    DEMAND(strcmp(haul_report_item(report, 0)->target, path) == 0);
    haul_report_free(report);
    options = listening(&seen, HAUL_GENTLE);
    DEMAND(haul_remove(a, NULL, NULL) == HAUL_OK && haul_remove(c, &options, NULL) == HAUL_OK);
    DEMAND(lstat(a, &stat_a) != 0 && lstat(c, &stat_a) != 0);
}

static void one_file(void)
{
    struct seen seen;
    struct stat stat;
    struct haul_report *report;
    struct haul_options options = listening(&seen, HAUL_REFUSE_EXISTING);
    put("file", "new");
    DEMAND(chmod("file", 0700) == 0);
    put("target", "old");
    seen.expected = "NotReplacing";
    DEMAND(haul_copy_file("file", "target", &options, NULL) == HAUL_FAILED);
    DEMAND(seen.items == 1 && holds("target", "old"));
    options.flags = HAUL_SKIP_EXISTING;
    DEMAND(haul_copy_file("file", "target", &options, &report) == HAUL_OK);
    DEMAND(holds("target", "old") && haul_report_totals(report)->skipped == 1);
    haul_report_free(report);
    options.flags = HAUL_NEW_MODE | HAUL_DURABLE | HAUL_VERIFY;
    DEMAND(haul_copy_file("file", "fresh", &options, NULL) == HAUL_OK);
    DEMAND(holds("fresh", "new") && lstat("fresh", &stat) == 0 && (stat.st_mode & 0100) == 0);
    DEMAND(haul_copy_file("file", "target", NULL, NULL) == HAUL_OK && holds("target", "new"));
    /* Bytes that cannot be read again are not verified. */
    options.flags = HAUL_VERIFY;
    options.found = NULL;
    DEMAND(haul_copy_file("file", "/dev/null", &options, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "ReadBack") == 0);
    DEMAND(lstat("/dev/null", &stat) == 0 && S_ISCHR(stat.st_mode));
    haul_report_free(report);
    /* The same inside a tree. */
    DEMAND(mkdir("from", 0700) == 0 && mkdir("to", 0700) == 0 && mkfifo("to/file", 0600) == 0);
    put("from/file", "bytes");
    int reader = open("to/file", O_RDONLY | O_NONBLOCK);
    DEMAND(reader >= 0 && haul_copy_tree("from", "to", &options, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "NotProved") == 0);
    DEMAND(haul_report_item(report, 0)->kind == HAUL_FAILURE);
    DEMAND(haul_report_totals(report)->failures == 1 && haul_report_totals(report)->warnings == 0);
    haul_report_free(report);
    close(reader);
    /* A FIFO is never read. */
    DEMAND(mkfifo("fifo", 0600) == 0);
    DEMAND(haul_copy_file("fifo", "another", NULL, NULL) == HAUL_OK);
    DEMAND(lstat("another", &stat) == 0 && S_ISFIFO(stat.st_mode));
    /* Links are copied, or followed. */
    DEMAND(symlink("file", "link") == 0);
    DEMAND(haul_copy_file("link", "link.copy", NULL, NULL) == HAUL_OK);
    DEMAND(lstat("link.copy", &stat) == 0 && S_ISLNK(stat.st_mode));
    options.flags = HAUL_FOLLOW_LINKS;
    DEMAND(haul_copy_file("link", "followed", &options, NULL) == HAUL_OK);
    DEMAND(lstat("followed", &stat) == 0 && S_ISREG(stat.st_mode));
    /* A directory is for haul_copy_tree. */
    DEMAND(mkdir("folder", 0700) == 0);
    DEMAND(haul_copy_file("folder", "folder.copy", NULL, &report) == HAUL_FAILED);
    DEMAND(haul_report_item(report, 0)->error_number == EISDIR);
    DEMAND(lstat("folder.copy", &stat) != 0);
    haul_report_free(report);
    DEMAND(haul_copy_file("file", "./file", NULL, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "SameFile") == 0);
    haul_report_free(report);
}

static void failures(void)
{
    struct haul_report *report;
    const struct haul_item *item;
    struct haul_options options = HAUL_OPTIONS;
    DEMAND(haul_copy_tree("none", "nowhere", NULL, &report) == HAUL_FAILED);
    DEMAND(haul_report_items(report) == 1);
    item = haul_report_item(report, 0);
    DEMAND(item->kind == HAUL_FAILURE && item->error_number == ENOENT);
    DEMAND(strcmp(item->action, "Stat") == 0 && strcmp(item->source, "none") == 0);
    DEMAND(strstr(item->message, "No such file or directory"));
    haul_report_free(report);
    /* An empty path is not the root directory, also with patterns. */
    const char *everything = "/*";
    options.exclude = &everything;
    options.exclude_count = 1;
    DEMAND(haul_copy_tree("", "nowhere", &options, &report) == HAUL_FAILED);
    DEMAND(haul_report_item(report, 0)->error_number == ENOENT);
    DEMAND(access("nowhere", F_OK) != 0);
    haul_report_free(report);
    /* A link has no entries that could be left out, and is not followed. */
    DEMAND(mkdir("linked", 0700) == 0 && symlink("linked", "to-linked") == 0);
    DEMAND(haul_copy_tree("to-linked", "nowhere", &options, &report) == HAUL_FAILED);
    DEMAND(haul_report_item(report, 0)->error_number == ENOTDIR);
    DEMAND(access("nowhere", F_OK) != 0);
    haul_report_free(report);
    options = (struct haul_options)HAUL_OPTIONS;
    DEMAND(haul_remove("none", NULL, NULL) == HAUL_FAILED);
    options.flags = HAUL_IGNORE_MISSING;
    DEMAND(haul_remove("none", &options, NULL) == HAUL_OK);
    DEMAND(haul_remove("/", NULL, NULL) == HAUL_FAILED);
    DEMAND(haul_compare("none", "file", NULL, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "Open") == 0);
    haul_report_free(report);
}

static void refusals(void)
{
    struct haul_report *report = NULL;
    struct { struct haul_options options; uint64_t later; } newer = { HAUL_OPTIONS, 0 };
    struct haul_options options = HAUL_OPTIONS;
    DEMAND(haul_copy_tree(NULL, "b", NULL, &report) == HAUL_INVALID);
    DEMAND(strcmp(haul_report_item(report, 0)->message, "a path is NULL") == 0);
    haul_report_free(report);
    DEMAND(haul_copy_tree("a", NULL, NULL, NULL) == HAUL_INVALID);
    options.flags = HAUL_VERIFY;
    DEMAND(haul_remove("file", &options, &report) == HAUL_INVALID && holds("file", "new"));
    DEMAND(strstr(haul_report_item(report, 0)->message, "has no flag HAUL_VERIFY"));
    haul_report_free(report);
    options = (struct haul_options)HAUL_OPTIONS;
    options.jobs = -1;
    DEMAND(haul_copy_file("file", "many", &options, NULL) == HAUL_INVALID);
    /* A size that was not set is refused before anything behind it is read. */
    const size_t first = offsetof(struct haul_options, directory);
    const size_t sizes[] = { 0, first - 1, 4096, SIZE_MAX };
    options.jobs = 0;
    for (int at = 0; at < 4; at++) {
        options.size = sizes[at];
        DEMAND(haul_remove("file", &options, &report) == HAUL_INVALID && holds("file", "new"));
        DEMAND(strstr(haul_report_item(report, 0)->message, "size is not set"));
        haul_report_free(report);
    }
    /* A program of the first version has no further fields. */
    options.size = first;
    DEMAND(haul_copy_file("file", "older", &options, NULL) == HAUL_OK);
    newer.options.size = sizeof newer;
    DEMAND(haul_copy_file("file", "newer", &newer.options, NULL) == HAUL_OK);
    newer.later = 1;
    DEMAND(haul_copy_file("file", "newer", &newer.options, NULL) == HAUL_INVALID);
    haul_report_free(NULL);
    haul_cancel_free(NULL);
    haul_cancel_request(NULL);
    DEMAND(haul_report_items(NULL) == 0 && haul_report_totals(NULL) == NULL);
}

static void free_while_it_runs(void *context)
{
    const struct haul_cancel **cancel = context;
    if (*cancel) {
        haul_cancel_request(*cancel);
        haul_cancel_free(*cancel);
        *cancel = NULL;
    }
}

static int cancel_from_progress(void *context, const struct haul_totals *totals)
{
    (void)totals;
    free_while_it_runs(context);
    return 0;
}

static void cancel_from_found(void *context, const struct haul_item *item)
{
    DEMAND(item->error_number == ENOENT);
    free_while_it_runs(context);
}

/* Links that lead to nothing: with HAUL_FOLLOW_LINKS each is a failure. */
static void dangling(const char *top, int links)
{
    char path[256];
    DEMAND(mkdir(top, 0755) == 0);
    for (int at = 0; at < links; at++) {
        snprintf(path, sizeof path, "%s/%d", top, at);
        DEMAND(symlink("none", path) == 0);
    }
}

static void cancel(void)
{
    struct stat stat;
    struct seen seen;
    struct haul_options options = HAUL_OPTIONS;
    const struct haul_cancel *cancel = haul_cancel_new();
    tree("large", 200);
    options.cancel = cancel;
    haul_cancel_request(cancel);
    DEMAND(haul_copy_tree("large", "none", &options, NULL) == HAUL_CANCELLED);
    DEMAND(lstat("none", &stat) != 0);
    haul_cancel_free(cancel);
    /* The caller may free a flag that a call has. */
    cancel = haul_cancel_new();
    options.cancel = cancel;
    options.progress = cancel_from_progress;
    options.context = &cancel;
    DEMAND(haul_copy_tree("large", "copy", &options, NULL) == HAUL_CANCELLED);
    DEMAND(cancel == NULL);
    /* The first failure ends a call of which more failures are left than wait for the caller. */
    dangling("dangling", 300);
    cancel = haul_cancel_new();
    options = (struct haul_options)HAUL_OPTIONS;
    options.flags = HAUL_FOLLOW_LINKS;
    options.cancel = cancel;
    options.found = cancel_from_found;
    options.context = &cancel;
    DEMAND(haul_copy_tree("dangling", "found", &options, NULL) == HAUL_CANCELLED);
    DEMAND(cancel == NULL);
    DEMAND(haul_remove("dangling", NULL, NULL) == HAUL_OK);
    options = listening(&seen, 0);
    seen.answer = 1;
    DEMAND(haul_remove("large", &options, NULL) == HAUL_CANCELLED);
    DEMAND(seen.reports >= 2);
    seen.answer = 0;
    options.flags = HAUL_IGNORE_MISSING;
    DEMAND(haul_remove("large", &options, NULL) == HAUL_OK);
    DEMAND(haul_remove("copy", &options, NULL) == HAUL_OK);
}

static int go_elsewhere(void *context, const struct haul_totals *totals)
{
    (void)totals;
    DEMAND(chdir(context) == 0);
    umask(0);
    return 0;
}

/* Relative paths and the umask are those of the beginning, whatever the program does meanwhile. */
static void current_directory(void)
{
    struct stat stat;
    char path[4096];
    struct haul_options options = HAUL_OPTIONS;
    DEMAND(mkdir("elsewhere", 0700) == 0 && mkdir("elsewhere/same", 0700) == 0);
    tree("same", 3);
    options.progress = go_elsewhere;
    options.context = realpath("elsewhere", path);
    DEMAND(haul_copy_tree("same", "made", &options, NULL) == HAUL_OK && chdir("..") == 0);
    DEMAND(umask(027) == 0 && lstat("made", &stat) == 0 && (stat.st_mode & 0777) == 0750);
    DEMAND(haul_remove("same", &options, NULL) == HAUL_OK && chdir("..") == 0);
    umask(027);
    DEMAND(lstat("same", &stat) != 0 && lstat("elsewhere/same", &stat) == 0);
}

/* Makes an archive in each format, and extracts it. */
static void archives(void)
{
    const char *names[] = { "tree.tar", "tree.tar.gz", "tree.tar.xz", "tree.tar.zst" };
    struct seen seen;
    struct stat stat;
    struct haul_report *report;
    struct haul_options options = HAUL_OPTIONS, only = HAUL_OPTIONS;
    only.flags = HAUL_CONTENTS_ONLY;
    tree("tree", 50);
    DEMAND(mkfifo("tree/fifo", 0600) == 0);
    for (int at = 0; at < 4; at++) {
        DEMAND(haul_pack("tree", names[at], NULL, &report) == HAUL_OK);
        DEMAND(haul_report_totals(report)->files == 50 && haul_report_totals(report)->entries == 54);
        DEMAND(haul_report_totals(report)->bytes == 50 * strlen("content"));
        haul_report_free(report);
        DEMAND(haul_unpack(names[at], "out", NULL, &report) == HAUL_OK);
        DEMAND(haul_report_totals(report)->files == 50 && haul_report_totals(report)->directories == 2);
        haul_report_free(report);
        DEMAND(haul_compare("tree", "out/tree", &only, NULL) == HAUL_OK);
        options.flags = HAUL_SKIP_EXISTING;
        put("out/tree/below/7", "another");
        DEMAND(haul_unpack(names[at], "out", &options, &report) == HAUL_OK);
        DEMAND(haul_report_totals(report)->skipped > 0 && holds("out/tree/below/7", "another"));
        haul_report_free(report);
        DEMAND(haul_remove("out", NULL, NULL) == HAUL_OK);
    }
    DEMAND(haul_pack("tree", "tree.tar.bz2", NULL, &report) == HAUL_INVALID);
    DEMAND(lstat("tree.tar.bz2", &stat) != 0);
    haul_report_free(report);
    /* Names are relative to a directory; owners are given. */
    options = (struct haul_options)HAUL_OPTIONS;
    options.directory = "tree";
    options.owner = "somebody:7";
    options.group = "some:8";
    DEMAND(haul_pack("below", "part.tar", &options, NULL) == HAUL_OK);
    DEMAND(haul_unpack("part.tar", "out", NULL, NULL) == HAUL_OK && holds("out/below/0", "content"));
    options.directory = NULL;
    DEMAND(haul_unpack("part.tar", "out", &options, NULL) == HAUL_INVALID);
    options.owner = "somebody";
    DEMAND(haul_pack("below", "part.tar", &options, NULL) == HAUL_INVALID);
    /* What is no archive makes no directory, and what cannot be archived no archive. */
    put("text.tar", "no archive");
    DEMAND(haul_unpack("text.tar", "none", NULL, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "NotArchive") == 0);
    DEMAND(lstat("none", &stat) != 0);
    haul_report_free(report);
    DEMAND(haul_pack("none", "text.tar", NULL, &report) == HAUL_FAILED);
    DEMAND(haul_report_item(report, 0)->error_number == ENOENT && holds("text.tar", "no archive"));
    haul_report_free(report);
    DEMAND(haul_pack("tree", "out", NULL, NULL) == HAUL_FAILED && lstat("out", &stat) == 0);
    /* A call that is cancelled leaves the old archive, or a whole one. */
    options = listening(&seen, 0);
    seen.answer = 1;
    DEMAND(haul_pack("tree", "text.tar", &options, NULL) == HAUL_CANCELLED);
    /* It may have been complete by then. */
    DEMAND(holds("text.tar", "no archive") || haul_unpack("text.tar", "whole", NULL, NULL) == HAUL_OK);
    DEMAND(haul_unpack("tree.tar", "out", &options, NULL) == HAUL_CANCELLED);
    /* The end of an archive that was cut off is missed. */
    DEMAND(truncate("tree.tar", 4000) == 0 && haul_unpack("tree.tar", "cut", NULL, &report) == HAUL_FAILED);
    DEMAND(strcmp(haul_report_item(report, 0)->action, "BadArchive") == 0);
    haul_report_free(report);
}

/* Makes a tree the same as another. */
static void synchronise(void)
{
    struct haul_report *report;
    struct stat stat;
    struct haul_options options = HAUL_OPTIONS;
    const char *pattern = "*.kept";
    tree("first", 20);
    DEMAND(haul_sync("first", "second", &options, &report) == HAUL_OK);
    DEMAND(haul_report_totals(report)->files == 20);
    haul_report_free(report);
    put("second/more", "more");
    put("second/a.kept", "more");
    put("first/below/3", "longer than before");
    options.flags = HAUL_DELETE;
    options.exclude = &pattern;
    options.exclude_count = 1;
    DEMAND(haul_sync("first", "second", &options, &report) == HAUL_OK);
    DEMAND(haul_report_totals(report)->files == 1 && haul_report_totals(report)->deleted == 1);
    haul_report_free(report);
    DEMAND(holds("second/below/3", "longer than before") && holds("second/a.kept", "more"));
    DEMAND(lstat("second/more", &stat) != 0);
    /* Equal sizes and times: only the bytes differ. */
    struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
    put("first/below/4", "Content");
    DEMAND(utimensat(AT_FDCWD, "first/below/4", times, 0) == 0);
    DEMAND(utimensat(AT_FDCWD, "second/below/4", times, 0) == 0);
    DEMAND(haul_sync("first", "second", &options, NULL) == HAUL_OK && holds("second/below/4", "content"));
    options.flags |= HAUL_CHECKSUM;
    DEMAND(haul_sync("first", "second", &options, NULL) == HAUL_OK && holds("second/below/4", "Content"));
    /* An empty source may be a file system that is not mounted. */
    DEMAND(mkdir("empty", 0700) == 0 && haul_sync("empty", "second", &options, NULL) == HAUL_FAILED);
    DEMAND(lstat("second/below", &stat) == 0);
    options.flags |= HAUL_DELETE_FROM_EMPTY;
    DEMAND(haul_sync("empty", "second", &options, NULL) == HAUL_OK && lstat("second/below", &stat) != 0);
    /* An empty path is not the root directory, and a file is no tree. */
    DEMAND(haul_sync("", "second", NULL, NULL) == HAUL_FAILED);
    DEMAND(haul_sync("second/a.kept", "third", NULL, &report) == HAUL_FAILED);
    DEMAND(haul_report_item(report, 0)->error_number == ENOTDIR && lstat("third", &stat) != 0);
    haul_report_free(report);
}

/* Makes a child in one of the calls of a function. */
struct forking {
    pid_t child;
    int calls;
    int at;
};

static void fork_at(struct forking *forking)
{
    if (forking->calls++ != forking->at)
        return;
    forking->child = fork();
    /* A child that waits for threads of its parent ends by this signal. */
    if (forking->child == 0)
        alarm(60);
}

static int fork_from_progress(void *context, const struct haul_totals *totals)
{
    (void)totals;
    fork_at(context);
    return 0;
}

static void fork_from_found(void *context, const struct haul_item *item)
{
    (void)item;
    fork_at(context);
}

/* A child that returns from a function leaves the call, and its parent goes on. */
static void child_returns(void)
{
    struct stat stat;
    struct haul_options only = HAUL_OPTIONS;
    only.flags = HAUL_CONTENTS_ONLY;
    tree("forked", 300);
    dangling("forked/dangling", 300);
    for (int at = 0; at < 3; at++) {
        struct haul_report *report;
        struct haul_options options = HAUL_OPTIONS;
        struct forking forking = { -1, 0, at == 2 ? 1 : 0 };
        options.flags = HAUL_FOLLOW_LINKS | HAUL_DURABLE;
        options.context = &forking;
        if (at == 0)
            options.found = fork_from_found;
        else
            options.progress = fork_from_progress;
        int status = haul_copy_tree("forked", "unforked", &options, &report);
        DEMAND(status == HAUL_FAILED && forking.child != -1);
        const char *action = haul_report_item(report, 0)->action;
        if (forking.child == 0) {
            if (haul_report_items(report) != 1 || strcmp(action, "Forked") != 0)
                _exit(1);
            haul_report_free(report);
            if (haul_copy_tree("forked/below", "of-child", NULL, NULL) != HAUL_OK)
                _exit(2);
            /* So that valgrind does not look for what the threads of the parent have. */
            execlp("true", "true", (char *)NULL);
            _exit(3);
        }
        DEMAND(strcmp(action, "Forked") != 0 && haul_report_totals(report)->failures == 300);
        haul_report_free(report);
        DEMAND(waitpid(forking.child, &status, 0) == forking.child);
        DEMAND(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        DEMAND(haul_compare("forked/below", "unforked/below", &only, NULL) == HAUL_OK);
        DEMAND(haul_compare("forked/below", "of-child", &only, NULL) == HAUL_OK);
        DEMAND(haul_remove("unforked", NULL, NULL) == HAUL_OK);
        DEMAND(haul_remove("of-child", NULL, NULL) == HAUL_OK && lstat("forked", &stat) == 0);
    }
}

static void *in_thread(void *name)
{
    usual(name);
    return NULL;
}

static void handler(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    static char names[4][8] = { "one", "two", "three", "four" };
    pthread_t threads[4];
    struct sigaction before[65], now;
    DEMAND(argc == 3 && mkdir(argv[1], 0700) == 0 && chdir(argv[1]) == 0);
    /* The test says it, because constructors of the library have run already. */
    int is_open = strcmp(argv[2], "open") == 0;
    DEMAND((fcntl(0, F_GETFD) != -1) == is_open);
    umask(027);
    signal(SIGUSR1, handler);
    for (int number = 1; number < 65; number++)
        if (sigaction(number, NULL, &before[number]) != 0)
            before[number].sa_handler = SIG_ERR;
    usual("alone");
    one_file();
    failures();
    refusals();
    cancel();
    current_directory();
    archives();
    synchronise();
    child_returns();
    for (int at = 0; at < 4; at++)
        DEMAND(pthread_create(&threads[at], NULL, in_thread, names[at]) == 0);
    for (int at = 0; at < 4; at++)
        DEMAND(pthread_join(threads[at], NULL) == 0);
    /* The process is as it was. */
    for (int number = 1; number < 65; number++)
        if (before[number].sa_handler != SIG_ERR)
            DEMAND(sigaction(number, NULL, &now) == 0 && now.sa_handler == before[number].sa_handler);
    DEMAND(umask(027) == 027);
    DEMAND((fcntl(0, F_GETFD) != -1) == is_open);
    puts("all is well");
    return 0;
}
