//! Options of GNU tar that haul does not have, so that each is refused by its name and none makes an
//! abbreviation mean something else.

use super::effect::{Effect, refuse};
use super::reading::Reading;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Takes, opt};

const fn no(short: &'static str, long: &'static str, takes: Takes) -> Opt<Effect<Reading>> {
    let name = if long.is_empty() { short } else { long };
    opt(refuse(name), (short, long), takes, "")
}

const V: Takes = Required("VALUE");
const O: Takes = Optional("VALUE");

/// All of them.
pub(super) const UNSUPPORTED: &[Opt<Effect<Reading>>] = &[
    no("A", "catenate", Nothing),
    no("", "concatenate", Nothing),
    no("", "delete", Nothing),
    no("", "test-label", Nothing),
    no("u", "update", Nothing),
    no("", "check-device", Nothing),
    no("", "no-check-device", Nothing),
    no("g", "listed-incremental", V),
    no("G", "incremental", Nothing),
    no("", "level", V),
    no("", "exclude-ignore", V),
    no("", "exclude-ignore-recursive", V),
    no("", "exclude-vcs-ignores", Nothing),
    no("", "ignore-command-error", Nothing),
    no("", "no-ignore-command-error", Nothing),
    no("", "to-command", V),
    no("F", "info-script", V),
    no("", "new-volume-script", V),
    no("L", "tape-length", V),
    no("M", "multi-volume", Nothing),
    no("", "rmt-command", V),
    no("", "rsh-command", V),
    no("", "volno-file", V),
    no("V", "label", V),
    no("", "backup", O),
    no("", "suffix", V),
    no("", "no-quote-chars", V),
    no("", "quote-chars", V),
    no("", "quoting-style", V),
    no("", "show-snapshot-field-ranges", Nothing),
    no("w", "interactive", Nothing),
    no("", "confirmation", Nothing),
    no("", "restrict", Nothing),
    no("", "usage", Nothing),
    no("01234567", "", Nothing),
    // haul's own, of later versions.
    no("", "index", Nothing),
];
