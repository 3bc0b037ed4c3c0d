//! The options of `sync` that people are shown: one table, from which arguments are read and `--help` is written.

use haul_engine::request::{
    Accounts, Appearance, BasisUse, Dereference, Keep, ModePolicy, Parents, Sync, TargetLinks,
};
use haul_io::Sparse;

use super::settings::Settings;
use super::values::{after_minutes, at_moment, count, rate, window};
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, opt, own};
use crate::option::config::{config, no_config};
use crate::option::data::{
    CACHE_VALUES, DIGEST_VALUES, REFLINK_VALUES, bandwidth, cache, io_size, memory, reflink,
};
use crate::option::effect::{
    Effect, help_row, nothing, read, read_optional, set, set_to, version_row,
};
use crate::option::gentle::{begins, gentle};
use crate::option::metrics::{job, metrics};
use crate::option::select::{Selects as _, select_rows};
use crate::report::Format;
use crate::value::{Dash, WHEN_VALUES, When, file, jobs, when};

/// Every option that is shown, in the order of `--help`.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(Settings, &[
    opt(set(Settings::archive), ("a", "archive"), Nothing, "stands for -rlptgoD; not for -A, -X and -H"),
    opt(set(Settings::recurse), ("r", "recursive"), Nothing, "enter directories"),
    opt(
        set(|sync| sync.rules.symlinks = true),
        ("l", "links"),
        Nothing,
        "copy symbolic links as links; without -l and -L\nthey are skipped",
    ),
    opt(
        set(|sync| sync.policy.parents = Parents::Keep),
        ("R", "relative"),
        Nothing,
        "make the directories of SOURCE's path in TARGET, or\nthose behind /./ in it",
    ),
    opt(
        set(|sync| sync.rules.implied_attributes = false),
        ("", "no-implied-dirs"),
        Nothing,
        "with -R: these directories have no attributes of\ntheir own",
    ),
    opt(
        set(|sync| sync.rules.lists_directories = true),
        ("d", "dirs"),
        Nothing,
        "without -r: make directories, and copy the entries\nof SOURCE/",
    ),
    opt(
        set(|sync| sync.rules.makes_path = true),
        ("", "mkpath"),
        Nothing,
        "make the directories above TARGET",
    ),
    opt(
        set(|sync| sync.rules.prunes_empty = true),
        ("m", "prune-empty-dirs"),
        Nothing,
        "leave out directories with nothing but directories",
    ),
    opt(
        set(|sync| sync.ignores_missing = true),
        ("", "ignore-missing-args"),
        Nothing,
        "a SOURCE that does not exist is no failure",
    ),
    opt(
        set(|sync| sync.rules.copies_directory_links = true),
        ("k", "copy-dirlinks"),
        Nothing,
        "copy the directories that symbolic links lead to",
    ),
    opt(
        set(|sync| sync.rules.copies_unsafe_links = true),
        ("", "copy-unsafe-links"),
        Nothing,
        "copy what symbolic links lead to outside of SOURCE",
    ),
    opt(
        set(|sync| sync.rules.skips_unsafe_links = true),
        ("", "safe-links"),
        Nothing,
        "skip symbolic links that lead out of SOURCE",
    ),
    opt(
        set(|sync| sync.policy.dereference = Dereference::Always),
        ("L", "copy-links"),
        Nothing,
        "copy what symbolic links lead to",
    ),
    opt(
        set(|sync| sync.policy.target_links = TargetLinks::KeepDirectory),
        ("K", "keep-dirlinks"),
        Nothing,
        "take a symbolic link in TARGET that leads to a\ndirectory for that directory",
    ),
    opt(
        set(Settings::keep_hard_links),
        ("H", "hard-links"),
        Nothing,
        "names of one file in SOURCE are names of one file\nin TARGET",
    ),
    opt(
        set(|sync| sync.policy.preserve.mode = ModePolicy::Keep),
        ("p", "perms"),
        Nothing,
        "keep permission bits and access-control lists",
    ),
    opt(
        set(Settings::compare_acls),
        ("A", "acls"),
        Nothing,
        "-p, and compare these lists, too: set those that\nalone differ",
    ),
    opt(
        set(|sync| sync.policy.preserve.xattr = Keep::Must),
        ("X", "xattrs"),
        Nothing,
        "keep extended attributes",
    ),
    opt(
        set(|sync| sync.owner = true),
        ("o", "owner"),
        Nothing,
        "keep owners, as far as the user may",
    ),
    opt(
        set(|sync| sync.group = true),
        ("g", "group"),
        Nothing,
        "keep groups, as far as the user may",
    ),
    opt(
        set(|sync| sync.rules.executability = true),
        ("E", "executability"),
        Nothing,
        "without -p: a file that exists becomes executable,\nor ceases to be, as its source is",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.change_modes(&word)?; Ok(()) }),
        ("", "chmod"),
        Required("CHANGES"),
        "take the permission bits of SOURCE for changed, as\nby chmod(1): D755,F644 or u+w,go-rwx",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.change_owner(&word)?; Ok(()) }),
        ("", "chown"),
        Required("USER:GROUP"),
        "give everything to USER and GROUP, or to one of\nthem; stands for -og with the following",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.map_ids(Accounts::Users, &word)?; Ok(()) }),
        ("", "usermap"),
        Required("MAP"),
        "-o, with other owners: 0-99:nobody,joe:ann,*:bob",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.map_ids(Accounts::Groups, &word)?; Ok(()) }),
        ("", "groupmap"),
        Required("MAP"),
        "-g, with other groups",
    ),
    opt(
        set(|sync| sync.rules.numeric_ids = true),
        ("", "numeric-ids"),
        Nothing,
        "users and groups have no names for these maps",
    ),
    opt(
        set(|sync| sync.policy.preserve.times = Keep::Must),
        ("t", "times"),
        Nothing,
        "keep modification times, by which the next run\nfinds what has changed",
    ),
    opt(
        set(|sync| sync.rules.directory_times = false),
        ("O", "omit-dir-times"),
        Nothing,
        "-t is not for directories",
    ),
    opt(
        set(|sync| sync.rules.link_times = false),
        ("J", "omit-link-times"),
        Nothing,
        "-t is not for symbolic links",
    ),
    opt(
        set(|sync| (sync.rules.devices, sync.rules.specials) = (true, true)),
        ("D", ""),
        Nothing,
        "stands for --devices --specials",
    ),
    opt(
        set(|sync| sync.rules.devices = true),
        ("", "devices"),
        Nothing,
        "make devices again",
    ),
    opt(
        set(|sync| sync.rules.specials = true),
        ("", "specials"),
        Nothing,
        "make FIFOs and sockets again",
    ),
    opt(
        set(|sync| sync.policy.data.sparse = Sparse::Always),
        ("S", "sparse"),
        Nothing,
        "turn runs of zeros into holes; without it a file\nhas holes where its source has them",
    ),
    opt(
        read(|sync: &mut Settings, _| Ok(sync.stay_inside()?)),
        ("x", "one-file-system"),
        Nothing,
        "leave out what is on file systems that are mounted\nin SOURCE",
    ),
    opt(
        set(|sync| sync.rules.keeps_newer = true),
        ("u", "update"),
        Nothing,
        "leave files alone that are newer in TARGET",
    ),
    opt(
        set(|sync| sync.checksum = true),
        ("c", "checksum"),
        Nothing,
        "read both files where the sizes are equal; do not\ncompare times",
    ),
    opt(
        set(|sync| sync.ignore_times = true),
        ("I", "ignore-times"),
        Nothing,
        "copy files also if size and time are equal",
    ),
    opt(
        set(|sync| sync.size_only = true),
        ("", "size-only"),
        Nothing,
        "files of one size are the same",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.window_s = window(&word)?; Ok(()) }),
        ("@", "modify-window"),
        Required("N"),
        "times that differ by N seconds are the same",
    ),
    opt(
        set(|sync| sync.rules.only_existing = true),
        ("", "existing"),
        Nothing,
        "make no new entries",
    ),
    opt(
        set(|sync| sync.rules.only_existing = true),
        ("", "ignore-non-existing"),
        Nothing,
        "the same",
    ),
    opt(
        set(|sync| sync.rules.only_missing = true),
        ("", "ignore-existing"),
        Nothing,
        "leave everything alone that exists in TARGET, apart\nfrom directories",
    ),
    opt(
        set(|sync| sync.deletes = true),
        ("", "delete"),
        Nothing,
        "remove what SOURCE does not have. See below",
    ),
    opt(set(|sync| sync.deletes = true), ("", "del"), Nothing, "--delete"),
    opt(set(|sync| sync.deletes = true), ("", "delete-before"), Nothing, "--delete"),
    opt(set(|sync| sync.deletes = true), ("", "delete-during"), Nothing, "--delete"),
    opt(set(|sync| sync.deletes = true), ("", "delete-delay"), Nothing, "--delete"),
    opt(set(|sync| sync.deletes = true), ("", "delete-after"), Nothing, "--delete"),
    opt(
        set(|sync| (sync.deletes, sync.deletes_excluded) = (true, true)),
        ("", "delete-excluded"),
        Nothing,
        "--delete, also of what the rules leave out",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.delete_at_most(count(&word)?); Ok(()) }),
        ("", "max-delete"),
        Required("N"),
        "remove N entries and no more; the exit status then\nis 25",
    ),
    opt(
        set(|sync| sync.rules.clears_directories = true),
        ("", "force"),
        Nothing,
        "a directory in TARGET gives way to a file with its\nname, also without --delete",
    ),
    opt(
        set(|sync| sync.rules.in_place = true),
        ("", "inplace"),
        Nothing,
        "write into a file of TARGET, not a new one; it is\nincomplete meanwhile, and all its names change",
    ),
    opt(
        set(Settings::keep_parts),
        ("", "partial"),
        Nothing,
        "a new file that cannot be completed keeps its part,\nwith the oldest time",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.keep_parts_in(&word)?; Ok(()) }),
        ("", "partial-dir"),
        Required("DIR"),
        "a file that cannot be completed leaves its part in\nDIR, in its own directory",
    ),
    opt(
        set(|sync| { sync.keep_parts(); sync.progress = When::Always; }),
        ("P", ""),
        Nothing,
        "--partial --progress=always",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.choose_checksum(&word)?; Ok(()) }),
        ("", "checksum-choice"),
        Required("ALGO"),
        "use ALGO for -c: auto, xxh128, xxh3, xxh64, md5,\nsha1, sha256, sha512, blake2b or blake3",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.choose_checksum(&word)?; Ok(()) }),
        ("", "cc"),
        Required("ALGO"),
        "the same",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.inform(&word)?; Ok(()) }),
        ("", "info"),
        Required("FLAGS"),
        "print name, name2, progress, progress2 or stats;\nwith 0, do not",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.stop_at = Some(after_minutes(&word)?); Ok(()) }),
        ("", "stop-after"),
        Required("MINUTES"),
        "end after this time; the exit status then is 30",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.stop_at = Some(after_minutes(&word)?); Ok(()) }),
        ("", "time-limit"),
        Required("MINUTES"),
        "the same",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.stop_at = Some(at_moment(&word)?); Ok(()) }),
        ("", "stop-at"),
        Required("DATE"),
        "end at this moment, as in 2030-12-31T23:59 or 23:59",
    ),
    opt(
        set(|sync| sync.makes_backups = true),
        ("b", "backup"),
        Nothing,
        "a file that is replaced or removed gets another\nname",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.back_up_in(&word)?; Ok(()) }),
        ("", "backup-dir"),
        Required("DIR"),
        "--backup, in DIR under the same path; DIR is\nrelative to TARGET and on its file system",
    ),
    opt(
        set_to(|sync: &mut Settings, word| sync.backup_suffix = Some(word)),
        ("", "suffix"),
        Required("SUFFIX"),
        "append SUFFIX to the names of backups (default: ~,\nwith --backup-dir none)",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.look_in(BasisUse::Link, &word)?; Ok(()) }),
        ("", "link-dest"),
        Required("DIR"),
        "make hard links to files of DIR that are the same,\nas for a snapshot; DIR is relative to TARGET",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.look_in(BasisUse::Copy, &word)?; Ok(()) }),
        ("", "copy-dest"),
        Required("DIR"),
        "compare what TARGET does not have with DIR, and\nmake copies",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.look_in(BasisUse::Compare, &word)?; Ok(()) }),
        ("", "compare-dest"),
        Required("DIR"),
        "do not make what is the same in DIR; TARGET gets\nwhat differs",
    ),
    opt(
        set(|sync| sync.dry_run = true),
        ("n", "dry-run"),
        Nothing,
        "change nothing; with -v or -i, print what would be",
    ),
    opt(
        set(|sync| sync.verbose += 1),
        ("v", "verbose"),
        Nothing,
        "print the names of what is copied and removed;\ntwice: and of files that are up to date",
    ),
    opt(
        set(|sync| sync.itemize += 1),
        ("i", "itemize-changes"),
        Nothing,
        "print what changes of each entry, as YXcstpoguax;\ntwice: also of those that stay",
    ),
    opt(set(|sync| sync.quiet = true), ("q", "quiet"), Nothing, "print messages about failures alone"),
    opt(
        read(|sync: &mut Settings, word| { sync.out_format = Some(Settings::format_of("--out-format", &word)?); Ok(()) }),
        ("", "out-format"),
        Required("FORMAT"),
        "print a line for each entry: %i what changes, %n\nname, %L link text, %f path, %l size, %B bits, %M\ntime, %o send or del., %U, %G, %p process, %t now",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.out_format = Some(Settings::format_of("--log-format", &word)?); Ok(()) }),
        ("", "log-format"),
        Required("FORMAT"),
        "the same",
    ),
    opt(
        read_optional(|sync, name| { sync.log_file = Some(file("--log-file", name, Dash::NoOutput)?); Ok(()) }),
        ("", "log-file"),
        Required("FILE"),
        "append a line to FILE for each entry that changes,\nand for each failure",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.log_format = Some(Settings::format_of("--log-file-format", &word)?); Ok(()) }),
        ("", "log-file-format"),
        Required("FORMAT"),
        "the form of these lines (default: '%i %n%L')",
    ),
    opt(
        set(|sync| sync.stats = true),
        ("", "stats"),
        Nothing,
        "print a summary on standard error: entries copied\nand deleted, bytes, time, rate, methods, waits",
    ),
    opt(
        read(|sync: &mut Settings, word| { sync.policy.bytes_per_second = rate(&word)?; Ok(()) }),
        ("", "bwlimit"),
        Required("RATE"),
        "move at most RATE KiB a second, or as in 50M; 0 is\nno limit",
    ),
    opt(
        set(|sync| sync.policy.sync = Sync::Files),
        ("", "fsync"),
        Nothing,
        "wait until each file, and its directory, is on\nstable storage",
    ),
    opt(
        set_to(|sync: &mut Settings, rule| sync.select().add_rule(&rule)),
        ("f", ""),
        Required("RULE"),
        "--filter=RULE",
    ),
    opt(
        set(Settings::read_rules_of_directories),
        ("F", ""),
        Nothing,
        "--filter=': /.rsync-filter'; twice: and leave these\nfiles out",
    ),
    opt(
        set(|sync| sync.ignores_for_cvs = true),
        ("C", "cvs-exclude"),
        Nothing,
        "leave out what CVS ignores, after all other rules",
    ),
    opt(
        set(|sync: &mut Settings| sync.select().separate_by_nul()),
        ("0", ""),
        Nothing,
        "--from0",
    ),
    help_row(),
    version_row(),
    own(
        set(|sync: &mut Settings| sync.delete.from_empty = true),
        "allow-empty",
        Nothing,
        "with --delete: remove everything where SOURCE is an\nempty directory",
    ),
    own(
        read(|sync: &mut Settings, rate| {
            sync.policy.bytes_per_second = Some(bandwidth(&rate)?);
            Ok(())
        }),
        "bandwidth",
        Required("RATE"),
        "--bwlimit, with a unit as in 50M",
    ).or_default(),
    own(
        read(|sync: &mut Settings, word| { sync.policy.data.cache = cache(&word)?; Ok(()) }),
        "cache",
        Required("WHAT"),
        "how to use the page cache: keep, drop, direct,\nrestore, or auto (default). See 'haul cp --help'",
    ).or_default().with(CACHE_VALUES),
    // The words of a configuration are here already.
    config(nothing()),
    own(
        set(|sync: &mut Settings| sync.policy.appearance = Appearance::Durable),
        "durable",
        Nothing,
        "a file gets its name when it is on stable storage,\nand the names are there at exit",
    ).or_default(),
    own(
        read_optional(|sync, name| { sync.errors = Some(file("--errors", name, Dash::NoOutput)?); Ok(()) }),
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names",
    ),
    gentle(begins()).or_default(),
    own(
        read(|sync: &mut Settings, name| Ok(sync.trust.set_hash(&name)?)),
        "hash",
        Required("ALGO"),
        "use ALGO for --verify: blake3 (default), sha256 or\nanother that 'haul hash --help' lists",
    ).or_default().with(DIGEST_VALUES),
    own(
        read(|sync: &mut Settings, bytes| { sync.policy.data.io_bytes = Some(io_size(&bytes)?); Ok(()) }),
        "io-size",
        Required("SIZE"),
        "bytes of one request (default: 256K to 8M, by\nmethod)",
    ).or_default(),
    job(read_optional(|sync, name| Ok(sync.metrics.set_job(name.as_deref())?))),
    own(
        read(|sync: &mut Settings, count| { sync.jobs = Some(jobs(Some(&count))?); Ok(()) }),
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors, and up to 32 where they\nmostly wait for a server)",
    ).or_default(),
    own(
        set(|sync: &mut Settings| sync.format = Format::Json),
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ).or_default(),
    own(
        read(|sync: &mut Settings, bytes| { sync.data.memory = Some(memory(&bytes)?); Ok(()) }),
        "limit-memory",
        Required("SIZE"),
        "use at most SIZE bytes for I/O buffers, all\nworkers together",
    ).or_default(),
    metrics(read_optional(|sync, file| Ok(sync.metrics.set_file(file)?))),
    no_config(nothing()),
    own(
        read_optional(|sync: &mut Settings, word| { sync.progress = when("--progress", word.as_deref())?; Ok(()) }),
        "progress",
        Optional("WHEN"),
        "show a bar on standard error: always, never, or\nauto (default): if that is a terminal and the run\nis long; with --json, always adds a line each\nsecond",
    ).or_default().with(WHEN_VALUES),
    own(
        read_optional(|sync: &mut Settings, word| { sync.policy.data.reflink = reflink(word.as_deref())?; Ok(()) }),
        "reflink",
        Optional("WHEN"),
        "share blocks: always, auto (default) or never",
    ).or_default().with(REFLINK_VALUES),
    own(
        read_optional(|sync: &mut Settings, name| Ok(sync.trust.verify(name.as_deref())?)),
        "verify",
        Optional("ALGO"),
        "read each file again from storage before it gets\nits name, and compare it with what was read of\nSOURCE",
    ).or_default().with(DIGEST_VALUES),
]);
