//! Hard links, times, attributes: names of one file stay names of one file.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use haul_manifest::{Aspect, Aspects};

use super::support::judge::demand_equal;
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::stepper;
use super::support::volume::volumes;
use super::support::{Outcome, has, is_root};

/// Makes groups of three names each, in three directories, so that several workers find them.
fn plant_groups(scratch: &Scratch, groups: usize) -> Outcome {
    for dir in ["s/x", "s/y/deeper", "s/z"] {
        fs::create_dir_all(scratch.at(dir))?;
    }
    for group in 0..groups {
        let first = scratch.write(&format!("s/x/{group}"), group.to_string())?;
        // In reverse, so that no directory has all the first names.
        fs::hard_link(&first, scratch.at(format!("s/y/deeper/{}", groups - group)))?;
        fs::hard_link(&first, scratch.at(format!("s/z/{group}")))?;
    }
    Ok(())
}

#[test]
fn groups_stay_groups_with_many_workers() -> Outcome {
    // Another worker may link a name while the file is closed. XFS then does not give back what it reserved
    // behind the end of the file before some minutes have passed (`xfs_file_release` only tries the lock).
    let aspects = Aspects::all().without(Aspect::Blocks);
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        plant_groups(&scratch, 400)?;
        let large = scratch.write("s/x/large", vec![5; 9 << 20])?;
        fs::hard_link(large, scratch.at("s/z/large"))?;
        for round in 0..4 {
            let call = cp(["-a", "--jobs=16", "s", "t"]).in_dir(scratch.path());
            call.succeed()?;
            let context = format!("{} round {round}", volume.name);
            demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &context);
            scratch.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn groups_stay_groups_among_operands_and_over_what_is_there() -> Outcome {
    let scratch = Scratch::new()?;
    plant_groups(&scratch, 50)?;
    fs::create_dir(scratch.at("t"))?;
    let call = cp(["-a", "s/x", "s/y", "s/z", "t"]).in_dir(scratch.path());
    for run in 0..3 {
        call.succeed()?;
        let aspects = Aspects::all().without(Aspect::Mtime);
        demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &format!("run {run}"));
    }
    // Files that are linked in the target are separate in the source: each must be written separately.
    scratch.clear("t")?;
    scratch.write("t/a", "shared")?;
    fs::hard_link(scratch.at("t/a"), scratch.at("t/b"))?;
    scratch.write("apart/a", "first")?;
    scratch.write("apart/b", "second")?;
    cp(["-aT", "--jobs=8", "apart", "t"]).in_dir(scratch.path()).succeed()?;
    demand_equal(&scratch.at("apart"), &scratch.at("t"), Aspects::all(), "split");
    Ok(())
}

#[test]
fn without_preservation_each_name_gets_its_own_file() -> Outcome {
    let scratch = Scratch::new()?;
    plant_groups(&scratch, 20)?;
    for options in [["-r", "--jobs=4"], ["-a", "--no-preserve=links"]] {
        cp(options).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), options[0]);
        assert_eq!(scratch.at("t/x/0").metadata()?.nlink(), 1);
        scratch.clear("t")?;
    }
    Ok(())
}

/// Both times of files and directories, to the nanosecond; reading the source changes its access time,
/// and the new one must not be copied.
#[test]
fn both_times_are_kept_to_the_nanosecond() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        scratch.write("s/d/f", "text")?;
        scratch.write("s/large", vec![1; 9 << 20])?;
        let time = |nanoseconds| SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, nanoseconds);
        let times = fs::FileTimes::new().set_accessed(time(123_456_789)).set_modified(time(1));
        for options in ["-a", "-rp"] {
            for name in ["s/d/f", "s/large", "s/d", "s"] {
                File::open(scratch.at(name))?.set_times(times)?;
            }
            cp([options, "s", "t"]).in_dir(scratch.path()).succeed()?;
            for name in ["t/d/f", "t/large", "t/d", "t"] {
                let metadata = scratch.at(name).metadata()?;
                let got = [
                    (metadata.atime(), metadata.atime_nsec()),
                    (metadata.mtime(), metadata.mtime_nsec()),
                ];
                let expected = [(1_234_567_890, 123_456_789), (1_234_567_890, 1)];
                assert_eq!(got, expected, "{} {options} {name}", volume.name);
            }
            scratch.clear("t")?;
        }
    }
    Ok(())
}

/// Attributes are also copied to files that no user may write.
#[test]
fn attributes_arrive_on_read_only_files_and_directories() -> Outcome {
    if !has("setfattr")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "text")?;
    for name in ["s/d/f", "s/d"] {
        let set = Call::of("setfattr").words(["-n", "user.note", "-v", "kept"]);
        let done = set.word(scratch.at(name)).run()?;
        if done.code() != Some(0) {
            return super::support::ignored(&format!("extended attributes: {}", done.errors()));
        }
        let mut permissions = fs::metadata(scratch.at(name))?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(scratch.at(name), permissions)?;
    }
    for options in [["-a", "--jobs=1"], ["-rp", "--preserve=xattr"]] {
        cp(options).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), options[0]);
        scratch.clear("t")?;
    }
    Ok(())
}

/// An attribute that cannot be preserved is a failure if it was requested by name, and silent if all
/// were requested.
#[test]
fn attributes_that_the_target_cannot_hold_are_told_as_the_option_says() -> Outcome {
    if !is_root()? || !has("setfattr")? || !has("unshare")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("f", "text")?;
    fs::create_dir(scratch.at("t"))?;
    let set = Call::of("setfattr").words(["-n", "user.note", "-v", "kept"]).word(scratch.at("f"));
    let set = set.run()?;
    if set.code() != Some(0) {
        return super::support::ignored(&format!("extended attributes: {}", set.errors()));
    }
    let told = "cp: setting attributes for 't/f': Operation not supported\n";
    for (option, code, says) in [("--preserve=xattr", 1, told), ("-a", 0, ""), ("-p", 0, "")] {
        // ramfs consists only of the page cache and has no attributes at all.
        let script = "mount -t ramfs none t && exec \"$0\" \"$@\"";
        let call = cp([option, "f", "t"]).in_dir(scratch.path());
        let done = call.under(["unshare", "-m", "--", "sh", "-c", script]).run()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(code), says), "{option}");
    }
    Ok(())
}

/// A file that stays because it exists is not the copy: no other name of the source becomes a name
/// of it, whichever name comes first.
#[test]
fn a_protected_file_does_not_get_the_other_names_of_a_source() -> Outcome {
    for options in [["-a", "-n"], ["-a", "--update=none"], ["-au", "-n"], ["-an", "-u"]] {
        for kept in ["a", "b"] {
            let scratch = Scratch::new()?;
            for name in ["s", "t"] {
                fs::create_dir(scratch.at(name))?;
            }
            let first = scratch.write("s/a", "source")?;
            fs::hard_link(first, scratch.at("s/b"))?;
            scratch.write(&format!("t/{kept}"), "another file")?;
            File::options()
                .write(true)
                .open(scratch.at("s/a"))?
                .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))?;
            let call = cp(options).words(["s/.", "t"]).in_dir(scratch.path());
            assert_eq!(call.run()?.code(), Some(0), "{options:?}");
            let made = if kept == "a" { "t/b" } else { "t/a" };
            assert_eq!(fs::read_to_string(scratch.at(made))?, "source", "{options:?} {kept}");
            let stayed = scratch.at(format!("t/{kept}"));
            assert_eq!(fs::metadata(&stayed)?.nlink(), 1, "{options:?} {kept}");
            assert_eq!(fs::read_to_string(stayed)?, "another file", "{options:?} {kept}");
        }
    }
    Ok(())
}

/// Number of files that are made at a time to get the inode number of a file that was removed.
const TRIES: usize = 20;

/// Gives an inode number that is free to another file of the same size and time, with two names in a directory.
/// Returns whether the file system has used the number again.
fn use_inode_again(scratch: &Scratch, old: &fs::Metadata, directory: &str) -> Outcome<bool> {
    let mut others = Vec::new();
    let mut is_again = false;
    for number in 0..TRIES {
        let other = scratch.write(&format!("made/{number}"), "other bytes")?;
        if fs::metadata(&other)?.ino() == old.ino() {
            File::options().write(true).open(&other)?.set_modified(old.modified()?)?;
            let third = scratch.at(format!("s/{directory}/third"));
            fs::rename(&other, &third)?;
            fs::hard_link(&third, scratch.at(format!("s/{directory}/fourth")))?;
            is_again = true;
            break;
        }
        others.push(other);
    }
    others.iter().try_for_each(fs::remove_file)?;
    Ok(is_again)
}

#[test]
fn an_inode_that_is_used_again_is_another_file() -> Outcome {
    if !stepper::is_usable()? {
        return Ok(());
    }
    let mut used = 0;
    for volume in volumes()? {
        for option in ["-a", "-aL"] {
            let scratch = Scratch::on(&volume)?;
            let old = scratch.write("s/a/file", "their bytes")?;
            let old = fs::metadata(old)?;
            fs::create_dir(scratch.at("s/z"))?;
            fs::create_dir(scratch.at("made"))?;
            fs::hard_link(scratch.at("s/a/file"), scratch.at("s/z/file"))?;
            let call = cp([option, "--jobs=1", "s", "t"]).in_dir(scratch.path());
            let is_whole = |directory: &str| {
                let copied = fs::read(scratch.at(format!("t/{directory}/file")));
                copied.is_ok_and(|bytes| bytes == b"their bytes")
            };
            // The directory that is copied next, and whether its new file has the number: that is free as soon
            // as the command has closed the removed file.
            let (mut next, mut is_again) = (None, false);
            let stepped = stepper::run(&call, &[], &mut |_| {
                if next.is_none() && (is_whole("a") || is_whole("z")) {
                    next = Some(if is_whole("a") { "z" } else { "a" });
                    for directory in ["a", "z"] {
                        fs::remove_file(scratch.at(format!("s/{directory}/file")))?;
                    }
                }
                if let Some(next) = next.filter(|_| !is_again) {
                    is_again = use_inode_again(&scratch, &old, next)?;
                }
                Ok(())
            })?;
            let context = format!("{} {option}: {:?}", volume.name, stepped.done);
            let next = next.ok_or("no file was copied")?;
            for name in ["third", "fourth"] {
                // A directory that was read before has other names.
                let copied = scratch.at(format!("t/{next}/{name}"));
                if copied.exists() {
                    used += 1;
                    assert_eq!(fs::read(copied)?, b"other bytes", "{context} {name}");
                }
            }
        }
    }
    if used == 0 {
        return super::support::ignored("a file system that uses inode numbers again at once");
    }
    Ok(())
}
