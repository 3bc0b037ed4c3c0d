//! `--remove-files`: what stays because it is not in the archive as it is, or is not where it was.

use std::fs;

use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::ours;

#[test]
fn a_file_whose_attributes_could_not_be_archived_stays() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for name in ["d/f", "d/g"] {
        scratch.write(name, name)?;
    }
    let strace =
        Strace::new(scratch.at("log")).trace("flistxattr").inject("flistxattr:error=EIO:when=1");
    let words = ["--jobs=1", "--xattrs", "-cf", "a.tar", "--remove-files", "d/f", "d/g"];
    let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
    assert!(strace.has_injected()?, "{done:?}");
    assert_eq!(fs::read(scratch.at("d/f"))?, b"d/f", "{done:?}");
    assert!(!scratch.at("d/g").exists(), "{done:?}");
    let told = "d/f: the archive does not have all of the file; not removed";
    assert!(done.errors().contains(told), "{}", done.errors());
    assert_eq!(done.code(), Some(1));
    Ok(())
}
