//! Runs of `tar` as a whole: files that appear complete, what a run tells programs and people, what it
//! leaves in the page cache, and `--verify`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use haul_manifest::{Aspects, wait_until};
use haul_sys::memory::cachestat;
use serde_json::Value;

use super::support::judge::demand_equal;
use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::shell::cycle;
use super::support::strace::{Strace, is_usable};
use super::support::tar::ours;
use super::support::volume::{volumes, with_a_device};
use super::support::{Outcome, hidden, ignored, schema};

pub(crate) const MIB: usize = 1 << 20;

/// Sizes around those at which files go other ways: from memory, by offset, piece by piece.
const SIZES: [usize; 8] = [0, 1, 511, 32 << 10, (32 << 10) + 1, 256 << 10, MIB + 1, 3 * MIB + 4095];

pub(crate) fn content(size: usize) -> Vec<u8> {
    cycle(size)
}

pub(crate) fn tree(scratch: &Scratch) -> Outcome {
    for size in SIZES {
        scratch.write(&format!("s/d/{size}"), content(size))?;
    }
    let holes = fs::File::create(scratch.at("s/holes"))?;
    std::os::unix::fs::FileExt::write_all_at(&holes, &content(100_000), 1 << 20)?;
    holes.set_len(5 << 20)?;
    std::os::unix::fs::symlink("d/1", scratch.at("s/link"))?;
    fs::hard_link(scratch.at("s/d/511"), scratch.at("s/twin"))?;
    fs::create_dir(scratch.at("s/empty"))?;
    Ok(())
}

pub(crate) fn run(scratch: &Scratch, words: &[&str]) -> Outcome<Done> {
    ours().words(words).in_dir(scratch.path()).run()
}

/// Runs and demands that nothing is wrong.
pub(crate) fn demand(scratch: &Scratch, words: &[&str]) -> Outcome<Done> {
    let done = run(scratch, words)?;
    assert_eq!(done.code(), Some(0), "{words:?}: {}", done.errors());
    Ok(done)
}

#[test]
fn complete_files_replace_others_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        tree(&scratch)?;
        demand(&scratch, &["-Scf", "a.tar", "-C", "s", "."])?;
        demand(&scratch, &["-Scf", "a.tgz", "-z", "-C", "s", "."])?;
        for archive in ["a.tar", "a.tgz"] {
            for option in ["--atomic", "--durable"] {
                let what = format!("{option} {archive} {}", volume.name);
                fs::create_dir(scratch.at("t"))?;
                // What is there: a longer file, an empty directory and a link in the place of files.
                scratch.write("t/d/1", content(5000))?;
                fs::create_dir(scratch.at("t/d/511"))?;
                std::os::unix::fs::symlink("../../outside", scratch.at("t/d/32768"))?;
                scratch.write("outside", "stays")?;
                let old = fs::metadata(scratch.at("t/d/1"))?.ino();
                let kept = fs::File::open(scratch.at("t/d/1"))?;
                let done = demand(&scratch, &["-xpf", archive, option, "-C", "t"])?;
                assert_eq!(done.errors(), "", "{what}");
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), &what);
                assert_ne!(fs::metadata(scratch.at("t/d/1"))?.ino(), old, "{what}");
                assert_eq!(kept.metadata()?.size(), 5000, "{what}: the old file was written into");
                assert_eq!(fs::read(scratch.at("outside"))?, b"stays", "{what}");
                assert!(hidden(&scratch.at("t"))?.is_empty(), "{what}");
                // Over itself.
                demand(&scratch, &["-xpf", archive, option, "-C", "t"])?;
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), &what);
                scratch.clear("t")?;
            }
        }
    }
    Ok(())
}

#[test]
fn files_that_are_kept_are_kept_by_complete_ones_too() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["-cf", "a.tar", "-C", "s", "d"])?;
    for (option, status) in [("--skip-old-files", 0), ("-k", 2), ("--keep-newer-files", 0)] {
        fs::create_dir(scratch.at("t"))?;
        scratch.write("t/d/1", "mine")?;
        let done = run(&scratch, &["-xf", "a.tar", "--atomic", option, "-C", "t"])?;
        assert_eq!(done.code(), Some(status), "{option}: {}", done.errors());
        assert_eq!(fs::read(scratch.at("t/d/1"))?, b"mine", "{option}");
        assert_eq!(fs::read(scratch.at("t/d/511"))?, content(511), "{option}");
        assert!(hidden(&scratch.at("t/d"))?.is_empty(), "{option}");
        scratch.clear("t")?;
    }
    Ok(())
}

/// Every file is on storage before it has its name, and every name at the end.
#[test]
fn durable_files_are_on_storage_before_their_names() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["-cf", "a.tar", "-C", "s", "."])?;
    fs::create_dir(scratch.at("t"))?;
    let strace = Strace::new(scratch.at("log")).trace("fsync,linkat,renameat2,openat,openat2");
    let words = ["--durable", "--jobs=1", "-xf", "a.tar", "-C", "t"];
    strace.wrap(ours().words(words).in_dir(scratch.path())).succeed()?;
    let lines = strace.lines()?;
    let mut synced: Vec<String> = Vec::new();
    let mut named = 0;
    for line in &lines {
        let (_, rest) = line.text.split_once('(').unwrap_or_default();
        let descriptor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if line.name == "fsync" {
            synced.push(descriptor);
        } else if line.name == "linkat" && line.text.contains("AT_EMPTY_PATH") {
            assert!(synced.contains(&descriptor), "{}", line.text);
            named += 1;
        }
    }
    if named == 0 {
        return ignored("files without names, or linkat(2) of a descriptor");
    }
    assert_eq!(named, SIZES.len() + 1);
    // The directories: t, t/d, and those above new ones.
    let last = lines.iter().rposition(|line| line.name == "linkat").unwrap_or_default();
    let after = lines.iter().skip(last).filter(|line| line.name == "fsync").count();
    assert!(after >= 2, "{after} directories were synchronised");
    Ok(())
}

pub(crate) fn lines(done: &Done) -> Outcome<Vec<Value>> {
    schema::lines("tar", &done.text())
}

fn count(lines: &[Value], event: &str) -> usize {
    lines.iter().filter(|line| line["event"] == event).count()
}

#[test]
fn programs_are_told_of_every_member_and_every_failure() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    // s, d, empty; files, holes; link; twin.
    let members = 3 + SIZES.len() + 1 + 1 + 1;
    let files = SIZES.len() + 1;
    let created = run(&scratch, &["-cf", "a.tar", "--json", "--errors=e", "s", "absent"])?;
    assert_eq!(created.code(), Some(2));
    let told = lines(&created)?;
    assert_eq!((count(&told, "member"), count(&told, "failure")), (members, 1), "{told:?}");
    let failure = told.iter().find(|line| line["event"] == "failure").ok_or("no failure")?;
    assert_eq!((&failure["path"], &failure["errno"]), (&"absent".into(), &2.into()), "{failure}");
    let list = schema::lines("errors", &fs::read_to_string(scratch.at("e"))?)?;
    assert_eq!(count(&list, "failure"), 1, "{list:?}");
    fs::create_dir(scratch.at("t"))?;
    for (words, what) in [
        ("-tf a.tar --json", "listed"),
        ("-xf a.tar --json -C t", "extracted"),
        ("-df a.tar --json", "compared"),
        ("-tvf a.tar --json", "listed"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let told = lines(&demand(&scratch, &words)?)?;
        assert_eq!(count(&told, "member"), members, "{words:?}");
        let summary = told.last().ok_or("no summary")?;
        assert_eq!(summary["what"], what, "{words:?}");
        assert_eq!(summary["files"], files, "{words:?}: {summary}");
        assert_eq!(summary["hard_links"], 1, "{words:?}: {summary}");
        let size = fs::metadata(scratch.at("a.tar"))?.len();
        let read = summary["archive_bytes"].as_u64().unwrap_or_default();
        assert!(read <= size && read + 20 * 512 >= size, "{words:?}: {read} of {size}");
    }
    scratch.write("s/d/1", "x")?;
    let compared = run(&scratch, &["-df", "a.tar", "--json"])?;
    assert_eq!(compared.code(), Some(1));
    assert!(count(&lines(&compared)?, "difference") >= 1, "{}", compared.text());
    // A run that cannot begin.
    let damaged = run(&scratch, &["-tzf", "a.tar", "--json"])?;
    let told = lines(&damaged)?;
    assert_eq!((count(&told, "failure"), count(&told, "summary")), (1, 1), "{told:?}");
    Ok(())
}

#[test]
fn people_and_monitors_are_told_what_was_done() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = ["-cf", "a.tar", "--stats", "--metrics=m", "--job=night", "s"];
    let done = demand(&scratch, &words)?;
    let said = done.errors();
    let files = SIZES.len() + 1;
    assert!(said.contains(&format!("members: {files} files, 3 directories")), "{said}");
    assert!(said.contains("waited:"), "{said}");
    let metrics = fs::read_to_string(scratch.at("m"))?;
    let line = format!(
        "haul_run_entries{{command=\"tar\",haul_job=\"night\",action=\"archived\",kind=\"file\"}} {files}"
    );
    assert!(metrics.contains(&line), "{metrics}");
    // Lines where there is no terminal; the last one comes however short the run was.
    fs::create_dir(scratch.at("t"))?;
    let done = demand(&scratch, &["-xf", "a.tar", "--progress=always", "-C", "t"])?;
    assert!(done.errors().contains(" of "), "{}", done.errors());
    let quiet = demand(&scratch, &["-xf", "a.tar", "-C", "t"])?;
    assert_eq!(quiet.errors(), "");
    Ok(())
}

/// Returns how many pages of all files below a name are cached.
fn cached_at_once(path: &Path) -> Outcome<u64> {
    let mut pages = 0;
    for path in files(path)? {
        pages += cachestat(fs::File::open(path)?, 0, 0)?.cached;
    }
    Ok(pages)
}

/// The same, once those under writeback are written; `None` if the kernel does not tell.
fn cached_at_last(path: &Path) -> Outcome<Option<u64>> {
    if cached_at_once(path).is_err() {
        return Ok(None);
    }
    wait_until("its pages are dropped", || {
        cached_at_once(path).is_ok_and(|pages| pages <= LEFT_PAGES)
    });
    Ok(Some(cached_at_once(path)?))
}

/// Pages of a run that may stay cached: a few that the kernel (a flusher, readahead) holds at that moment.
const LEFT_PAGES: u64 = 32;

fn files(path: &Path) -> Outcome<Vec<std::path::PathBuf>> {
    let found = fs::symlink_metadata(path)?;
    if found.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut all = Vec::new();
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            all.extend(files(&entry?.path())?);
        }
    }
    Ok(all)
}

/// Writes everything to storage and drops what is cached.
fn cool(path: &Path) -> Outcome {
    for path in files(path)? {
        let file = fs::File::open(path)?;
        file.sync_all()?;
        haul_sys::data::fadvise(&file, 0, 0, haul_sys::data::Advice::DontNeed)?;
    }
    Ok(())
}

#[test]
fn extraction_leaves_nothing_in_the_page_cache_if_asked() -> Outcome {
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        tree(&scratch)?;
        demand(&scratch, &["-cf", "a.tar", "-C", "s", "."])?;
        demand(&scratch, &["-cf", "a.tgz", "-z", "-C", "s", "."])?;
        for archive in ["a.tar", "a.tgz"] {
            for (cache, atomic) in
                [("drop", "-p"), ("direct", "-p"), ("drop", "--atomic"), ("drop", "--durable")]
            {
                cool(&scratch.at(archive))?;
                fs::create_dir(scratch.at("t"))?;
                let option = format!("--cache={cache}");
                let what = format!("{option} {atomic} {archive} {}", volume.name);
                demand(&scratch, &["-xf", archive, "--reflink=never", &option, atomic, "-C", "t"])?;
                let Some(left) = cached_at_last(&scratch.at("t"))? else {
                    return ignored("cachestat");
                };
                assert!(left <= LEFT_PAGES, "{what}: {left} pages of the files");
                let left = cached_at_last(&scratch.at(archive))?.unwrap_or_default();
                assert!(left <= LEFT_PAGES, "{what}: {left} pages of the archive");
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), &what);
                scratch.clear("t")?;
            }
        }
    }
    Ok(())
}

#[test]
fn creation_leaves_nothing_in_the_page_cache_if_asked() -> Outcome {
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        tree(&scratch)?;
        for words in ["-cf a", "-czf a", "-c --zstd -f a", "-Scf a", "-cf a --atomic"] {
            for cache in ["drop", "direct", "restore"] {
                let what = format!("{words} {cache} {}", volume.name);
                cool(&scratch.at("s"))?;
                let option = format!("--cache={cache}");
                let words: Vec<&str> = words.split(' ').chain([&option[..], "s"]).collect();
                demand(&scratch, &words)?;
                let Some(left) = cached_at_last(&scratch.at("s"))? else {
                    return ignored("cachestat");
                };
                assert!(left <= LEFT_PAGES, "{what}: {left} pages of the files");
                let left = cached_at_last(&scratch.at("a"))?.unwrap_or_default();
                assert!(left <= LEFT_PAGES, "{what}: {left} pages of the archive");
                demand(&scratch, &["-df", "a"])?;
            }
        }
        // What was there stays.
        for path in files(&scratch.at("s"))? {
            fs::read(path)?;
        }
        let before = cached_at_once(&scratch.at("s"))?;
        demand(&scratch, &["-cf", "a", "--cache=restore", "s"])?;
        let after = cached_at_once(&scratch.at("s"))?;
        assert!(after + LEFT_PAGES >= before, "{}: {after} of {before}", volume.name);
    }
    Ok(())
}

#[test]
fn what_was_written_is_compared_with_what_was_read() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let inside = scratch.at("s");
    let place = inside.to_str().ok_or("a name that is no text")?;
    for words in [
        &["-cf", "a.tar", "-W", "s"][..],
        &["-cf", "a.tar", "--verify", "-S", "--zstd", "s"],
        &["-cf", "a.tar", "--verify", "--atomic", "-z", "-C", "s", ".", "-C", "../s", "d", "."],
        &["-cf", "a.tar", "--verify", "--owner=x", "--mode=a+w", "--mtime=@1", "s", "s/d", "s"],
        &["-cf", "a.tar", "--verify", place],
        &["-cPf", "a.tar", "--verify", place],
        &["-chf", "a.tar", "--verify", "./s/", "s/../s"],
    ] {
        demand(&scratch, words)?;
    }
    demand(&scratch, &["-cf", "a.tar", "s", "s"])?;
    for words in [
        &["-xf", "a.tar", "--verify"][..],
        &["-xf", "a.tar", "--verify", "--strip-components=1"],
        &["-xf", "a.tar", "--verify", "--wildcards", "*/d/1*"],
        &["-xf", "a.tar", "--verify", "--one-top-level=top", "--durable"],
        &["-xf", "a.tar", "--verify", "--transform=s/d/e/", "--cache=drop"],
    ] {
        fs::create_dir(scratch.at("t"))?;
        demand(&scratch, &[&["-C", "t"], words].concat())?;
        scratch.clear("t")?;
    }
    Ok(())
}

/// Alters the first bytes of a write on their way to the kernel.
fn corrupted(scratch: &Scratch, words: &[&str], which: &str) -> Outcome<Done> {
    // strace counts the calls of each thread.
    let call = ours().word("--jobs=1").words(words).in_dir(scratch.path());
    let poke = format!("pwrite64:poke_enter=@arg2=ffeeddcc:when={which}");
    let strace = Strace::new(scratch.at("log")).trace("pwrite64").inject(&poke);
    let done = strace.wrap(call).run()?;
    assert!(strace.text()?.contains("INJECTED"), "{}", strace.text()?);
    Ok(done)
}

#[test]
fn a_false_byte_is_found() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/a", content(100))?;
    scratch.write("s/b", content(20_000))?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    for archive in ["a.tar", "a.tgz"] {
        demand(&scratch, &["-caf", archive, "s"])?;
        fs::create_dir(scratch.at("t"))?;
        // Without it the error would stay undetected.
        let unseen = corrupted(&scratch, &["-xf", archive, "-C", "t"], "2")?;
        assert_eq!(unseen.code(), Some(0), "{unseen:?}");
        let found = corrupted(&scratch, &["-xf", archive, "--verify", "-C", "t"], "2")?;
        assert_eq!(found.code(), Some(2), "{found:?}");
        assert!(found.errors().contains("verification failed: Contents differ"), "{found:?}");
        scratch.clear("t")?;
    }
    // The archive is written at once; its first bytes are the name of the first member.
    scratch.write("old.tar", "old")?;
    let words = ["-cf", "old.tar", "--verify", "--atomic", "--remove-files", "s"];
    let found = corrupted(&scratch, &words, "1")?;
    assert_eq!(found.code(), Some(2), "{found:?}");
    assert_eq!(fs::read(scratch.at("old.tar"))?, b"old");
    assert_eq!(fs::read(scratch.at("s/b"))?, content(20_000), "a file was removed");
    Ok(())
}

/// A file changes between the moment at which it is archived and that at which it is compared.
#[test]
fn a_file_that_changed_is_found() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", content(100))?;
    scratch.write("s/b", content(300_000))?;
    let action = "--checkpoint-action=exec=printf changed > s/a";
    let words = [
        "-cf",
        "a.tar",
        "--verify",
        "--remove-files",
        "--sort=name",
        "--checkpoint=20",
        action,
        "s",
    ];
    let done = run(&scratch, &words)?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("s/a: verification failed: Size differs"), "{}", done.errors());
    assert!(done.errors().contains("no file is removed"), "{}", done.errors());
    assert!(scratch.at("s/b").exists());
    Ok(())
}

#[test]
fn an_extraction_goes_on_where_it_was_interrupted() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["--posix", "-cf", "a.tar", "-C", "s", "d", "empty", "link"])?;
    demand(&scratch, &["--posix", "-czf", "a.tgz", "-C", "s", "d", "empty", "link"])?;
    for (archive, again) in [("a.tar", 0), ("a.tgz", 2)] {
        for option in ["-p", "--atomic", "--durable"] {
            let what = format!("{archive} {option}");
            fs::create_dir(scratch.at("t"))?;
            let words = ["-xpf", archive, "--resume", option, "--json", "-C", "t"];
            let kept = |done: &Done| -> Outcome<u64> {
                let told = lines(done)?;
                Ok(told.last().and_then(|line| line["kept"].as_u64()).ok_or("no summary")?)
            };
            assert_eq!(kept(&demand(&scratch, &words)?)?, 0, "{what}");
            // Files of a stream that do not fit into memory are made again.
            let all = SIZES.len() as u64 - again;
            assert_eq!(kept(&demand(&scratch, &words)?)?, all, "{what}");
            demand_equal(&scratch.at("s/d"), &scratch.at("t/d"), Aspects::preserved(), &what);
            // Without its time, without a byte, with another byte and all attributes, with another mode.
            let times = fs::FileTimes::new()
                .set_modified(fs::metadata(scratch.at("s/d/32769"))?.modified()?);
            fs::File::open(scratch.at("t/d/1"))?.set_modified(std::time::SystemTime::now())?;
            fs::OpenOptions::new().write(true).open(scratch.at("t/d/511"))?.set_len(510)?;
            let file = fs::OpenOptions::new().write(true).open(scratch.at("t/d/32769"))?;
            std::os::unix::fs::FileExt::write_all_at(&file, b"X", 32_768)?;
            file.set_times(times)?;
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(scratch.at("t/d/32768"), mode)?;
            fs::remove_file(scratch.at("t/d/0"))?;
            assert_eq!(kept(&demand(&scratch, &words)?)?, all - 5, "{what}");
            demand_equal(&scratch.at("s/d"), &scratch.at("t/d"), Aspects::preserved(), &what);
            scratch.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn a_rehearsal_tells_what_would_be_done_and_does_nothing() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["--sort=name", "-cf", "a.tar", "s"])?;
    fs::create_dir(scratch.at("t"))?;
    scratch.write("t/s/d/1", "mine")?;
    scratch.write("t/s/empty", "a file")?;
    scratch.write("t/s/link/full", "in a directory in the place of a link")?;
    let before = super::support::judge::snapshot(&scratch.at("t"));
    let done = run(&scratch, &["-xf", "a.tar", "-C", "t", "--dry-run"])?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    let text = done.text();
    for line in [
        "would keep directory s",
        "would replace s/d/1",
        "would replace s/empty",
        "would make s/d/511",
        "would make s/twin",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(done.errors().contains("s/link: would fail: File exists"), "{}", done.errors());
    let kept = demand(&scratch, &["-xf", "a.tar", "-C", "t", "--dry-run", "--skip-old-files"])?;
    assert!(kept.text().contains("would keep s/d/1\n"), "{}", kept.text());
    let told = run(&scratch, &["-xf", "a.tar", "-C", "t", "--dry-run", "--json"])?;
    assert_eq!(count(&lines(&told)?, "would"), 3 + SIZES.len() + 2, "{}", told.text());
    assert!(super::support::judge::snapshot(&scratch.at("t")) == before, "something changed");
    // Creation: the names and the size, and no byte of a file is read.
    let names = demand(&scratch, &["-tf", "a.tar"])?.text();
    let size = fs::metadata(scratch.at("a.tar"))?.len();
    let dry = demand(&scratch, &["-c", "--sort=name", "--dry-run", "--totals", "s"])?;
    assert!(dry.text().starts_with(&names), "{}", dry.text());
    assert!(dry.errors().contains(&format!("Total bytes written: {size}")), "{}", dry.errors());
    demand(&scratch, &["-cf", "new.tar", "--dry-run", "s"])?;
    assert!(!scratch.at("new.tar").exists());
    let null = demand(&scratch, &["-cf", "/dev/null", "--totals", "s"])?;
    assert!(null.errors().contains(&format!("Total bytes written: {size}")), "{}", null.errors());
    let json = demand(&scratch, &["-c", "--dry-run", "--json", "s"])?;
    let last = lines(&json)?.pop().ok_or("no summary")?;
    let told = last["archive_bytes"].as_u64().unwrap_or_default();
    assert!(told <= size && told + 20 * 512 >= size, "{last}");
    if is_usable()? {
        let large = scratch.at("s/d/1048577");
        let large = large.to_str().ok_or("a name that is no text")?;
        let strace = Strace::new(scratch.at("log")).trace("pread64,copy_file_range,sendfile");
        let strace = strace.of_file(large);
        strace.wrap(ours().words(["-cf", "/dev/null", "s"]).in_dir(scratch.path())).succeed()?;
        assert_eq!(strace.text()?.lines().count(), 0, "{}", strace.text()?);
    }
    Ok(())
}

/// What makes no sense is refused with a sentence, before anything is written.
#[test]
fn options_that_contradict_each_other_are_refused() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("d", "d")?;
    for (words, text) in [
        ("-xf a --atomic --overwrite", "--atomic replaces files"),
        ("-xf a --durable -U", "--unlink-first"),
        ("-xOf a --atomic", "-O makes none"),
        ("-xOf a --json", "standard output"),
        ("-cf - --json d", "standard output"),
        ("-tf a --verify", "'--verify' cannot be used with '-t'"),
        ("-df a -W d", "'--verify' cannot be used with '-d'"),
        ("-cf - -W d", "--verify needs the name of an archive"),
        ("-xf - --verify", "--verify needs the name of an archive"),
        ("-xf a --verify -O", "--verify cannot read again what -O writes"),
        ("-xf a --verify --skip-old-files", "--verify would find"),
        ("-xf a --verify --keep-directory-symlink", "--verify would find"),
        ("-cf a --verify --transform=s/a/b/ d", "--transform"),
        ("-tf a --dry-run", "--dry-run is for -c and -x"),
        ("-cf a --dry-run --remove-files d", "--remove-files cannot be combined"),
        ("-xf a --dry-run -O", "-O makes nothing"),
        ("-cf a --resume d", "--resume is for -x"),
        ("-xmf a --resume", "-m does not restore"),
        ("-xkf a --resume", "--resume replaces files"),
        ("-cf a --job=x d", "--job is a label of --metrics"),
        ("-cf a --errors=a d", "--errors and -f name the same file"),
        ("-cf a --cache=maybe d", "--cache"),
        ("-cf a --progress=maybe d", "--progress"),
    ] {
        let done = run(&scratch, &words.split(' ').collect::<Vec<_>>())?;
        assert_eq!(done.code(), Some(2), "{words}");
        assert!(done.errors().contains(text), "{words}: {}", done.errors());
        assert_eq!(fs::read_dir(scratch.path())?.count(), 1, "{words}");
    }
    Ok(())
}

#[test]
fn an_archive_that_is_no_file_cannot_be_read_again() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    Call::of("mkfifo").word(scratch.at("p")).succeed()?;
    fs::create_dir(scratch.at("t"))?;
    let shell = "cat a.tar > p & exec \"$0\" tar -xf p --verify -C t";
    let call = Call::of("sh").words(["-c", shell]).word(super::support::run::haul());
    let done = call.in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("Cannot verify"), "{}", done.errors());
    Ok(())
}
