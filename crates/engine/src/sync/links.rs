//! Symbolic links of the source that lead out of the transfer, and those that lead to directories.

use haul_sys::fs::{Follow, Kind, readlinkat, statat, statat_follow};

use crate::data::request::Synchronize;
use crate::names::at::At;

/// Returns whether the text of a link may lead out of the transfer, from the path that the link has in it: an absolute
/// one does, one with more `..` at its beginning than there are directories, and one with `..` elsewhere.
#[must_use]
pub(crate) fn is_unsafe(text: &[u8], path: &[u8]) -> bool {
    if text.is_empty() || text.starts_with(b"/") || (text.len() > 3 && text.ends_with(b"/..")) {
        return true;
    }
    let parts = || text.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let up = parts().take_while(|part| *part == b"..").count();
    let depth = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let depth = depth.count().saturating_sub(1);
    up > depth || parts().skip(up).any(|part| part == b"..")
}

/// Whether a link that the policy does not follow is followed all the same, or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is copied as a link.
    Copy,
    Follow,
    Skip,
}

/// Returns what the rules do with an entry that may be a link. `path` builds its path in the transfer.
pub(crate) fn treatment(
    source: At<'_>,
    rules: &Synchronize,
    path: impl FnOnce() -> Vec<u8>,
) -> Treatment {
    let At { directory, name } = source;
    let concerns =
        rules.copies_unsafe_links || rules.skips_unsafe_links || rules.copies_directory_links;
    let is_link = || statat(directory, name).is_ok_and(|stat| stat.kind() == Kind::Symlink);
    if !concerns || !is_link() {
        return Treatment::Copy;
    }
    let leads_out = (rules.copies_unsafe_links || rules.skips_unsafe_links)
        && readlinkat(directory, name).is_ok_and(|text| is_unsafe(text.to_bytes(), &path()));
    let leads_to_directory = || {
        let reached = statat_follow(directory, name);
        reached.is_ok_and(|stat| stat.kind() == Kind::Directory)
    };
    let is_copied = leads_out && rules.copies_unsafe_links;
    if is_copied || (rules.copies_directory_links && leads_to_directory()) {
        Treatment::Follow
    } else if leads_out {
        Treatment::Skip
    } else {
        Treatment::Copy
    }
}

impl Treatment {
    /// Returns whether the link is followed.
    pub(crate) const fn follow(self) -> Follow {
        match self {
            Treatment::Follow => Follow::Yes,
            Treatment::Copy | Treatment::Skip => Follow::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_out_is_unsafe() {
        for (text, path, expected) in [
            (&b"a"[..], &b"l"[..], false),
            (b"", b"l", true),
            (b"/a", b"d/l", true),
            (b"../a", b"l", true),
            (b"../a", b"d/l", false),
            (b"../../a", b"d/l", true),
            (b"../../a", b"d/e/l", false),
            (b"a/../b", b"d/l", true),
            (b"./../b", b"d/l", true),
            (b"..", b"d/l", false),
            (b"..", b"l", true),
            (b"../..", b"d/e/f/l", true),
            (b"a/b/c", b"l", false),
        ] {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(is_unsafe(text, path), expected, "{shown} {}", path.escape_ascii());
        }
    }
}
