/* haul.h: copies, synchronises, moves, removes, compares and archives files and trees. The manual is libhaul(3). */

#ifndef HAUL_H
#define HAUL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum haul_status {
    HAUL_OK = 0,        /* everything was done; compared trees are equal */
    HAUL_FAILED = 1,    /* something failed; the rest was done */
    HAUL_DIFFERENT = 2, /* compared trees differ */
    HAUL_CANCELLED = 3, /* the caller ended the call */
    HAUL_INVALID = 4,   /* an argument is not valid; nothing was done */
    HAUL_BUG = 5        /* libhaul has a bug; the call ended where it was */
};

/* Flags of a copy: which attributes are kept. */
#define HAUL_KEEP_MODE (UINT64_C(1) << 0)
#define HAUL_KEEP_OWNER (UINT64_C(1) << 1)
#define HAUL_KEEP_TIMES (UINT64_C(1) << 2)
#define HAUL_KEEP_LINKS (UINT64_C(1) << 3) /* only of trees */
#define HAUL_KEEP_XATTRS (UINT64_C(1) << 4)
#define HAUL_KEEP_FLAGS (UINT64_C(1) << 5)
/* All of them, as cp -a keeps them; for haul_copy_tree. */
#define HAUL_KEEP_ALL                                                                             \
    (HAUL_KEEP_MODE | HAUL_KEEP_OWNER | HAUL_KEEP_TIMES | HAUL_KEEP_LINKS | HAUL_KEEP_XATTRS |    \
     HAUL_KEEP_FLAGS)
#define HAUL_NEW_MODE (UINT64_C(1) << 6) /* the permissions of a new file, not the source's */

/* Other flags, each for the functions that libhaul(3) names. */
#define HAUL_FOLLOW_LINKS (UINT64_C(1) << 8)
#define HAUL_SKIP_EXISTING (UINT64_C(1) << 9)
#define HAUL_REFUSE_EXISTING (UINT64_C(1) << 10)
#define HAUL_ONE_FILE_SYSTEM (UINT64_C(1) << 11)
#define HAUL_ATOMIC (UINT64_C(1) << 12)
#define HAUL_DURABLE (UINT64_C(1) << 13)
#define HAUL_VERIFY (UINT64_C(1) << 14)
#define HAUL_GENTLE (UINT64_C(1) << 15)
#define HAUL_IGNORE_MISSING (UINT64_C(1) << 16)
#define HAUL_CONTENTS_ONLY (UINT64_C(1) << 17)
#define HAUL_DELETE (UINT64_C(1) << 18)
#define HAUL_DELETE_FROM_EMPTY (UINT64_C(1) << 19)
#define HAUL_CHECKSUM (UINT64_C(1) << 20)

/* The kinds of an item. */
enum haul_item_kind { HAUL_FAILURE = 1, HAUL_WARNING = 2, HAUL_DIFFERENCE = 3 };

/* One failure, warning or difference. No string is NULL. */
struct haul_item {
    int kind;            /* enum haul_item_kind */
    int error_number;    /* errno of the call that failed, 0 if none did */
    const char *action;  /* a permanent word, such as "OpenSource" */
    const char *source;  /* "" if there is none */
    const char *target;  /* "" if there is none */
    const char *message; /* a sentence with the paths, the action and the reason */
};

/* What a call has done so far. Later versions add fields at the end. */
struct haul_totals {
    uint64_t entries; /* copied, renamed, removed, compared or archived */
    uint64_t files;
    uint64_t directories;
    uint64_t bytes;
    uint64_t skipped;
    uint64_t failures;
    uint64_t warnings;
    uint64_t differences;
    uint64_t deleted; /* by haul_sync */
};

struct haul_cancel;
struct haul_report;

/* Options of a call, initialised with HAUL_OPTIONS. Later versions add fields at the end. */
struct haul_options {
    size_t size; /* sizeof(struct haul_options) */
    uint64_t flags;
    /* Not for haul_compare, which has one thread. */
    uint32_t jobs;        /* number of threads that work, 1024 at most; 0 is the usual one */
    uint32_t descriptors; /* most descriptors, 9 of the program included; 0 is a quarter of the rest */
    const struct haul_cancel *cancel;
    /* Called at once, about 20 times a second, and at the end. Any value but 0 ends the call. */
    int (*progress)(void *context, const struct haul_totals *totals);
    /* Called for each item, which is valid until the function returns. */
    void (*found)(void *context, const struct haul_item *item);
    void *context;
    /* Patterns of what haul_copy_tree and haul_sync leave out, as those of cp --exclude. */
    const char *const *exclude;
    size_t exclude_count;
    /* Of haul_pack: the directory that source is relative to, and the owner and group of all members, as NAME:NUMBER. */
    const char *directory;
    const char *owner;
    const char *group;
};
#define HAUL_OPTIONS                                                                              \
    { sizeof(struct haul_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL }

int haul_copy_file(const char *source, const char *target, const struct haul_options *options,
                   struct haul_report **report);
int haul_copy_tree(const char *source, const char *target, const struct haul_options *options,
                   struct haul_report **report);
int haul_move(const char *source, const char *target, const struct haul_options *options,
              struct haul_report **report);
int haul_remove(const char *path, const struct haul_options *options, struct haul_report **report);
int haul_compare(const char *a, const char *b, const struct haul_options *options,
                 struct haul_report **report);
int haul_sync(const char *source, const char *target, const struct haul_options *options,
              struct haul_report **report);
int haul_pack(const char *source, const char *archive, const struct haul_options *options,
              struct haul_report **report);
int haul_unpack(const char *archive, const char *target, const struct haul_options *options,
                struct haul_report **report);

size_t haul_report_items(const struct haul_report *report);
const struct haul_item *haul_report_item(const struct haul_report *report, size_t index);
uint64_t haul_report_omitted(const struct haul_report *report);
const struct haul_totals *haul_report_totals(const struct haul_report *report);
void haul_report_free(struct haul_report *report);

const struct haul_cancel *haul_cancel_new(void);
void haul_cancel_request(const struct haul_cancel *cancel);
void haul_cancel_free(const struct haul_cancel *cancel);

const char *haul_version(void);

#ifdef __cplusplus
}
#endif

#endif
