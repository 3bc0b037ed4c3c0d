//! The options of rsync that `--help` does not list: those that take another one back, those without an effect on a
//! local copy, and those that haul does not have. Each of the last is refused by its name, with a way out, so that none
//! makes an abbreviation mean something else.

use haul_engine::request::{
    Borders, Dereference, Keep, Links, ModeChanges, ModePolicy, Parents, Sync, TargetLinks,
};
use haul_io::Sparse;

use super::settings::Settings;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Takes, opt};
use crate::option::effect::{Answer, Effect, answer, nothing, refuse_with, set};

const fn no(act: fn(&mut Settings), long: &'static str) -> Opt<Effect<Settings>> {
    opt(set(act), ("", long), Nothing, "")
}

/// Options that take others back.
pub(super) const NEGATIONS: &[Opt<Effect<Settings>>] = &[
    no(Settings::do_not_recurse, "no-recursive"),
    no(Settings::do_not_recurse, "no-r"),
    no(|sync| sync.rules.symlinks = false, "no-links"),
    no(|sync| sync.rules.symlinks = false, "no-l"),
    no(|sync| sync.policy.dereference = Dereference::Never, "no-copy-links"),
    no(|sync| sync.policy.dereference = Dereference::Never, "no-L"),
    no(|sync| sync.policy.target_links = TargetLinks::Strict, "no-keep-dirlinks"),
    no(|sync| sync.policy.target_links = TargetLinks::Strict, "no-K"),
    no(|sync| sync.policy.preserve.links = Links::Split, "no-hard-links"),
    no(|sync| sync.policy.preserve.links = Links::Split, "no-H"),
    no(|sync| sync.policy.preserve.mode = ModePolicy::Usual, "no-perms"),
    no(|sync| sync.policy.preserve.mode = ModePolicy::Usual, "no-p"),
    no(|sync| sync.rules.acls = false, "no-acls"),
    no(|sync| sync.rules.acls = false, "no-A"),
    no(|sync| sync.policy.preserve.xattr = Keep::No, "no-xattrs"),
    no(|sync| sync.policy.preserve.xattr = Keep::No, "no-X"),
    no(|sync| sync.owner = false, "no-owner"),
    no(|sync| sync.owner = false, "no-o"),
    no(|sync| sync.group = false, "no-group"),
    no(|sync| sync.group = false, "no-g"),
    no(|sync| sync.rules.modes = ModeChanges::default(), "no-chmod"),
    no(|sync| sync.rules.numeric_ids = false, "no-numeric-ids"),
    no(|sync| sync.policy.preserve.times = Keep::No, "no-times"),
    no(|sync| sync.policy.preserve.times = Keep::No, "no-t"),
    no(|sync| sync.rules.directory_times = true, "no-omit-dir-times"),
    no(|sync| sync.rules.directory_times = true, "no-O"),
    no(|sync| sync.rules.link_times = true, "no-omit-link-times"),
    no(|sync| sync.rules.link_times = true, "no-J"),
    no(|sync| sync.policy.parents = Parents::Cut, "no-relative"),
    no(|sync| sync.policy.parents = Parents::Cut, "no-R"),
    no(|sync| sync.rules.implied_attributes = true, "implied-dirs"),
    no(|sync| sync.rules.lists_directories = false, "no-dirs"),
    no(|sync| sync.rules.lists_directories = false, "no-d"),
    no(|sync| sync.rules.makes_path = false, "no-mkpath"),
    no(|sync| sync.rules.prunes_empty = false, "no-prune-empty-dirs"),
    no(|sync| sync.rules.prunes_empty = false, "no-m"),
    no(|sync| sync.rules.in_place = false, "no-inplace"),
    no(|sync| sync.rules.parts = None, "no-partial"),
    no(|sync| sync.stop_at = None, "no-stop-after"),
    no(|sync| sync.stop_at = None, "no-time-limit"),
    no(|sync| sync.stop_at = None, "no-stop-at"),
    no(|sync| (sync.rules.devices, sync.rules.specials) = (false, false), "no-D"),
    no(|sync| sync.rules.devices = false, "no-devices"),
    no(|sync| sync.rules.specials = false, "no-specials"),
    no(|sync| sync.policy.data.sparse = Sparse::Auto, "no-sparse"),
    no(|sync| sync.policy.data.sparse = Sparse::Auto, "no-S"),
    no(|sync| sync.policy.borders = Borders::Cross, "no-one-file-system"),
    no(|sync| sync.policy.borders = Borders::Cross, "no-x"),
    no(|sync| sync.rules.keeps_newer = false, "no-update"),
    no(|sync| sync.rules.keeps_newer = false, "no-u"),
    no(|sync| sync.checksum = false, "no-checksum"),
    no(|sync| sync.checksum = false, "no-c"),
    no(|sync| sync.ignore_times = false, "no-ignore-times"),
    no(|sync| sync.ignore_times = false, "no-I"),
    no(|sync| sync.size_only = false, "no-size-only"),
    no(|sync| sync.rules.clears_directories = false, "no-force"),
    no(|sync| sync.verbose = 0, "no-verbose"),
    no(|sync| sync.verbose = 0, "no-v"),
    no(|sync| sync.itemize = 0, "no-itemize-changes"),
    no(|sync| sync.itemize = 0, "no-i"),
    no(|sync| sync.policy.bytes_per_second = None, "no-bwlimit"),
    no(|sync| sync.policy.sync = Sync::No, "no-fsync"),
];

const fn same(names: (&'static str, &'static str), takes: Takes) -> Opt<Effect<Settings>> {
    opt(nothing(), names, takes, "")
}

/// Options that change nothing where both sides are local: what they ask for is done in any case, or is about a
/// connection.
pub(super) const WITHOUT_EFFECT: &[Opt<Effect<Settings>>] = &[
    same(("W", "whole-file"), Nothing),
    same(("z", "compress"), Nothing),
    same(("", "compress-level"), V),
    same(("", "zl"), V),
    same(("", "compress-choice"), V),
    same(("", "zc"), V),
    same(("", "compress-threads"), V),
    same(("", "skip-compress"), V),
    same(("", "no-compress"), Nothing),
    same(("", "no-z"), Nothing),
    same(("", "inc-recursive"), Nothing),
    same(("", "i-r"), Nothing),
    same(("", "no-inc-recursive"), Nothing),
    same(("", "no-i-r"), Nothing),
    same(("s", "secluded-args"), Nothing),
    same(("", "protect-args"), Nothing),
    same(("", "no-secluded-args"), Nothing),
    same(("", "no-protect-args"), Nothing),
    same(("", "no-s"), Nothing),
    same(("", "old-args"), Nothing),
    same(("", "trust-sender"), Nothing),
    same(("8", "8-bit-output"), Nothing),
    same(("", "blocking-io"), Nothing),
    same(("", "no-blocking-io"), Nothing),
    same(("", "no-motd"), Nothing),
    // Sizes in the summary are for people in any case.
    same(("h", "human-readable"), Nothing),
    // What fails in one directory does not keep the run from removing in others.
    same(("", "ignore-errors"), Nothing),
    same(("", "no-ignore-errors"), Nothing),
    // No connection can be silent.
    same(("", "timeout"), V),
    // How another machine would be reached.
    same(("e", "rsh"), V),
    opt(answer(Answer::Version), ("V", ""), Nothing, ""),
];

const V: Takes = Required("VALUE");

/// Makes the row of an option that is refused, from its letter, its name, what it takes, and the advice.
macro_rules! no {
    ("", $long:literal, $takes:expr, $advice:literal) => {
        no!(@ "", $long, $takes, concat!("option '--", $long, "' is not supported by haul: ", $advice))
    };
    ($short:literal, "", $takes:expr, $advice:literal) => {
        no!(@ $short, "", $takes, concat!("option '-", $short, "' is not supported by haul: ", $advice))
    };
    ($short:literal, $long:literal, $takes:expr, $advice:literal) => {
        no!(@ $short, $long, $takes,
            concat!("option '-", $short, "', '--", $long, "' is not supported by haul: ", $advice))
    };
    (@ $short:literal, $long:literal, $takes:expr, $text:expr) => {
        opt(refuse_with($text), ($short, $long), $takes, "")
    };
}

/// Options that haul does not have.
pub(super) const UNSUPPORTED: &[Opt<Effect<Settings>>] = &[
    no!("", "append", Nothing, "a file that grew is copied whole"),
    no!("", "append-verify", Nothing, "a file that grew is copied whole"),
    no!("T", "temp-dir", V, "a new file is made in its own directory"),
    no!("", "delay-updates", Nothing, "each file is replaced when it is complete"),
    no!("", "remove-source-files", Nothing, "'haul mv' moves trees"),
    no!("", "super", Nothing, "run it as root to set owners"),
    no!("", "fake-super", Nothing, "run it as root to set owners"),
    no!("", "munge-links", Nothing, "the text of a symbolic link is kept"),
    no!(
        "",
        "delete-missing-args",
        Nothing,
        "each SOURCE must exist; 'haul rm' removes from TARGET"
    ),
    no!("", "list-only", Nothing, "'ls -lR' or 'find -ls' list a tree"),
    no!("", "contimeout", V, "it is about connections"),
    no!("N", "crtimes", Nothing, "Linux cannot set the time at which a file was made"),
    no!("U", "atimes", Nothing, "-t keeps access times where it keeps modification times"),
    no!("", "open-noatime", Nothing, "mount SOURCE with 'noatime'"),
    no!("", "no-whole-file", Nothing, "between local files nothing is gained by comparing blocks"),
    no!("", "no-W", Nothing, "between local files nothing is gained by comparing blocks"),
    no!("B", "block-size", V, "blocks are not compared; --io-size is the size of a request"),
    no!("y", "fuzzy", Nothing, "blocks of other files are not compared"),
    no!("", "preallocate", Nothing, "space is reserved ahead where that helps the file system"),
    no!("", "copy-devices", Nothing, "'haul cp --copy-contents' reads devices"),
    no!("", "write-devices", Nothing, "'haul dd' writes to devices"),
    no!("", "checksum-seed", V, "-c compares bytes"),
    no!("", "iconv", V, "names are bytes, and are kept"),
    no!("", "debug", V, "give -vv or -ii"),
    no!("", "stderr", V, "messages go to standard error"),
    no!("", "msgs2stderr", Nothing, "messages go to standard error"),
    no!("", "outbuf", V, "lines go out at once on a terminal, and together elsewhere"),
    no!("", "max-alloc", V, "--limit-memory limits the buffers"),
    no!("", "only-write-batch", V, "run rsync itself for that"),
    no!("", "write-batch", V, "run rsync itself for that"),
    no!("", "read-batch", V, "run rsync itself for that"),
    no!("M", "remote-option", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "rsync-path", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "daemon", Nothing, "haul sync works on local trees; run rsync itself for that"),
    no!("", "server", Nothing, "haul sync works on local trees; run rsync itself for that"),
    no!("", "sender", Nothing, "haul sync works on local trees; run rsync itself for that"),
    no!("", "protocol", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "port", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "address", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "sockopts", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "password-file", V, "haul sync works on local trees; run rsync itself for that"),
    no!("", "early-input", V, "haul sync works on local trees; run rsync itself for that"),
    no!("4", "ipv4", Nothing, "haul sync works on local trees; run rsync itself for that"),
    no!("6", "ipv6", Nothing, "haul sync works on local trees; run rsync itself for that"),
];
