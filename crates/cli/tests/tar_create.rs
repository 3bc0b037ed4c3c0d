//! `haul tar -c`: the bytes of GNU tar's archives, whatever the number of workers.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use haul_manifest::{Aspect, Aspects};

use super::support::judge::demand_equal;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::tar::{expected_errors, gnu_tar, is_current};
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

fn tree(scratch: &Scratch) -> Outcome {
    scratch.write("d/a", "hi\n")?;
    scratch.write("d/e/f.o", "")?;
    for number in 0..200 {
        scratch.write(&format!("d/many/{}/{number}", number % 7), vec![b'x'; number * 37])?;
    }
    scratch.write("d/large", vec![b'y'; (3 << 20) + 7])?;
    scratch.write("d/é b\\c\nq", "x")?;
    scratch.write(&format!("d/{}/{}", "n".repeat(90), "k".repeat(95)), "deep")?;
    symlink("a", scratch.at("d/l"))?;
    symlink("t".repeat(150), scratch.at("d/long"))?;
    fs::hard_link(scratch.at("d/a"), scratch.at("d/h"))?;
    fs::set_permissions(scratch.at("d/e"), fs::Permissions::from_mode(0o1775))?;
    let words = ["d", "-exec", "touch", "-hd", "2001-02-03 04:05:06.789", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// Command lines whose archives, messages and exit statuses are those of GNU tar.
const SAME: &[&str] = &[
    "d",
    "-v d",
    "--sort=name d",
    "--format=oldgnu d",
    "--format=posix d",
    "--posix --sort=name --mtime=@1000000000.5 --clamp-mtime --owner=0 --group=0 d",
    "--posix --mtime=@99999999999 d/e",
    "--format=ustar d/e d/many d/large",
    "--format=v7 d/e d/many d/large d/l d/h",
    "--format=gnu --numeric-owner --mode=u+w,go=rX ./d/",
    "--owner=foo:5 --group=:7 d/e",
    "--owner=+9 --group=lp d/e",
    "-h d/e d/l",
    "--hard-dereference d",
    "-C d a -C e f.o",
    "-C / etc/hostname -P /etc/hostname",
    "/etc/hostname",
    "--exclude=many d",
    "--exclude-vcs --exclude-backups d",
    "--no-recursion d d/e",
    "-b1 d/e",
    "--record-size=1024 d/e",
    "--one-file-system d",
    "-T list",
    "--null -T nul",
    "missing d/e",
    "d/e/ d//a",
    "--clamp-mtime d",
    "--mode=q d",
    "--format=foo d",
    "--owner=root --numeric-owner d/e",
    "--mtime=@-5 d/e",
    "",
];

#[test]
fn archives_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    scratch.write("list", "d/e\nd/\\141\n")?;
    scratch.write("nul", "d/a\0d/l\0")?;
    let is_current = is_current()?;
    for words in SAME {
        let words: Vec<&str> = ["-cf", "-"].into_iter().chain(words.split_whitespace()).collect();
        let gnu = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
        for jobs in ["--jobs=1", "--jobs=7"] {
            let done = ours().word(jobs).words(&words).in_dir(scratch.path()).run()?;
            assert_eq!(done.errors(), expected_errors(&gnu), "{words:?}");
            assert_eq!(done.code(), gnu.code(), "{words:?}");
            // Versions before 1.35 fill other fields.
            if is_current {
                assert!(done.stdout == gnu.stdout, "{words:?} {jobs}");
            }
        }
    }
    Ok(())
}

/// What build systems and caches run.
#[test]
fn well_known_command_lines_give_the_same_bytes() -> Outcome {
    if !has("tar")? || !has("zstdmt")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    scratch.write("manifest", "d/many\nd/large\n")?;
    scratch.write("nul", "d/a\0d/many/3/3\0d/l\0")?;
    let reproducible = [
        "-cf",
        "-",
        "--format=gnu",
        "--sort=name",
        "--mtime",
        "@1234567890",
        "--clamp-mtime",
        "--null",
        "--numeric-owner",
        "--owner=0",
        "--group=0",
        "-T",
        "nul",
    ];
    let gnu = gnu_tar().words(reproducible).in_dir(scratch.path()).succeed()?;
    let done = ours().words(reproducible).in_dir(scratch.path()).succeed()?;
    assert!(done.stdout == gnu.stdout);
    fs::create_dir(scratch.at("in"))?;
    let back = ["-xf", "-", "--no-same-permissions", "--no-same-owner"];
    ours().words(back).input(done.stdout).in_dir(scratch.at("in")).succeed()?;
    demand_equal(
        &scratch.at("d/many/3/3"),
        &scratch.at("in/d/many/3/3"),
        Aspects::contents_only(),
        "",
    );

    let zstd = "zstdmt --long=30";
    let root = scratch.path().display().to_string();
    let cache = [
        "--posix",
        "-cf",
        "cache.tzst",
        "--exclude",
        "cache.tzst",
        "-P",
        "-C",
        &root,
        "--files-from",
        "manifest",
        "--use-compress-program",
        zstd,
    ];
    let unpack = ["-xf", "cache.tzst", "-P", "-C", "in", "--use-compress-program", zstd];
    // The first reader of a file changes its time of access.
    gnu_tar().words(cache).in_dir(scratch.path()).succeed()?;
    ours().words(cache).in_dir(scratch.path()).succeed()?;
    let plain = Call::of("zstd")
        .words(["-dc", "--long=30", "cache.tzst"])
        .in_dir(scratch.path())
        .succeed()?;
    gnu_tar().words(cache).in_dir(scratch.path()).succeed()?;
    let theirs = Call::of("zstd")
        .words(["-dc", "--long=30", "cache.tzst"])
        .in_dir(scratch.path())
        .succeed()?;
    // Versions before 1.35 fill other fields.
    assert!(!is_current()? || plain.stdout == theirs.stdout);
    ours().words(unpack).in_dir(scratch.path()).succeed()?;
    demand_equal(&scratch.at("d/many"), &scratch.at("in/d/many"), Aspects::preserved(), "cache");

    gnu_tar().words(["-cJf", "x.tar.xz", "d"]).in_dir(scratch.path()).succeed()?;
    fs::create_dir(scratch.at("into"))?;
    let strip = ["--extract", "--directory", "into", "--strip-components=1", "--file", "x.tar.xz"];
    ours().words(strip).in_dir(scratch.path()).succeed()?;
    demand_equal(
        &scratch.at("d/many"),
        &scratch.at("into/many"),
        Aspects::preserved().without(Aspect::Mtime),
        "strip",
    );
    Ok(())
}

#[test]
fn other_programs_extract_what_haul_creates() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let python = ["-c", "import tarfile,sys; tarfile.open(sys.argv[1]).extractall('in')", "a"];
    let readers: [(&str, &[&str]); 4] = [
        ("tar", &["-xpf", "a", "-C", "in"]),
        ("bsdtar", &["-xpf", "a", "-C", "in"]),
        ("python3", &python),
        ("haul", &["-xpf", "a", "-C", "in"]),
    ];
    for options in [&["-cf"][..], &["--posix", "-cf"], &["-czf"], &["-cJf"]] {
        ours().words(options).words(["a", "d"]).in_dir(scratch.path()).succeed()?;
        for (program, words) in readers {
            if program != "haul" && !has(program)? {
                continue;
            }
            scratch.clear("in")?;
            fs::create_dir(scratch.at("in"))?;
            let call = if program == "haul" { ours() } else { Call::of(program) };
            // Python warns of a future default.
            let call = call.env("LC_ALL", "C.UTF-8");
            let done = call.words(words).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{program} {options:?}: {}", done.errors());
            let found = scratch.at("in/d");
            demand_equal(&scratch.at("d"), &found, Aspects::contents_only(), program);
        }
    }
    for (name, program) in [("a.tar.zst", "zstd"), ("a.tgz", "gzip"), ("a.txz", "xz")] {
        if has(program)? {
            ours().words(["-caf", name, "d/e"]).in_dir(scratch.path()).succeed()?;
            Call::of(program).words(["-tq", name]).in_dir(scratch.path()).succeed()?;
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_archived_is_told() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("d/a", "1")?;
    let _socket = std::os::unix::net::UnixListener::bind(scratch.at("d/s"))?;
    let done = ours().words(["-cf", "d/x.tar", "d"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().contains("tar: d/s: socket ignored"), "{}", done.errors());
    assert!(done.errors().contains("tar: d/x.tar: archive cannot contain itself; not dumped"));
    assert!(matches!(done.code(), Some(0 | 1)), "{}", done.errors());
    let listed = ours().words(["-tf", "d/x.tar"]).in_dir(scratch.path()).succeed()?;
    let mut names: Vec<&[u8]> = listed.stdout.split(|byte| *byte == b'\n').collect();
    names.sort_unstable();
    assert_eq!(names, [&b""[..], b"d/", b"d/a"]);
    Ok(())
}

#[test]
fn an_archive_that_cannot_be_written_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", vec![7; 1 << 20])?;
    for words in [&["-cf", "/dev/full", "a"][..], &["-czf", "/dev/full", "a"]] {
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2));
        assert!(
            done.errors().contains("Cannot write: No space left on device"),
            "{}",
            done.errors()
        );
    }
    let failing = ["-cf", "x", "-I", "sh -c exit", "a"];
    let done = ours().words(failing).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    Ok(())
}
