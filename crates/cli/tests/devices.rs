//! Storage that fails: refused writes, flushes and attributes; writes that are lost or altered but report
//! success; and devices of which a part cannot be written.
//!
//! After exit code 0 no file is wrong. Under `--durable` and similar options a name that exists is that of a
//! right file, whatever the exit code. And after `mv` every file is complete in at least one of its places.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_faultfs::{Config, Mode, Mounted, Operation, Rule};
use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::support::failing::Failing;
use super::support::mounting::unmount;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::{noise, shell};
use super::support::strace;
use super::support::volume::volumes;
use super::support::{Outcome, entries, if_there, ignored};

/// The promise of a command beyond exit code 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// Nothing: a file is written in place.
    InPlace,
    /// A name that exists is that of a right file.
    Published,
    /// The same, and the source is removed only then.
    Moved,
}

use Promise::{InPlace, Moved, Published};

/// A command and its promise.
type Way = (&'static [&'static str], Promise);

/// Commands that wait for storage and report its errors.
const WAITING: [Way; 6] = [
    (&["cp", "-r", "--durable"], Published),
    (&["cp", "-r", "--durable", "--jobs=4"], Published),
    (&["cp", "-r", "--resume"], Published),
    (&["cp", "-r", "--fsync"], InPlace),
    (&["cp", "-r", "--durable", "--verify"], Published),
    (&["mv"], Moved),
];

/// Enough files for several commit groups, on a device.
const MANY: usize = 400;

/// Enough files for two batches, where each request is counted.
const FEW: usize = 60;

/// Small files, and sizes of more than one request: several workers share a large file, on a device from 8 MiB
/// on, and on a file system in user space, where there are few, from 2 MiB on.
fn sizes(count: usize) -> impl Iterator<Item = (String, usize)> {
    let small = (0..count).map(|number| (format!("small-{number}"), 3000 + 97 * number));
    let large = if count == FEW { 5 << 20 } else { 9 << 20 };
    small.chain([("large".to_owned(), large), ("medium".to_owned(), 700_000)])
}

/// Makes the source: one directory without subdirectories.
fn furnish(root: &Path, count: usize) -> Outcome {
    fs::create_dir(root)?;
    let bytes = noise((9 << 20) + 1024);
    for (number, (name, size)) in sizes(count).enumerate() {
        let part = bytes.get(number..number + size).ok_or("a size beyond all")?;
        fs::write(root.join(name), part)?;
    }
    Ok(())
}

/// Returns what is wrong on the disk; `model` is the original source.
fn objection(
    (words, promise): Way,
    done: &Done,
    [model, source, target]: [&Path; 3],
) -> Outcome<Option<String>> {
    let mut wrong = Vec::new();
    for entry in entries(model)? {
        let name = entry.file_name();
        let whole = fs::read(entry.path())?;
        let arrived = if_there(fs::read(target.join(&name)))?;
        let is_right = arrived.as_ref() == Some(&whole);
        let stays = if_there(fs::read(source.join(&name)))?.as_ref() == Some(&whole);
        let is_named = arrived.is_some();
        let breaks = match promise {
            _ if done.code() == Some(0) => !is_right,
            InPlace => false,
            Published => is_named && !is_right,
            Moved => !is_right && (is_named || !stays),
        };
        if breaks {
            wrong.push(name);
        }
    }
    if let Some(code @ 2..) = done.code() {
        return Ok(Some(format!("{words:?}: exit code {code}, {done:?}")));
    }
    let first = wrong.first().cloned().unwrap_or_default();
    let said: String = done.errors().chars().take(200).collect();
    Ok((!wrong.is_empty()).then(|| {
        format!(
            "{words:?}: {:?}, {} wrong, such as {first:?}; said {said}",
            done.code(),
            wrong.len()
        )
    }))
}

/// Copies or moves to a device of which a part fails, and checks the contents of the disk.
fn to_a_failing_device(from_bytes: u64, to_bytes: u64) -> Outcome {
    let mut wrong = Vec::new();
    for way in WAITING {
        let Some(mut failing) = Failing::new(from_bytes, to_bytes)? else { return Ok(()) };
        let scratch = Scratch::new()?;
        furnish(&scratch.at("s"), MANY)?;
        furnish(&scratch.at("model"), MANY)?;
        let target = failing.mount.join("t");
        let names = sizes(MANY).map(|(name, _)| format!("s/{name}"));
        let call = Call::of(haul()).words(way.0).words(names).word(&target);
        let done = call.in_dir(scratch.path()).run()?;
        failing.reveal()?;
        let (model, source) = (scratch.at("model"), scratch.at("s"));
        wrong.extend(objection(way, &done, [&model, &source, &target])?);
        if done.code() == Some(0) {
            wrong.push(format!("{:?}: exit code 0 though writes failed", way.0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_device_that_takes_no_data_is_told_and_gives_no_names() -> Outcome {
    to_a_failing_device(0, 1 << 40)
}

#[test]
fn a_device_of_which_a_part_fails_is_told_and_names_only_what_is_right() -> Outcome {
    to_a_failing_device(2 << 20, 4 << 20)
}

/// The kernel reports a failed writeback once to each descriptor that was open before it, so a failure that another
/// program was told of hides none of those that follow.
#[test]
fn a_failure_that_another_program_was_told_of_hides_no_later_one() -> Outcome {
    let ways: [&[&str]; 6] = [
        &["dd", "of=t/f", "bs=64K", "conv=notrunc,fsync", "status=none"],
        &["dd", "of=t/f", "bs=64K", "conv=notrunc,fdatasync", "status=none"],
        &["write", "--fsync", "t/f"],
        &["write", "--atomic", "--fsync", "t/f"],
        &["cp", "--fsync", "/dev/stdin", "t/f"],
        &["cp", "--durable", "/dev/stdin", "t/f"],
    ];
    let Some(failing) = Failing::new(0, 1 << 40)? else { return Ok(()) };
    // It takes all blocks that can be written.
    let filler = fs::File::create(failing.mount.join("t/filler"))?;
    filler.write_all_at(&vec![1; 8 << 20], 0)?;
    assert!(filler.sync_all().is_err(), "the device takes data");
    for way in ways {
        let earlier = fs::File::create(failing.mount.join("t/f"))?;
        earlier.write_all_at(&noise(200_000), 0)?;
        assert!(earlier.sync_all().is_err(), "the device takes data");
        let call = Call::of(haul()).words(way).input(noise(300_000)).in_dir(&failing.mount);
        let done = call.run()?;
        assert_eq!(done.code(), Some(1), "{way:?} {done:?}");
        assert!(done.errors().contains("Input/output error"), "{way:?} {done:?}");
    }
    Ok(())
}

/// Mounts a directory with faults; `None`, and the test ignored, if that is not possible.
fn faulty(scratch: &Scratch, rules: &[&str], mode: Mode) -> Outcome<Option<Mounted>> {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        ignored("root and /dev/fuse")?;
        return Ok(None);
    }
    for name in ["below", "far"] {
        fs::create_dir_all(scratch.at(name))?;
    }
    let rules = rules.iter().map(|rule| rule.parse::<Rule>()).collect::<Result<_, _>>()?;
    let config = Config { rules, mode, ..Config::default() };
    Ok(Some(Mounted::new(&scratch.at("below"), &scratch.at("far"), &config)?))
}

/// Runs a command with its target on a faulty file system.
fn to_faults(
    model: &Path,
    way: Way,
    rules: &[&str],
    mode: Mode,
) -> Outcome<Option<(Option<String>, Done, bool)>> {
    let scratch = Scratch::new()?;
    let Some(mounted) = faulty(&scratch, rules, mode)? else { return Ok(None) };
    furnish_from(model, &scratch.at("s"))?;
    let call = Call::of(haul()).words(way.0).words(["-T", "s", "far/t"]);
    let done = call.in_dir(scratch.path()).run()?;
    let was_flushed = mounted.seen(Operation::Fsync).requests > 0;
    mounted.unmount()?;
    let places = [model, &scratch.at("s"), &scratch.at("below/t")];
    let wrong = objection(way, &done, places)?;
    Ok(Some((wrong.map(|wrong| format!("{rules:?} {mode:?}: {wrong}")), done, was_flushed)))
}

fn furnish_from(model: &Path, source: &Path) -> Outcome {
    Call::of("cp").word("-a").word(model).word(source).succeed()?;
    Ok(())
}

/// Faults that refuse a request with an error.
const REFUSALS: [&str; 18] = [
    "write@3=EIO",
    "write@50=EIO",
    "write@3+=EIO",
    "write@50+=ENOSPC",
    "write:large@offset=3M=EIO",
    "write@after=2M=EDQUOT",
    "flush@3=EIO",
    "flush:small-37=EIO",
    "flush:.haul-*=EIO",
    "flush=EDQUOT",
    "fsync@1=EIO",
    "fsync@2=EIO",
    "fsync@5+=EIO",
    "fsync=EIO",
    "create@5=EIO",
    "rename@3=EIO",
    "setattr@7=EIO",
    "fallocate=EIO",
];

#[test]
fn what_storage_refuses_is_told_and_nothing_wrong_is_named() -> Outcome {
    let model = Scratch::new()?;
    furnish(&model.at("m"), FEW)?;
    let mut wrong = Vec::new();
    for way in WAITING
        .into_iter()
        .chain([(&["cp", "-r"][..], InPlace), (&["cp", "-r", "--atomic"], Published)])
    {
        for rule in REFUSALS {
            let Some((found, done, was_flushed)) =
                to_faults(&model.at("m"), way, &[rule], Mode::Cached)?
            else {
                return Ok(());
            };
            wrong.extend(found);
            let must_fail = rule.starts_with("flush=")
                || rule.starts_with("write@3")
                || (was_flushed && (rule.starts_with("fsync=") || rule.starts_with("fsync@1")));
            if must_fail && done.code() == Some(0) {
                wrong.push(format!("{rule}: {:?}: exit code 0", way.0));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn what_storage_loses_or_alters_is_found_by_verifying() -> Outcome {
    let model = Scratch::new()?;
    furnish(&model.at("m"), FEW)?;
    let ways: [Way; 4] = [
        (&["cp", "-r", "--verify"], Published),
        (&["cp", "-r", "--verify", "--durable"], Published),
        (&["cp", "-r", "--verify", "--repair"], Published),
        (&["cp", "-r", "--verify", "--resume"], Published),
    ];
    let rules = ["write@7=lose", "write@50+=lose", "write=lose", "write@9=flip", "write=flip"];
    let mut wrong = Vec::new();
    for way in ways {
        for rule in rules {
            for mode in [Mode::Cached, Mode::Direct] {
                let Some((found, ..)) = to_faults(&model.at("m"), way, &[rule], mode)? else {
                    return Ok(());
                };
                wrong.extend(found);
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Commands that keep an extended attribute, as lines of the shell for a folder with a file `s/file` and an archive
/// `a.tar` of it, and on a faulty file system `far/g` and `far/old`, all with an attribute. Behind each is its exit
/// status where storage refuses the attribute, and where the file system has none.
const KEEPING: [(&str, i32, i32); 9] = [
    ("cp -a -T s far/t", 1, 0),
    ("cp -r --preserve=xattr -T s far/t", 1, 1),
    ("cp --atomic s/file far/old", 1, 0),
    ("mv -T s far/t", 1, 0),
    ("sync -aX s/ far/t", 23, 23),
    ("tar --xattrs -xf a.tar -C far", 2, 0),
    ("tar --xattrs --atomic -xf a.tar -C far", 2, 0),
    ("write --atomic far/old <s/file", 1, 0),
    ("gzip -k far/g", 1, 0),
];

/// One meaning for all commands (P4): an attribute that is lost is a failure, and what a file system cannot have is
/// none unless it was asked for by name.
#[test]
fn an_attribute_that_storage_refuses_is_told() -> Outcome {
    let mut wrong = Vec::new();
    let cases = ["EIO", "ENOSPC", "EDQUOT", "EOPNOTSUPP"];
    for (errno, (line, lost, not_had)) in
        cases.iter().flat_map(|errno| KEEPING.iter().map(move |keeping| (errno, keeping)))
    {
        let scratch = Scratch::new()?;
        let rule = format!("setxattr={errno}");
        let Some(mounted) = faulty(&scratch, &[&rule], Mode::Cached)? else { return Ok(()) };
        for name in ["s/file", "below/g", "below/old"] {
            scratch.write(name, "with an attribute")?;
            if setxattr(scratch.at(name), "user.a", b"value", XattrFlags::empty()).is_err() {
                return ignored("extended attributes beside the build");
            }
        }
        let packed = ["tar", "--xattrs", "-cf", "a.tar", "s"];
        Call::of(haul()).words(packed).in_dir(scratch.path()).succeed()?;
        let line = format!("exec \"$0\" {line}");
        let call = Call::of("sh").words(["-c", &line]).word(haul());
        let done = call.in_dir(scratch.path()).run()?;
        let has = |name| getxattr(scratch.at(name), "user.a", &mut [0; 16]) == Ok(5);
        let stays = if line.contains(" mv ") && *errno == "EOPNOTSUPP" {
            fs::read(scratch.at("below/t/file"))? == b"with an attribute"
        } else {
            has("s/file")
        };
        // What was to be replaced is not, for its attribute would go with it.
        let stays = stays && (*errno == "EOPNOTSUPP" || has("below/old"));
        mounted.unmount()?;
        let expected = if *errno == "EOPNOTSUPP" { not_had } else { lost };
        let is_told = done.code() == Some(*expected) && (*expected == 0 || !done.stderr.is_empty());
        if !is_told || !stays {
            wrong.push(format!("{errno}, {line:?}: stays: {stays}; {done:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Runs a command whose source is on a faulty file system; the copy must be what reading each file to its
/// end gives there.
fn from_faults(words: &[&str], rules: &[&str], mode: Mode) -> Outcome<Option<String>> {
    let scratch = Scratch::new()?;
    let Some(mounted) = faulty(&scratch, rules, mode)? else { return Ok(None) };
    let files = [("f", 6000), ("g", 300_000), ("h", 3 << 20)];
    let names = files.iter().map(|(name, _)| *name).chain(["sparse"]);
    for (name, bytes) in files {
        scratch.write(&format!("below/s/{name}"), noise(bytes))?;
    }
    // Few blocks, and data after a hole.
    let sparse = fs::File::create(scratch.at("below/s/sparse"))?;
    sparse.write_all_at(&noise(100_000), 1 << 20)?;
    let mut wanted = Vec::new();
    for name in names {
        wanted.push((name, fs::read(scratch.at("far/s").join(name))?));
    }
    let call = Call::of(haul()).words(words).words(["-T", "far/s", "t"]);
    let done = call.in_dir(scratch.path()).run()?;
    mounted.unmount()?;
    for (name, wanted) in wanted {
        let arrived = if_there(fs::read(scratch.at("t").join(name)))?;
        let stays = scratch.at("below/s").join(name).exists();
        let is_right = arrived.as_ref() == Some(&wanted);
        if !is_right && (done.code() == Some(0) || !stays) {
            let bytes = arrived.map(|bytes| bytes.len());
            return Ok(Some(format!("{words:?} {rules:?} {mode:?}: {name}: {bytes:?}, {done:?}")));
        }
    }
    Ok(None)
}

#[test]
fn a_source_that_lies_about_holes_or_sizes_is_copied_whole() -> Outcome {
    let mut wrong = Vec::new();
    for words in
        [&["cp", "-r"][..], &["cp", "-a", "--sparse=always"], &["cp", "-r", "--jobs=3"], &["mv"]]
    {
        for rules in [
            &["lseek=hole"][..],
            &["lseek=data"],
            &["lseek=ENXIO"],
            &["lseek:g=hole"],
            &["lseek=hole", "lookup=blocks:0", "getattr=blocks:0"],
            &["lseek=ENXIO", "lookup=blocks:8", "getattr=blocks:8"],
            &["lookup:f=size:10", "getattr:f=size:10"],
            &["lookup:f=size:0", "getattr:f=size:0"],
            &["lookup:f=size:9000", "getattr:f=size:9000"],
            &["lookup:g=size:262144", "getattr:g=size:262144"],
            &["lookup:h=size:1", "getattr:h=size:1"],
        ] {
            for mode in [Mode::Cached, Mode::Direct] {
                wrong.extend(from_faults(words, rules, mode)?);
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// The reported size may be 0, or too small, of a file that is made up as it is read.
#[test]
fn a_source_that_lies_about_its_size_is_split_whole() -> Outcome {
    let rules = [
        ["lookup:f=size:0", "getattr:f=size:0"],
        ["lookup:f=size:10", "getattr:f=size:10"],
        ["lookup:f=size:2500", "getattr:f=size:2500"],
        ["lookup:f=size:9000", "getattr:f=size:9000"],
    ];
    let mut wrong = Vec::new();
    for rules in rules {
        for mode in [Mode::Cached, Mode::Direct] {
            let scratch = Scratch::new()?;
            let Some(mounted) = faulty(&scratch, &rules, mode)? else { return Ok(()) };
            scratch.write("below/f", noise(6000))?;
            let whole = fs::read(scratch.at("far/f"))?;
            for line in SPLITS {
                let done = shell(scratch.path(), line)?;
                if !done.status.success() || done.stdout != whole {
                    let bytes = done.stdout.len();
                    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
                    wrong.push(format!("{rules:?} {mode:?} {line}: {bytes} bytes, {errors}"));
                }
            }
            mounted.unmount()?;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Commands that split a file and print all pieces.
const SPLITS: [&str; 7] = [
    "rm -f x*; touch x; haul split -b 1000 far/f; cat x*",
    "rm -f x*; touch x; haul split -b 100000 far/f; cat x*",
    "rm -f x*; touch x; haul split -b 1000 --filter='cat > $FILE' far/f; cat x*",
    "rm -f x*; touch x; haul split -n 3 far/f; cat x*",
    "rm -f x*; touch x; haul split -n l/3 far/f; cat x*",
    "rm -f x*; touch x; haul split -l 3 far/f; cat x*",
    "for part in 1 2 3; do haul split -n $part/3 far/f; done",
];

#[test]
fn an_attribute_that_grows_between_two_calls_is_whole_or_told() -> Outcome {
    let mut wrong = Vec::new();
    for (bytes, first) in [(100, 1), (100, 2), (100, 3), (255, 2), (300, 3), (300, 4), (300, 5)] {
        for grown in [1, 100, 1000, 5000] {
            let scratch = Scratch::new()?;
            let rule = format!("xattr:f@{first}+=grow:{grown}");
            let Some(mounted) = faulty(&scratch, &[&rule], Mode::Cached)? else { return Ok(()) };
            let below = scratch.write("below/s/f", "file")?;
            if setxattr(&below, "user.a", &noise(bytes), XattrFlags::empty()).is_err() {
                return ignored("extended attributes beside the build");
            }
            let call = Call::of(haul()).words(["cp", "-a", "-T", "far/s", "t"]);
            let done = call.in_dir(scratch.path()).run()?;
            mounted.unmount()?;
            let mut room = vec![0; 65_536];
            let arrived = getxattr(scratch.at("t/f"), "user.a", &mut room).ok();
            let is_whole = arrived == Some(bytes) || arrived == Some(bytes + grown);
            if done.code() == Some(0) && !is_whole {
                wrong.push(format!("{bytes} {rule}: {arrived:?}, {done:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Makes a file with data after a hole, and one that is all data.
fn sparse_and_full(root: &Path) -> Outcome {
    fs::create_dir(root)?;
    fs::write(root.join("full"), noise(400_000))?;
    let sparse = fs::File::create(root.join("sparse"))?;
    Ok(sparse.write_all_at(&noise(400_000), 1 << 20)?)
}

/// Commands that read files, each with what it needs to know of holes.
const READERS: [&str; 8] = [
    "haul cp -T s/$f out",
    "haul cp --sparse=always -T s/$f out",
    "haul cp -a --jobs=3 -T s/$f out",
    "haul read s/$f > out",
    "haul read s/$f | haul write out",
    "haul cat s/$f > out",
    "haul dd if=s/$f of=out bs=64K conv=sparse status=none",
    "haul split -n 3 s/$f part && cat part?? > out && rm part??",
];

/// Runs each reader in a folder; its output with exit code 0 must be the contents of `model`.
fn read_all(dir: &Path, model: &Path, run: &dyn Fn(&str) -> Outcome<Option<i32>>) -> Outcome {
    let mut wrong = Vec::new();
    for line in READERS {
        for name in ["full", "sparse"] {
            let out = dir.join("out");
            if out.exists() {
                fs::remove_file(&out)?;
            }
            let code = run(&line.replace("$f", name))?;
            let is_right = if_there(fs::read(&out))? == Some(fs::read(model.join(name))?);
            if code == Some(0) && !is_right {
                wrong.push(format!("{line}: {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", dir.display(), wrong.join("\n"));
    Ok(())
}

#[test]
fn data_that_no_search_for_data_finds_is_read_all_the_same() -> Outcome {
    if !strace::is_usable()? {
        return Ok(());
    }
    for volume in volumes()? {
        let (scratch, model) = (Scratch::on(&volume)?, Scratch::new()?);
        sparse_and_full(&scratch.at("s"))?;
        sparse_and_full(&model.at("s"))?;
        read_all(scratch.path(), &model.at("s"), &|line| {
            let line =
                format!("haul() {{ '{}' \"$@\"; }}; set -o pipefail; {line}", haul().display());
            let inject = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace=lseek", "-e"];
            let call = Call::of("bash").words(["-c", &line]).in_dir(scratch.path());
            let call = call.under(inject.iter().chain(&["inject=lseek:error=ENXIO", "--"]));
            Ok(call.run()?.code())
        })?;
    }
    Ok(())
}

#[test]
fn holes_of_a_file_system_below_another_are_not_believed_unseen() -> Outcome {
    let (scratch, model) = (Scratch::new()?, Scratch::new()?);
    let rules = ["lseek=hole", "lookup=blocks:0", "getattr=blocks:0"];
    let Some(mounted) = faulty(&scratch, &rules, Mode::Cached)? else { return Ok(()) };
    sparse_and_full(&scratch.at("below/s"))?;
    sparse_and_full(&model.at("s"))?;
    for name in ["upper", "work", "merged"] {
        fs::create_dir(scratch.at(name))?;
    }
    let at = |name: &str| scratch.at(name).display().to_string();
    let options = format!("lowerdir={},upperdir={},workdir={}", at("far"), at("upper"), at("work"));
    let mount = ["-t", "overlay", "overlay", "-o", &options, &at("merged")];
    if Call::of("mount").words(mount).run()?.code() != Some(0) {
        return ignored("overlayfs over a file system in user space");
    }
    let merged = scratch.at("merged");
    let outcome =
        read_all(&merged, &model.at("s"), &|line| Ok(shell(&merged, line)?.status.code()));
    unmount(&merged)?;
    mounted.unmount()?;
    outcome
}
