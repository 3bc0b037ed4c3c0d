//! Names of compressed files and of their originals, as pure functions.

/// The longest suffix.
pub(super) const SUFFIX_BYTES_MAX: usize = 30;

/// Suffixes that mean a compressed file, besides the user's; names are compared in lower case.
const SUFFIXES: [&[u8]; 7] = [b".gz", b".z", b".taz", b".tgz", b"-gz", b"-z", b"_z"];

/// Suffixes that are tried where a file to be decompressed does not exist, besides the user's.
pub(super) const TRIED: [&[u8]; 4] = [b".gz", b".z", b"-z", b".Z"];

/// Characters between the parts of a name.
const SEPARATORS: &[u8] = b".-_";

/// Parts of a name that are longer than this are shortened first.
const PART_BYTES_KEPT: usize = 3;

/// Returns the name behind the last slash.
pub(super) fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Returns where the suffix of a compressed file's name begins, if it has one and more than that.
pub(super) fn suffix_at(path: &[u8], own: &[u8]) -> Option<usize> {
    let own = own.to_ascii_lowercase();
    // A suffix that a known one ends with is looked for last: of "x.tgz" with "z" the suffix is
    // ".tgz".
    let is_part = SUFFIXES.iter().any(|known| own.len() < known.len() && known.ends_with(&own));
    let known = SUFFIXES.iter().copied();
    let all: Vec<&[u8]> = if is_part {
        known.chain([own.as_slice()]).collect()
    } else {
        [own.as_slice()].into_iter().chain(known).collect()
    };
    let lower = path.to_ascii_lowercase();
    let fits = |suffix: &&[u8]| {
        let at = lower.len().checked_sub(suffix.len());
        let before = at.and_then(|at| at.checked_sub(1)).and_then(|at| lower.get(at).copied());
        lower.ends_with(suffix) && before.is_some_and(|byte| byte != b'/')
    };
    all.into_iter().find(fits).map(|suffix| path.len() - suffix.len())
}

/// Returns the name of the original of a compressed file whose suffix begins here.
pub(super) fn original(path: &[u8], suffix_at: usize) -> Vec<u8> {
    let (stem, suffix) = path.split_at(suffix_at);
    let suffix = suffix.to_ascii_lowercase();
    if suffix == b".tgz" || suffix == b".taz" {
        return [stem, b".tar"].concat();
    }
    stem.to_vec()
}

/// Replaces the name behind the last slash by the one that a header says. Its directories are left
/// out, so that no header names a file elsewhere.
pub(super) fn renamed(path: &[u8], name: &[u8]) -> Vec<u8> {
    let directory = path.len() - base(path).len();
    [&path[..directory], base(name)].concat()
}

/// Shortens the name of a compressed file, which is too long for its file system, by a byte: of the
/// last part that has more than a few. `None` if that is not possible.
pub(super) fn shortened(path: &[u8], suffix: &[u8]) -> Option<Vec<u8>> {
    let directory = path.len() - base(path).len();
    let stem = path.get(..path.len().checked_sub(suffix.len())?)?;
    if let Some(archive) = stem.strip_suffix(b".tar") {
        return Some([archive, b".tgz"].concat());
    }
    let name = stem.get(directory..)?;
    let drop = (0..=PART_BYTES_KEPT).rev().find_map(|kept| last_of_long_part(name, kept))?;
    let mut name = name.to_vec();
    name.remove(drop);
    Some([stem.get(..directory)?, &name, suffix].concat())
}

/// Returns the last byte of the last part of a name that has more than this number of bytes.
fn last_of_long_part(name: &[u8], kept: usize) -> Option<usize> {
    let (mut found, mut begin) = (None, 0);
    for part in name.split(|byte| SEPARATORS.contains(byte)) {
        let end = begin + part.len();
        if part.len() > kept {
            found = Some(end - 1);
        }
        begin = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem<'a>(path: &'a str, own: &str) -> Option<&'a str> {
        suffix_at(path.as_bytes(), own.as_bytes()).map(|at| &path[..at])
    }

    #[test]
    fn known_suffixes_are_found_in_any_case() {
        for (path, found) in [
            ("a.gz", Some("a")),
            ("a.GZ", Some("a")),
            ("a-gz", Some("a")),
            ("a_z", Some("a")),
            ("a.tgz", Some("a")),
            ("dir/a.taz", Some("dir/a")),
            ("a.xyz", None),
            ("a", None),
            (".gz", None),
            ("dir/.gz", None),
            ("az", None),
        ] {
            assert_eq!(stem(path, ".gz"), found, "{path}");
        }
        assert_eq!(stem("Fz", "z"), Some("F"));
        assert_eq!(stem("a.tgz", "z"), Some("a"), "a known one comes first");
        assert_eq!(stem("kT", "T"), Some("k"));
        assert_eq!(stem("a.x.gz", ".x.gz"), Some("a"), "the user's comes first");
    }

    #[test]
    fn originals_lose_the_suffix() {
        assert_eq!(original(b"a.gz", 1), b"a");
        assert_eq!(original(b"d/a.TGZ", 3), b"d/a.tar");
        assert_eq!(renamed(b"d/a", b"other"), b"d/other");
        assert_eq!(renamed(b"d/a", b"../../etc/passwd"), b"d/passwd");
    }

    #[test]
    fn long_names_lose_a_byte_of_their_last_long_part() {
        assert_eq!(shortened(b"1234.678.012.gz", b".gz").unwrap(), b"123.678.012.gz");
        assert_eq!(shortened(b"d/1234567890.tar.gz", b".gz").unwrap(), b"d/1234567890.tgz");
        assert_eq!(shortened(b"12.34.gz", b".gz").unwrap(), b"12.3.gz");
        assert_eq!(shortened(b".gz", b".gz"), None);
    }
}
