//! Flags as chattr(1) sets them: a copy keeps them, or reports their loss as it does that of extended attributes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use haul_manifest::Aspects;
use haul_sys::fs::{InodeFlags, inode_flags, project, set_project};

use super::mv::{Two, hidden_names, mv};
use super::resume::become_old;
use super::support::judge::demand_equal;
use super::support::run::{Call, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::Strace;
use super::support::volume::{Volume, volumes};
use super::support::{Outcome, has, ignored, is_root};

/// Takes the flags away that keep a folder from being removed.
struct Removable(PathBuf);

impl Drop for Removable {
    fn drop(&mut self) {
        let _done = Call::of("chattr").words(["-R", "-f", "-ia"]).word(&self.0).run();
    }
}

/// Makes a folder on a file system. What is named last is dropped first.
fn folder(volume: &Volume) -> Outcome<(Scratch, Removable)> {
    let scratch = Scratch::on(volume)?;
    let removable = Removable(scratch.path().to_owned());
    Ok((scratch, removable))
}

/// Runs a test in a folder of each file system, if flags can be set at all.
fn on_each_volume(test: impl Fn(&Scratch, &Volume) -> Outcome) -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    for volume in volumes()? {
        let (scratch, _removable) = folder(&volume)?;
        test(&scratch, &volume)?;
    }
    Ok(())
}

/// Adds flags; `false` if the file system does not have them.
fn chattr(flags: &str, path: &Path) -> Outcome<bool> {
    let done = Call::of("chattr").word(format!("+{flags}")).word(path).run()?;
    Ok(done.code() == Some(0))
}

fn flags(path: &Path) -> Outcome<InodeFlags> {
    inode_flags(fs::File::open(path)?).map_err(|error| format!("{error:?}").into())
}

fn is_possible() -> Outcome<bool> {
    Ok(is_root()? && has("chattr")?)
}

/// Makes a tree whose entries have flags, and returns how many flags the file system took.
fn plant(root: &Path) -> Outcome<usize> {
    fs::create_dir_all(root.join("fixed"))?;
    fs::create_dir_all(root.join("plain/below"))?;
    for name in ["nocow", "packed"] {
        fs::write(root.join(name), "")?;
    }
    let mut taken = 0;
    // Before the bytes, as in the copy.
    taken += usize::from(chattr("C", &root.join("nocow"))?);
    taken += usize::from(chattr("c", &root.join("packed"))?);
    let files = ["nocow", "packed", "one", "two", "log", "dumped", "fixed/f", "plain/below/g"];
    for name in files {
        fs::write(root.join(name), format!("bytes of {name}"))?;
    }
    fs::hard_link(root.join("two"), root.join("plain/again"))?;
    for (letters, name) in [
        ("A", "nocow"),
        ("i", "one"),
        ("di", "two"),
        ("a", "log"),
        ("d", "dumped"),
        ("S", "dumped"),
        ("A", "plain/below/g"),
        ("D", "plain/below"),
        ("i", "fixed"),
        ("d", "plain"),
    ] {
        taken += usize::from(chattr(letters, &root.join(name))?);
    }
    Ok(taken)
}

#[test]
fn flags_are_kept_by_every_way_to_copy() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    let mut taken = 0;
    for volume in volumes()? {
        let (scratch, _removable) = folder(&volume)?;
        taken += plant(&scratch.at("s"))?;
        let ways: [&[&str]; 6] = [
            &["-a", "--preserve=flags"],
            &["-r", "--preserve=all"],
            &["-r", "--preserve=flags,links,mode,ownership,timestamps"],
            &["-a", "--preserve=flags", "--jobs=4", "--atomic"],
            &["-a", "--preserve=flags", "--durable"],
            &["-a", "--preserve=flags", "--fsync", "--jobs=1"],
        ];
        for (number, options) in ways.into_iter().enumerate() {
            let target = format!("t{number}");
            cp(options).words(["s", &target]).in_dir(scratch.path()).succeed()?;
            let context = format!("{} {options:?}", volume.name);
            demand_equal(&scratch.at("s"), &scratch.at(&target), Aspects::preserved(), &context);
        }
        cp(["-r", "s", "plain"]).in_dir(scratch.path()).succeed()?;
        let found = Call::of(haul())
            .words(["compare", "--only=flags", "s", "plain"])
            .in_dir(scratch.path())
            .run()?;
        // Only a file system without any flag has no difference then.
        assert!(found.code() == Some(1) || plant(&scratch.at("more"))? == 0, "{}", volume.name);
    }
    assert!(taken > 5, "only {taken} flags");
    Ok(())
}

#[test]
fn a_resumed_copy_leaves_immutable_files_alone() -> Outcome {
    on_each_volume(|scratch, _| {
        fs::create_dir(scratch.at("s"))?;
        fs::write(scratch.at("s/f"), "bytes")?;
        if !chattr("i", &scratch.at("s/f"))? {
            return Ok(());
        }
        become_old();
        let call = || cp(["-a", "--preserve=flags", "--resume", "s", "t"]).in_dir(scratch.path());
        call().succeed()?;
        assert_eq!(flags(&scratch.at("t/f"))?, flags(&scratch.at("s/f"))?);
        let again = call().run()?;
        assert!(again.code() == Some(0) && again.errors().contains("nothing to copy"), "{again:?}");
        Ok(())
    })
}

/// With an immutable copy, the next night's `cp -a` would fail.
#[test]
fn an_archive_copy_can_be_repeated() -> Outcome {
    on_each_volume(|scratch, _| {
        fs::create_dir(scratch.at("s"))?;
        fs::write(scratch.at("s/f"), "bytes")?;
        if !chattr("di", &scratch.at("s/f"))? {
            return Ok(());
        }
        for _ in 0..2 {
            cp(["-aT", "s", "t"]).in_dir(scratch.path()).succeed()?;
            let pinned = InodeFlags::NO_DUMP.and(InodeFlags::IMMUTABLE);
            assert_eq!(flags(&scratch.at("t/f"))?.common(pinned), InodeFlags::NO_DUMP);
        }
        Ok(())
    })
}

/// Makes a tree of which one file cannot be copied: a directory is in its place in `t`. Returns whether the file
/// system has the flags.
fn plant_incomplete(scratch: &Scratch) -> Outcome<bool> {
    fs::create_dir_all(scratch.at("s/fixed"))?;
    fs::create_dir_all(scratch.at("s/plain"))?;
    for name in ["one", "two", "log", "fixed/f", "fixed/bad"] {
        fs::write(scratch.at("s").join(name), format!("bytes of {name}"))?;
    }
    fs::hard_link(scratch.at("s/two"), scratch.at("s/plain/again"))?;
    fs::create_dir_all(scratch.at("t/fixed/bad"))?;
    let mut has_flags = true;
    for (letters, name) in [("i", "one"), ("i", "two"), ("a", "log"), ("i", "fixed")] {
        has_flags &= chattr(letters, &scratch.at("s").join(name))?;
    }
    Ok(has_flags)
}

fn is_pinned(path: &Path) -> Outcome<bool> {
    let pinning = InodeFlags::IMMUTABLE.and(InodeFlags::APPEND_ONLY);
    Ok(!flags(path)?.common(pinning).is_empty())
}

/// Runs a copy that fails for one file, and demands that it can be completed.
fn fail_once(scratch: &Scratch, call: &Call) -> Outcome {
    let done = call.run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    for name in ["one", "two", "log", "fixed"] {
        assert!(!is_pinned(&scratch.at("t").join(name))?, "{name} {done:?}");
    }
    let line =
        "'t/fixed' did not become immutable or append-only, because the copy is not complete";
    assert!(done.errors().contains(line), "{done:?}");
    fs::remove_dir(scratch.at("t/fixed/bad"))?;
    Ok(())
}

/// A run pinned a directory whose entry had failed, so that no later run could make the entry; and it pinned no
/// file with several names that the run before had finished.
#[test]
fn a_copy_is_immutable_only_when_it_is_complete() -> Outcome {
    on_each_volume(|scratch, volume| {
        if !plant_incomplete(scratch)? {
            return Ok(());
        }
        become_old();
        let call = cp(["-aT", "--preserve=flags", "--resume", "--jobs=2", "s", "t"])
            .in_dir(scratch.path());
        fail_once(scratch, &call)?;
        call.succeed()?;
        let context = &volume.name;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), context);
        let again = call.run()?;
        assert!(again.code() == Some(0) && again.errors().contains("nothing to copy"), "{again:?}");
        Ok(())
    })
}

#[test]
fn what_fails_again_keeps_a_retried_copy_from_being_immutable() -> Outcome {
    on_each_volume(|scratch, volume| {
        if !plant_incomplete(scratch)? {
            return Ok(());
        }
        let list = |words: &[&str]| cp(words).in_dir(scratch.path());
        fail_once(scratch, &list(&["-aT", "--preserve=flags", "--errors=l", "s", "t"]))?;
        fs::create_dir(scratch.at("t/fixed/bad"))?;
        fail_once(scratch, &list(&["--retry-failed=l", "--errors=m"]))?;
        list(&["--retry-failed=m"]).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &volume.name);
        Ok(())
    })
}

/// What a run has left unpinned is a complete copy: the retry adds flags, whatever the options say about names.
#[test]
fn a_retried_flag_changes_nothing_else() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    for volume in volumes()? {
        for option in ["--atomic", "--durable", "--verify", "-b", "-u", "-n"] {
            let (scratch, _removable) = folder(&volume)?;
            fs::create_dir_all(scratch.at("s/bad"))?;
            fs::write(scratch.at("s/f"), "bytes")?;
            fs::hard_link(scratch.at("s/f"), scratch.at("s/g"))?;
            if !chattr("i", &scratch.at("s/f"))? {
                continue;
            }
            fs::create_dir_all(scratch.at("t"))?;
            fs::write(scratch.at("t/bad"), "in the way")?;
            let list = |words: &[&str]| cp(words).in_dir(scratch.path());
            let done = list(&["-aT", option, "--preserve=flags", "--errors=l", "s", "t"]).run()?;
            assert_eq!(done.code(), Some(1), "{option}: {done:?}");
            let copy = fs::metadata(scratch.at("t/f"))?;
            assert_eq!(copy.nlink(), 2, "{option}");
            fs::remove_file(scratch.at("t/bad"))?;
            list(&["-a", option, "--preserve=flags", "--retry-failed=l"]).succeed()?;
            let pinned = fs::metadata(scratch.at("t/f"))?;
            assert_eq!(
                (pinned.ino(), pinned.nlink()),
                (copy.ino(), 2),
                "{}: {option}",
                volume.name
            );
            demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &volume.name);
        }
    }
    Ok(())
}

/// A file that is written in its place keeps its flags, and so does one that replaces it.
#[test]
fn a_file_that_replaces_another_has_its_flags() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    let mut taken = 0;
    for volume in volumes()? {
        let (scratch, _removable) = folder(&volume)?;
        fs::write(scratch.at("new"), "new bytes")?;
        let ways: [(&str, Call); 4] = [
            ("f", cp(["--atomic", "new", "f"])),
            ("f", cp(["-a", "--durable", "new", "f"])),
            ("f", Call::of(haul()).words(["write", "--atomic", "f"]).input("piped bytes")),
            ("f.gz", Call::of(haul()).words(["gzip", "f"])),
        ];
        for letters in ["C", "c", "d", "dA"] {
            for (output, call) in &ways {
                // Some flags can be given only to an empty file.
                fs::write(scratch.at("f"), "")?;
                if !chattr(letters, &scratch.at("f"))? {
                    fs::remove_file(scratch.at("f"))?;
                    continue;
                }
                taken += 1;
                fs::write(scratch.at("f"), "old bytes")?;
                let before = flags(&scratch.at("f"))?;
                call.clone().in_dir(scratch.path()).succeed()?;
                let lost = before.without(flags(&scratch.at(output))?);
                assert!(lost.is_empty(), "{} {letters} {call:?}: {lost:?}", volume.name);
                assert_ne!(fs::read(scratch.at(output))?, b"old bytes");
                fs::remove_file(scratch.at(output))?;
            }
        }
    }
    assert!(taken > 12, "only {taken} flags");
    Ok(())
}

#[test]
fn projects_are_compared_and_inherited() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "xfs") {
        let (scratch, _removable) = folder(&volume)?;
        for name in ["a", "b", "new"] {
            fs::write(scratch.at(name), "bytes")?;
        }
        set_project(fs::File::open(scratch.at("a"))?, 42).map_err(|error| format!("{error:?}"))?;
        let compare =
            || Call::of(haul()).words(["compare", "--only=flags", "a", "b"]).in_dir(scratch.path());
        let done = compare().run()?;
        assert!(done.code() == Some(1) && done.text().contains("project 42 in"), "{done:?}");
        cp(["-a", "a", "b"]).in_dir(scratch.path()).succeed()?;
        compare().succeed()?;
        cp(["--atomic", "new", "b"]).in_dir(scratch.path()).succeed()?;
        compare().succeed()?;
    }
    Ok(())
}

/// A copy on a file system that does not have a flag of its source was removed and made again by each run.
#[test]
fn a_resumed_move_keeps_copies_that_cannot_have_all_flags() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    fs::create_dir(here.at("d"))?;
    for number in 0..50 {
        here.write(&format!("d/{number}"), "bytes")?;
    }
    // tmpfs does not have it.
    if Call::of("chattr").words(["-R", "+S"]).word(here.at("d")).run()?.code() != Some(0) {
        return ignored("flags beside the build");
    }
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path());
    let cut = Strace::new(here.at("log")).trace("sendfile");
    cut.inject("sendfile:signal=INT:when=30").wrap(call.clone()).run()?;
    let unfinished = there.at(hidden_names(there.path())?.concat());
    let copied = fs::read_dir(unfinished)?.count();
    assert!(copied > 5, "only {copied} files were copied");
    let strace = Strace::new(here.at("log2")).trace("sendfile");
    strace.wrap(call).succeed()?;
    let again = strace.lines()?.len();
    assert!(again < 55 - copied, "{again} files were copied again, {copied} were there");
    assert!(!here.at("d").exists() && there.at("d/49").exists());
    Ok(())
}

#[test]
fn flags_that_the_target_has_inherited_stay() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "btrfs") {
        let (scratch, _removable) = folder(&volume)?;
        fs::create_dir(scratch.at("t"))?;
        fs::write(scratch.at("f"), "bytes")?;
        assert!(chattr("C", &scratch.at("t"))?);
        cp(["-a", "f", "t"]).in_dir(scratch.path()).succeed()?;
        assert!(!flags(&scratch.at("t/f"))?.common(InodeFlags::NO_COW).is_empty());
    }
    Ok(())
}

#[test]
fn a_flag_that_the_target_cannot_have_is_an_error_only_if_it_is_asked_for() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    let all = volumes()?;
    let find = |name: &str| all.iter().find(|volume| volume.name == name);
    let (Some(from), Some(to)) = (find("btrfs"), find("ext4")) else {
        return ignored("btrfs and ext4");
    };
    let (here, there) = (Scratch::on(from)?, Scratch::on(to)?);
    fs::write(here.at("f"), "")?;
    assert!(chattr("C", &here.at("f"))? && chattr("d", &here.at("f"))?);
    for (option, code, said) in
        [("-a", 0, ""), ("--preserve=all", 0, ""), ("--preserve=flags", 1, "setting flags")]
    {
        let done = cp([option]).word("f").word(there.at("t")).in_dir(here.path()).run()?;
        assert_eq!(done.code(), Some(code), "{option} {done:?}");
        assert!(done.errors().contains(said) && said.is_empty() == done.errors().is_empty());
        // The flag that the target has is set all the same.
        let set = flags(&there.at("t"))?.common(InodeFlags::NO_DUMP);
        assert_eq!(set, InodeFlags::NO_DUMP, "{option}");
        fs::remove_file(there.at("t"))?;
    }
    let same = |exact: &[&str]| {
        Call::of(haul())
            .word("compare")
            .words(exact)
            .word("--only=flags")
            .word(here.at("f"))
            .word(there.at("t"))
            .run()
    };
    cp(["-a", "f"]).word(there.at("t")).in_dir(here.path()).succeed()?;
    assert_eq!(same(&[])?.code(), Some(0));
    assert_eq!(same(&["--exact"])?.code(), Some(1));
    Ok(())
}

#[test]
fn users_keep_the_flags_that_they_may_set() -> Outcome {
    on_each_volume(|scratch, volume| {
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777))?;
        fs::write(scratch.at("f"), "bytes")?;
        if !chattr("di", &scratch.at("f"))? {
            return Ok(());
        }
        let silent = cp(["-a", "f", "one"]).by_user().in_dir(scratch.path()).run()?;
        assert_eq!((silent.code(), silent.errors().as_str()), (Some(0), ""), "{}", volume.name);
        assert_eq!(flags(&scratch.at("one"))?.common(InodeFlags::NO_DUMP), InodeFlags::NO_DUMP);
        let asked = cp(["--preserve=flags", "f", "two"]).by_user().in_dir(scratch.path()).run()?;
        assert_eq!(asked.code(), Some(1), "{} {asked:?}", volume.name);
        Ok(())
    })
}

#[test]
fn a_move_refuses_what_it_could_not_remove_before_it_copies() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    let _removable = Removable(two.here.path().to_owned());
    fs::create_dir_all(two.here.at("d/below"))?;
    for name in ["f", "d/g", "d/below/h", "ok"] {
        fs::write(two.here.at(name), "bytes")?;
    }
    if !chattr("i", &two.here.at("f"))? || !chattr("a", &two.here.at("d/below/h"))? {
        return ignored("flags beside the build");
    }
    assert!(chattr("dA", &two.here.at("ok"))?);
    let done = mv(["f", "d", "ok", &two.far(".")]).in_dir(two.here.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    for name in ["'f'", "'d/below/h'"] {
        let line = format!("cannot move {name}: it is immutable or append-only");
        assert!(done.errors().contains(&line), "{done:?}");
    }
    assert!(two.here.at("d/g").exists() && two.here.at("f").exists());
    assert_eq!(fs::read_dir(two.there.path())?.count(), 1, "{done:?}");
    let kept = flags(&two.there.at("ok"))?.common(InodeFlags::NO_ATIME.and(InodeFlags::NO_DUMP));
    assert_eq!(kept, InodeFlags::NO_ATIME.and(InodeFlags::NO_DUMP));
    Ok(())
}

#[test]
fn projects_are_kept_where_the_target_has_none() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "xfs") {
        let (scratch, _removable) = folder(&volume)?;
        fs::create_dir_all(scratch.at("s/d"))?;
        fs::write(scratch.at("s/d/f"), "bytes")?;
        let of = |name: &str| -> Outcome<u32> {
            project(fs::File::open(scratch.at(name))?).map_err(|error| format!("{error:?}").into())
        };
        for (name, number) in [("s/d", 42), ("s/d/f", 43)] {
            set_project(fs::File::open(scratch.at(name))?, number)
                .map_err(|error| format!("{error:?}"))?;
        }
        assert!(chattr("P", &scratch.at("s/d"))?);
        cp(["-a", "--atomic", "s", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!((of("t/d")?, of("t/d/f")?, of("t")?), (42, 43, 0));
        set_project(fs::File::open(scratch.at("s"))?, 7).map_err(|error| format!("{error:?}"))?;
        fs::create_dir(scratch.at("into"))?;
        set_project(fs::File::open(scratch.at("into"))?, 9)
            .map_err(|error| format!("{error:?}"))?;
        assert!(chattr("P", &scratch.at("into"))?);
        cp(["-a", "--atomic", "s", "into"]).in_dir(scratch.path()).succeed()?;
        assert_eq!((of("into/s")?, of("into/s/d/f")?), (9, 9));
    }
    Ok(())
}

fn project_of(path: &Path) -> Outcome<u32> {
    project(fs::File::open(path)?).map_err(|error| format!("{error:?}").into())
}

fn give_project(path: &Path, number: u32) -> Outcome {
    set_project(fs::File::open(path)?, number).map_err(|error| format!("{error:?}").into())
}

/// A file with another project can be neither linked nor renamed into a directory that passes its project on.
#[test]
fn a_directory_that_passes_its_project_on_decides() -> Outcome {
    if !is_possible()? {
        return Ok(());
    }
    // What the output has in a directory that passes on project 9, or none, and in one that passes nothing on;
    // the source has project 7, the old file 5.
    let cases: [(Call, &str, [u32; 3]); 6] = [
        (cp(["--atomic", "s", "d/f"]), "d/f", [9, 0, 5]),
        (cp(["--durable", "s", "d/f"]), "d/f", [9, 0, 5]),
        (cp(["--preserve=flags", "s", "d/f"]), "d/f", [5, 5, 7]),
        (cp(["--preserve=flags", "--atomic", "s", "d/f"]), "d/f", [9, 0, 7]),
        (Call::of(haul()).words(["write", "--atomic", "d/f"]).input(b"new"), "d/f", [9, 0, 5]),
        (Call::of(haul()).words(["gzip", "-k", "d/f"]), "d/f.gz", [9, 0, 5]),
    ];
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "xfs") {
        for (call, output, expected) in &cases {
            for (passed_on, expected) in [Some(9), Some(0), None].into_iter().zip(expected) {
                let (scratch, _removable) = folder(&volume)?;
                fs::create_dir(scratch.at("d"))?;
                fs::write(scratch.at("s"), "new")?;
                give_project(&scratch.at("s"), 7)?;
                fs::write(scratch.at("d/f"), "old")?;
                give_project(&scratch.at("d/f"), 5)?;
                if let Some(number) = passed_on {
                    give_project(&scratch.at("d"), number)?;
                    assert!(chattr("P", &scratch.at("d"))?);
                }
                call.clone().in_dir(scratch.path()).succeed()?;
                assert_ne!(fs::read(scratch.at(output))?, b"old");
                assert_eq!(project_of(&scratch.at(output))?, *expected, "{passed_on:?} {call:?}");
            }
        }
    }
    Ok(())
}

/// Nothing tells a user whether a directory passes its project on that the user may write and not read.
#[test]
fn a_directory_that_cannot_be_read_decides_all_the_same() -> Outcome {
    if !is_possible()? || !has("setpriv")? {
        return Ok(());
    }
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "xfs") {
        // The source has project 7.
        for (passed_on, expected) in [(Some(9), 9), (Some(0), 0), (None, 7)] {
            let (scratch, _removable) = folder(&volume)?;
            scratch.program("haul")?;
            fs::create_dir(scratch.at("d"))?;
            fs::write(scratch.at("s"), "new")?;
            give_project(&scratch.at("s"), 7)?;
            if let Some(number) = passed_on {
                give_project(&scratch.at("d"), number)?;
                assert!(chattr("P", &scratch.at("d"))?);
            }
            chown(scratch.at("d"), Some(USER), Some(USER))?;
            fs::set_permissions(scratch.at("d"), fs::Permissions::from_mode(0o300))?;
            let call = Call::of("./haul").words(["cp", "--preserve=flags", "--atomic", "s", "d/f"]);
            call.in_dir(scratch.path()).by_user().succeed()?;
            assert_eq!(fs::read(scratch.at("d/f"))?, b"new");
            assert_eq!(project_of(&scratch.at("d/f"))?, expected, "{passed_on:?}");
        }
    }
    Ok(())
}
