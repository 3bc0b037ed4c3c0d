//! `gzip --index`: written by the first run, used by the next ones, refused where it belongs to
//! another file. Points and the index itself are tested in the codec.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries, has, ignored};

const STALE: &str =
    "gzip: i: the index is of another or an older file; remove it, or leave --index away\n";

fn call<'a>(scratch: &Scratch, words: impl IntoIterator<Item = &'a str>) -> Call {
    Call::of(haul()).words(words).in_dir(scratch.path())
}

/// Checks how a call fails.
fn refused(call: &Call, message: &str) -> Outcome<Done> {
    let done = call.run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(1), message));
    assert!(done.stdout.is_empty());
    Ok(done)
}

/// Returns lines of which no two are equal; a few points lie in them.
fn text(seed: u32) -> Vec<u8> {
    let line = |at: u32| format!("{seed} line {} of it {at}\n", at.wrapping_mul(2_654_435_761));
    (0..500_000).flat_map(|at| line(at).into_bytes()).collect()
}

fn names(dir: &Path) -> Outcome<Vec<String>> {
    let mut names: Vec<String> = entries(dir)?
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Makes `a`, and `a.gz`, which another program wrote.
fn foreign(scratch: &Scratch) -> Outcome<Option<Vec<u8>>> {
    if !has("gzip")? {
        ignored("gzip")?;
        return Ok(None);
    }
    let text = text(1);
    scratch.write("a", &text)?;
    Call::of("gzip").words(["-k", "a"]).in_dir(scratch.path()).succeed()?;
    Ok(Some(text))
}

#[test]
fn the_first_run_writes_the_index_and_the_next_ones_use_it() -> Outcome {
    let scratch = Scratch::new()?;
    let Some(text) = foreign(&scratch)? else { return Ok(()) };
    fs::remove_file(scratch.at("a"))?;
    fs::set_permissions(scratch.at("a.gz"), fs::Permissions::from_mode(0o640))?;
    let first = call(&scratch, ["gzip", "-dc", "--index=i", "a.gz"]).succeed()?;
    assert!(first.stdout == text);
    assert_eq!(names(scratch.path())?, ["a.gz", "i"]);
    // It has parts of the data.
    let written = fs::metadata(scratch.at("i"))?;
    assert_eq!(written.permissions().mode() & 0o777, 0o640);
    for words in [
        ["gzip", "-dc", "--jobs=1", "--index=i", "a.gz"],
        ["gzip", "-dc", "--jobs=3", "--index=i", "a.gz"],
        ["zcat", "-q", "--cache=direct", "--index=i", "a.gz"],
    ] {
        assert!(call(&scratch, words).succeed()?.stdout == text, "{words:?}");
    }
    call(&scratch, ["gzip", "-t", "--index=i", "a.gz"]).succeed()?;
    let listed = call(&scratch, ["gzip", "-lv", "--index=i", "a.gz"]).succeed()?.text();
    assert_eq!(listed, call(&scratch, ["gzip", "-lv", "a.gz"]).succeed()?.text());
    assert_eq!(fs::metadata(scratch.at("i"))?.ino(), written.ino());
    call(&scratch, ["gunzip", "--index=i", "a.gz"]).succeed()?;
    assert_eq!(names(scratch.path())?, ["a", "i"]);
    assert!(fs::read(scratch.at("a"))? == text);
    Ok(())
}

#[test]
fn a_list_is_read_from_the_index_and_data_never() -> Outcome {
    let scratch = Scratch::new()?;
    if foreign(&scratch)?.is_none() {
        return Ok(());
    }
    let before = call(&scratch, ["gzip", "-l", "--index=i", "a.gz"]).succeed()?.text();
    assert_eq!(names(scratch.path())?, ["a", "a.gz", "i"]);
    // Of these bytes no sample is taken.
    let mut damaged = fs::read(scratch.at("a.gz"))?;
    damaged[600_000..600_100].fill(0);
    scratch.write("a.gz", damaged)?;
    fs::remove_file(scratch.at("a"))?;
    assert_eq!(call(&scratch, ["gzip", "-l", "--index=i", "a.gz"]).succeed()?.text(), before);
    for words in
        [vec!["gzip", "-dkf", "--index=i", "a.gz"], vec!["gzip", "-t", "--index=i", "a.gz"]]
    {
        let done = call(&scratch, words.clone()).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert!(done.errors().contains("invalid compressed data"), "{}", done.errors());
        assert_eq!(names(scratch.path())?, ["a.gz", "i"]);
    }
    Ok(())
}

#[test]
fn an_index_of_another_file_is_refused() -> Outcome {
    let scratch = Scratch::new()?;
    let Some(_) = foreign(&scratch)? else { return Ok(()) };
    call(&scratch, ["gzip", "-t", "--index=i", "a.gz"]).succeed()?;
    let (index, good) = (fs::read(scratch.at("i"))?, fs::read(scratch.at("a.gz"))?);
    let mut changed = good.clone();
    let at = changed.len() - 1;
    changed[at] ^= 1;
    let longer = [good.as_slice(), b"\0"].concat();
    for other in [changed, longer, good[1..].to_vec()] {
        scratch.write("a.gz", other)?;
        for words in [["gzip", "-dc"], ["gzip", "-t"], ["gzip", "-l"], ["gunzip", "-f"]] {
            refused(&call(&scratch, words).words(["--index=i", "a.gz"]), STALE)?;
        }
    }
    scratch.write("a.gz", &good)?;
    let mut damaged = index.clone();
    damaged[index.len() / 2] ^= 1;
    for (bytes, message) in [
        (damaged.as_slice(), "the index is damaged or incomplete; "),
        (&index[..index.len() - 1], "the index is damaged or incomplete; "),
        (b"my letters", "not an index of a gzip file; "),
        (b"", "not an index of a gzip file; "),
    ] {
        scratch.write("i", bytes)?;
        let message = format!("gzip: i: {message}remove it, or leave --index away\n");
        refused(&call(&scratch, ["gzip", "-dc", "--index=i", "a.gz"]), &message)?;
        assert!(fs::read(scratch.at("i"))? == bytes);
    }
    for (words, message) in [
        (["-dc", "--index=a.gz", "a.gz"], "gzip: a.gz: this is the input itself, not its index\n"),
        (["-dc", "--index=.", "a.gz"], "gzip: .: is not a regular file\n"),
        (["-dc", "--index=none/i", "a.gz"], "gzip: none/i: No such file or directory\n"),
    ] {
        refused(&call(&scratch, ["gzip"]).words(words), message)?;
    }
    let message = "gzip: k: an index is for a regular file that is named, not for a stream\n";
    refused(&call(&scratch, ["gzip", "-dc", "--index=k"]).input(good), message)?;
    Ok(())
}

#[test]
fn broken_data_and_other_formats_get_no_index() -> Outcome {
    let scratch = Scratch::new()?;
    let Some(text) = foreign(&scratch)? else { return Ok(()) };
    let good = fs::read(scratch.at("a.gz"))?;
    fs::remove_file(scratch.at("a"))?;
    let mut wrong_sum = good.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    for bytes in [&good[..good.len() - 3], wrong_sum.as_slice(), b"letters"] {
        scratch.write("a.gz", bytes)?;
        let done = call(&scratch, ["gzip", "-d", "--index=i", "a.gz"]).run()?;
        assert_eq!(done.code(), Some(1), "{}", done.errors());
        assert_eq!(names(scratch.path())?, ["a.gz"]);
    }
    // The data are verified, but what follows them was not read.
    scratch.write("a.gz", [good.as_slice(), &[7; 2_000_000]].concat())?;
    let done = call(&scratch, ["gzip", "-dc", "--index=i", "a.gz"]).run()?;
    assert!(done.code() == Some(1) && done.stdout == text, "{}", done.errors());
    assert_eq!(names(scratch.path())?, ["a.gz"]);
    Ok(())
}

#[test]
fn compressing_writes_an_index_that_replaces_nothing_else() -> Outcome {
    let scratch = Scratch::new()?;
    let text = text(2);
    scratch.write("a", &text)?;
    scratch.write("mine", "letters")?;
    let message = "gzip: mine: not an index of a gzip file; not overwritten\n";
    for force in ["-k", "-f"] {
        refused(&call(&scratch, ["gzip", force, "--index=mine", "a"]), message)?;
    }
    let message = "gzip: a.gz: the output and the index cannot have the same name\n";
    refused(&call(&scratch, ["gzip", "--index=./a.gz", "a"]), message)?;
    assert_eq!(names(scratch.path())?, ["a", "mine"]);

    call(&scratch, ["gzip", "-k", "--index=i", "a"]).succeed()?;
    let plain = call(&scratch, ["gzip", "-c", "a"]).succeed()?.stdout;
    assert!(fs::read(scratch.at("a.gz"))? == plain, "the index changes no byte");
    assert!(call(&scratch, ["zcat", "--index=i", "a.gz"]).succeed()?.stdout == text);
    call(&scratch, ["gzip", "-l", "--index=i", "a.gz"]).succeed()?;

    let message = "gzip: i: the index exists; use -f to replace it\n";
    scratch.write("a", &text[1..])?;
    refused(&call(&scratch, ["gzip", "-k", "--index=i", "a"]), message)?;
    call(&scratch, ["gzip", "-kf", "--index=i", "a"]).succeed()?;
    assert!(call(&scratch, ["zcat", "--index=i", "a.gz"]).succeed()?.stdout == text[1..]);
    // With -f the output would replace the index, and then the index the output.
    let message = "gzip: a.gz: the output and the index cannot have the same name\n";
    fs::rename(scratch.at("i"), scratch.at("a.gz"))?;
    refused(&call(&scratch, ["gzip", "-f", "--index=a.gz", "a"]), message)?;
    assert_eq!(names(scratch.path())?, ["a", "a.gz", "mine"]);

    let streamed = call(&scratch, ["gzip", "--index=j"]).input(text.clone()).succeed()?.stdout;
    scratch.write("b.gz", streamed)?;
    assert!(call(&scratch, ["zcat", "--index=j", "b.gz"]).succeed()?.stdout == text);
    Ok(())
}

/// pigz ends its blocks with flushes, which may leave a block at any bit, and with -i makes them
/// independent of each other.
#[test]
fn files_of_pigz_are_indexed() -> Outcome {
    if !has("pigz")? {
        return ignored("pigz");
    }
    let scratch = Scratch::new()?;
    let text = text(3);
    scratch.write("a", &text)?;
    for (index, words) in
        [["-6", "-p4"], ["-i", "-p4"], ["-R", "-p3"], ["-1", "-b512"], ["-0", "-p4"]]
            .into_iter()
            .enumerate()
    {
        let packed = Call::of("pigz").words(["-c"]).words(words).word("a");
        scratch.write("a.gz", packed.in_dir(scratch.path()).succeed()?.stdout)?;
        let option = format!("--index={index}");
        for run in ["writes", "uses"] {
            let done = call(&scratch, ["gzip", "-dc", "--jobs=2", &option, "a.gz"]).succeed()?;
            assert!(done.stdout == text, "{words:?} {run}");
        }
    }
    Ok(())
}
