//! `haul tar -d`: the differences that GNU tar reports, in its words.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};

use super::support::run::{Call, USER};
use super::support::scratch::Scratch;
use super::support::tar::{both, demand_same, gnu_tar, ours};
use super::support::{Outcome, has, is_root};

fn tree(scratch: &Scratch) -> Outcome {
    for name in ["same", "mode", "time", "size", "bytes", "kind", "gone", "first", "owner"] {
        scratch.write(&format!("d/{name}"), format!("{name}\n").repeat(3000))?;
    }
    fs::hard_link(scratch.at("d/first"), scratch.at("d/second"))?;
    symlink("same", scratch.at("d/l"))?;
    symlink("same", scratch.at("d/lgone"))?;
    symlink("same", scratch.at("d/lkind"))?;
    fs::create_dir(scratch.at("d/dir"))?;
    fs::create_dir(scratch.at("d/dirkind"))?;
    Call::of("mkfifo").word("d/pipe").in_dir(scratch.path()).succeed()?;
    for name in ["sparse", "filled"] {
        let file = fs::File::create(scratch.at(format!("d/{name}")))?;
        file.set_len(1 << 20)?;
        file.write_all_at(b"middle", 500_000)?;
    }
    Ok(())
}

fn change(scratch: &Scratch) -> Outcome {
    let mode =
        |name: &str, mode| fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(mode));
    mode("d/mode", 0o4711)?;
    mode("d/dir", 0o700)?;
    mode("d/pipe", 0o600)?;
    let touch = |name: &str, time: &str| {
        Call::of("touch").words(["-d", time, name]).in_dir(scratch.path()).succeed().map(drop)
    };
    touch("d/time", "@1000000000.5")?;
    scratch.write("d/size", "longer or shorter")?;
    let bytes = fs::File::options().write(true).open(scratch.at("d/bytes"))?;
    bytes.write_all_at(b"X", 9000)?;
    fs::File::options().write(true).open(scratch.at("d/filled"))?.write_all_at(b"x", 100_000)?;
    for name in ["d/kind", "d/gone", "d/lgone", "d/lkind", "d/second"] {
        fs::remove_file(scratch.at(name))?;
    }
    fs::create_dir(scratch.at("d/kind"))?;
    scratch.write("d/lkind", "")?;
    scratch.write("d/second", "first\n".repeat(3000))?;
    fs::remove_file(scratch.at("d/l"))?;
    symlink("some", scratch.at("d/l"))?;
    fs::remove_dir(scratch.at("d/dirkind"))?;
    scratch.write("d/dirkind", "")?;
    Ok(())
}

#[test]
fn differences_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    for format in ["gnu", "posix", "ustar", "oldgnu"] {
        for sparse in ["-S", "-p"] {
            let scratch = Scratch::new()?;
            tree(&scratch)?;
            let format = format!("--format={format}");
            if format.contains("ustar") && sparse == "-S" {
                continue;
            }
            let words = ["--sort=name", &format, sparse, "-cf", "a.tar", "d"];
            gnu_tar().words(words).in_dir(scratch.path()).succeed()?;
            let none = || Ok(());
            let (gnu, haul) = both(&scratch, "-df a.tar", &none)?;
            assert_eq!((gnu.code(), gnu.text().as_str()), (Some(0), ""), "{format} {gnu:?}");
            demand_same("unchanged", &gnu, &haul);
            change(&scratch)?;
            for words in [
                "-df a.tar",
                "-dvf a.tar",
                "--compare -vvf a.tar d/bytes d/none",
                "-df a.tar --numeric-owner d/mode d/l",
                "-dhf a.tar d/same d/lkind d/l",
                "-df a.tar -C d",
                "-df a.tar --strip-components=1 -C d d/mode d/second d/same",
                "-d --occurrence=1 -f a.tar d/mode",
            ] {
                let (gnu, haul) = both(&scratch, words, &none)?;
                demand_same(&format!("{format} {sparse} {words}"), &gnu, &haul);
            }
        }
    }
    Ok(())
}

#[test]
fn an_archive_from_a_pipe_and_files_that_cannot_be_read_are_compared() -> Outcome {
    if !has("tar")? || !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    tree(&scratch)?;
    let packed = gnu_tar().words(["-cz", "d"]).in_dir(scratch.path()).succeed()?.stdout;
    gnu_tar().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    change(&scratch)?;
    let expected = gnu_tar().words(["-df", "a.tar"]).in_dir(scratch.path()).run()?;
    let found = ours().word("-d").input(packed).in_dir(scratch.path()).run()?;
    demand_same("pipe", &expected, &found);
    std::os::unix::fs::chown(scratch.at("d/owner"), Some(USER), Some(USER))?;
    fs::set_permissions(scratch.at("d/same"), fs::Permissions::from_mode(0o600))?;
    let by_user = |call: Call| call.words(["-df", "a.tar"]).in_dir(scratch.path()).by_user().run();
    demand_same("user", &by_user(gnu_tar())?, &by_user(ours())?);
    Ok(())
}
