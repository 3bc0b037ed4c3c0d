//! What must hold after exit status 0, whatever GNU's tools do: the judge beside the comparison.
//!
//! GNU's tools have faults of their own, so being as they are is not enough. These judges read the
//! trees with `haul-manifest` or the standard library, and share no code with what they judge.

use super::stage::{Cell, Stage};
use haul_manifest::{
    Aspects, CompareOptions, Finding, Kind, Manifest, RootAttributes, ScanOptions, What, compare,
};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A statement about haul's cell after exit status 0.
#[derive(Clone, Debug)]
pub(crate) enum Promise {
    /// Every entry of a tree is at another place, in these aspects. The place may have more entries.
    Copied { from: (Cell, PathBuf), to: PathBuf, aspects: Aspects },
    /// Every regular file of a tree has its bytes at another place, through links that are there.
    Arrived { from: (Cell, PathBuf), to: PathBuf },
    /// Two files have the same bytes.
    SameBytes { from: PathBuf, to: PathBuf },
    /// There is nothing under this name.
    Gone { path: PathBuf },
}

impl Promise {
    /// Returns what is not as promised, in lines; the first names the class.
    pub(crate) fn broken(&self, stage: &Stage) -> Vec<String> {
        let tested = |path: &Path| stage.path(Cell::Haul, path);
        match self {
            Self::Copied { from, to, aspects } => {
                copied(&stage.path(from.0, &from.1), &tested(to), *aspects)
            }
            Self::Arrived { from, to } => arrived(&stage.path(from.0, &from.1), &tested(to)),
            Self::SameBytes { from, to } => same_bytes(&tested(from), &tested(to)),
            Self::Gone { path } => match fs::symlink_metadata(tested(path)) {
                Ok(_) => vec![format!("{} is still there", path.display())],
                Err(_) => Vec::new(),
            },
        }
    }
}

fn copied(from: &Path, to: &Path, aspects: Aspects) -> Vec<String> {
    let options =
        CompareOptions { root_attributes: RootAttributes::Ignore, ..CompareOptions::new(aspects) };
    let is_extra = |finding: &Finding| matches!(finding, Finding::Difference(it) if matches!(it.what, What::OnlyInB { .. }));
    let findings = compare(from, to, &options).findings;
    findings.iter().filter(|it| !is_extra(it)).map(|it| format!("not copied: {it}")).collect()
}

/// Compares the regular files of a tree with what is read under their names in another one.
fn arrived(from: &Path, to: &Path) -> Vec<String> {
    let manifest = Manifest::scan(from, &ScanOptions { skip_xattrs: true, ..Default::default() });
    let mut broken: Vec<String> = manifest
        .failures
        .iter()
        .map(|failure| format!("cannot read the source: {failure}"))
        .collect();
    for (index, entry) in manifest.entries.iter().enumerate() {
        if entry.kind == Kind::Regular {
            let path = manifest.path_of(haul_manifest::EntryId(index));
            let name = Path::new(OsStr::from_bytes(path.as_bytes()));
            broken.extend(same_bytes(&from.join(name), &to.join(name)));
        }
    }
    broken
}

fn same_bytes(from: &Path, to: &Path) -> Vec<String> {
    let read = |path: &Path| fs::read(path).map_err(|cause| vec![format!("{path:?}: {cause}")]);
    let (before, after) = match (read(from), read(to)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(lines), _) | (_, Err(lines)) => return lines,
    };
    if before == after {
        return Vec::new();
    }
    let same = before.iter().zip(&after).take_while(|(one, two)| one == two).count();
    let (left, right) = (before.len(), after.len());
    vec![format!("wrong bytes: {to:?} ({right} bytes) is not {from:?} ({left}) from offset {same}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files that is removed with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let dir = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir(&dir).unwrap();
            for (path, text) in files {
                let path = dir.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(dir)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_copy_that_lacks_or_changes_a_file_is_found() {
        let files = [("a/x", "1"), ("a/y", "2"), ("b/x", "1"), ("b/y", "2"), ("b/more", "3")];
        let folder = Folder::new("copied", &files);
        let (a, b) = (folder.0.join("a"), folder.0.join("b"));
        let aspects = Aspects::contents_only();
        assert_eq!(copied(&a, &b, aspects), Vec::<String>::new());
        assert_eq!(arrived(&a, &b), Vec::<String>::new());
        fs::write(b.join("y"), "3").unwrap();
        assert_eq!((copied(&a, &b, aspects).len(), arrived(&a, &b).len()), (1, 1));
        fs::remove_file(b.join("x")).unwrap();
        assert_eq!((copied(&a, &b, aspects).len(), arrived(&a, &b).len()), (2, 2));
    }

    #[test]
    fn two_files_of_the_source_in_one_of_the_target_are_found() {
        let folder = Folder::new("arrived", &[("a/x", "1"), ("a/y", "2"), ("b/x", "2")]);
        fs::hard_link(folder.0.join("b/x"), folder.0.join("b/y")).unwrap();
        let found = arrived(&folder.0.join("a"), &folder.0.join("b"));
        assert!(found.len() == 1 && found[0].starts_with("wrong bytes"), "{found:?}");
    }

    #[test]
    fn bytes_that_differ_or_are_missing_are_found_with_their_offset() {
        let folder = Folder::new("bytes", &[("a", "123"), ("b", "12"), ("c", "123")]);
        let path = |name: &str| folder.0.join(name);
        assert_eq!(same_bytes(&path("a"), &path("c")), Vec::<String>::new());
        assert!(same_bytes(&path("a"), &path("b"))[0].ends_with("from offset 2"));
        assert_eq!(same_bytes(&path("a"), &path("none")).len(), 1);
    }
}
