//! `--resume` and `--shard` after failures that leave entries without something, and after changes that the
//! user makes once everything is complete.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haul_manifest::Aspects;
use rustix::fs::{XattrFlags, setxattr};

use super::resume::{COPY, become_old, furnish, here};
use super::support::judge::demand_equal;
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, has, ignored};

fn mode(scratch: &Scratch, name: &str) -> Outcome<u32> {
    Ok(fs::metadata(scratch.at(name))?.permissions().mode() & 0o7777)
}

fn set_mode(scratch: &Scratch, name: &str, mode: u32) -> Outcome {
    Ok(fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(mode))?)
}

#[test]
fn what_lacks_an_attribute_is_copied_again_with_all_its_names() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for name in ["s/a", "s/b"] {
        let file = scratch.at(name);
        if setxattr(&file, "user.note", b"kept", XattrFlags::empty()).is_err() {
            return ignored("a file system with extended attributes");
        }
    }
    become_old();
    for (call, errno) in [("fsetxattr", "ENOSPC"), ("utimensat", "EIO"), ("fchown", "EIO")] {
        scratch.clear("t")?;
        let strace = Strace::new(scratch.at("log")).trace(call);
        let strace = strace.inject(&format!("{call}:error={errno}"));
        let context = format!("{call}: {errno}");
        let done = strace.wrap(here(&scratch, &COPY)).run()?;
        if !strace.has_injected()? {
            continue;
        }
        assert_eq!(done.code(), Some(1), "{context}: {done:?}");
        assert!(scratch.at("t/d/twin").exists(), "{context}: {done:?}");
        here(&scratch, &COPY).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &context);
        let done = here(&scratch, &COPY).run()?;
        assert!(done.errors().contains("nothing to copy"), "{context}: {done:?}");
    }
    Ok(())
}

#[test]
fn a_mode_that_the_user_sets_after_a_complete_run_stays() -> Outcome {
    for words in [&["--shard=1/1", "--journal=j"][..], &["--resume", "--journal=j"]] {
        let scratch = Scratch::new()?;
        scratch.write("s/open/file", "bytes")?;
        scratch.write("s/closed/file", "bytes")?;
        set_mode(&scratch, "s/closed", 0o555)?;
        become_old();
        let copy = || cp(words).words(["-rT", "s", "t"]).in_dir(scratch.path());
        copy().with_umask("022").run()?;
        assert_eq!((mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?), (0o755, 0o555));
        for name in ["t/open", "t/closed"] {
            set_mode(&scratch, name, 0o700)?;
        }
        scratch.write("s/open/more", "bytes")?;
        become_old();
        let done = copy().with_umask("022").run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
        assert!(scratch.at("t/open/more").exists(), "{words:?}: {done:?}");
        let modes = (mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?);
        assert_eq!(modes, (0o700, 0o700), "{words:?}");
        // Directories that the user makes are the user's, too, whatever the journal says of others.
        for name in ["t/open", "t/closed"] {
            fs::remove_dir_all(scratch.at(name))?;
            fs::create_dir(scratch.at(name))?;
            set_mode(&scratch, name, 0o700)?;
        }
        let done = copy().with_umask("022").run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
        assert!(scratch.at("t/closed/file").exists(), "{words:?}: {done:?}");
        let modes = (mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?);
        assert_eq!(modes, (0o700, 0o700), "{words:?}");
    }
    Ok(())
}

#[test]
fn shards_give_directories_no_more_than_a_default_list_of_the_target_does() -> Outcome {
    if !has("setfacl")? {
        return Ok(());
    }
    let lists =
        ["u::rwx,g::r-x,o::---", "u::rwx,g::---,o::r-x", "u::rwx,u:12345:rwx,g::r-x,o::rwx"];
    for (list, umask) in lists.into_iter().flat_map(|list| [(list, "022"), (list, "077")]) {
        let scratch = Scratch::new()?;
        scratch.write("s/d/file", "bytes")?;
        set_mode(&scratch, "s/d", 0o777)?;
        become_old();
        for target in ["one", "shards"] {
            fs::create_dir(scratch.at(target))?;
            let set = Call::of("setfacl").words(["-d", "-m", list]).word(scratch.at(target));
            let set = set.run()?;
            if set.code() != Some(0) {
                return ignored(&format!("a file system with ACLs: {}", set.errors()));
            }
        }
        for words in
            [&["-r", "s", "one"][..], &["--shard=1/1", "--journal=j", "-r", "s", "-t", "shards"]]
        {
            let done = cp(words).in_dir(scratch.path()).with_umask(umask).run()?;
            assert_eq!(done.code(), Some(0), "{list}: {done:?}");
        }
        for name in ["s", "s/d"] {
            let (one, shards) = (format!("one/{name}"), format!("shards/{name}"));
            let modes = (mode(&scratch, &one)?, mode(&scratch, &shards)?);
            assert_eq!(modes.0, modes.1, "{list}, {umask}: {name}");
        }
        let aspects = Aspects::preserved().without(haul_manifest::Aspect::Mtime);
        demand_equal(&scratch.at("one"), &scratch.at("shards"), aspects, list);
    }
    Ok(())
}

#[test]
fn a_shard_makes_no_directory_that_it_cannot_record() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for occurrence in 1..9 {
        let scratch = Scratch::new()?;
        for directory in 0..4 {
            scratch.write(&format!("s/{directory}/file"), "bytes")?;
        }
        become_old();
        let copy = || {
            let words = ["--shard=1/1", "--jobs=1", "--journal=j", "-rT", "s", "t"];
            cp(words).in_dir(scratch.path())
        };
        let what = format!("pwrite64:error=ENOSPC:when={occurrence}+");
        let strace = Strace::new(scratch.at("log")).trace("pwrite64").inject(&what);
        let done = strace.wrap(copy()).run()?;
        if !strace.has_injected()? {
            continue;
        }
        assert_ne!(done.code(), Some(0), "{occurrence}: {done:?}");
        let done = copy().run()?;
        assert_eq!(done.code(), Some(0), "{occurrence}: {done:?}");
        cp(["-rT", "s", "u"]).in_dir(scratch.path()).succeed()?;
        for name in ["", "0", "1", "2", "3"] {
            let (t, u) = (format!("t/{name}"), format!("u/{name}"));
            assert_eq!(mode(&scratch, &t)?, mode(&scratch, &u)?, "{occurrence}: {name}");
        }
    }
    Ok(())
}
