//! At no moment may a copy have wider permissions than at its end.
//!
//! The test reads the modes of a target from the calls that create it and change its mode, so it misses
//! no moment.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};

use super::support::run::{USER, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Line, Strace, is_usable};
use super::support::{Outcome, is_root};

/// Sources by name, mode and owner.
const SOURCES: [(&str, u32, Option<u32>); 8] = [
    ("private", 0o600, None),
    ("private-of-another", 0o600, Some(USER)),
    ("group", 0o640, None),
    ("group-of-another", 0o640, Some(USER)),
    ("open-of-another", 0o666, Some(USER)),
    ("setuid-of-another", 0o4755, Some(USER)),
    ("read-only", 0o400, None),
    ("nothing", 0o000, None),
];

/// Returns the mode that a call sets, if it sets one.
fn mode(line: &Line) -> Option<u32> {
    let gives = match line.name.as_str() {
        "openat" => line.text.contains("O_CREAT"),
        "mkdirat" | "mknodat" | "fchmod" | "fchmodat" | "fchmodat2" => true,
        _ => false,
    };
    let arguments = line.text.rsplit_once(") ").map_or(line.text.as_str(), |(call, _)| call);
    let octal = |word: &str| {
        let digits = word.trim_matches([' ', ')']).rsplit('|').next().unwrap_or_default();
        digits.starts_with('0').then(|| u32::from_str_radix(digits, 8).ok()).flatten()
    };
    let mode = gives.then(|| arguments.split(", ").filter_map(octal).last()).flatten();
    // Of the special bits, mkdir(2) sets only the sticky bit.
    if line.name == "mkdirat" { mode.map(|mode| mode & 0o1777) } else { mode }
}

#[test]
fn modes_are_read_from_calls() {
    let line = |text: &str| Line {
        pid: 1,
        name: text.split('(').next().unwrap_or_default().to_owned(),
        text: text.to_owned(),
    };
    let cases = [
        ("openat(5, \"f\", O_WRONLY|O_CREAT|O_EXCL, 0640) = 7", Some(0o640)),
        ("openat(5, \"f\", O_RDONLY) = 7", None),
        ("mkdirat(5, \"d\", 0700)          = 0", Some(0o700)),
        ("mknodat(5, \"p\", S_IFIFO|0600)  = 0", Some(0o600)),
        ("mknodat(5, \"p\", S_IFCHR|0644, makedev(0x1, 0x3)) = 0", Some(0o644)),
        ("fchmod(7, 04755)          = 0", Some(0o4755)),
        ("fchmodat(7, \"p\", 0666)          = 0", Some(0o666)),
    ];
    for (text, expected) in cases {
        assert_eq!(mode(&line(text)), expected, "{text}");
    }
}

/// Copies one source under umask 000 and compares every intermediate mode with the final one, and with
/// every mode before the owner is right.
fn check(scratch: &Scratch, options: &[&str], name: &str) -> Outcome {
    let strace = Strace::new(scratch.at("log"));
    let call = cp(options).words([name, "t"]).in_dir(scratch.path()).with_umask("000");
    strace.wrap(call).succeed()?;
    let target = scratch.at("t").symlink_metadata()?;
    let last = target.permissions().mode() & 0o7777;
    let lines = strace.lines()?;
    let ours = lines.iter().skip_while(|line| !line.text.starts_with("openat(AT_FDCWD, \".\""));
    let owner_changes = options.contains(&"-a") && target.uid() == USER;
    let mut owned = false;
    for line in ours {
        owned |= line.name == "fchown" || line.name == "fchownat" || line.name == "lchown";
        let Some(mode) = mode(line) else { continue };
        // A directory that is being filled has its owner's bits.
        let allowed = if target.is_dir() { last | 0o700 } else { last };
        let context = format!("{name} {options:?} ends as {last:o}: {}", line.text);
        let is_write_bit_for_attributes = mode & !allowed == 0o200;
        assert!(mode & !allowed == 0 || is_write_bit_for_attributes, "{context}");
        if owner_changes && !owned {
            assert_eq!(mode & 0o7077, 0, "before the owner is right: {context}");
        }
    }
    Ok(())
}

#[test]
fn a_target_is_never_wider_than_it_ends() -> Outcome {
    if !is_usable()? || !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (name, bits, owner) in SOURCES {
        for options in [["-a"].as_slice(), &["-r"], &["-p"], &["-r", "--preserve=mode"]] {
            scratch.clear("s")?;
            scratch.clear("t")?;
            scratch.write("s", name)?;
            chown(scratch.at("s"), owner, owner)?;
            fs::set_permissions(scratch.at("s"), PermissionsExt::from_mode(bits))?;
            check(&scratch, options, "s").map_err(|error| format!("{name}: {error}"))?;
            if options[0] == "-p" {
                continue;
            }
            scratch.clear("d")?;
            scratch.clear("t")?;
            // Something has to be made in it; a link, because its mode cannot be mistaken for the directory's.
            fs::create_dir(scratch.at("d"))?;
            std::os::unix::fs::symlink("anywhere", scratch.at("d/inner"))?;
            chown(scratch.at("d"), owner, owner)?;
            fs::set_permissions(scratch.at("d"), PermissionsExt::from_mode(bits | 0o500))?;
            check(&scratch, options, "d").map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

#[test]
fn a_fifo_is_never_wider_than_it_ends() -> Outcome {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    if !is_usable()? || !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for bits in [0o600, 0o640, 0o666] {
        for owner in [None, Some(USER)] {
            scratch.clear("s")?;
            scratch.clear("t")?;
            mknodat(CWD, scratch.at("s"), FileType::Fifo, Mode::from_raw_mode(bits), 0)?;
            chown(scratch.at("s"), owner, owner)?;
            fs::set_permissions(scratch.at("s"), PermissionsExt::from_mode(bits))?;
            check(&scratch, &["-a"], "s")?;
        }
    }
    Ok(())
}

/// An existing file is truncated and filled while it has its old mode and owner, as with GNU cp; but its
/// new owner never gets it with wider permissions than the source's.
#[test]
fn setuid_is_never_set_before_the_owner_is_right() -> Outcome {
    if !is_usable()? || !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s", "program")?;
    chown(scratch.at("s"), Some(USER), Some(USER))?;
    fs::set_permissions(scratch.at("s"), PermissionsExt::from_mode(0o4755))?;
    scratch.write("t", "an older program")?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(cp(["-p", "s", "t"]).in_dir(scratch.path())).succeed()?;
    let mut owned = false;
    for line in strace.lines()? {
        owned |= line.name == "fchown" || line.name == "fchownat";
        let is_setuid = mode(&line).is_some_and(|mode| mode & 0o7000 != 0);
        assert!(owned || !is_setuid, "{}", line.text);
    }
    let target = scratch.at("t").metadata()?;
    assert_eq!((target.mode() & 0o7777, target.uid()), (0o4755, USER));
    Ok(())
}

/// If the owner cannot be preserved, neither are setuid and setgid.
#[test]
fn an_ordinary_user_does_not_keep_setuid_of_another() -> Outcome {
    use super::support::run::Call;
    if !is_root()? || !super::support::has("setpriv")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.program("haul")?;
    scratch.write("s/f", "program")?;
    fs::set_permissions(scratch.at("s/f"), PermissionsExt::from_mode(0o6755))?;
    fs::create_dir(scratch.at("out"))?;
    chown(scratch.at("out"), Some(USER), Some(USER))?;
    for options in ["-a", "-p", "-r"] {
        let call = Call::of(scratch.at("haul")).words(["cp", options, "s/f", "out/t"]);
        call.in_dir(scratch.path()).by_user().succeed()?;
        let target = scratch.at("out/t").metadata()?;
        assert_eq!((target.mode() & 0o7777, target.uid()), (0o755, USER), "{options}");
        scratch.clear("out/t")?;
    }
    Ok(())
}
