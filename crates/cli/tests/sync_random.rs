//! Random trees, random earlier states of the target, random options: `haul sync` ends as rsync does.
//!
//! Both programs run on copies of the same two trees. The exit status, the trees afterwards and the lines of `-i`
//! have to be equal, in any order. `HAUL_SYNC_CASES` is the number of cases, and `HAUL_SYNC_SEED` the first seed.
//! These are the differences that are intended, or of rsync's own making:
//!
//! | difference | in this test |
//! | --- | --- |
//! | If attributes alone differ, haul copies a file whole whose target has other names, which keep theirs; rsync changes all of them (`>f` for `.f`) | the first character of such a line is not compared; the other names are in the source too, or extraneous and removed; `-H` is not drawn if times of directories are not kept |
//! | rsync chooses by an order of its own which name of a file is copied, and which ones are linked (`hf`) | with `-H`, lines about those names are not compared; the trees are |
//! | haul compares fractions of seconds where the target has one | all times are whole seconds |
//! | rsync's `-n` names directories that it then keeps, because they hold excluded names | haul's rehearsal is compared with haul's run |
//! | rsync's `--delete-before` changes the times of directories before it compares them | not drawn; see `sync_delete` |
//! | With `-u`, `--existing` or `--ignore-existing`, rsync fails below a file that has the name of a directory | with these, entries keep their kinds; see `sync_lines` |
//! | Of names of one source file, one may be the same by size and time in the target and another not; which one counts is each program's choice | with `-H`, edited files have other times; `--size-only` and `--modify-window` are not drawn |
//! | With a rule that leaves out directories, rsync empties a directory of that name where the source has a file; haul keeps it | with such a rule, entries keep their kinds |
//! | With `-H`, `-b` and `--compare-dest` change what the first of several names is | not drawn together |
//! | With `-b` and a file in the place of a directory, rsync fails for what is in it | with `-b`, entries keep their kinds |
//! | At a name that is too long with the suffix of a backup, rsync 3.5.0 ends with 11; haul keeps the file, and goes on | such a case is not compared |
//! | With `-O`, rsync compares the times of directories in other ones; without `-t`, it lists those of copies (`T`); without `-p`, a file takes the mode of a link in its place | with these, `--link-dest` and its siblings are not drawn |
//! | With `-H` and `-J`, the time of a link depends on which name is copied | not drawn together |
//! | With `-H` and without `-l` or `-D`, rsync 3.5.0 may end with 2 at names of links that it skips | not drawn together |
//! | With `-H` and a rule that leaves out one name of a file, rsync changes it through the others | not drawn together |
//! | Without `-p` or `-o`, a replaced file has a mode and an owner by rules of each program | without them, modes and owners are plain |
//! | A directory that differs by less than `--modify-window` gets its source's time, if anything in it changes; rsync gives it its own one | with this option, times of directories are not compared |
//! | Messages (`created directory`, `skipping non-regular file`, `cannot delete non-empty directory`) | not compared |

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::Path;

use haul_manifest::{
    Feature, Item, ItemKind, Limits, Numbers, create_tree, noise, random_tree, remove_tree,
};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, mknodat, utimensat};

use super::support::described::{described, differences, walk};
use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, if_there};
use super::sync_lines::{itemized, sync};

/// Number of cases, unless the environment names another one.
const CASES: u64 = 40;

/// Failures after which the others are not tried.
const FAILURES_MAX: usize = 3;

/// The time of what is edited, years before the runs.
const EDITED_S: i64 = 1_450_000_000;

/// Options about directories beside the trees, and about names beside the entries.
const BESIDE: [&str; 5] =
    ["--link-dest=../o", "--copy-dest=../o", "--compare-dest=../o", "-b", "--backup-dir=../bak"];

/// Options about owners and modes.
const GIVEN: [&str; 7] = [
    "--no-o",
    "--no-g",
    "--chown=3:4",
    "--usermap=0-5:7,*:9",
    "--groupmap=4:0",
    "--chmod=F640,D750",
    "--chmod=u+rwX,go-w",
];

/// A command line, and what the trees may have for it.
#[derive(Debug)]
struct Plan {
    options: Vec<&'static str>,
    operands: [&'static str; 2],
    /// The directory that becomes like the source.
    root: &'static str,
    /// Path of that directory in the lines of a run.
    prefix: &'static str,
    jobs: &'static str,
}

impl Plan {
    fn draw(numbers: &mut Numbers) -> Plan {
        const KINDS: [&str; 8] = ["-a", "-a", "-a", "-a", "-rlt", "-rlptD", "-rt", "-rlpgoD"];
        let mut options = vec![*numbers.pick(&KINDS)];
        let mut perhaps =
            |percent: u64, choices: &[&'static str], options: &mut Vec<&'static str>| {
                if numbers.chance(percent) {
                    options.push(*numbers.pick(choices));
                }
            };
        let deletes = ["--delete", "--delete-during", "--delete-after", "--delete-delay"];
        perhaps(40, &["-c", "--size-only", "-I", "--modify-window=2"], &mut options);
        perhaps(65, &deletes, &mut options);
        perhaps(20, &["--force"], &mut options);
        perhaps(10, &["-O"], &mut options);
        perhaps(10, &["-J"], &mut options);
        perhaps(25, &["-S", "-W", "-z", "--numeric-ids", "--no-inc-recursive"], &mut options);
        // A file that is copied whole changes the time of its directory.
        let keeps_times = options[0] != "-rlpgoD" && !options.contains(&"-O");
        let is_vague =
            |option: &&str| matches!(*option, "-J" | "--size-only" | "--modify-window=2");
        let copies_all = matches!(options[0], "-a" | "-rlptD");
        let may_link = keeps_times && copies_all && !options.iter().any(is_vague);
        perhaps(if may_link { 35 } else { 0 }, &["-H"], &mut options);
        if !options.contains(&"-H") {
            let rules =
                ["--exclude=e1*", "--exclude=*[02468]", "--exclude=/e*/e*", "--exclude=e[3-7]*/"];
            perhaps(30, &["-u", "--existing", "--ignore-existing"], &mut options);
            perhaps(15, &["--max-size=4096", "--min-size=513"], &mut options);
            perhaps(25, &rules, &mut options);
            if options.iter().any(|option| option.starts_with("--exclude")) {
                perhaps(25, &["--delete-excluded"], &mut options);
            }
        }
        perhaps(12, &["--partial", "-m", "--safe-links"], &mut options);
        let is_plain = !options.iter().any(|it| it.starts_with("--delete") || *it == "-H");
        perhaps(if is_plain { 20 } else { 0 }, &["--inplace"], &mut options);
        let is_root = rustix::process::geteuid().is_root();
        perhaps(if options[0] == "-a" && is_root { 20 } else { 0 }, &GIVEN, &mut options);
        let has_no_names = !options.contains(&"-H");
        let is_whole_file = !options.contains(&"--inplace");
        let beside = (is_whole_file && numbers.chance(45)).then(|| *numbers.pick(&BESIDE));
        let keeps_all = matches!(options[0], "-a" | "-rlptD");
        let compares_all = keeps_all && !options.contains(&"-O");
        let beside = beside.filter(|it| compares_all || !it.contains("-dest="));
        options.extend(
            beside.filter(|it| has_no_names || !matches!(*it, "-b" | "--compare-dest=../o")),
        );
        let is_whole = numbers.chance(25);
        let jobs = *numbers.pick(&["--jobs=1", "--jobs=2", "--jobs=4"]);
        Plan {
            options,
            operands: if is_whole { ["s", "t"] } else { ["s/", "t"] },
            root: if is_whole { "t/s" } else { "t" },
            prefix: if is_whole { "s/" } else { "" },
            jobs,
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    fn keeps_kinds(&self) -> bool {
        let is_for_directories =
            |option: &&str| option.starts_with("--exclude") && option.ends_with('/');
        self.options.iter().any(is_for_directories)
            || ["-u", "--existing", "--ignore-existing", "-b"].iter().any(|option| self.has(option))
    }

    /// Returns whether each name goes that the source does not have.
    fn deletes_all(&self) -> bool {
        let any = |start: &str| self.options.iter().any(|option| option.starts_with(start));
        any("--delete") && !any("--exclude")
    }

    fn keeps_modes_and_owners(&self) -> [bool; 2] {
        let is_root = rustix::process::geteuid().is_root();
        let [modes, owners] = match self.options[0] {
            "-a" | "-rlpgoD" => [true, true],
            "-rlptD" => [true, false],
            _ => [false, false],
        };
        [modes && is_root, owners && is_root]
    }

    /// Returns whether a second run finds nothing to do.
    fn is_settled(&self) -> bool {
        // Backups of names that are left out are removed by the next run.
        let removes_backups = self.has("-b") && self.has("--delete-excluded");
        self.has("-a") && !self.has("-I") && !removes_backups
    }

    /// Returns the items of the source.
    fn items(&self, seed: u64) -> Vec<Item> {
        use Feature::{Acl, Capability, Device, OddMode, OddTime, Owner, Socket, Xattr};
        let mut without = vec![Socket, Device, OddTime, Xattr, Acl, Capability];
        let [modes, owners] = self.keeps_modes_and_owners();
        without.extend((!modes).then_some(OddMode));
        without.extend((!owners).then_some(Owner));
        let mut items =
            random_tree(seed, &Limits { entries: 40, depth: 5, file_bytes: 66_000, without });
        for item in &mut items {
            item.mtime.nanoseconds = 0;
        }
        items
    }
}

/// Makes the source, and an earlier state of the target.
fn build(dir: &Path, seed: u64, plan: &Plan) -> Outcome {
    let mut items = plan.items(seed);
    fs::create_dir(dir)?;
    create_tree(&dir.join("s"), items.clone()).map_err(|failure| failure.to_string())?;
    if !plan.has("-H") {
        items.retain(|item| !matches!(item.kind, ItemKind::HardLink(_)));
    }
    let root = dir.join(plan.root);
    if plan.root != "t" {
        fs::create_dir(dir.join("t"))?;
        // It is beside what is synchronised.
        fs::write(dir.join("t/beside"), "beside")?;
        set_time(&dir.join("t/beside"), EDITED_S)?;
    }
    create_tree(&root, items.clone()).map_err(|failure| failure.to_string())?;
    let other = dir.join(plan.root.replacen('t', "o", 1));
    if plan.root != "t" {
        fs::create_dir(dir.join("o"))?;
    }
    create_tree(&other, items).map_err(|failure| failure.to_string())?;
    edit(&other, &mut Numbers::new(seed ^ 0x5a5a), plan)?;
    set_time(&dir.join("s"), EDITED_S + 1)?;
    // Numbers of their own: those of the tree have drawn it, and those of the plan its options.
    let mut numbers = Numbers::new(!seed);
    edit(&root, &mut numbers, plan)
}

fn set_time(path: &Path, seconds: i64) -> Outcome {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn remove(path: &Path) -> Outcome {
    Ok(remove_tree(path).map_err(|failure| failure.to_string())?)
}

/// Edits a tree at random, and adds entries. Every time is set, so that it is the same for both programs.
fn edit(root: &Path, numbers: &mut Numbers, plan: &Plan) -> Outcome {
    let mut directories = Vec::new();
    for path in walk(root)? {
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            directories.push((path, metadata.mtime()));
        }
    }
    for (number, path) in walk(root)?.iter().enumerate().skip(1) {
        if numbers.chance(30) {
            edit_entry(path, number, numbers, plan)?;
        }
    }
    for number in 0..numbers.below(5) {
        let parent = numbers.pick(&directories).0.clone();
        if if_there(fs::symlink_metadata(&parent))?.is_some_and(|parent| parent.is_dir()) {
            add(&parent, number, numbers)?;
        }
    }
    for path in walk(root)? {
        if fs::symlink_metadata(&path)?.is_dir() {
            let before = directories.iter().find(|(known, _)| *known == path);
            let time = before.map_or(EDITED_S, |(_, time)| *time);
            set_time(&path, if numbers.chance(80) { time } else { EDITED_S })?;
        }
    }
    Ok(())
}

/// Edits an entry, unless it went with its directory.
fn edit_entry(path: &Path, number: usize, numbers: &mut Numbers, plan: &Plan) -> Outcome {
    let Some(metadata) = if_there(fs::symlink_metadata(path))? else { return Ok(()) };
    let [modes, owners] = plan.keeps_modes_and_owners();
    let beside = |word: &str| path.with_file_name(format!("{word}-{number}"));
    let time = *numbers.pick(&[EDITED_S, 1_710_000_000, metadata.mtime(), metadata.mtime() + 2]);
    match numbers.below(10) {
        0 | 1 => return remove(path),
        2 | 3 if !plan.keeps_kinds() => {
            remove(path)?;
            replace(path, numbers)?;
        }
        4 | 5 if metadata.is_file() => {
            change(path, metadata.len(), numbers)?;
            // The same time, so that only the size or `-c` tells.
            let is_hidden = numbers.chance(50) && !plan.has("-H");
            let time = match is_hidden {
                true => metadata.mtime(),
                false if plan.has("-H") => EDITED_S,
                false => time,
            };
            return set_time(path, time);
        }
        6 if modes && !metadata.is_symlink() => {
            let mode = *numbers.pick(&[0o600, 0o640, 0o755, 0o777]);
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
            return set_time(path, metadata.mtime());
        }
        7 if owners => {
            lchown(path, Some(*numbers.pick(&[0, 3, 1000])), Some(*numbers.pick(&[0, 4])))?;
            return set_time(path, metadata.mtime());
        }
        8 if metadata.is_file() && metadata.nlink() == 1 && plan.deletes_all() => {
            return Ok(fs::hard_link(path, beside("twin"))?);
        }
        8 if !metadata.is_dir() && metadata.nlink() == 1 => {
            return Ok(fs::rename(path, beside("moved"))?);
        }
        _ => {}
    }
    set_time(path, time)
}

/// Makes an entry of any kind under a free name.
fn replace(path: &Path, numbers: &mut Numbers) -> Outcome {
    match numbers.below(5) {
        0 => fs::create_dir(path)?,
        1 => {
            fs::create_dir(path)?;
            for name in ["in", "e12"] {
                fs::write(path.join(name), name)?;
                set_time(&path.join(name), EDITED_S)?;
            }
        }
        2 => symlink("nowhere", path)?,
        3 => mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?,
        _ => {
            let bytes = usize::try_from(*numbers.pick(&[0, 1, 4096, 5000]))?;
            fs::write(path, noise(numbers.next(), bytes))?;
        }
    }
    Ok(())
}

/// Adds an entry that the source does not have, in some cases one that a rule leaves out.
fn add(parent: &Path, number: u64, numbers: &mut Numbers) -> Outcome {
    let path = parent.join(format!("{}{number}", numbers.pick(&["extra-", "e1-", "e40-"])));
    // The same directory may be drawn again, but not the number.
    replace(&path, numbers)?;
    set_time(&path, EDITED_S)
}

/// Changes the bytes of a file: a longer one, a shorter one, or one of the same size.
fn change(path: &Path, bytes: u64, numbers: &mut Numbers) -> Outcome {
    let mut file = fs::File::options().read(true).write(true).open(path)?;
    match numbers.below(3) {
        0 => {
            std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
            file.write_all(b"more")?;
        }
        1 => file.set_len(bytes / 2)?,
        _ if bytes > 0 => {
            let mut first = [0];
            file.read_exact_at(&mut first, 0)?;
            file.write_all_at(&[!first[0]], 0)?;
        }
        _ => {}
    }
    Ok(())
}

/// Names of which a part of the line is not compared, as the lines show them.
struct Linked {
    /// Names of the source that share a file with others, with `-H`.
    source: BTreeSet<String>,
    /// Names of the target that shared one before the run.
    target: BTreeSet<String>,
}

impl Linked {
    fn of(dir: &Path, plan: &Plan) -> Outcome<Linked> {
        let names = |root: &Path| -> Outcome<BTreeSet<String>> {
            let mut names = BTreeSet::new();
            for path in walk(root)? {
                let metadata = fs::symlink_metadata(&path)?;
                if !metadata.is_dir() && metadata.nlink() > 1 {
                    let name = escaped(path.strip_prefix(root)?.as_os_str().as_bytes());
                    names.insert(format!("{}{name}", plan.prefix));
                }
            }
            Ok(names)
        };
        let source = if plan.has("-H") { names(&dir.join("s"))? } else { BTreeSet::new() };
        Ok(Linked { source, target: names(&dir.join(plan.root))? })
    }

    /// Returns the lines of a run as they are compared.
    fn lines(&self, done: &Done) -> Vec<String> {
        let is_one = |line: &str, names: &BTreeSet<String>| {
            let shown = line.get(12..).unwrap_or_default();
            let is_name = |name: &String| {
                shown.strip_prefix(name.as_str()).is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(" => ") || rest.starts_with(" -> ")
                })
            };
            names.iter().any(is_name)
        };
        let mut lines = itemized(done);
        for line in lines.iter_mut().filter(|line| !line.starts_with("*deleting ")) {
            if is_one(line, &self.source) {
                line.clear();
            } else if is_one(line, &self.target) {
                line.replace_range(..1, "?");
            }
        }
        lines.retain(|line| !line.is_empty());
        lines.sort_unstable();
        lines
    }
}

/// Returns a name as rsync shows it in the C locale: `\#` and three octal digits for a byte that is not shown.
fn escaped(name: &[u8]) -> String {
    let is_escape = |at: usize| {
        let digits = name.get(at + 2..at + 5);
        name.get(at + 1) == Some(&b'#')
            && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    };
    let mut shown = String::new();
    for (at, byte) in name.iter().enumerate() {
        let is_shown = matches!(byte, b' '..=b'~' | b'\t') && !(*byte == b'\\' && is_escape(at));
        if is_shown {
            shown.push(char::from(*byte));
        } else {
            shown += &format!("\\#{byte:03o}");
        }
    }
    shown
}

/// Runs a case. Returns what is wrong, or an empty text.
fn run_case(seed: u64) -> Outcome<String> {
    let scratch = Scratch::new()?;
    let plan = Plan::draw(&mut Numbers::new(seed));
    for side in ["haul", "rsync"] {
        build(&scratch.at(side), seed, &plan)?;
    }
    let (here, there) = (scratch.at("haul"), scratch.at("rsync"));
    let linked = Linked::of(&here, &plan)?;
    let before = (described(&here.join("s"))?, described(&here.join("t"))?);
    let words = |call: Call| call.word("-i").words(&plan.options).words(plan.operands);
    let ours = || words(sync([plan.jobs])).in_dir(&here);
    let foreseen = words(sync(["-n", plan.jobs])).in_dir(&here).run()?;
    let mut wrong = String::new();
    if before.1 != described(&here.join("t"))? {
        wrong += "the rehearsal changed the target\n";
    }
    let done = ours().run()?;
    let theirs = words(Call::of("rsync")).in_dir(&there).run()?;
    if linked.lines(&foreseen) != linked.lines(&done) {
        wrong += &only("rehearsal", &linked.lines(&foreseen), &linked.lines(&done));
        wrong += &only("run", &linked.lines(&done), &linked.lines(&foreseen));
    }
    if theirs.code() == Some(11) && plan.has("-b") {
        return Ok(String::new());
    }
    if done.code() != theirs.code() {
        wrong += &format!("exit status: haul {:?}, rsync {:?}\n", done.code(), theirs.code());
    }
    wrong += &only("haul", &linked.lines(&done), &linked.lines(&theirs));
    wrong += &only("rsync", &linked.lines(&theirs), &linked.lines(&done));
    if before.0 != described(&here.join("s"))? {
        wrong += "the source has changed\n";
    }
    if plan.is_settled() && done.code() == Some(0) {
        let again = ours().run()?;
        if again.code() != Some(0) || !itemized(&again).is_empty() {
            wrong += &format!("a second run is not idle: {again:?}\n");
        }
    }
    if plan.options.contains(&"--modify-window=2") {
        level_directories(&here.join("t"))?;
        level_directories(&there.join("t"))?;
    }
    wrong += &differences(&described(&here)?, &described(&there)?);
    if !wrong.is_empty() {
        wrong = format!(
            "seed {seed}: sync -i {} {} {}\n{wrong}haul: {done:?}\nrsync: {theirs:?}\n",
            plan.jobs,
            plan.options.join(" "),
            plan.operands.join(" ")
        );
    }
    Ok(wrong)
}

/// Gives all directories of a tree one time.
fn level_directories(tree: &Path) -> Outcome {
    for path in walk(tree)? {
        if path.symlink_metadata()?.is_dir() {
            set_time(&path, EDITED_S)?;
        }
    }
    Ok(())
}

/// Lists the lines that only the first one of two runs has printed.
fn only(name: &str, one: &[String], other: &[String]) -> String {
    let lines = one.iter().filter(|line| !other.contains(line));
    lines.map(|line| format!("only {name}: {line}\n")).collect()
}

/// Returns a number from the environment.
fn number(name: &str, default: u64) -> Outcome<u64> {
    match std::env::var(name) {
        Ok(text) => Ok(text.parse()?),
        Err(_) => Ok(default),
    }
}

#[test]
fn random_trees_end_as_rsync_makes_them() -> Outcome {
    if !has("rsync")? {
        return Ok(());
    }
    let first = number("HAUL_SYNC_SEED", 1)?;
    let mut wrong = Vec::new();
    for seed in first..first + number("HAUL_SYNC_CASES", CASES)? {
        let found = run_case(seed).map_err(|error| format!("seed {seed}: {error}"))?;
        wrong.extend(Some(found).filter(|found| !found.is_empty()));
        if wrong.len() >= FAILURES_MAX {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn names_are_escaped_as_rsync_shows_them() {
    assert_eq!(escaped(b"a\nb\tc\xff \\#12 \\#123"), "a\\#012b\tc\\#377 \\#12 \\#134#123");
}
