//! `--atomic` and `--durable`: a final name has the old file or the new one, never anything else,
//! whichever call fails and whenever the run is killed or loses power.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use haul_io::hidden::{is_hidden_name, name_of};
use haul_manifest::Aspects;

use super::support::judge::{demand_equal, snapshot};
use super::support::run::{Call, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{SPARED, Strace, is_usable, may_change, points};
use super::support::{Outcome, entries, has, if_there, is_root};
use super::sweep::Extent;

const NAMES: [&str; 5] = ["a", "b", "d/c", "large", "d/twin"];

/// Makes the source. Several workers share its largest file; one makes the same calls for a smaller one, only fewer.
fn furnish(dir: &Path, options: &[&str]) -> Outcome {
    let bytes = if options.contains(&"--jobs=1") { 5 << 20 } else { 9 << 20 };
    fs::create_dir_all(dir.join("d"))?;
    for (name, byte) in [("a", 1), ("b", 2), ("d/c", 3)] {
        fs::write(dir.join(name), [byte; 1024])?;
    }
    fs::write(dir.join("large"), noise(bytes))?;
    symlink("a", dir.join("link"))?;
    fs::hard_link(dir.join("b"), dir.join("d/twin"))?;
    Ok(())
}

static OLD: [u8; 70_000] = [9; 70_000];

fn plant_old(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("d"))?;
    for name in ["a", "b", "d/c", "large"] {
        fs::write(dir.join(name), OLD)?;
    }
    symlink("elsewhere", dir.join("link"))?;
    Ok(())
}

fn is_hidden(name: &str) -> bool {
    is_hidden_name(name.as_bytes())
}

/// The stale temporaries that may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temporaries {
    None,
    Hidden,
}

/// The contents of the files of [`NAMES`].
type Contents = Vec<Vec<u8>>;

fn contents(dir: &Path) -> Outcome<Contents> {
    NAMES.iter().map(|name| Ok(fs::read(dir.join(name))?)).collect()
}

/// Returns what is wrong with a target, if anything.
fn objection(new: &Contents, target: &Path, temporaries: Temporaries) -> Outcome<Option<String>> {
    for (name, new) in NAMES.iter().zip(new) {
        let Some(found) = if_there(fs::read(target.join(name)))? else { continue };
        if found != OLD && found != *new {
            return Ok(Some(format!("{name} is neither old nor new: {} bytes", found.len())));
        }
    }
    if let Ok(text) = fs::read_link(target.join("link"))
        && text != Path::new("a")
        && text != Path::new("elsewhere")
    {
        return Ok(Some(format!("the link leads to {}", text.display())));
    }
    for dir in [target.to_owned(), target.join("d")] {
        for entry in entries(&dir)? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = ["a", "b", "c", "d", "large", "link", "twin"].contains(&name.as_str());
            let ours = is_hidden(&name) && temporaries == Temporaries::Hidden;
            if !(known || ours) {
                return Ok(Some(format!("{name} was left")));
            }
        }
    }
    Ok(None)
}

/// Injects faults into every call of a run in turn, with strace.
fn sweep(options: &[&str], faults: &[&str], plant: fn(&Path) -> Outcome) -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let (source, target) = (scratch.at("s"), scratch.at("t"));
    furnish(&source, options)?;
    let (before, new) = (snapshot(&source), contents(&source)?);
    let call = cp(options).words(["-T", "s", "t"]).in_dir(scratch.path());
    plant(&target)?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    demand_equal(&source, &target, Aspects::preserved(), "undisturbed");
    let mut occurrences: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for point in points(&strace.lines()?) {
        occurrences.entry(point.name).or_default().push(point.occurrence);
    }
    occurrences.retain(|name, _| !SPARED.contains(&name.as_str()));
    let (mut injected, mut wrong) = (0, Vec::new());
    for (name, occurrences) in &occurrences {
        // `sweep::` has more faults of the same runs.
        let occurrences = Extent::asked().choose(occurrences, true);
        for (fault, occurrence) in
            faults.iter().flat_map(|fault| occurrences.iter().map(move |at| (fault, at)))
        {
            let killed = fault.starts_with("signal");
            // One worker that is killed before a call that changes nothing leaves what it leaves if it is
            // killed before the next one.
            if killed && !may_change(name) {
                continue;
            }
            scratch.clear("t")?;
            plant(&target)?;
            let what = format!("{name}:{fault}:when={occurrence}");
            let strace = Strace::new(scratch.at("log")).trace(name).inject(&what);
            let done = strace.wrap(call.clone()).run()?;
            injected += 1;
            let temporaries =
                if killed || name == "unlinkat" { Temporaries::Hidden } else { Temporaries::None };
            if let Some(objection) = objection(&new, &target, temporaries)? {
                wrong.push(format!("{what}: {objection}\n  said {}", done.errors()));
            }
            if !killed && done.code() == Some(0) {
                demand_equal(&source, &target, Aspects::preserved(), &what);
            }
            assert!(before == snapshot(&source), "{what}: the source was changed: {done:?}");
            if killed {
                call.succeed()?;
                if let Some(objection) = objection(&new, &target, Temporaries::Hidden)? {
                    wrong.push(format!("{what}: after a second run: {objection}"));
                }
                assert!(contents(&target)? == new, "{what}: after a second run");
            }
        }
    }
    writeln!(std::io::stdout(), "{injected} faults injected into cp {}", options.join(" "))?;
    assert!(injected > 20, "only {injected} faults were injected");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn plant_nothing(_: &Path) -> Outcome {
    Ok(())
}

#[test]
fn a_run_that_is_killed_at_any_call_leaves_old_files_or_new_ones() -> Outcome {
    sweep(&["-a", "--jobs=1", "--atomic"], &["signal=KILL"], plant_old)?;
    sweep(&["-a", "--jobs=1", "--atomic"], &["signal=KILL"], plant_nothing)
}

#[test]
fn a_durable_run_that_is_killed_at_any_call_leaves_old_files_or_new_ones() -> Outcome {
    sweep(&["-a", "--jobs=1", "--durable"], &["signal=KILL"], plant_old)
}

#[test]
fn a_run_without_nameless_files_is_killed_at_any_call() -> Outcome {
    // The first O_TMPFILE is refused, as on NFS; after that the run uses hidden siblings.
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let (source, target) = (scratch.at("s"), scratch.at("t"));
    let options = ["-a", "--jobs=1", "--atomic"];
    furnish(&source, &options)?;
    let new = contents(&source)?;
    let call = cp(options).words(["-T", "s", "t"]).in_dir(scratch.path());
    plant_old(&target)?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let unnamed = points(&strace.lines()?);
    let opens = strace.lines()?.into_iter().filter(|line| line.name == "openat");
    let refused = opens.take_while(|line| !line.text.contains("O_TMPFILE")).count() + 1;
    let refusal = format!("openat:error=EOPNOTSUPP:when={refused}");
    let mut killed = 0;
    for call_name in
        ["openat", "write", "sendfile", "splice", "fchmod", "fchown", "close", "renameat2"]
    {
        // There are about as many calls as with unnamed files; points that are not reached do not matter.
        let most = unnamed.iter().filter(|point| point.name == call_name).count() + 12;
        for occurrence in 1..most {
            if call_name == "openat" && occurrence <= refused {
                continue;
            }
            scratch.clear("t")?;
            plant_old(&target)?;
            let kill = format!("{call_name}:signal=KILL:when={occurrence}");
            let strace = Strace::new(scratch.at("log"))
                .trace(&format!("openat,{call_name}"))
                .inject(&refusal);
            let strace = if call_name == "openat" { strace } else { strace.inject(&kill) };
            strace.wrap(call.clone()).run()?;
            killed += usize::from(strace.text()?.contains("killed by SIGKILL"));
            assert_eq!(objection(&new, &target, Temporaries::Hidden)?, None, "{kill}");
        }
    }
    assert!(killed > 10, "only {killed} were killed");
    scratch.clear("t")?;
    plant_old(&target)?;
    Strace::new(scratch.at("log")).inject(&refusal).wrap(call).succeed()?;
    demand_equal(&source, &target, Aspects::preserved(), "siblings");
    assert_eq!(objection(&new, &target, Temporaries::None)?, None);
    Ok(())
}

#[test]
fn a_call_that_fails_leaves_old_files_or_new_ones_and_nothing_else() -> Outcome {
    sweep(&["-a", "--jobs=1", "--atomic"], &["error=EIO", "error=ENOSPC"], plant_old)
}

#[test]
fn a_call_of_a_durable_run_that_fails_leaves_old_files_or_new_ones() -> Outcome {
    sweep(&["-a", "--jobs=1", "--durable"], &["error=EIO"], plant_old)?;
    sweep(&["-a", "--jobs=2", "--durable"], &["error=EIO"], plant_nothing)
}

/// The bits, owner and group of a file.
fn attributes(path: &Path) -> Outcome<(u32, u32, u32)> {
    let found = fs::metadata(path)?;
    Ok((found.permissions().mode() & 0o7777, found.uid(), found.gid()))
}

#[test]
fn what_is_replaced_hands_its_owner_bits_and_lists_on() -> Outcome {
    if !is_root()? || !has("setfacl")? {
        return Ok(());
    }
    for mode in ["--atomic", "--durable"] {
        let scratch = Scratch::new()?;
        scratch.write("new", "new")?;
        let old = scratch.write("old", "old")?;
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640))?;
        std::os::unix::fs::chown(&old, Some(USER), Some(USER))?;
        Call::of("setfacl").words(["-m", "u:54321:rw", "old"]).in_dir(scratch.path()).succeed()?;
        let list =
            |name: &str| Call::of("getfacl").words(["-cn", name]).in_dir(scratch.path()).succeed();
        let (was, listed) = (attributes(&old)?, list("old")?.text());
        fs::hard_link(&old, scratch.at("twin"))?;
        cp([mode, "new", "old"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(&old)?, b"new");
        assert_eq!(attributes(&old)?, was);
        assert_eq!(list("old")?.text(), listed);
        // The old file's other name still has the old file.
        assert_eq!(fs::read(scratch.at("twin"))?, b"old");
    }
    Ok(())
}

#[test]
fn what_a_link_leads_to_is_replaced_and_the_link_stays() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("new", "new")?;
    scratch.write("there/file", "old")?;
    let inode = fs::metadata(scratch.at("there/file"))?.ino();
    symlink("there/file", scratch.at("link"))?;
    cp(["--atomic", "new", "link"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read_link(scratch.at("link"))?, Path::new("there/file"));
    assert_eq!(fs::read(scratch.at("there/file"))?, b"new");
    assert_ne!(fs::metadata(scratch.at("there/file"))?.ino(), inode);
    assert_eq!(fs::read_dir(scratch.at("there"))?.count(), 1);
    Ok(())
}

#[test]
fn consent_backups_and_unwritable_files_mean_what_they_always_do() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("new", "new")?;
    let old = scratch.write("old", "old")?;
    let run = |options: &[&str]| cp(options).words(["new", "old"]).in_dir(scratch.path());
    run(&["--atomic", "-n"]).succeed()?;
    assert_eq!(fs::read(&old)?, b"old");
    let refused = run(&["--atomic", "--update=none-fail"]).run()?;
    assert!(refused.errors().contains("not replacing 'old'"), "{refused:?}");
    let declined = run(&["--atomic", "-i"]).input("n\n").run()?;
    assert_eq!(declined.code(), Some(1));
    assert_eq!(fs::read(&old)?, b"old");
    run(&["--atomic", "--backup=numbered"]).succeed()?;
    run(&["--atomic", "--backup=numbered"]).succeed()?;
    assert_eq!(fs::read(scratch.at("old.~1~"))?, b"old");
    assert_eq!(fs::read(scratch.at("old.~2~"))?, b"new");
    fs::write(&old, "third")?;
    run(&["--durable", "--backup=simple", "-S", ".bak"]).succeed()?;
    assert_eq!(fs::read(scratch.at("old.bak"))?, b"third");
    // The name always exists, so nothing is renamed away.
    assert_eq!(fs::read(&old)?, b"new");
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777))?;
    if is_root()? && is_usable()? {
        let public = Scratch::public()?;
        public.write("new", "new")?;
        fs::set_permissions(public.path(), fs::Permissions::from_mode(0o777))?;
        let old = public.write("old", "old")?;
        let user = |options: &[&str]| {
            cp(options).words(["new", "old"]).in_dir(public.path()).by_user().run()
        };
        let refused = user(&["--atomic"])?;
        assert!(refused.errors().contains("Permission denied"), "{refused:?}");
        assert_eq!(fs::read(&old)?, b"old");
        let forced = user(&["--atomic", "-f"])?;
        assert!(forced.errors().contains("could not get the owner it had"), "{forced:?}");
        assert_eq!((forced.code(), fs::read(&old)?), (Some(0), b"new".to_vec()));
    }
    Ok(())
}

#[test]
fn devices_are_written_to_and_directories_never_replaced() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("new", "new")?;
    scratch.write("d/keep", "keep")?;
    cp(["--durable", "new", "/dev/null"]).in_dir(scratch.path()).succeed()?;
    let refused = cp(["--atomic", "-T", "new", "d"]).in_dir(scratch.path()).run()?;
    assert!(refused.errors().contains("cannot overwrite directory"), "{refused:?}");
    let slash = cp(["--atomic", "new", "no/"]).in_dir(scratch.path()).run()?;
    assert!(slash.errors().contains("Not a directory"), "{slash:?}");
    let same = cp(["--atomic", "new", "./new"]).in_dir(scratch.path()).run()?;
    assert!(same.errors().contains("are the same file"), "{same:?}");
    scratch.write("e/new", "other")?;
    fs::create_dir(scratch.at("into"))?;
    for mode in ["--atomic", "--durable"] {
        let twice = cp([mode, "new", "e/new", "into"]).in_dir(scratch.path()).run()?;
        assert_eq!(twice.code(), Some(1), "{twice:?}");
        assert_eq!(fs::read(scratch.at("into/new"))?, b"new", "{twice:?}");
        scratch.clear("into/new")?;
    }
    Ok(())
}

#[test]
fn a_full_disk_leaves_the_old_files() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mkfs.ext4")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/a", vec![1; 1000])?;
    scratch.write("s/large", vec![2; 24 << 20])?;
    for mode in ["--atomic", "--durable"] {
        let script = format!(
            "set -e; mkdir -p small; truncate -s 16M image; mkfs.ext4 -q -F image
             mount -o loop image small; mkdir small/t; echo old > small/t/large; set +e
             \"$0\" cp -r {mode} -T s small/t; code=$?
             cat small/t/large; ls -A small/t; exit $code"
        );
        let call = Call::of("unshare").words(["-m", "--", "bash", "-c", &script]).word(haul());
        let done = call.in_dir(scratch.path()).run()?;
        assert!(done.errors().contains("No space left on device"), "{done:?}");
        assert_eq!((done.code(), done.text().as_str()), (Some(1), "old\na\nlarge\n"), "{done:?}");
    }
    Ok(())
}

#[test]
fn the_power_goes_and_every_name_has_its_bytes() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("xfs_io")? || !has("mkfs.xfs")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for index in 0..3000 {
        scratch.write(&format!("s/d{}/{index}", index % 7), index.to_string().repeat(100))?;
    }
    scratch.write("s/large", vec![3; 9 << 20])?;
    for (make, after) in [("mkfs.ext4 -q -F", 0.05), ("mkfs.xfs -q -f", 0.1)] {
        // After a successful end everything is there; before it, every file with a name is complete.
        let script = format!(
            "set -e; mkdir -p m; rm -f image; truncate -s 320M image; {make} image
             mount -o loop image m; mkdir -p m/t/d1; for f in 1 8 15; do echo old > m/t/d1/$f; done; sync
             \"$0\" cp -r --durable -T s m/whole
             (sleep {after}; xfs_io -x -c shutdown m) & \"$0\" cp -r --durable -T s m/t 2>/dev/null || true; wait
             umount m; mount -o loop image m
             diff -r s m/whole && echo whole
             cd m/t; find . -type f | while read -r f; do
                 cmp -s $f ../../s/$f || [ \"$(cat $f)\" = old ] || echo \"false $f\"; done
             cat d1/1 d1/8 d1/15 > ../all; wc -l < ../all; cd ../..; umount m"
        );
        let call = Call::of("unshare").words(["-m", "--", "bash", "-c", &script]).word(haul());
        let done = call.in_dir(scratch.path()).run()?;
        assert!(done.text().starts_with("whole\n"), "{make}: {done:?}");
        assert!(!done.text().contains("false"), "{make}: {done:?}");
    }
    Ok(())
}

#[test]
fn stale_temporaries_are_removed_and_nothing_else() -> Outcome {
    let scratch = Scratch::new()?;
    let hidden = |letters: &[u8; 12]| -> Outcome<String> {
        Ok(format!("d/{}", name_of(*letters)?.into_string()?))
    };
    let (dead, used) = (hidden(b"0123456789ab")?, hidden(b"0123456789av")?);
    scratch.write(&dead, "dead")?;
    scratch.write(&used, "at work")?;
    symlink("x", scratch.at(hidden(b"vvvvvvvvvvvv")?))?;
    let persons = [
        "d/.haul-notes",
        "d/.haul-architecture",
        "d/.haul-installation",
        "d/.haul-0123456789ab",
        "d/.haul-architecture-123456789",
        "d/.haul-mv-1-d2-3",
        "d/e/file",
    ];
    for name in persons {
        scratch.write(name, "a person's")?;
    }
    scratch.write(&format!("{dead}.txt"), "a person's")?;
    let clean = |words: &[&str]| Call::of(haul()).word("clean").words(words).in_dir(scratch.path());
    // A file that was changed a moment ago is not a stale temporary.
    let young = clean(&["."]).succeed()?;
    assert_eq!(young.text().matches("younger than").count(), 3, "{young:?}");
    if has("flock")? {
        let script = format!("exec 9<{used}; flock -n 9; exec \"$0\" clean \"$@\" .");
        let call = Call::of("bash").words(["-c", &script]).word(haul()).in_dir(scratch.path());
        let told = call.clone().words(["-n", "--older-than=0"]).succeed()?;
        assert_eq!(told.text().matches("would remove").count(), 2, "{told:?}");
        let old = call.word("--older-than=0").succeed()?;
        assert_eq!(old.text().matches("removed").count(), 2, "{old:?}");
        assert!(scratch.at(&used).exists());
    }
    for name in persons {
        assert!(scratch.at(name).exists(), "{name}");
    }
    assert!(scratch.at(format!("{dead}.txt")).exists());
    let missing = clean(&["nowhere"]).run()?;
    assert_eq!(missing.code(), Some(1), "{missing:?}");
    Ok(())
}
