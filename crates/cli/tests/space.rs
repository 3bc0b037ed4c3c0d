//! A target without room, and a source that changes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use super::support::run::{Call, Done, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::cycle;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::{Outcome, has, is_root};

/// Copies `s` into a small file system that exists during the run, and reports for each file
/// there whether it is equal, short or wrong.
fn into_small(scratch: &Scratch, mount: &str, options: &str) -> Outcome<Done> {
    let script = format!(
        "set -e; mkdir -p small; {mount}; set +e
         \"$0\" cp {options} s small/t; code=$?
         cd s && find . -type f | while read -r f; do
             [ -e ../small/t/$f ] || continue
             if cmp -s $f ../small/t/$f; then echo \"equal $f\"
             elif [ $(stat -c %s $f) = $(stat -c %s ../small/t/$f) ]; then echo \"false $f\"
             else echo \"short $f\"; fi
         done
         exit $code"
    );
    let call = Call::of("unshare").words(["-m", "--", "bash", "-c", &script]).word(haul());
    call.in_dir(scratch.path()).run()
}

/// A file system, its mount command, and its error message when it is full.
const SMALL: [(&str, &str, &str); 3] = [
    ("tmpfs", "mount -t tmpfs -o size=12m none small", "No space left on device"),
    (
        "ext4",
        "truncate -s 16M image; mkfs.ext4 -q -F image; mount -o loop image small",
        "No space left on device",
    ),
    (
        "btrfs with a quota",
        "truncate -s 200M image; mkfs.btrfs -q -f image; mount -o loop image small; \
         btrfs quota enable small; btrfs qgroup limit 12M small",
        "Disk quota exceeded",
    ),
];

/// A change of a source while it is copied.
type Change = dyn Fn(&fs::File) -> Outcome;

#[test]
fn a_full_target_is_an_error_and_leaves_no_false_file() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mkfs.ext4")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for index in 0..10 {
        scratch.write(&format!("s/small-{index}"), vec![index; 10_000])?;
    }
    for (name, mib) in [("medium", 3), ("large", 9), ("larger", 20)] {
        scratch.write(&format!("s/{name}"), cycle(mib << 20))?;
    }
    for (name, mount, text) in SMALL {
        if name.starts_with("btrfs") && (!has("mkfs.btrfs")? || !has("btrfs")?) {
            continue;
        }
        for options in ["-r --jobs=1", "-a --jobs=4", "-r --sparse=always"] {
            let done = into_small(&scratch, mount, options)?;
            let context = format!("{name} {options}: {done:?}");
            assert_eq!(done.code(), Some(1), "{context}");
            assert!(done.errors().contains(text), "{context}");
            assert!(!done.text().contains("false"), "{context}");
            // Files that this run created and could not complete are removed.
            assert!(!done.text().contains("short"), "{context}");
            // Several workers may all fail at the moment when a large file's reservation, which fails
            // in the end, has taken what there was.
            let is_alone = options.contains("--jobs=1");
            assert!(!is_alone || done.text().contains("equal"), "{context}");
        }
    }
    Ok(())
}

#[test]
fn a_target_without_inodes_is_an_error() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for index in 0..200 {
        scratch.write(&format!("s/{index}"), index.to_string())?;
    }
    let mount = "mount -t tmpfs -o size=3m,nr_inodes=50 none small";
    for options in ["-r --jobs=1", "-a --jobs=4"] {
        let done = into_small(&scratch, mount, options)?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        let equal = done.text().lines().filter(|line| line.starts_with("equal")).count();
        let told = done.errors().matches("No space left on device").count();
        assert!(equal > 30 && equal + told == 200, "{equal} equal: {done:?}");
    }
    Ok(())
}

/// Runs a copy of a large file, changes the source after its first bytes were read, and returns
/// its messages.
fn changed_meanwhile(
    scratch: &Scratch,
    options: &[&str],
    change: &dyn Fn(&fs::File) -> Outcome,
) -> Outcome<Option<Done>> {
    scratch.write("f", cycle(16 << 20))?;
    scratch.clear("t")?;
    let call = cp(options).words(["f", "t"]).in_dir(scratch.path());
    let name = if options.contains(&"--jobs=1") { "splice" } else { "pread64" };
    // The loader makes a few reads before.
    let occurrence = if name == "splice" { 1 } else { 5 };
    let point = Point { name: name.to_owned(), occurrence };
    stopped_at(&scratch.at("log"), &call, &point, || {
        change(&fs::File::options().write(true).open(scratch.at("f"))?)
    })
}

#[test]
fn a_source_that_changes_while_it_is_copied_is_told() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let grow = |file: &fs::File| Ok(file.write_all_at(b"more", 16 << 20)?);
    let shrink = |file: &fs::File| Ok(file.set_len(1 << 20)?);
    let shrink_a_bit = |file: &fs::File| Ok(file.set_len((16 << 20) - 1)?);
    let empty = |file: &fs::File| Ok(file.set_len(0)?);
    let rewrite = |file: &fs::File| Ok(file.write_all_at(b"other", 15 << 20)?);
    let changes: [(&str, &Change); 5] = [
        ("grow", &grow),
        ("shrink", &shrink),
        ("shrink a bit", &shrink_a_bit),
        ("empty", &empty),
        ("rewrite", &rewrite),
    ];
    for options in [["--jobs=1", "--reflink=never"], ["--jobs=4", "--reflink=never"]] {
        for (name, change) in changes {
            let done = changed_meanwhile(&scratch, &options, change)?;
            let done = done.ok_or_else(|| format!("{name} {options:?} was not stopped"))?;
            assert_eq!(done.code(), Some(1), "{name} {options:?}: {done:?}");
            let told = "cp: 'f' changed while it was copied\n";
            assert_eq!(done.errors(), told, "{name} {options:?}");
            assert!(!scratch.at("t").exists(), "{name} {options:?}: an unfinished copy is left");
        }
    }
    Ok(())
}

/// A file that always grows is copied up to the size that it had.
#[test]
fn a_source_that_grows_for_ever_does_not_keep_the_run() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", vec![b'x'; 8 << 20])?;
    let script = "yes >> f & writer=$!; \"$0\" cp f t; code=$?; kill $writer; exit $code";
    let call = Call::of("bash").words(["-c", script]).word(haul()).in_dir(scratch.path());
    // `run` fails if the command hangs; the disk does not get full in that time.
    let done = call.under(["prlimit", "--fsize=1000000000", "--"]).run()?;
    assert!(matches!(done.code(), Some(0 | 1)), "{done:?}");
    Ok(())
}

/// Several runs into one target: each may fail, none may hang, and no file is a mixture.
#[test]
fn runs_that_race_for_one_target_leave_no_mixture() -> Outcome {
    let scratch = Scratch::new()?;
    for index in 0..300_u32 {
        scratch.write(&format!("s/{}/{index}", index % 7), index.to_string().repeat(50))?;
    }
    for options in [["-r", "--jobs=2"], ["-a", "--remove-destination"], ["-rf", "--jobs=3"]] {
        let start = || cp(options).words(["s/.", "t"]).in_dir(scratch.path()).start();
        fs::create_dir(scratch.at("t"))?;
        let running = [start()?, start()?, start()?];
        for run in running {
            let done = run.wait()?;
            assert!(matches!(done.code(), Some(0 | 1)), "{done:?}");
        }
        for index in 0..300_u32 {
            let path = scratch.at(format!("t/{}/{index}", index % 7));
            // With --remove-destination the last of them may have lost it to another one's turn.
            let Ok(bytes) = fs::read(&path) else { continue };
            let expected = index.to_string().repeat(50).into_bytes();
            let fine = bytes == expected || bytes.is_empty();
            assert!(fine, "{}: {} bytes", path.display(), bytes.len());
        }
        scratch.clear("t")?;
    }
    writeln!(std::io::stdout())?;
    Ok(())
}

#[test]
fn a_write_that_takes_nothing_means_a_full_device_everywhere() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("a", vec![7; 100_000])?;
    let lines: [(&str, &[&str]); 7] = [
        ("pwrite64", &["cp", "--method=read-write", "a", "t"]),
        ("pwrite64", &["cp", "--method=direct", "--cache=direct", "a", "t"]),
        ("pwrite64", &["cp", "--method=mmap-write", "a", "t"]),
        ("write", &["dd", "if=a", "of=t"]),
        ("write", &["dd", "if=a", "of=t", "ibs=100", "obs=1000"]),
        ("write", &["split", "-l", "1", "a", "part-"]),
        ("write", &["read", "--sum=blake3", "a"]),
    ];
    for (name, words) in lines {
        let call = Call::of(haul()).words(words).in_dir(scratch.path());
        // A method is tried again after a flush. Messages are written, too.
        let when = if name == "pwrite64" { "1+" } else { "1" };
        let inject = format!("{name}:retval=0:when={when}");
        let strace = Strace::new(scratch.at("log")).trace(name).inject(&inject);
        let done = strace.wrap(call).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
        assert!(done.errors().contains("No space left on device"), "{words:?}: {}", done.errors());
    }
    Ok(())
}
