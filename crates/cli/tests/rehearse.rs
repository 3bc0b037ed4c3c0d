//! `--dry-run` prints what a copy would do and changes nothing; `--preflight` refuses a copy that cannot
//! succeed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haul_manifest::{Feature, Limits, create_tree, random_tree};

use super::support::judge::snapshot;
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, is_root};

/// Calls that change something.
pub(crate) const WRITING: &str = "mkdir,mkdirat,mknod,mknodat,link,linkat,symlink,symlinkat,unlink,unlinkat,\
    rmdir,rename,renameat,renameat2,truncate,ftruncate,fallocate,chmod,fchmod,fchmodat,chown,fchown,\
    fchownat,lchown,utimensat,setxattr,fsetxattr,lsetxattr,pwrite64,sendfile,copy_file_range";

fn targets(text: &str, event: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.contains(&format!("\"event\":\"{event}\"")));
    lines
        .filter(|line| !line.contains("\"skip"))
        .filter_map(|line| Some(line.split("\"target\":").nth(1)?.to_owned()))
        .map(|rest| rest.split(['}', ',']).next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_rehearsal_names_what_the_copy_makes_and_writes_nothing() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for seed in 7..11 {
        let scratch = Scratch::new()?;
        create_tree(&scratch.at("s"), random_tree(seed, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        // The second round finds the files of the first.
        for round in 0..2 {
            let words = ["-a", "--json", "-T", "s", "t"];
            let before = (snapshot(&scratch.at("s")), snapshot(scratch.path()));
            let call = cp(["--dry-run"]).words(words).in_dir(scratch.path());
            let log = tempfile::NamedTempFile::new()?;
            let strace = Strace::new(log.path()).trace(WRITING);
            let done = strace.wrap(call).succeed()?;
            assert_eq!(strace.lines()?, [], "seed {seed}");
            assert!(before == (snapshot(&scratch.at("s")), snapshot(scratch.path())));
            let told = targets(&done.text(), "would");
            let done = cp(words).in_dir(scratch.path()).succeed()?;
            let made: BTreeSet<String> = targets(&done.text(), "entry").into_iter().collect();
            // Only the rehearsal names a merged directory.
            let missing: Vec<_> = made.difference(&told).collect();
            assert!(missing.is_empty(), "seed {seed}, round {round}: not foreseen {missing:?}");
            if round == 0 {
                assert_eq!(told, made, "seed {seed}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_rehearsal_gives_its_reasons() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["s/new", "s/old", "s/d/x", "t/old", "t/d/y"] {
        scratch.write(name, name)?;
    }
    fs::hard_link(scratch.at("s/new"), scratch.at("s/twin"))?;
    let told = |words: &[&str]| -> Outcome<String> {
        let call = cp(["--dry-run"]).words(words).words(["-T", "s", "t"]);
        Ok(call.in_dir(scratch.path()).succeed()?.text())
    };
    let text = told(&["-a"])?;
    for line in [
        "would merge 's' -> 't' (both are directories)",
        "would overwrite 's/old' -> 't/old' (the target is a file)",
        "would copy 's/d/x' -> 't/d/x' (the target does not exist)",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // Which of two names comes first is for the directory to say, as when it is copied.
    let pair = |one: &str, two: &str| {
        text.contains(&format!("would copy 's/{one}' -> 't/{one}' (the target does not exist)"))
            && text.contains(&format!(
                "would link 's/{two}' -> 't/{two}' (another name of an earlier file)"
            ))
    };
    assert!(pair("new", "twin") || pair("twin", "new"), "{text}");
    assert!(told(&["-an"])?.contains("would skip 's/old' -> 't/old' (the target exists, and"));
    assert!(
        told(&["-ab"])?
            .contains("would copy 's/old' -> 't/old' (the existing file becomes a backup")
    );
    assert!(told(&["-r", "-u"])?.contains("would"));
    assert!(told(&["-a", "--remove-destination"])?.contains("would replace 's/old'"));
    Ok(())
}

#[test]
fn what_would_fail_is_foreseen() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["s/f", "t/f/in-the-way", "a", "b/a"] {
        scratch.write(name, name)?;
    }
    for (words, message) in [
        (vec!["s", "x"], "-r not specified"),
        (vec!["-rT", "s", "t"], "cannot overwrite directory 't/f' with non-directory"),
        (vec!["none", "x"], "cannot stat 'none'"),
        (vec!["a", "b/a", "t"], "will not overwrite just-created 't/a'"),
        (vec!["a", "a"], "are the same file"),
        (vec!["-r", "t", "t/f"], "into itself"),
    ] {
        for mode in ["--dry-run", "--preflight"] {
            let done = cp([mode]).words(&words).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(1), "{mode} {words:?}: {done:?}");
            assert!(done.errors().contains(message), "{mode} {words:?}: {done:?}");
        }
    }
    assert!(!scratch.at("x").exists() && !scratch.at("t/a").exists());
    Ok(())
}

#[test]
fn preflight_refuses_what_does_not_fit_before_the_first_byte() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/large", vec![1; 3 << 20])?;
    for number in 0..40 {
        scratch.write(&format!("s/n{number}"), "")?;
    }
    fs::File::create(scratch.at("sparse"))?.set_len(1 << 30)?;
    fs::create_dir(scratch.at("small"))?;
    // A private mount, which ends with the command.
    let in_small = |options: &str, words: &str| {
        let script = format!(
            "mount -t tmpfs -o {options} none small && {{ \"$0\" cp {words}; code=$?; ls small; \
             exit $code; }}"
        );
        let program = super::support::run::haul();
        let call = Call::of("unshare").words(["-m", "sh", "-c"]).word(script).word(program);
        call.in_dir(scratch.path()).run()
    };
    let done = in_small("size=2m", "-r --preflight s small")?;
    assert_eq!((done.code(), done.text().as_str()), (Some(1), ""), "{done:?}");
    assert!(
        done.errors().contains("not enough space on the file system of 'small': 3"),
        "{done:?}"
    );
    let done = in_small("size=8m,nr_inodes=20", "-r --preflight s small")?;
    assert_eq!((done.code(), done.text().as_str()), (Some(1), ""), "{done:?}");
    assert!(done.errors().contains("not enough inodes"), "{done:?}");
    let done = in_small("size=2m", "-r --dry-run --preflight s small")?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("not enough space"), "{done:?}");
    let done = in_small("size=2m", "--preflight --sparse=never sparse small")?;
    assert_eq!((done.code(), done.text().as_str()), (Some(1), ""), "{done:?}");
    for (options, words) in
        [("size=8m", "-r --preflight s small"), ("size=2m", "--preflight sparse small")]
    {
        let done = in_small(options, words)?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{words}: {done:?}");
        assert_ne!(done.text(), "");
    }
    Ok(())
}

#[test]
fn preflight_finds_what_cannot_be_read() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.write("s/secret", "secret")?;
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777))?;
    fs::set_permissions(scratch.at("s/secret"), fs::Permissions::from_mode(0o600))?;
    let done = cp(["-r", "--preflight", "s", "t"]).in_dir(scratch.path()).by_user().run()?;
    assert_eq!(done.code(), Some(1));
    assert!(done.errors().contains("cannot open 's/secret' for reading"), "{done:?}");
    assert!(!scratch.at("t").exists());
    Ok(())
}

#[test]
fn what_cannot_be_made_is_foreseen() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.write("s", "bytes")?;
    scratch.write("d/f", "bytes")?;
    scratch.write("locked/old", "old")?;
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
    fs::create_dir(scratch.at("mount"))?;
    let foreseen = |words: &[&str], message: &str| -> Outcome {
        let copy = cp(words).in_dir(scratch.path()).by_user().run()?;
        for mode in ["--dry-run", "--preflight"] {
            let done = cp([mode]).words(words).in_dir(scratch.path()).by_user().run()?;
            assert_eq!(done.code(), Some(1), "{mode} {words:?}: {done:?}");
            assert!(done.errors().contains(message), "{mode} {words:?}: {done:?}");
            assert!(copy.errors().contains(message), "{words:?}: {copy:?}");
        }
        Ok(())
    };
    foreseen(&["s", "none/t"], "cannot create regular file 'none/t': No such file or directory")?;
    foreseen(
        &["-r", "d", "none/t"],
        "cannot create directory 'none/t': No such file or directory",
    )?;
    foreseen(&["s", "locked"], "cannot create regular file 'locked/s': Permission denied")?;
    foreseen(&["s", "locked/old"], "cannot create regular file 'locked/old': Permission denied")?;
    foreseen(&["-r", "d", "locked"], "cannot create directory 'locked/d': Permission denied")?;
    // A private mount, which ends with the command.
    let read_only = |mode: &str| {
        let script = format!(
            "mount -t tmpfs -o ro none mount && \"$0\" cp {mode} s mount; code=$?; exit $code"
        );
        let call = Call::of("unshare").words(["-m", "sh", "-c"]).word(script);
        call.word(super::support::run::haul()).in_dir(scratch.path()).run()
    };
    for mode in ["", "--dry-run", "--preflight"] {
        let done = read_only(mode)?;
        assert_eq!(done.code(), Some(1), "{mode}: {done:?}");
        let message = "cannot create regular file 'mount/s': Read-only file system";
        assert!(done.errors().contains(message), "{mode}: {done:?}");
    }
    Ok(())
}

/// Options, each of which changes the result for some entries.
const OPTIONS: [&[&str]; 12] = [
    &["-r"],
    &["-a"],
    &["-rL"],
    &["-rH"],
    &["-rP", "--preserve=links"],
    &["-a", "--update=none"],
    &["-a", "-u"],
    &["-a", "--remove-destination"],
    &["-a", "--backup=numbered"],
    &["-rx"],
    &["-rlP"],
    &["-a", "--attributes-only"],
];

/// Returns what was announced or done: how each entry comes about, its kind and target; and what fails.
fn events(text: &str, event: &str) -> Outcome<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let values = super::support::schema::lines("run", text)?;
    // As GNU's -v, a copy reports an entry before the call that may fail.
    let failed: BTreeSet<String> = values
        .iter()
        .filter(|value| value["event"] == "failure")
        .map(|value| value["target"].to_string())
        .collect();
    for value in &values {
        if value["event"] == "failure" {
            found.insert(format!("{} {} {}", value["what"], value["error"], value["target"]));
        }
        if value["event"] != event || failed.contains(&value["target"].to_string()) {
            continue;
        }
        let told = match (value["action"].as_str(), value["outcome"].as_str()) {
            (Some("link"), _) | (_, Some("linked")) => "linked",
            // The copy says nothing of these, or warns.
            (Some("skip"), _) if is_left_out(value) => continue,
            (Some("skip"), _) | (_, Some("skipped")) => "skipped",
            // A directory that is merged is announced, and nothing is done about it. What makes way is a
            // part of what takes its place.
            (Some("merge"), _) | (_, Some("removed")) => continue,
            _ => "copied",
        };
        found.insert(format!("{told} {} {}", value["kind"], value["target"]));
    }
    Ok(found)
}

fn is_left_out(value: &serde_json::Value) -> bool {
    value["reason"].as_str().is_some_and(|reason| reason.contains("specified before"))
}

#[test]
fn what_is_announced_is_what_is_done() -> Outcome {
    for (number, options) in OPTIONS.iter().enumerate() {
        for seed in [20, 21] {
            let scratch = Scratch::new()?;
            // The first name of a file depends on the order of the walk, and if the first is skipped, so
            // do the names that are reported as linked.
            let keeps =
                options.iter().any(|option| option.contains("-u") || option.contains("-attr"));
            // The rehearsal also does not detect a backup name that is too long for a further name of a file.
            let backs_up = options.iter().any(|option| option.contains("backup"));
            let without = match (keeps, backs_up) {
                (true, _) => vec![Feature::HardLink],
                (_, true) => vec![Feature::OddName],
                (false, false) => Vec::new(),
            };
            let limits = Limits { without, ..Limits::default() };
            create_tree(&scratch.at("s"), random_tree(seed + number as u64, &limits))
                .map_err(|failure| failure.to_string())?;
            // Operands that are links, to one file and to a directory.
            scratch.write("file", "bytes")?;
            for (text, name) in [("file", "one"), ("file", "two"), ("s", "tree")] {
                std::os::unix::fs::symlink(text, scratch.at(name))?;
            }
            fs::create_dir(scratch.at("t"))?;
            for round in 0..2 {
                let words = ["--json", "--jobs=1", "s", "one", "two", "tree", "t"];
                let call = |more: &[&str]| {
                    cp(more).words(*options).words(words).in_dir(scratch.path()).run()
                };
                let told = call(&["--dry-run"])?;
                let done = call(&[])?;
                let context = format!("{options:?} seed {seed} round {round}");
                assert_eq!(told.code(), done.code(), "{context}: {told:?} {done:?}");
                let announced = events(&told.text(), "would")?;
                let made = events(&done.text(), "entry")?;
                let missing: Vec<_> = made.symmetric_difference(&announced).collect();
                assert!(missing.is_empty(), "{context}: {missing:#?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_mount_point_is_announced_as_an_empty_directory() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.at("s/mount"))?;
    let script = "mount -t tmpfs none s/mount && touch s/mount/inside && \"$0\" cp -rx --dry-run s t \
                  && \"$0\" cp -rx s t && ls t/mount";
    let call = Call::of("unshare").words(["-m", "sh", "-c", script]);
    let done = call.word(super::support::run::haul()).in_dir(scratch.path()).succeed()?;
    assert!(done.text().contains("would copy 's/mount' -> 't/mount'"), "{done:?}");
    assert!(!done.text().contains("inside"), "{done:?}");
    Ok(())
}

/// Options that decide what becomes of an entry, for operands that get in each other's way.
const RULES: [&[&str]; 24] = [
    &["-r"],
    &["-a"],
    &["-rH"],
    &["-aH"],
    &["-rL"],
    &["-aL"],
    &["-rx"],
    &["-ax"],
    &["-rxL"],
    &["-rl"],
    &["-rlL"],
    &["-rs"],
    &["-rf"],
    &["-au"],
    &["-ru"],
    &["-an"],
    &["-a", "--update=none-fail"],
    &["-a", "--remove-destination"],
    &["-a", "--backup=simple"],
    &["-r", "--backup=numbered"],
    &["-a", "--attributes-only"],
    &["-a", "--keep-directory-symlink"],
    &["-a", "--atomic"],
    &["-d"],
];

/// Operands that meet: by two spellings, by one name, through links, by further names of one file.
const OPERANDS: [&[&str]; 10] = [
    &["s", "one", "two", "tree", "dangling", "t"],
    &["s", "./s", "s/.", "t"],
    &["file", "./file", "other/file", "s/../file", "t"],
    &["s", "other/s", "t"],
    &["--parents", "s/d/x", "s/d/../y", "s/y", "other/s/d", "t"],
    &["s/y", "s/d/x", "other/y", "s", "t"],
    &["t/one", "t/link", "t/./two", "./t"],
    &["two", "file", "pair/two", "pair/one", "t"],
    &["-T", "s", "s/inside"],
    &["s", "other", "s/d"],
];

/// Mounts file systems inside the tree, announces a copy and makes it, twice, and prints the exit code after the
/// lines of each run. One worker has a fixed order, and by it which name of a file is copied and which is linked.
const MOUNTED: &str = "mount -t tmpfs none s/mount && mkdir s/mount/d && touch -d @9 s/mount/inside && \
    mount --bind s/mount/inside s/covered && for mode in --dry-run '' --dry-run ''; do \
    \"$0\" cp $mode --json --jobs=1 \"$@\"; echo \"= $?\"; done";

/// Builds what the operands name: trees with links, hard links, FIFOs and mount points.
fn scene(scratch: &Scratch, seed: u64) -> Outcome {
    let without = vec![Feature::OddName, Feature::Device, Feature::Capability];
    let limits = Limits { without, ..Limits::default() };
    create_tree(&scratch.at("s"), random_tree(seed, &limits))
        .map_err(|failure| failure.to_string())?;
    let files =
        ["s/d/x", "s/covered", "file", "other/file", "other/s/n", "t/one", "pair/one", "far"];
    for name in files {
        scratch.write(name, name)?;
    }
    // Where one tree has a directory, the other has a file.
    scratch.write("other/s/d/x/deep", "deep")?;
    fs::create_dir_all(scratch.at("s/mount"))?;
    for (from, name) in
        [("s/d/x", "s/y"), ("s/d/x", "other/y"), ("t/one", "t/two"), ("pair/one", "pair/two")]
    {
        fs::hard_link(scratch.at(from), scratch.at(name))?;
    }
    for (text, name) in [
        ("file", "one"),
        ("file", "two"),
        ("s", "tree"),
        ("nowhere", "dangling"),
        ("nowhere", "s/dangling"),
        ("d", "s/to-d"),
        (".", "s/d/itself"),
        ("../far", "t/link"),
        ("nowhere", "t/dangling"),
        ("../far", "t/file"),
    ] {
        std::os::unix::fs::symlink(text, scratch.at(name))?;
    }
    for name in ["s/pipe", "other/s/pipe"] {
        let (mode, path) = (rustix::fs::Mode::from_raw_mode(0o600), scratch.at(name));
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)?;
    }
    Ok(())
}

/// Announces a copy and makes it, and says where the two differ; twice, for the second meets what the
/// first made.
fn announce_and_copy(scratch: &Scratch, words: &[&str]) -> Outcome<Option<String>> {
    let call = Call::of("unshare").words(["-m", "sh", "-c", MOUNTED]);
    let call = call.word(super::support::run::haul()).words(words).in_dir(scratch.path());
    let all = call.run()?;
    let text = all.text();
    let mut runs = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("= ") {
            Some(code) => runs.push((std::mem::take(&mut lines).join("\n"), code)),
            None => lines.push(line),
        }
    }
    assert_eq!(runs.len(), 4, "{words:?}: {all:?}");
    for (round, pair) in runs.as_chunks::<2>().0.iter().enumerate() {
        let [(told, told_code), (done, done_code)] = pair;
        let announced = events(told, "would")?;
        let made = events(done, "entry")?;
        let missing: Vec<_> = made.difference(&announced).collect();
        let idle: Vec<_> = announced.difference(&made).collect();
        if !missing.is_empty() || !idle.is_empty() || told_code != done_code {
            let path = scratch.path().display();
            return Ok(Some(format!(
                "{words:?}, round {round}, {path}: not announced {missing:?}, not done {idle:?}"
            )));
        }
    }
    Ok(None)
}

/// Rehearses and makes every second combination of rules and operands, from this one on.
fn announce_every_second(from: usize) -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let mut wrong = Vec::new();
    for (row, options) in RULES.into_iter().enumerate() {
        for operands in OPERANDS.into_iter().skip((row + from) % 2).step_by(2) {
            let scratch = Scratch::new()?;
            scene(&scratch, 40 + row as u64)?;
            let words: Vec<&str> = [options, operands].concat();
            wrong.extend(announce_and_copy(&scratch, &words)?);
        }
    }
    assert!(wrong.is_empty(), "{} disagree:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn what_operands_that_meet_become_is_announced() -> Outcome {
    announce_every_second(0)
}

#[test]
#[ignore = "the other half takes as long: `cargo xtask test --rest`"]
fn what_the_other_operands_become_is_announced() -> Outcome {
    announce_every_second(1)
}
