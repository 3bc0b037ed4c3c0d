//! `haul tar`: odd times of members, which GNU tar warns of; and what reaches a terminal.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::tar::{both, gnu_tar, ours};
use super::support::{Outcome, has};

/// Files, a directory and a link with times before 1970 and in the future.
fn tree(scratch: &Scratch) -> Outcome {
    for name in ["s/f", "s/old", "s/now", "s/d/g"] {
        scratch.write(name, name)?;
    }
    symlink("f", scratch.at("s/link"))?;
    for (time, names) in [
        ("@4000000000.5", &["s/f", "s/link", "s/d/g", "s/d"][..]),
        ("@-5", &["s/old"]),
        ("@1000000000", &["s"]),
    ] {
        Call::of("touch").words(["-hd", time]).words(names).in_dir(scratch.path()).succeed()?;
    }
    Ok(())
}

/// Returns the messages in the order of their names, without the number of seconds, which grows.
fn told(done: &Done) -> Vec<String> {
    let without_seconds = |line: &str| match line.split_once(" is ") {
        Some((before, _)) if line.ends_with(" s in the future") => {
            format!("{before} in the future")
        }
        _ => line.to_owned(),
    };
    let mut lines: Vec<String> = done.errors().lines().map(without_seconds).collect();
    lines.sort();
    lines
}

#[test]
fn odd_times_are_told_as_gnu_tar_tells_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    gnu_tar().words(["--posix", "-cf", "a.tar", "s"]).in_dir(scratch.path()).succeed()?;
    for (words, count) in [
        ("-xf a.tar -C in", 5),
        ("-xf a.tar -C in --utc s/f s/old", 2),
        ("-xf a.tar -C in -m", 0),
        ("-xf a.tar -C in --warning=no-timestamp", 0),
        ("-xOf a.tar s/f", 0),
        ("-tf a.tar", 0),
    ] {
        let reset = || {
            scratch.clear("in")?;
            Ok(fs::create_dir(scratch.at("in"))?)
        };
        let (gnu, haul) = both(&scratch, words, &reset)?;
        assert_eq!(told(&haul), told(&gnu), "{words}");
        assert_eq!((haul.code(), told(&haul).len()), (gnu.code(), count), "{words}: {haul:?}");
    }
    Ok(())
}

/// Dates that depend on nothing but the time zone.
const DATES: &[&str] = &[
    "2001-02-03 04:05:06",
    "2001-02-03 04:05:06 UTC",
    "1970/1/2 0:0:0 UTC",
    "2001-02-03 04:05:06 UTC 2 days ago",
    "2001-07-03 04:05 1 month",
    "Sat, 03 Feb 2001 04:05:06 +0100",
    "3 Feb 2001",
    "20010203",
    "2001-02-03T04:05:06.25Z",
    "@1000000000",
];

#[test]
fn dates_are_read_as_gnu_tar_reads_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("f", "f")?;
    for zone in ["UTC", "Europe/Berlin", "America/New_York"] {
        for date in DATES {
            let made = |call: Call| {
                let call =
                    call.words(["--posix", "--pax-option=delete=atime,delete=ctime", "-cf", "-"]);
                call.word(format!("--mtime={date}"))
                    .word("f")
                    .env("TZ", zone)
                    .in_dir(scratch.path())
                    .run()
            };
            let (gnu, haul) = (made(gnu_tar())?, made(ours())?);
            assert_eq!(haul.code(), Some(0), "{date}: {}", haul.errors());
            let time_of = |done: &Done| {
                let list = ours().words(["-tv", "--full-time", "--utc"]).input(done.stdout.clone());
                list.succeed().map(|done| done.text())
            };
            assert_eq!(time_of(&haul)?, time_of(&gnu)?, "{date} in {zone}");
        }
    }
    // Of the year 2001 is nothing newer than yesterday.
    Call::of("touch").words(["-d", "@1000000000", "f"]).in_dir(scratch.path()).succeed()?;
    scratch.write("g", "g")?;
    for since in ["yesterday", "2 days ago"] {
        let newer = ours().words(["-c", "--newer-mtime", since, "f", "g"]).in_dir(scratch.path());
        let list = ours().word("-t").input(newer.succeed()?.stdout).succeed()?;
        assert_eq!(list.text(), "g\n", "{since}");
    }
    Ok(())
}

/// The name of an owner and the names of attributes come from the archive.
#[test]
fn nothing_in_an_archive_controls_the_terminal() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let script = "import tarfile\n\
                  t=tarfile.open('a.tar','w',format=tarfile.PAX_FORMAT)\n\
                  i=tarfile.TarInfo('n\\x1bm'); i.uname='u\\x1b[2J'; i.gname='g\\nh\\x9b'; i.type=b'2'; i.linkname='l\\x07'\n\
                  i.pax_headers={'SCHILY.xattr.user.\\x1bx':'1','RHT.security.selinux':'s\\x1bx',\
                  'SCHILY.acl.access':'user::rw-\\x1b','strange\\x1bkey':'1'}\n\
                  t.addfile(i)\n\
                  for kind in b'\\x1b\\x9b':\n\
                  \x20i=tarfile.TarInfo('k'); i.type=bytes([kind]); t.addfile(i)\n\
                  t.close()\n";
    Call::of("python3").words(["-c", script]).in_dir(scratch.path()).succeed()?;
    let attributes = ["--xattrs-include=*", "--acls", "--selinux"];
    for (action, code) in [("-tvvf", 0), ("-xvvf", 0), ("-dvvf", 2)] {
        let call = ours().words([action, "a.tar", "--no-same-owner"]).words(attributes);
        let done = call.env("LC_ALL", "C.UTF-8").in_dir(scratch.path()).run()?;
        let said = format!("{}{}", done.text(), done.errors());
        assert_eq!(done.code(), Some(code), "{action}: {said}");
        let raw = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(raw), "{action}: {said:?}");
        assert!(said.contains("u\\033[2J/g\\nh\\302\\233"), "{action}: {said:?}");
        assert!(said.contains("strange\\033key"), "{action}: {said:?}");
        assert!(said.contains("'\\033'"), "{action}: {said:?}");
    }
    Ok(())
}
