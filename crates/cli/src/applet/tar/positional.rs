//! Options that hold only for the names behind them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::option_table::OPTIONS;
use super::options::Id;
use crate::escape::quote_word;

/// Returns whether an option holds only for names behind it.
pub(super) const fn is_positional(id: Id) -> bool {
    matches!(
        id,
        Id::AddFile
            | Id::Directory
            | Id::FilesFrom
            | Id::Null(_)
            | Id::Unquote(_)
            | Id::Verbatim(_)
            | Id::Exclude
            | Id::ExcludeFrom
            | Id::ExcludeCaches(_)
            | Id::ExcludeTag(_)
            | Id::ExcludeVcs
            | Id::ExcludeBackups
            | Id::Recursion(_)
            | Id::Anchored(_)
            | Id::IgnoreCase(_)
            | Id::Wildcards(_)
            | Id::WildcardsMatchSlash(_)
    )
}

/// Returns how messages name a positional option.
pub(super) fn shown_option(id: Id, value: &OsStr) -> String {
    let long = OPTIONS.iter().find(|option| option.id == id && !option.long.is_empty());
    let name = match id {
        Id::Directory => "-C".to_owned(),
        _ => format!("--{}", long.map_or("", |option| option.long)),
    };
    match value.is_empty() {
        true => name,
        false => format!("{name} {}", quote_word(value.as_bytes())),
    }
}
