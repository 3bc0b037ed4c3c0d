//! Standard output that fails when it is written to, or only when it is closed: every command reports
//! it, and ends with an error. Other files that are written, too.

use std::fs;
use std::path::{Path, PathBuf};

use haul_faultfs::{Config, Mounted};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, shell};
use super::support::strace::{Point, is_usable, stopped_at};
use super::support::{Outcome, entries, ignored};

/// Command lines that write to standard output, the name that their messages begin with, and their
/// exit status when that fails.
const WRITERS: &[(&str, &str, i32)] = &[
    ("haul cat a", "cat", 1),
    ("haul cat -n a", "cat", 1),
    ("haul cat < a", "cat", 1),
    ("haul read a", "haul read", 1),
    ("haul read --sum=md5 a", "haul read", 1),
    ("haul write - < a", "haul write", 1),
    ("haul write --sum=md5 b < a", "haul write", 1),
    ("haul tee < a", "tee", 1),
    ("haul dd status=none < a", "dd", 1),
    ("haul split -n 1/2 a", "split", 1),
    ("haul split --verbose -n 2 a", "split", 1),
    ("haul md5sum a", "md5sum", 1),
    ("haul cksum a", "cksum", 1),
    ("haul b3sum a", "b3sum", 1),
    ("haul xxhsum a", "xxhsum", 1),
    ("haul sum a", "sum", 1),
    ("haul hash a", "haul hash", 1),
    ("haul gzip --help", "gzip", 1),
    ("haul cp -v a b", "cp", 1),
    ("haul cp --json a b", "cp", 1),
    ("haul cp a b; haul mv -v b c", "mv", 1),
    ("haul cp a d; haul rm -v d", "rm", 1),
    ("haul compare a a", "haul compare", 2),
    ("haul md5sum a > MD5; haul verify --ignore-extra --against=MD5 .", "haul verify", 2),
    ("haul clean --help", "haul clean", 1),
    ("haul --help", "haul", 1),
    ("haul --version", "haul", 1),
    ("haul --list-applets", "haul", 1),
    ("haul cp --help", "cp", 1),
    ("haul rm --version", "rm", 1),
    ("haul trace --help", "haul trace", 125),
    ("haul compare --help", "haul compare", 2),
    ("haul verify --version", "haul verify", 2),
];

fn furnish(scratch: &Scratch) -> Outcome {
    scratch.write("a", "some bytes\n".repeat(1000))?;
    Ok(())
}

/// Runs a command line whose last command's standard output is this file.
fn ends(scratch: &Scratch, line: &str, to: &Path) -> Outcome<(Option<i32>, String)> {
    let done = shell(scratch.path(), &format!("{line} > '{}'", to.display()))?;
    Ok((done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned()))
}

#[test]
fn a_full_device_is_told_by_every_command() -> Outcome {
    for (line, program, code) in WRITERS {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        let (status, errors) = ends(&scratch, line, Path::new("/dev/full"))?;
        assert_eq!(status, Some(*code), "{line}: {errors}");
        assert!(errors.starts_with(&format!("{program}: ")), "{line}: {errors}");
        assert!(errors.contains("No space left on device"), "{line}: {errors}");
    }
    Ok(())
}

struct Faulty {
    /// Dropped first, because the folder below it is removed with the scratch folder.
    mounted: Mounted,
    scratch: Scratch,
}

impl Faulty {
    fn new(rule: &str) -> Outcome<Option<Faulty>> {
        if !rustix::process::geteuid().is_root() || !PathBuf::from("/dev/fuse").exists() {
            ignored("root and /dev/fuse")?;
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        fs::create_dir(scratch.at("below"))?;
        fs::create_dir(scratch.at("faulty"))?;
        let rules = vec![rule.parse()?];
        let config = Config { rules, ..Config::default() };
        let mounted = Mounted::new(&scratch.at("below"), &scratch.at("faulty"), &config)?;
        Ok(Some(Faulty { mounted, scratch }))
    }
}

#[test]
fn an_error_that_only_close_tells_is_told_by_every_command() -> Outcome {
    for (errno, text) in [
        ("EIO", "Input/output error"),
        ("ENOSPC", "No space left on device"),
        ("EDQUOT", "Disk quota exceeded"),
    ] {
        let Some(faulty) = Faulty::new(&format!("flush:out={errno}"))? else { return Ok(()) };
        let to = faulty.mounted.path().join("out");
        for (line, program, code) in WRITERS {
            let scratch = Scratch::new()?;
            furnish(&scratch)?;
            let (status, errors) = ends(&scratch, line, &to)?;
            assert_eq!(status, Some(*code), "{line}: {errors}");
            let told = format!("{program}: write error: {text}\n");
            // dd names what it closes, and `write` too.
            let named = [
                format!("{program}: closing output file 'standard output': {text}\n"),
                format!("{program}: -: {text}\n"),
            ];
            let is_told =
                errors.contains(&told) || named.iter().any(|named| errors.contains(named));
            assert!(is_told, "{line}: {errors}");
        }
    }
    Ok(())
}

#[test]
fn other_files_that_are_written_are_closed_as_carefully() -> Outcome {
    let Some(faulty) = Faulty::new("flush=EDQUOT")? else { return Ok(()) };
    let to = faulty.mounted.path().join("out");
    for line in [
        "haul cp --sum-file=OUT a b",
        "haul cp --errors=OUT a c",
        "haul cp a d; haul rm --errors=OUT d",
        "haul trace --json=OUT true",
        "haul trace -o OUT true",
        "haul write OUT < a",
        "haul write --atomic OUT < a",
        "haul write --atomic --fsync OUT < a",
        "haul tee OUT < a > /dev/null",
        "haul dd status=none if=a of=OUT",
        "haul cp a OUT",
    ] {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        let line = line.replace("OUT", &format!("'{}'", to.display()));
        let done = shell(scratch.path(), &line)?;
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        // Without privileges to trace, its message is about that.
        if line.contains("trace") && errors.contains("not permitted") {
            continue;
        }
        assert!(!done.status.success(), "{line}: {errors}");
        assert!(errors.contains("Disk quota exceeded"), "{line}: {errors}");
        if line.contains("atomic") {
            // It was not published, and no file remains.
            assert!(entries(faulty.mounted.path())?.is_empty(), "{line}");
        }
        fs::remove_file(&to).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(())
}

#[test]
fn archives_are_closed_as_carefully() -> Outcome {
    let Some(faulty) = Faulty::new("flush=EDQUOT")? else { return Ok(()) };
    for packing in ["", "-z", "-J", "--zstd", "--zstd --frame=0", "-I gzip", "--lzma"] {
        for more in ["", "--buffer=4M", "--atomic", "--cache=drop"] {
            if more.contains("buffer") && packing.starts_with("-I") {
                continue;
            }
            let scratch = Scratch::new()?;
            furnish(&scratch)?;
            let to = faulty.mounted.path().join("out");
            for line in [
                format!("haul tar {packing} {more} -cf '{}' a", to.display()),
                format!("haul tar {packing} {more} -c a > '{}'", to.display()),
            ] {
                if more == "--atomic" && line.contains('>') {
                    continue;
                }
                let done = shell(scratch.path(), &line)?;
                let errors = String::from_utf8_lossy(&done.stderr).into_owned();
                assert_eq!(done.status.code(), Some(2), "{line}: {errors}");
                assert!(errors.contains("Disk quota exceeded"), "{line}: {errors}");
            }
        }
    }
    Ok(())
}

/// A file whose last bytes may be lost must not look complete.
#[test]
fn an_extracted_file_that_could_not_be_closed_is_removed() -> Outcome {
    let Some(faulty) = Faulty::new("flush=EDQUOT")? else { return Ok(()) };
    let to = faulty.mounted.path();
    for line in [
        "haul tar -C TO -xf t",
        "haul tar -C TO -xz < t.gz",
        "haul tar --jobs=1 -C TO -xf t",
        "haul tar --overwrite -C TO -xf t",
        "haul tar --atomic -C TO -xf t",
        "haul tar --durable -C TO -xf t",
        "haul tar --cache=drop -C TO -xf t",
    ] {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        let pack = "head -c 9000000 /dev/zero > b; haul tar -cf t a b; haul tar -czf t.gz a b";
        demand(scratch.path(), pack)?;
        let done = shell(scratch.path(), &line.replace("TO", &to.display().to_string()))?;
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{line}: {errors}");
        assert!(errors.contains("Disk quota exceeded"), "{line}: {errors}");
        assert!(entries(to)?.is_empty(), "{line}: {errors}");
    }
    Ok(())
}

/// What another process has renamed to the name of such a file meanwhile is not removed for it.
#[test]
fn a_file_that_has_taken_the_name_of_one_that_could_not_be_closed_stays() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let mut taken = 0;
    for line in ["cp -p a TO/out", "tar -C TO -xf t"] {
        for name in ["openat", "write", "pwrite64", "copy_file_range", "fchmod", "utimensat"] {
            for occurrence in 1..3 {
                let Some(faulty) = Faulty::new("flush=EDQUOT")? else { return Ok(()) };
                let (scratch, to) = (&faulty.scratch, faulty.mounted.path());
                furnish(scratch)?;
                demand(scratch.path(), "cp a out; haul tar -cf t out; echo theirs > below/theirs")?;
                let words = line.replace("TO", &to.display().to_string());
                let call = Call::of(haul()).words(words.split(' ')).in_dir(scratch.path());
                let point = Point { name: name.to_owned(), occurrence };
                let mut is_taken = false;
                let done = stopped_at(&scratch.at("log"), &call, &point, || {
                    is_taken = scratch.at("below/out").exists();
                    if is_taken {
                        fs::rename(to.join("theirs"), to.join("out"))?;
                    }
                    Ok(())
                })?;
                let Some(done) = done.filter(|_| is_taken) else { continue };
                taken += 1;
                let context = format!("{line}, {point:?}: {done:?}");
                assert!(matches!(done.code(), Some(1 | 2)), "{context}");
                assert_eq!(
                    fs::read_to_string(to.join("out")).ok().as_deref(),
                    Some("theirs\n"),
                    "{context}"
                );
            }
        }
    }
    assert!(taken > 2, "{taken}");
    Ok(())
}

#[test]
fn standard_error_that_cannot_be_closed_is_an_error_too() -> Outcome {
    let Some(faulty) = Faulty::new("flush:out=EIO")? else { return Ok(()) };
    furnish(&faulty.scratch)?;
    let to = faulty.mounted.path().join("out");
    let line = format!("haul cat a 2> '{}'", to.display());
    assert_eq!(shell(faulty.scratch.path(), &line)?.status.code(), Some(1));
    // The bytes written there may arrive nevertheless.
    let told = fs::read_to_string(faulty.scratch.at("below/out"))?;
    assert_eq!(told, "cat: error writing standard error: Input/output error\n");
    Ok(())
}

#[test]
fn a_closed_output_is_an_error_only_where_something_was_to_be_written() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    demand(scratch.path(), "haul cp a b >&-")?;
    demand(scratch.path(), "haul cp a b 2>&-")?;
    let done = shell(scratch.path(), "haul cp -v a b >&-")?;
    assert_eq!(done.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(errors, "cp: write error: Bad file descriptor\n");
    Call::of(haul()).words(["cp", "a", "c"]).in_dir(scratch.path()).succeed()?;
    Ok(())
}
