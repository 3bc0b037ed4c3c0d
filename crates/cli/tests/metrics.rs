//! `--metrics FILE`: a text that Prometheus reads, for every run, whatever became of it.

use std::collections::{BTreeMap, BTreeSet};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::shell;
use super::support::{Outcome, hidden};

/// The samples of a file: name and labels as they are written, and the value.
type Samples = BTreeMap<String, f64>;

fn call(words: &[&str], scratch: &Scratch) -> Call {
    Call::of(haul()).words(words).in_dir(scratch.path())
}

/// Reads the labels of a sample, `a="b",c="d"}`, and returns what follows.
fn labels(mut text: &str) -> Outcome<&str> {
    let mut names = BTreeSet::new();
    while !text.starts_with('}') {
        let (name, rest) = text.split_once("=\"").ok_or_else(|| format!("no label: {text}"))?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        assert!(!name.is_empty() && name.chars().all(is_name), "{name}");
        assert!(names.insert(name), "{name} twice");
        let mut letters = rest.char_indices();
        let end = loop {
            match letters.next().ok_or("a value without an end")? {
                (_, '\\') => {
                    let escaped = letters.next().ok_or("nothing behind a backslash")?.1;
                    assert!(['\\', '"', 'n'].contains(&escaped), "{escaped}");
                }
                (at, '"') => break at,
                (_, letter) => assert_ne!(letter, '\n'),
            }
        };
        text = rest.get(end + 1..).unwrap_or("");
        text = text.strip_prefix(',').unwrap_or(text);
    }
    Ok(text.get(1..).unwrap_or(""))
}

/// Reads a file as the rules of the format are: each metric is explained once, before its samples,
/// which are together; no sample is there twice; the text ends with a line's end.
fn samples(text: &str) -> Outcome<Samples> {
    assert!(text.ends_with('\n'), "{text}");
    let mut samples = Samples::new();
    let (mut done, mut helped, mut current) = (BTreeSet::new(), String::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            helped = help.split(' ').next().unwrap_or_default().to_owned();
            assert!(done.insert(helped.clone()), "{helped} is explained twice");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            assert_eq!(kind, format!("{helped} gauge"));
            current.clone_from(&helped);
        } else {
            let (name, rest) = line.split_once('{').ok_or_else(|| format!("no sample: {line}"))?;
            assert_eq!(name, current, "a sample of another metric");
            let value = labels(rest)?.trim_start().parse()?;
            let key = line.rsplit_once(' ').map_or(line, |(key, _)| key);
            assert!(samples.insert(key.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    Ok(samples)
}

fn read(scratch: &Scratch, name: &str) -> Outcome<Samples> {
    samples(&std::fs::read_to_string(scratch.at(name))?)
}

/// Returns the value of the sample of this metric with all of these labels.
fn value(samples: &Samples, name: &str, with: &[&str]) -> Outcome<f64> {
    let mut found = samples.iter().filter(|(key, _)| {
        key.starts_with(&format!("{name}{{")) && with.iter().all(|label| key.contains(label))
    });
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Ok(*value),
        other => Err(format!("{name} {with:?}: {other:?} of {samples:#?}").into()),
    }
}

#[test]
fn copies_moves_and_removals_are_counted() -> Outcome {
    let scratch = Scratch::new()?;
    std::fs::create_dir(scratch.at("s"))?;
    scratch.write("s/a", vec![1; 5000])?;
    scratch.write("s/b", vec![1; 3000])?;
    call(&["cp", "-a", "--metrics=m.prom", "--job=a \"b\"\\c\nd", "s", "t"], &scratch).succeed()?;
    let copied = read(&scratch, "m.prom")?;
    let job = "haul_job=\"a \\\"b\\\"\\\\c\\nd\"";
    assert_eq!(value(&copied, "haul_run_success", &["command=\"cp\"", job])?, 1.0);
    assert_eq!(value(&copied, "haul_run_bytes", &[job])?, 8000.0);
    let kind = |kind: &'static str| ["action=\"copied\"", kind, job];
    assert_eq!(value(&copied, "haul_run_entries", &kind("kind=\"file\""))?, 2.0);
    assert_eq!(value(&copied, "haul_run_entries", &kind("kind=\"directory\""))?, 1.0);
    assert!(value(&copied, "haul_run_end_timestamp_seconds", &[])? > 1.6e9);
    for side in ["side=\"source\"", "side=\"target\""] {
        assert!(value(&copied, "haul_run_cache_bytes", &[side, "moment=\"after\""])? >= 0.0);
    }
    call(&["mv", "--metrics=m.prom", "t", "u"], &scratch).succeed()?;
    let moved = read(&scratch, "m.prom")?;
    assert_eq!(value(&moved, "haul_run_entries", &["action=\"renamed\"", "command=\"mv\""])?, 1.0);
    call(&["rm", "-r", "--metrics=m.prom", "u"], &scratch).succeed()?;
    let removed = read(&scratch, "m.prom")?;
    let files = ["action=\"removed\"", "kind=\"file\"", "command=\"rm\""];
    assert_eq!(value(&removed, "haul_run_entries", &files)?, 2.0);
    assert_eq!(hidden(scratch.path())?, Vec::<std::path::PathBuf>::new());
    Ok(())
}

#[test]
fn streams_count_bytes_and_waits() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", vec![1; 70_000])?;
    let done = call(&["read", "--metrics=r", "--stats", "s"], &scratch).run()?;
    assert_eq!((done.code(), done.text().len()), (Some(0), 70_000));
    let stats = done.errors();
    assert!(stats.starts_with("bytes:   68.4 KiB in ") && stats.contains("\nwaited:  "), "{stats}");
    let read_samples = read(&scratch, "r")?;
    assert_eq!(value(&read_samples, "haul_run_bytes", &["command=\"haul read\""])?, 70_000.0);
    for side in ["side=\"source\"", "side=\"target\""] {
        assert!(value(&read_samples, "haul_run_wait_seconds", &[side])? >= 0.0);
    }
    let done =
        call(&["write", "--metrics=w", "--stats", "t"], &scratch).input(vec![2; 70_000]).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.errors().contains("waited:  "), "{done:?}");
    assert_eq!(value(&read(&scratch, "w")?, "haul_run_bytes", &[])?, 70_000.0);
    Ok(())
}

#[test]
fn compressed_files_are_counted() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["a", "b", "c.gz"] {
        scratch.write(name, vec![1; 5000])?;
    }
    let files = |scratch: &Scratch, action: &str| -> Outcome<(f64, f64, (f64, f64))> {
        let samples = read(scratch, "m")?;
        let label = format!("action=\"{action}\"");
        let count = |name, with: &[&str]| value(&samples, name, with);
        Ok((
            count("haul_run_entries", &[&label, "kind=\"file\"", "command=\"gzip\""])?,
            count("haul_run_bytes", &[])?,
            (count("haul_run_failures", &[])?, count("haul_run_warnings", &[])?),
        ))
    };
    std::fs::create_dir(scratch.at("d"))?;
    let done = call(&["gzip", "--metrics=m", "--job=n", "a", "b", "d"], &scratch).run()?;
    assert_eq!(done.code(), Some(2), "d is a directory: {done:?}");
    assert_eq!(files(&scratch, "compressed")?, (2.0, 10_000.0, (0.0, 1.0)));
    let done = call(&["gzip", "-t", "--metrics=m", "a.gz", "b.gz", "c.gz"], &scratch).run()?;
    assert_eq!(done.code(), Some(1), "c.gz is not compressed: {done:?}");
    let (tested, _, troubles) = files(&scratch, "tested")?;
    assert_eq!((tested, troubles), (2.0, (1.0, 0.0)));
    call(&["gunzip", "--metrics=m", "a.gz"], &scratch).succeed()?;
    assert_eq!(files(&scratch, "decompressed")?.0, 1.0);
    let done = call(&["gzip", "--job=n", "a"], &scratch).run()?;
    assert_eq!(done.code(), Some(1));
    assert!(scratch.at("a").exists() && done.errors().contains("--job"), "{done:?}");
    Ok(())
}

#[test]
fn a_run_that_fails_or_cannot_begin_is_no_success() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", *b"x")?;
    for (words, code) in [
        (&["cp", "--metrics=m", "s", "absent", "."][..], 1),
        (&["cp", "--metrics=m", "s"], 1),
        (&["cp", "--metrics=m", "-t", "s", "s"], 1),
        (&["mv", "--metrics=m", "absent", "t"], 1),
        (&["rm", "--metrics=m", "absent"], 1),
        (&["rm", "--metrics=m"], 1),
        (&["read", "--metrics=m", "absent"], 1),
        (&["write", "--metrics=m", "absent/t"], 1),
        (&["gzip", "--metrics=m", "absent"], 1),
        (&["gunzip", "--metrics=m", "-c", "s"], 1),
    ] {
        scratch.clear("m")?;
        let done = call(words, &scratch).run()?;
        assert_eq!(done.code(), Some(code), "{words:?} {done:?}");
        let samples = read(&scratch, "m").map_err(|error| format!("{words:?}: {error}"))?;
        assert_eq!(value(&samples, "haul_run_success", &[])?, 0.0, "{words:?}");
        assert!(value(&samples, "haul_run_failures", &[])? >= 1.0, "{words:?}");
    }
    Ok(())
}

#[test]
fn no_other_file_is_overwritten_or_removed() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", *b"precious")?;
    std::fs::create_dir(scratch.at("d"))?;
    for (words, message) in [
        (
            &["cp", "--metrics=s", "s", "t"][..],
            "cp: will not overwrite 's': it is not a file of haul's metrics\n",
        ),
        (
            &["cp", "--metrics=d", "s", "t"],
            "cp: cannot write the metrics 'd': it is no regular file\n",
        ),
        (
            &["rm", "-r", "--metrics=d/m", "d"],
            "rm: --metrics d/m: it would be removed with 'd'; put it elsewhere\n",
        ),
        (
            &["read", "--metrics=absent/m", "s"],
            "haul read: cannot write the metrics 'absent/m': No such file or directory\n",
        ),
    ] {
        let done = call(words, &scratch).run()?;
        assert_eq!(done.code(), Some(1), "{words:?} {done:?}");
        let message = message.replace("--metrics d/m", "--metrics 'd/m'");
        assert_eq!(done.errors(), message, "{words:?}");
        assert!(!scratch.at("t").exists() && scratch.at("d").exists());
    }
    assert_eq!(std::fs::read(scratch.at("s"))?, b"precious");
    for (words, message) in [
        (&["cp", "--job=x", "s", "t"][..], "--job is a label of --metrics, which is not given"),
        (
            &["cp", "--dry-run", "--metrics=m", "s", "t"],
            "--metrics cannot be combined with --dry-run",
        ),
        (&["rm", "--dry-run", "--metrics=m", "s"], "--metrics cannot be combined with --dry-run"),
        (&["read", "--metrics=-", "s"], "option '--metrics' does not take '-'"),
    ] {
        let done = call(words, &scratch).run()?;
        assert!(done.code() == Some(1) && done.errors().contains(message), "{words:?} {done:?}");
    }
    Ok(())
}

#[test]
fn what_the_run_itself_has_made_is_not_overwritten() -> Outcome {
    for (line, file) in [
        ("haul mv --metrics=d/f s/f d/f", "d/f"),
        ("haul mv --metrics=d/f -t d s/f", "d/f"),
        ("haul write --metrics=o o < s/f", "o"),
        ("haul write --atomic --metrics=o o < s/f", "o"),
        ("haul read --metrics=o s/f > o", "o"),
    ] {
        let scratch = Scratch::new()?;
        scratch.write("s/f", "precious")?;
        std::fs::create_dir(scratch.at("d"))?;
        let done = shell(scratch.path(), line)?;
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && said.contains("not a file of haul's metrics"), "{said}");
        assert_eq!(std::fs::read(scratch.at(file))?, b"precious", "{line}");
    }
    Ok(())
}
