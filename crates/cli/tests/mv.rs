//! `haul mv`: results, messages, and numbers of calls.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use haul_manifest::{Aspect, Aspects, parse_recipe};

use super::support::judge::{compared, demand_equal, shown};
use super::support::run::{Call, USER, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::volume::pairs;
use super::support::{Outcome, gnu, hidden, ignored, is_root};

/// Starts the command line of `haul mv`.
pub(crate) fn mv<'w>(words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word("mv").words(words)
}

/// Two folders on two file systems, each with a counterpart on the other.
pub(crate) struct Two {
    pub(crate) here: Scratch,
    pub(crate) there: Scratch,
}

impl Two {
    /// Makes folders beside the build and in memory; `None`, and the test ignored, if that is one
    /// file system.
    pub(crate) fn new() -> Outcome<Option<Two>> {
        let here = Scratch::new()?;
        let memory = Path::new("/dev/shm");
        if !memory.is_dir() || memory.metadata()?.dev() == here.path().metadata()?.dev() {
            ignored("a second file system on /dev/shm")?;
            return Ok(None);
        }
        Ok(Some(Two { here, there: Scratch::below(memory)? }))
    }

    /// The same; `None` also if calls cannot be traced.
    pub(crate) fn traced() -> Outcome<Option<Two>> {
        let two = Two::new()?;
        Ok(if two.is_some() && is_usable()? { two } else { None })
    }

    /// Returns the path of an entry on the other side, as a word.
    pub(crate) fn far(&self, name: &str) -> String {
        self.there.at(name).display().to_string()
    }
}

/// Lists haul's hidden names in a folder.
pub(crate) fn hidden_names(dir: &Path) -> Outcome<Vec<String>> {
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(hidden(dir)?.into_iter().map(name).collect())
}

fn generate(root: &Path, recipe: &str) -> Outcome {
    parse_recipe(recipe)?.generate(root).map_err(|failure| failure.to_string())?;
    Ok(())
}

#[test]
fn everything_crosses_file_systems_with_everything_kept() -> Outcome {
    for (from, to) in pairs()? {
        for jobs in ["--jobs=1", "--jobs=4"] {
            let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
            generate(&here.at("t"), "random:entries=300")?;
            generate(&here.at("t/n"), "nested:files=1000,dirs=20,size=300")?;
            // Only what GNU's cp can preserve there: ext4 has no times before 1901, for example.
            let kept = there.at("kept");
            Call::of("cp").words(["-a", "t"]).word(&kept).in_dir(here.path()).succeed()?;
            let target = there.path().display().to_string();
            mv([jobs, "t", &target]).in_dir(here.path()).succeed()?;
            let context = format!("{} to {}", from.name, to.name);
            assert!(!here.at("t").exists(), "{context}");
            let aspects = Aspects::preserved().without(Aspect::Blocks);
            demand_equal(&kept, &there.at("t"), aspects, &context);
            assert_eq!(hidden_names(there.path())?, [""; 0], "{context}");
        }
    }
    Ok(())
}

#[test]
fn links_between_operands_are_kept_across_file_systems() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("a/1", "one")?;
    here.write("b/other", "2")?;
    fs::hard_link(here.at("a/1"), here.at("b/1"))?;
    fs::hard_link(here.at("a/1"), here.at("single"))?;
    mv(["a", "b", "single", &two.far("")]).in_dir(here.path()).succeed()?;
    let inode = |name| there.at(name).metadata().map(|told| (told.ino(), told.nlink()));
    assert_eq!(inode("a/1")?, inode("b/1")?);
    assert_eq!(inode("a/1")?, inode("single")?);
    assert_eq!(inode("single")?.1, 3);
    Ok(())
}

#[test]
fn links_are_kept_also_where_a_batch_is_cut() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("first", "one")?;
    fs::hard_link(here.at("first"), here.at("last"))?;
    fs::create_dir(here.at("d"))?;
    fs::hard_link(here.at("first"), here.at("d/inside"))?;
    // A gigabyte of holes ends a batch.
    fs::File::create(here.at("huge"))?.set_len(1 << 30)?;
    here.write("small", "small")?;
    let call = mv(["first", "huge", "d", "small", "last", &two.far("")]).in_dir(here.path());
    if is_usable()? {
        let strace = Strace::new(here.at("log")).trace("syncfs");
        strace.wrap(call).succeed()?;
        // One for the files of each batch, and one for the directory of the last.
        assert_eq!(strace.lines()?.len(), 3, "the batch was not cut");
    } else {
        call.succeed()?;
    }
    let told = |name| there.at(name).metadata().map(|told| (told.ino(), told.nlink()));
    assert_eq!(told("first")?.1, 3);
    assert_eq!((told("first")?, told("first")?), (told("last")?, told("d/inside")?));
    for name in ["first", "last", "d", "huge", "small"] {
        assert!(!here.at(name).exists(), "{name}");
    }
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    Ok(())
}

#[test]
fn links_are_kept_among_many_files() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let numbers = 0..200;
    for number in numbers.clone() {
        here.write(&format!("a{number}"), number.to_string())?;
        fs::hard_link(here.at(format!("a{number}")), here.at(format!("b{number}")))?;
    }
    let names = ["a", "b"]
        .into_iter()
        .flat_map(|letter| numbers.clone().map(move |number| format!("{letter}{number}")));
    let call = mv(["--jobs=2"]).words(names).word(there.path()).in_dir(here.path());
    // Only directories take descriptors while they wait.
    call.under(["bash", "-c", "ulimit -n 64; exec \"$@\"", "bash"]).succeed()?;
    for number in numbers {
        let twins = ["a", "b"].map(|letter| there.at(format!("{letter}{number}")));
        let [one, two] = [twins[0].metadata()?, twins[1].metadata()?];
        assert_eq!((one.ino(), one.nlink()), (two.ino(), 2), "{number}");
        assert_eq!(fs::read(&twins[0])?, number.to_string().as_bytes());
    }
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    Ok(())
}

#[test]
fn links_are_kept_between_batches() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    // An operand within another, and one whose name was given before, each end a batch.
    here.write("w/d", "bytes")?;
    here.write("w/sub/other", "other")?;
    for name in ["w/c", "w/sub/e", "x"] {
        fs::hard_link(here.at("w/d"), here.at(name))?;
    }
    fs::hard_link(here.at("w/sub/other"), here.at("w/another"))?;
    let times = |path: &Path| path.metadata().map(|told| (told.mtime(), told.mtime_nsec()));
    let expected = times(&here.at("w/sub"))?;
    mv(["--jobs=1", "w/c", "w/another", "w", "x", &two.far("")]).in_dir(here.path()).succeed()?;
    let told = |name| there.at(name).metadata().map(|told| (told.ino(), told.nlink()));
    assert_eq!(told("c")?.1, 4);
    for name in ["w/d", "w/sub/e", "x"] {
        assert_eq!(told(name)?, told("c")?, "{name}");
        assert_eq!(fs::read(there.at(name))?, b"bytes");
    }
    assert_eq!((told("another")?.1, told("another")?), (2, told("w/sub/other")?));
    assert_eq!(times(&there.at("w/sub"))?, expected);
    assert!(!here.at("w").exists() && !here.at("x").exists());
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    assert_eq!(hidden_names(&there.at("w"))?, [""; 0]);
    Ok(())
}

#[test]
fn hard_links_of_other_kinds_stay_links_across_batches() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    demand(
        here.path(),
        "mkdir -p s/d; mkfifo s/p; ln s/p s/d/q; ln -s x s/l; ln s/l s/d/ll; >'s/a~'; >s/a",
    )?;
    // The backup of the target of the second file would replace the first one, so it ends a batch.
    there.write("a", "old")?;
    let words = ["-b", "-t", &two.far(""), "s/a~", "s/d", "s/a", "s/p", "s/l"];
    mv(words).in_dir(here.path()).run()?;
    for (one, other) in [("p", "d/q"), ("l", "d/ll")] {
        let ino = |name: &str| Ok::<_, std::io::Error>(there.at(name).symlink_metadata()?.ino());
        assert_eq!(ino(one)?, ino(other)?, "{one}");
        assert!(here.at("s").join(one).symlink_metadata().is_err(), "{one}");
    }
    Ok(())
}

#[test]
fn a_file_that_changes_between_batches_has_a_copy_of_its_own() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("w/d", "old bytes")?;
    fs::hard_link(here.at("w/d"), here.at("w/c"))?;
    let call = mv(["--jobs=1", "w/c", "w", &two.far("")]).in_dir(here.path());
    // The first removal is that of the name in the first batch.
    let point = Point { name: "unlinkat".to_owned(), occurrence: 1 };
    let done = stopped_at(&here.at("log"), &call, &point, || {
        fs::write(here.at("w/d"), "new bytes")?;
        Ok(())
    })?;
    let Some(done) = done else { return Err("no removal".into()) };
    assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
    assert_eq!(fs::read(there.at("c"))?, b"old bytes");
    assert_eq!(fs::read(there.at("w/d"))?, b"new bytes");
    assert!(!here.at("w").exists());
    Ok(())
}

#[test]
fn a_directory_that_may_not_be_read_may_be_moved_into() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    if !is_root()? {
        return Ok(());
    }
    let here = Scratch::public()?;
    here.write("d/file", "file")?;
    here.write("file", "file")?;
    fs::create_dir(two.there.at("box"))?;
    for path in [here.path(), &here.at("d"), &here.at("d/file"), &here.at("file")] {
        std::os::unix::fs::chown(path, Some(USER), Some(USER))?;
    }
    std::os::unix::fs::chown(two.there.at("box"), Some(USER), Some(USER))?;
    fs::set_permissions(two.there.at("box"), fs::Permissions::from_mode(0o300))?;
    mv(["d", "file", &two.far("box")]).in_dir(here.path()).by_user().succeed()?;
    assert!(!here.at("d").exists() && !here.at("file").exists());
    assert_eq!(fs::read(two.there.at("box/d/file"))?, b"file");
    assert_eq!(fs::read(two.there.at("box/file"))?, b"file");
    assert_eq!(hidden_names(&two.there.at("box"))?, [""; 0]);
    Ok(())
}

#[test]
fn what_cannot_be_copied_stays_and_leaves_nothing_behind() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    if !is_usable()? {
        return Ok(());
    }
    let (here, there) = (&two.here, &two.there);
    here.write("good", "good")?;
    here.write("d/one", "one")?;
    here.write("d/two", vec![7; 100_000])?;
    there.write("good", "old")?;
    let strace = Strace::new(here.at("log")).trace("sendfile").inject("sendfile:error=EIO:when=2+");
    let call = mv(["--jobs=1", "good", "d", &two.far("")]).in_dir(here.path());
    let done = strace.wrap(call).run()?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert!(done.errors().contains(&two.far("d/")), "{}", done.errors());
    assert_eq!(fs::read(here.at("d/one"))?, b"one");
    assert_eq!(fs::read(here.at("d/two"))?.len(), 100_000);
    assert_eq!(fs::read(there.at("good"))?, b"good", "the other operand is moved");
    assert!(!here.at("good").exists() && !there.at("d").exists());
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    Ok(())
}

/// Returns whether a line of a trace is the rename of a source that is looked at for the last time.
fn is_last_look(line: &str) -> bool {
    line.starts_with("renameat2") && line.contains("\".haul-") && !line.contains("\".haul-mv-")
}

#[test]
fn sources_go_after_targets_are_stable() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    if !is_usable()? {
        return Ok(());
    }
    for n in 0..40 {
        two.here.write(&format!("d/{n}"), "x")?;
        two.here.write(&format!("f{n}"), "y")?;
    }
    let strace =
        Strace::new(two.here.at("log")).trace("syncfs,fsync,renameat2,unlinkat,unlink,rmdir");
    let files: Vec<String> = (0..40).map(|n| format!("f{n}")).collect();
    let call = mv(["d"]).words(&files).word(two.there.path()).in_dir(two.here.path());
    strace.wrap(call).succeed()?;
    let calls: Vec<String> = strace
        .lines()?
        .into_iter()
        .filter(|line| !line.text.contains("EXDEV") && !is_last_look(&line.text))
        .map(|line| line.name)
        .collect();
    let mut order: Vec<&str> = calls.iter().map(String::as_str).collect();
    order.dedup();
    // All files, then the directory with its attributes; each flush shows that the file system still writes.
    let flush = ["syncfs", "fsync"];
    let expected = [&flush[..], &flush, &["renameat2", "fsync", "unlinkat"]].concat();
    assert_eq!(order, expected, "one wait serves all files");
    Ok(())
}

#[test]
fn a_wait_that_fails_keeps_every_source() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    if !is_usable()? {
        return Ok(());
    }
    for call in ["syncfs", "fsync"] {
        two.here.write("d/one", "one")?;
        two.here.write("f", "f")?;
        let strace =
            Strace::new(two.here.at("log")).trace(call).inject(&format!("{call}:error=EIO"));
        let done = strace.wrap(mv(["d", "f", &two.far("")]).in_dir(two.here.path())).run()?;
        assert_eq!(done.code(), Some(1));
        assert!(done.errors().contains("error syncing"), "{}", done.errors());
        assert_eq!(fs::read(two.here.at("d/one"))?, b"one");
        assert_eq!(fs::read(two.here.at("f"))?, b"f");
        assert_eq!(hidden_names(two.there.path())?, [""; 0]);
        two.there.clear("d")?;
        two.there.clear("f")?;
    }
    Ok(())
}

/// Makes a folder for command lines that rename.
fn furnish(dir: &Path) -> Outcome {
    for name in ["a", "b", "d/x", "e/x", "full/x", "x~", "x"] {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().ok_or("no parent")?)?;
        fs::write(path, name)?;
    }
    fs::create_dir(dir.join("empty"))?;
    fs::hard_link(dir.join("a"), dir.join("twin"))?;
    symlink("a", dir.join("to-a"))?;
    symlink("a", dir.join("to-a-too"))?;
    symlink("d", dir.join("to-d"))?;
    symlink("nowhere", dir.join("dangling"))?;
    Ok(())
}

/// Command lines without white space in their words; `''` is an empty word.
const LINES: &[&str] = &[
    "a new",
    "a b",
    "a a",
    "a ./a",
    "a twin",
    "twin a",
    "a d",
    "a d/",
    "a new/",
    "a nodir/x",
    "d e",
    "d empty",
    "-T d empty",
    "-T d full",
    "d new",
    "d d",
    "d d/sub",
    "d e e",
    "d d e",
    "a b d",
    "d/x e/x full",
    "-b d/x e/x full",
    "--backup=numbered d/x e/x full",
    "a a d",
    "-b a b",
    "-b x~ x",
    "--backup=simple x~ x",
    "--backup=t x~ x",
    "-b a a",
    "-b a twin",
    "-S .old a b",
    "-b a empty",
    "-bT a empty",
    "-bT d empty",
    "-bT d a",
    "-T d a",
    "-T a d",
    "-n a b",
    "-n a new",
    "--update=none a b",
    "--update=none-fail a b",
    "-u a b",
    "-u --update=none-fail a new",
    "-nb a b",
    "--exchange -b a b",
    "--exchange a b",
    "--exchange -T a d",
    "--exchange a a",
    "-v a new",
    "-v a b",
    "-vb a b",
    "-v --exchange a b",
    "-v d new",
    "-v a b e",
    "--debug -n a b",
    "--no-copy a b",
    "to-a a",
    "to-a twin",
    "to-a to-a-too",
    "a to-a",
    "d to-d",
    "-T d to-d",
    "a to-d",
    "a dangling",
    "dangling a",
    "dangling new",
    "a/ new",
    "to-d/ new",
    "a/. new",
    ". new",
    "d/. new",
    "d/.. new",
    "-t d a b",
    "-t a b",
    "-t nodir a",
    "-t d -T a",
    "-t d -t e a",
    "-T a b d",
    "a b nodir",
    "a b x",
    "-T a",
    "a",
    "",
    "nofile new",
    "nofile b",
    "-i a b",
    "-f -i a b",
    "-i -f a b",
    "-i -n a b",
    "-n -i a b",
    "--bogus a b",
    "--no-c a b",
    "--backup=weird a b",
    "--update=weird a b",
    "-Z a new",
    "--context a new",
    "-- a new",
    "'' a",
];

#[test]
fn renames_have_gnus_results_and_messages() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    let Some(program) = gnu.sibling("mv")?.filter(|_| gnu.is_reference) else { return Ok(()) };
    let scratch = Scratch::new()?;
    let mut wrong = Vec::new();
    for &line in LINES {
        let words: Vec<&str> =
            line.split_whitespace().map(|w| if w == "''" { "" } else { w }).collect();
        for side in ["h", "g"] {
            scratch.clear(side)?;
            fs::create_dir(scratch.at(side))?;
            furnish(&scratch.at(side))?;
        }
        let ours = mv(words.iter().copied()).in_dir(scratch.at("h")).run()?;
        let theirs = Call::of("bash")
            .words(["-c", "exec -a mv \"$0\" \"$@\""])
            .word(&program)
            .words(&words)
            .in_dir(scratch.at("g"))
            .run()?;
        let aspects = Aspects::preserved().without(Aspect::Mtime);
        let trees = compared(&scratch.at("g"), &scratch.at("h"), aspects);
        if !trees.is_equal() {
            wrong.push(format!("mv {line}: {}", shown(&trees)));
        }
        let told = |done: &super::support::run::Done| {
            (done.code(), done.text(), gnu::as_program(&done.errors(), "mv"))
        };
        if told(&ours) != told(&theirs) {
            wrong.push(format!("mv {line}:\n  H {:?}\n  G {:?}", told(&ours), told(&theirs)));
        }
    }
    assert!(wrong.is_empty(), "H is haul, G is GNU:\n{}", wrong.join("\n"));
    Ok(())
}
