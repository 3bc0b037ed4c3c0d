//! Options of GNU tar that haul does not have, so that each is refused by its name and none makes an
//! abbreviation mean something else.

use super::options::Id;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Takes, opt};

const fn no(short: &'static str, long: &'static str, takes: Takes) -> Opt<Id> {
    let name = if long.is_empty() { short } else { long };
    opt(Id::Unsupported(name), (short, long), takes, "")
}

const V: Takes = Required("VALUE");
const O: Takes = Optional("VALUE");

/// All of them.
pub(super) const UNSUPPORTED: &[Opt<Id>] = &[
    no("A", "catenate", Nothing),
    no("", "concatenate", Nothing),
    no("", "delete", Nothing),
    no("", "test-label", Nothing),
    no("u", "update", Nothing),
    no("", "check-device", Nothing),
    no("", "no-check-device", Nothing),
    no("g", "listed-incremental", V),
    no("G", "incremental", Nothing),
    no("", "hole-detection", V),
    no("", "level", V),
    no("", "add-file", V),
    no("", "exclude-ignore", V),
    no("", "exclude-ignore-recursive", V),
    no("", "exclude-vcs-ignores", Nothing),
    no("", "keep-directory-symlink", Nothing),
    no("W", "verify", Nothing),
    no("", "ignore-command-error", Nothing),
    no("", "no-ignore-command-error", Nothing),
    no("", "to-command", V),
    no("", "atime-preserve", O),
    no("s", "preserve-order", Nothing),
    no("", "same-order", Nothing),
    no("", "selinux", Nothing),
    no("F", "info-script", V),
    no("", "new-volume-script", V),
    no("L", "tape-length", V),
    no("M", "multi-volume", Nothing),
    no("", "rmt-command", V),
    no("", "rsh-command", V),
    no("", "volno-file", V),
    no("V", "label", V),
    no("", "lzip", Nothing),
    no("", "lzop", Nothing),
    no("Z", "compress", Nothing),
    no("", "uncompress", Nothing),
    no("", "backup", O),
    no("", "suffix", V),
    no("K", "starting-file", V),
    no("", "newer-mtime", V),
    no("N", "newer", V),
    no("", "after-date", V),
    no("", "checkpoint-action", V),
    no("", "index-file", V),
    no("", "no-quote-chars", V),
    no("", "quote-chars", V),
    no("", "quoting-style", V),
    no("", "show-defaults", Nothing),
    no("", "show-snapshot-field-ranges", Nothing),
    no("w", "interactive", Nothing),
    no("", "confirmation", Nothing),
    no("", "restrict", Nothing),
    no("", "usage", Nothing),
    no("01234567", "", Nothing),
    // haul's own, of later versions.
    no("", "index", Nothing),
    // Extraction and creation.
    no("", "recursive-unlink", Nothing),
    no("", "acls", Nothing),
    no("", "xattrs", Nothing),
    no("", "xattrs-exclude", V),
    no("", "xattrs-include", V),
    no("", "pax-option", V),
    no("", "checkpoint", O),
    no("l", "check-links", Nothing),
    no("", "show-omitted-dirs", Nothing),
    no("", "warning", V),
];
