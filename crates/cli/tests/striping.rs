//! `cp --striping` on a file system that has Lustre's attribute: the test file system with its rules. The
//! real one fixes the striping of a file when its objects are allocated, and so does this.

use std::fs;
use std::path::Path;

use haul_faultfs::{Config, Mounted, Striping};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use super::resume::become_old;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, ignored, is_root};

/// The attribute in the directory below the mount point.
const STORED: &str = "user.lustre.lov";

/// Striping that the test file system gives to a file with the default of its directory.
const DEFAULT: &[u8] = b"default";

/// Size from which on `--resume` writes a file under a hidden name.
const RESUMABLE_BYTES: u64 = 128 << 20;

struct Lustre {
    /// Dropped first, because the folder below it is removed with the scratch folder.
    mounted: Mounted,
    scratch: Scratch,
}

impl Lustre {
    /// Mounts one with a tree `s`: a directory and two files, each with a striping of its own. `None`, and
    /// the test ignored, if that is not possible.
    fn new(rules: &[&str]) -> Outcome<Option<Lustre>> {
        if !is_root()? || !Path::new("/dev/fuse").exists() {
            ignored("root and /dev/fuse")?;
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        let below = scratch.at("below");
        fs::create_dir_all(below.join("s/d"))?;
        fs::write(below.join("s/small"), "bytes")?;
        fs::File::create(below.join("s/d/large"))?.set_len(RESUMABLE_BYTES)?;
        for (name, value) in [("s/d", "of d"), ("s/small", "of small"), ("s/d/large", "of large")] {
            match setxattr(below.join(name), STORED, value.as_bytes(), XattrFlags::empty()) {
                Ok(()) => {}
                Err(Errno::OPNOTSUPP) => {
                    ignored("a scratch folder with extended attributes")?;
                    return Ok(None);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        fs::create_dir(scratch.at("far"))?;
        let rules = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
        let config = Config { striping: Striping::Lustre, rules, ..Config::default() };
        let mounted = Mounted::new(&below, &scratch.at("far"), &config)?;
        Ok(Some(Lustre { mounted, scratch }))
    }

    /// Returns the striping of a file.
    fn striping(&self, name: &str) -> Outcome<Vec<u8>> {
        let mut value = vec![0; 256];
        let path = self.scratch.at("below").join(name);
        let length = getxattr(path, STORED, &mut value)?;
        value.truncate(length);
        Ok(value)
    }

    /// Demands the striping of each of the copies.
    fn demand(&self, expected: [&[u8]; 2]) -> Outcome {
        for (name, value) in ["t/small", "t/d/large"].into_iter().zip(expected) {
            let found = self.striping(name)?;
            assert_eq!(found, value, "{name}: {}", String::from_utf8_lossy(&found));
        }
        Ok(())
    }
}

#[test]
fn files_get_the_default_of_their_directory_unless_asked() -> Outcome {
    let Some(lustre) = Lustre::new(&[])? else { return Ok(()) };
    for options in [&["-a"][..], &["-r", "--preserve=xattr"], &["-a", "--striping=inherit"]] {
        cp(options).words(["s", "t"]).in_dir(lustre.mounted.path()).succeed()?;
        lustre.demand([DEFAULT, DEFAULT])?;
        assert!(lustre.striping("t/d").is_err());
        fs::remove_dir_all(lustre.mounted.path().join("t"))?;
    }
    Ok(())
}

#[test]
fn the_striping_of_the_source_is_kept_if_asked() -> Outcome {
    let Some(lustre) = Lustre::new(&[])? else { return Ok(()) };
    for options in [
        &["-r"][..],
        &["-a", "--jobs=1"],
        &["-r", "--atomic"],
        &["-r", "--durable"],
        &["-a", "--resume"],
    ] {
        let call = cp(options).words(["--striping=keep", "-T", "s", "t"]);
        call.in_dir(lustre.mounted.path()).succeed()?;
        lustre.demand([b"of small", b"of large"])?;
        assert_eq!(lustre.striping("t/d")?, b"of d", "{options:?}");
        let copied = fs::metadata(lustre.scratch.at("below/t/d/large"))?;
        assert_eq!(copied.len(), RESUMABLE_BYTES);
        assert_eq!(fs::read(lustre.scratch.at("below/t/small"))?, b"bytes");
        fs::remove_dir_all(lustre.mounted.path().join("t"))?;
    }
    Ok(())
}

#[test]
fn files_get_a_stripe_for_each_gibibyte() -> Outcome {
    let Some(lustre) = Lustre::new(&[])? else { return Ok(()) };
    let name = lustre.scratch.at("local");
    fs::File::create(&name)?.set_len((3 << 30) + 1)?;
    let there = lustre.mounted.path();
    let call = cp(["--striping=size", "-t", ".", "../local", "s/small"]).in_dir(there);
    call.succeed()?;
    let value = lustre.striping("local")?;
    assert_eq!((value.len(), value.get(28..30)), (32, Some(&4_u16.to_ne_bytes()[..])));
    assert_eq!(lustre.striping("small")?, DEFAULT);
    Ok(())
}

#[test]
fn a_target_without_striping_is_refused_and_nothing_is_made() -> Outcome {
    let scratch = Scratch::new()?;
    fs::write(scratch.at("s"), "bytes")?;
    fs::create_dir(scratch.at("d"))?;
    for (how, target) in [("keep", "t"), ("size", "d/t"), ("keep", "d")] {
        let option = format!("--striping={how}");
        let failed = cp([option.as_str()]).words(["s", target]).in_dir(scratch.path()).run()?;
        assert_eq!(failed.code(), Some(1));
        let expected =
            format!("cp: cannot copy to '{target}' with --striping: it is not on Lustre");
        assert!(failed.errors().contains(&expected), "{}", failed.errors());
    }
    assert!(!scratch.at("t").exists());
    assert_eq!(fs::read_dir(scratch.at("d"))?.count(), 0);
    cp(["--striping=inherit"]).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn a_striping_that_cannot_be_set_is_a_failure_and_the_file_is_copied() -> Outcome {
    for options in [&["-r"][..], &["-r", "--atomic"]] {
        let Some(lustre) = Lustre::new(&["setxattr@1=ENOSPC"])? else { return Ok(()) };
        let call = cp(options).words(["--striping=keep", "--jobs=1", "s", "t"]);
        let failed = call.in_dir(lustre.mounted.path()).run()?;
        assert_eq!(failed.code(), Some(1), "{options:?}");
        let (text, count) = (failed.errors(), failed.errors().lines().count());
        assert!(text.starts_with("cp: setting the striping of 't/") && count == 1, "{text}");
        assert!(text.ends_with(": No space left on device\n"), "{text}");
        let below = lustre.scratch.at("below");
        assert_eq!(fs::read(below.join("t/small"))?, b"bytes");
        assert_eq!(fs::metadata(below.join("t/d/large"))?.len(), RESUMABLE_BYTES);
    }
    Ok(())
}

/// Such a file is begun anew by the next run: what a killed run has copied of it has the wrong striping.
#[test]
fn a_part_of_a_file_without_its_striping_is_not_completed() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let Some(lustre) = Lustre::new(&["setxattr@1=ENOSPC"])? else { return Ok(()) };
    let large = noise(200 << 20);
    fs::write(lustre.scratch.at("below/s/d/large"), large)?;
    become_old();
    let words = ["-a", "--jobs=1", "--resume", "--striping=keep", "s/d/large", "t"];
    let copy = || cp(words).in_dir(lustre.mounted.path());
    let strace = Strace::new(lustre.scratch.at("log")).trace("fdatasync");
    let strace = strace.inject("fdatasync:signal=KILL:when=4");
    strace.wrap(copy()).run()?;
    let done = copy().run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_eq!(lustre.striping("t")?, b"of large");
    Ok(())
}

#[test]
fn other_file_systems_do_not_get_the_attributes_of_lustre() -> Outcome {
    let Some(lustre) = Lustre::new(&[])? else { return Ok(()) };
    let local = lustre.scratch.at("local");
    let source = lustre.mounted.path().join("s/small");
    cp(["--preserve=xattr"]).words([source.as_path(), local.as_path()]).succeed()?;
    assert_eq!(fs::read(local)?, b"bytes");
    Ok(())
}
