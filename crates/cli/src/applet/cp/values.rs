//! The values of cp's options.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use haul_engine::request::{Keep, Links, Make, ModePolicy, Preserve};
use haul_io::Sparse;

use crate::getopt::{Usage, Values, choose, words_of};

pub(super) fn make(now: Make, wanted: Make) -> Result<Make, Usage> {
    match now {
        Make::Copy | Make::Attributes => Ok(wanted),
        same if same == wanted => Ok(wanted),
        _ => Err(Usage("cannot make both hard and symbolic links".to_owned())),
    }
}

pub(super) fn sparse(word: &OsStr) -> Result<Sparse, Usage> {
    choose("--sparse", word, SPARSE)
}

const SPARSE: &[(&str, Sparse)] =
    &[("never", Sparse::Never), ("auto", Sparse::Auto), ("always", Sparse::Always)];

/// The values of `--sparse`.
pub(super) const SPARSE_VALUES: Values = Values::Words(|| words_of(SPARSE));

/// The values of `--preserve` and `--no-preserve`.
pub(super) const ATTRIBUTE_VALUES: Values = Values::List(|| words_of(ATTRIBUTES));

/// `-p`, and `--preserve` without a list.
pub(super) fn usual(preserve: &mut Preserve) {
    preserve.mode = ModePolicy::Keep;
    preserve.ownership = Keep::Must;
    preserve.times = Keep::Must;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    Mode,
    Times,
    Ownership,
    Links,
    Context,
    Xattr,
    Flags,
    All,
}

const ATTRIBUTES: &[(&str, Attribute)] = &[
    ("mode", Attribute::Mode),
    ("timestamps", Attribute::Times),
    ("ownership", Attribute::Ownership),
    ("links", Attribute::Links),
    ("context", Attribute::Context),
    ("xattr", Attribute::Xattr),
    ("flags", Attribute::Flags),
    ("all", Attribute::All),
];

fn attributes(option: &str, list: &OsStr) -> Result<Vec<Attribute>, Usage> {
    list.as_bytes()
        .split(|byte| *byte == b',')
        .map(|word| choose(option, OsStr::from_bytes(word), ATTRIBUTES))
        .collect()
}

/// `--preserve=LIST`; returns whether the list names the security context itself.
pub(super) fn preserve(list: &OsStr, preserve: &mut Preserve) -> Result<bool, Usage> {
    let attributes = attributes("--preserve", list)?;
    for attribute in &attributes {
        match attribute {
            Attribute::Mode => preserve.mode = ModePolicy::Keep,
            Attribute::Times => preserve.times = Keep::Must,
            Attribute::Ownership => preserve.ownership = Keep::Must,
            Attribute::Links => preserve.links = Links::Keep,
            Attribute::Context => preserve.context = Keep::Must,
            Attribute::Xattr => preserve.xattr = Keep::Must,
            Attribute::Flags => preserve.flags = Keep::Must,
            Attribute::All => {
                usual(preserve);
                preserve.links = Links::Keep;
                preserve.context = preserve.context.max(Keep::Try);
                preserve.xattr = preserve.xattr.max(Keep::Warn);
                preserve.flags = preserve.flags.max(Keep::Warn);
            }
        }
    }
    Ok(attributes.contains(&Attribute::Context))
}

/// `--no-preserve=LIST`; returns whether the list names the security context itself.
pub(super) fn no_preserve(list: &OsStr, preserve: &mut Preserve) -> Result<bool, Usage> {
    let attributes = attributes("--no-preserve", list)?;
    for attribute in &attributes {
        match attribute {
            Attribute::Mode => preserve.mode = ModePolicy::Default,
            Attribute::Times => preserve.times = Keep::No,
            Attribute::Ownership => preserve.ownership = Keep::No,
            Attribute::Links => preserve.links = Links::Split,
            Attribute::Context => preserve.context = Keep::No,
            Attribute::Xattr => preserve.xattr = Keep::No,
            Attribute::Flags => preserve.flags = Keep::No,
            Attribute::All => {
                *preserve = Preserve::NOTHING.mode(ModePolicy::Default);
            }
        }
    }
    Ok(attributes.contains(&Attribute::Context))
}
