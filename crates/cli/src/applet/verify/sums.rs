//! What the lines of a sum file are about: which algorithm made the digests, and which file of the
//! tree each name means.
//!
//! A list of digests says neither. The names are relative to the folder in which the list was made:
//! inside the tree (`cd tree && sha256sum *`) or above it (`haul cp -r source tree --sum-file`). And
//! 64 digits are those of several algorithms. Both are found out from the tree itself.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use haul_io::digest::{Algorithm, TABLE};
use haul_sys::fs::{CWD, Kind, statat};

use super::files::{Files, Hasher};
use crate::sum_file::{self, Line};

/// How many files are read to find out the algorithm, the smallest first: one is enough, unless it
/// was damaged.
const TRIALS: usize = 16;

/// A name without `./` in front and without doubled slashes.
pub(super) fn normal(name: &[u8]) -> Vec<u8> {
    let parts = name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    parts.collect::<Vec<_>>().join(&b'/')
}

/// The directories above the tree's files that the names of a sum file begin with.
pub(super) struct Prefix(Vec<u8>);

impl Prefix {
    /// Finds the one with which most names are those of files; none, if it makes no difference.
    pub(super) fn find(tree: &Path, files: &Files, lines: &[Line]) -> Prefix {
        let root = if tree.is_dir() { Some(tree) } else { tree.parent() };
        let root = root.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // As it was named, which may be by links, and as it is.
        let above = [std::path::absolute(root), std::fs::canonicalize(root)];
        let above = above.iter().flatten().map(|path| normal(path.as_os_str().as_bytes()));
        let mut candidates = vec![Prefix(Vec::new())];
        for above in above {
            // Every way in which the path may end: what is above that was the current directory.
            let starts = above.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            for start in [0].into_iter().chain(starts.map(|(at, _)| at + 1)) {
                let end = &above[start..];
                candidates.push(Prefix([end, b"/"].concat()));
            }
        }
        let known = |prefix: &Prefix| {
            let is_known = |line: &&Line| {
                prefix.below(&line.name).is_some_and(|name| files.contains_key(&name))
            };
            lines.iter().filter(is_known).count()
        };
        let mut best = (0, Prefix(Vec::new()));
        for candidate in candidates {
            let count = known(&candidate);
            if count > best.0 {
                best = (count, candidate);
            }
        }
        best.1
    }

    /// Returns the name of a file in the tree; `None` if it is outside of the tree, so that no two names
    /// mean one file.
    pub(super) fn below(&self, name: &[u8]) -> Option<Vec<u8>> {
        let mut name = normal(name);
        if self.0.is_empty() {
            return Some(name);
        }
        // The tree may have been named from a folder beside it.
        while let Some(rest) = name.strip_prefix(b"../") {
            name = rest.to_vec();
        }
        name.strip_prefix(self.0.as_slice()).map(<[u8]>::to_vec)
    }
}

/// Finds the algorithm of digests that are not marked with it; `None` if that is unknown.
pub(super) fn algorithm(
    (tree, files): (&Path, &Files),
    against: &OsStr,
    prefix: &Prefix,
    lines: &[Line],
    hasher: &mut Hasher<'_>,
) -> Option<&'static Algorithm> {
    let untold = || lines.iter().filter(|line| line.algorithm.is_none());
    let bytes = untold().next()?.digest.len();
    if untold().any(|line| line.digest.len() != bytes) {
        return None;
    }
    if let Some(known) = sum_file::guess(against.as_bytes(), bytes) {
        return Some(known);
    }
    let path_of = |line: &Line| {
        let name = prefix.below(&line.name)?;
        files.get(&name).filter(|file| file.kind == Kind::Regular)?;
        CString::new(files_path(tree, &name)).ok()
    };
    let mut there: Vec<(u64, CString, &Line)> = untold()
        .filter_map(|line| {
            let path = path_of(line)?;
            Some((statat(CWD, &path).ok()?.size, path, line))
        })
        .collect();
    there.sort_by_key(|(size, ..)| *size);
    there.into_iter().take(TRIALS).find_map(|(_, path, line)| {
        TABLE.iter().find(|algorithm| {
            let answer = hasher.digest(CWD, &path, algorithm, bytes);
            answer.is_ok_and(|(found, _)| found == line.digest)
        })
    })
}

/// Returns the path of a file of the tree, as the user would type it.
pub(super) fn files_path(tree: &Path, name: &[u8]) -> Vec<u8> {
    if tree.is_dir() {
        tree.join(OsStr::from_bytes(name)).into_os_string().into_vec()
    } else {
        tree.as_os_str().as_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_they_lead_to() {
        assert_eq!(normal(b"./a//b"), b"a/b");
        assert_eq!(normal(b"a"), b"a");
        assert_eq!(normal(b"../a"), b"../a");
    }

    #[test]
    fn a_prefix_goes_where_it_is() {
        let prefix = Prefix(b"out/tree/".to_vec());
        assert_eq!(prefix.below(b"out/tree/d/f").as_deref(), Some(&b"d/f"[..]));
        assert_eq!(prefix.below(b"../out//tree/./f").as_deref(), Some(&b"f"[..]));
        assert_eq!(prefix.below(b"tree/f"), None);
        assert_eq!(prefix.below(b"f"), None);
        assert_eq!(Prefix(Vec::new()).below(b"../f").as_deref(), Some(&b"../f"[..]));
    }
}
