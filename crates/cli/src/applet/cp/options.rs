//! The options of `cp`: one table, from which arguments are read and `--help` is written.

use haul_engine::request::{
    Appearance, Borders, Consent, Dereference, Existing, Force, Links, Make, Parents, Recursion,
    Specials, Sync, TargetLinks,
};

use super::profile::{AUTO, NONE};
use super::settings::Settings;
use super::values::{ATTRIBUTE_VALUES, SPARSE_VALUES, sparse, usual};
use crate::getopt::{Opt, Takes, Values, opt, own};
use crate::option::config::{config, no_config};
use crate::option::data::{
    CACHE_VALUES, DIGEST_VALUES, METHOD_VALUES, REFLINK_VALUES, STRIPING_VALUES, bandwidth, cache,
    io_size, list_methods, memory, method, queue_depth, reflink, striping,
};
use crate::option::effect::{
    Answer, Effect, answer, help_row, nothing, read, read_optional, set, set_to, version_row,
};
use crate::option::gentle::{begins, gentle};
use crate::option::metrics::{job, metrics};
use crate::option::select::select_rows;
use crate::option::trust::retries;
use crate::report::Format;
use crate::value::{BACKUP_VALUES, Dash, UPDATE_VALUES, WHEN_VALUES, file, jobs, update, when};

use Takes::{Nothing, Optional, Required};

/// Every option, in the order of `--help`.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(Settings, &[
    opt(set(Settings::archive), ("a", "archive"), Nothing, "stands for -dR --preserve=all"),
    opt(
        set(|cp| cp.policy.make = Make::Attributes),
        ("", "attributes-only"),
        Nothing,
        "set attributes, and leave the data of DEST alone",
    ),
    opt(
        read_optional(|cp: &mut Settings, control| { cp.set_backup(control); Ok(()) }),
        ("", "backup"),
        Optional("CONTROL"),
        "keep what DEST replaces, under a backup name.\nSee below",
    ).with(BACKUP_VALUES),
    opt(set(|cp| cp.wants_backup = true), ("b", ""), Nothing, "--backup without a value"),
    opt(
        set(|cp| cp.policy.specials = Specials::Read),
        ("", "copy-contents"),
        Nothing,
        "with -R: read FIFOs and devices like files",
    ),
    opt(
        set(|cp| (cp.debug, cp.verbose) = (true, true)),
        ("", "debug"),
        Nothing,
        "print how each file was copied; implies -v",
    ),
    opt(
        set(|cp| {
            cp.dereference = Some(Dereference::Never);
            cp.policy.preserve.links = Links::Keep;
        }),
        ("d", ""),
        Nothing,
        "stands for --no-dereference --preserve=links",
    ),
    opt(
        set(Settings::force),
        ("f", "force"),
        Nothing,
        "replace a DEST that cannot be opened for writing;\n-n overrides this",
    ),
    opt(
        set(|cp| cp.policy.consent = Consent::Ask),
        ("i", "interactive"),
        Nothing,
        "ask before replacing a file; cancels an earlier -n",
    ),
    opt(
        set(|cp| cp.dereference = Some(Dereference::Operands)),
        ("H", ""),
        Nothing,
        "follow a SOURCE that is a symbolic link, but no\nlinks that are found below it",
    ),
    opt(
        read(|cp, _| Ok(cp.set_make(Make::HardLink)?)),
        ("l", "link"),
        Nothing,
        "create hard links, and copy no data",
    ),
    opt(
        set(|cp| cp.dereference = Some(Dereference::Always)),
        ("L", "dereference"),
        Nothing,
        "follow every symbolic link",
    ),
    opt(
        set(|cp| cp.policy.consent = Consent::Denied),
        ("n", "no-clobber"),
        Nothing,
        "leave existing files alone, without a message;\ncancels an earlier -i. See --update",
    ),
    opt(
        set(|cp| cp.dereference = Some(Dereference::Never)),
        ("P", "no-dereference"),
        Nothing,
        "copy symbolic links as links",
    ),
    opt(
        set(|cp| usual(&mut cp.policy.preserve)),
        ("p", ""),
        Nothing,
        "stands for --preserve=mode,ownership,timestamps",
    ),
    opt(
        read_optional(|cp: &mut Settings, list| Ok(cp.preserve(list.as_deref())?)),
        ("", "preserve"),
        Optional("ATTR_LIST"),
        "give the copies these attributes of SOURCE",
    ).with(ATTRIBUTE_VALUES),
    opt(
        read(|cp: &mut Settings, list| Ok(cp.no_preserve(&list)?)),
        ("", "no-preserve"),
        Required("ATTR_LIST"),
        "exclude these attributes",
    ).with(ATTRIBUTE_VALUES),
    opt(
        set(|cp| cp.policy.parents = Parents::Keep),
        ("", "parents"),
        Nothing,
        "recreate the directories of SOURCE's path below\nDIRECTORY",
    ),
    opt(
        set(|cp| cp.policy.recursion = Recursion::Yes),
        ("Rr", "recursive"),
        Nothing,
        "copy whole trees",
    ),
    opt(
        set(|cp| cp.policy.force = Force::First),
        ("", "remove-destination"),
        Nothing,
        "unlink an existing DEST first, even if it could be\nopened",
    ),
    opt(
        read_optional(|cp: &mut Settings, word| { cp.policy.data.reflink = reflink(word.as_deref())?; Ok(()) }),
        ("", "reflink"),
        Optional("WHEN"),
        "share blocks: always, auto or never. See below",
    ).with(REFLINK_VALUES),
    opt(
        read(|cp: &mut Settings, word| { cp.policy.data.sparse = sparse(&word)?; Ok(()) }),
        ("", "sparse"),
        Required("WHEN"),
        "make holes: auto, always or never. See below",
    ).with(SPARSE_VALUES),
    opt(
        set(|cp| cp.strip_slashes = true),
        ("", "strip-trailing-slashes"),
        Nothing,
        "ignore slashes at the end of SOURCE",
    ),
    opt(
        read(|cp, _| Ok(cp.set_make(Make::SymbolicLink)?)),
        ("s", "symbolic-link"),
        Nothing,
        "create symbolic links, and copy no data",
    ),
    opt(
        set_to(Settings::set_suffix),
        ("S", "suffix"),
        Required("SUFFIX"),
        "end the names of backups in SUFFIX",
    ),
    opt(
        read(|cp, directory| Ok(cp.set_into(directory)?)),
        ("t", "target-directory"),
        Required("DIRECTORY"),
        "put every copy into DIRECTORY",
    ),
    opt(
        set(|cp| cp.as_name = true),
        ("T", "no-target-directory"),
        Nothing,
        "treat DEST as the target itself, never as a\ndirectory to copy into",
    ),
    opt(
        read_optional(|cp: &mut Settings, word| { cp.policy.existing = update(word.as_deref())?; Ok(()) }),
        ("", "update"),
        Optional("UPDATE"),
        "which existing files to replace: all, none,\nnone-fail or older (default). See below",
    ).with(UPDATE_VALUES),
    opt(
        set(|cp| cp.policy.existing = Existing::Older),
        ("u", ""),
        Nothing,
        "stands for --update=older",
    ),
    opt(
        set(|cp| cp.verbose = true),
        ("v", "verbose"),
        Nothing,
        "print the names of each file that is copied",
    ),
    opt(
        set(|cp| cp.policy.target_links = TargetLinks::KeepDirectory),
        ("", "keep-directory-symlink"),
        Nothing,
        "copy into a directory also where DEST has a\nsymbolic link to it",
    ),
    opt(
        set(|cp| cp.policy.borders = Borders::Stay),
        ("x", "one-file-system"),
        Nothing,
        "do not enter file systems that are mounted inside\nSOURCE",
    ),
    opt(
        read(|cp, _| Ok(cp.set_context(None)?)),
        ("Z", ""),
        Nothing,
        "label the copies with the default SELinux type",
    ),
    opt(
        read_optional(|cp, context| Ok(cp.set_context(context.as_deref())?)),
        ("", "context"),
        Optional("CTX"),
        "-Z; with CTX, label them with this SELinux or\nSMACK context",
    ),
    help_row(),
    version_row(),
    own(
        set(Settings::make_whole),
        "atomic",
        Nothing,
        "give each file its name only when it is complete;\nkeep the old file until then. See below",
    ).or_default(),
    own(
        read(|cp: &mut Settings, rate| { cp.policy.bytes_per_second = Some(bandwidth(&rate)?); Ok(()) }),
        "bandwidth",
        Required("RATE"),
        "move at most RATE bytes a second, all workers\ntogether; suffixes as for --io-size",
    ).or_default(),
    own(
        read(|cp: &mut Settings, word| { cp.policy.data.cache = cache(&word)?; Ok(()) }),
        "cache",
        Required("WHAT"),
        "how to use the page cache: keep, drop, direct,\nrestore, or auto (default). See below",
    ).or_default().with(CACHE_VALUES),
    // The words of a configuration are here already.
    config(set(|cp| cp.has_config = true)),
    own(
        set(|cp| cp.dry_run = true),
        "dry-run",
        Nothing,
        "copy nothing; print for each entry what cp would\ndo and why, and how much space it would need",
    ),
    own(
        set(|cp: &mut Settings| cp.policy.appearance = Appearance::Durable),
        "durable",
        Nothing,
        "like --atomic, but a file is complete only when it\nis on stable storage; the names are there at exit",
    ).or_default(),
    own(
        read_optional(|cp, name| { cp.errors = Some(file("--errors", name, Dash::NoOutput)?); Ok(()) }),
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names; see --retry-failed",
    ),
    own(
        set(|cp: &mut Settings| cp.data.explain = true),
        "explain",
        Nothing,
        "print for each file which method moved it, why\nothers did not, and what was cached before and\nafter",
    ).or_default(),
    own(
        set(|cp: &mut Settings| cp.policy.sync = Sync::Files),
        "fsync",
        Nothing,
        "wait until each file, and its directory, is on\nstable storage",
    ).or_default(),
    gentle(begins()).or_default(),
    own(
        read(|cp: &mut Settings, bytes| { cp.policy.data.io_bytes = Some(io_size(&bytes)?); Ok(()) }),
        "io-size",
        Required("SIZE"),
        "bytes of one request (default: 256K to 8M, by\nmethod); K, M, G are powers of 1024, kB, MB, GB\nof 1000",
    ).or_default(),
    job(read_optional(|cp, name| Ok(cp.metrics.set_job(name.as_deref())?))),
    own(
        read(|cp: &mut Settings, count| { cp.jobs = Some(jobs(Some(&count))?); Ok(()) }),
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors, and up to 32 where they\nmostly wait for a server)",
    ).or_default(),
    own(
        set(|cp: &mut Settings| cp.format = Format::Json),
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ).or_default(),
    own(
        read_optional(|cp, name| Ok(cp.trust.set_journal(name)?)),
        "journal",
        Required("FILE"),
        "--resume, with FILE as the journal",
    ),
    own(
        read(|cp: &mut Settings, bytes| { cp.data.memory = Some(memory(&bytes)?); Ok(()) }),
        "limit-memory",
        Required("SIZE"),
        "use at most SIZE bytes for I/O buffers, all\nworkers together",
    ).or_default(),
    own(
        answer(Answer::Text(list_methods)),
        "list-methods",
        Nothing,
        "list the methods, best first, and exit",
    ),
    metrics(read_optional(|cp, file| Ok(cp.metrics.set_file(file)?))),
    own(
        read(|cp: &mut Settings, name| { cp.policy.data.choice = method(&name)?; Ok(()) }),
        "method",
        Required("NAME"),
        "move bytes with this method or not at all, or\nauto (default): the first that fits",
    ).or_default().with(METHOD_VALUES),
    no_config(nothing()),
    own(
        set(|cp: &mut Settings| cp.preflight = true),
        "preflight",
        Nothing,
        "check the whole copy first (space, inodes, limits,\nunreadable files), and copy nothing if it cannot\nsucceed. See below",
    ).or_default(),
    own(
        read_optional(|cp: &mut Settings, word| Ok(cp.set_profile(word)?)),
        "profile",
        Required("WHICH"),
        "apply the settings that 'haul tune' measured: auto\n(default: those for these devices, or for these\nfile systems, if there are any), none, or those in\nFILE",
    ).or_default().with(Values::Words(|| vec![AUTO, NONE])),
    own(
        read_optional(|cp: &mut Settings, word| { cp.progress = when("--progress", word.as_deref())?; Ok(()) }),
        "progress",
        Optional("WHEN"),
        "show a bar on standard error: always, never, or\nauto (default): if that is a terminal and the run\nis long; with --json, always adds a line each\nsecond: bytes accepted, and bytes on storage",
    ).or_default().with(WHEN_VALUES),
    own(
        read(|cp: &mut Settings, count| { cp.policy.data.queue_depth = Some(queue_depth(&count)?); Ok(()) }),
        "queue-depth",
        Required("N"),
        "keep up to N requests in flight, where the\nmethod has a queue (default: 16)",
    ).or_default(),
    own(
        set(|cp: &mut Settings| cp.trust.resume = true),
        "resume",
        Nothing,
        "continue an earlier run of the same command that\ndid not finish; implies --durable. See below",
    ).or_default(),
    own(
        read_optional(|cp, list| { cp.retry_failed = Some(file("--retry-failed", list, Dash::NoInput)?); Ok(()) }),
        "retry-failed",
        Required("FILE"),
        "copy again what FILE lists (see --errors), with\nthe options of that run and those given now; hard\nlinks are kept, without -L also to what was\ncopied before",
    ),
    own(
        set(|cp: &mut Settings| cp.stats = true),
        "stats",
        Nothing,
        "print a summary on standard error: files, bytes,\ntime, rate, methods, what was cached before and\nafter, which side was waited for, and what the\ndevices did",
    ).or_default(),
    own(
        read(|cp: &mut Settings, how| { cp.policy.striping = striping(&how)?; Ok(()) }),
        "striping",
        Required("HOW"),
        "on Lustre, the number of servers that store a new\nfile: inherit (default), as DEST's directory says;\nkeep, as SOURCE is stored; size, one for each GiB\nof a file that has at least one, up to 160",
    ).or_default().with(STRIPING_VALUES),
    own(
        read(|cp: &mut Settings, name| Ok(cp.trust.set_hash(&name)?)),
        "hash",
        Required("ALGO"),
        "use ALGO for --verify and --sum-file: blake3\n(default), sha256, md5, or another of those that\n'haul hash --help' lists",
    ).or_default().with(DIGEST_VALUES),
    own(
        set(|cp: &mut Settings| cp.trust.repair()),
        "repair",
        Nothing,
        "--verify, and copy what differs again, up to\nthree times",
    ).or_default(),
    own(
        read(|cp: &mut Settings, count| { cp.policy.changed_retries = retries(&count)?; Ok(()) }),
        "retry-changed",
        Required("N"),
        "copy a file again that changed while it was\ncopied, up to N times",
    ).or_default(),
    own(
        read_optional(|cp, name| Ok(cp.trust.set_sum_file(name)?)),
        "sum-file",
        Required("FILE"),
        "write the digest of each file that is copied to\nFILE, as b3sum -c, sha256sum -c and so on read it",
    ),
    own(
        read_optional(|cp: &mut Settings, name| Ok(cp.trust.verify(name.as_deref())?)),
        "verify",
        Optional("ALGO"),
        "read each file again from storage before it gets\nits name, and compare it with what was read of\nSOURCE; implies --atomic",
    ).or_default().with(DIGEST_VALUES),
]);
