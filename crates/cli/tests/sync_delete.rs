//! `haul sync --delete`: it removes what the source does not have, and nothing of which it cannot be sure.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haul_faultfs::{Config, Mounted};
use haul_manifest::{Aspect, Aspects};

use super::identity::in_namespace;
use super::select::paths;
use super::spellings::{contents, mount};
use super::support::judge::{demand_equal, snapshot};
use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Strace, is_usable, points, stopped_at};
use super::support::{Outcome, has, ignored, is_root};
use super::sync_lines::{BASE, Row, demand_rows, itemized, row, sync};

/// Makes the trees of [`BASE`] with a change.
fn trees(edit: &str) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\n{edit}"))?;
    Ok(scratch)
}

/// Removals, and what rules keep.
const REMOVED: &[Row] = &[
    row(
        "echo x >t/x; mkdir -p t/y/z; echo x >t/y/z/x; ln -s /etc t/k; mkfifo t/q t/y/q; old t",
        "-a --delete",
        &[
            "*deleting   x",
            "*deleting   y/",
            "*deleting   y/z/",
            "*deleting   y/z/x",
            "*deleting   y/q",
            "*deleting   k",
            "*deleting   q",
        ],
    ),
    row("echo x >t/x; echo x >t/d/x; old t t/d", "-a", &[]),
    row("echo x >t/x; old t", "-a --max-delete=9", &[]),
    row("echo x >t/x; old t", "-a --del", &["*deleting   x"]),
    row("echo x >t/x; old t", "-a --delete-during", &["*deleting   x"]),
    row("echo x >t/x; old t", "-a --delete-after", &["*deleting   x"]),
    row("echo x >t/x; old t", "-a --delete-delay", &["*deleting   x"]),
    row("echo x >t/x; rm t/a; old t", "-a --delete --existing", &["*deleting   x"]),
    row("echo x >t/x; older t/a; old t", "-a --delete --ignore-existing", &["*deleting   x"]),
    // Left out on both sides, on one side, and within an extraneous directory.
    row("echo x >t/x.o; echo x >s/a.o; old s t", "-a --delete --exclude=*.o", &[]),
    row("echo SS >s/x.o; echo x >t/x.o; old s t", "-a --delete --exclude=*.o", &[]),
    row(
        "mkdir -p t/y/z; echo x >t/y/z/x; echo x >t/y/x.o; echo x >t/y/x; old t",
        "-a --delete --exclude=*.o",
        &["*deleting   y/x", "*deleting   y/z/", "*deleting   y/z/x"],
    ),
    row(
        "mkdir -p t/y/z; echo x >t/y/z/x.o; echo x >t/y/x; old t",
        "-a --delete --exclude=*.o",
        &["*deleting   y/x"],
    ),
    row(
        "echo x >t/x.o; mkdir t/y; echo x >t/y/x.o; echo x >s/a.o; cp s/a.o t/; old s t s/a.o",
        "-a --delete-excluded --exclude=*.o",
        &["*deleting   a.o", "*deleting   x.o", "*deleting   y/", "*deleting   y/x.o"],
    ),
    row("echo xx >t/d/x; old t/d", "-a --delete --exclude=/d/", &[]),
    row("echo longer >s/a; old s/a", "-a --delete --max-size=5", &[]),
    row("mkdir t/e/y; echo x >t/e/y/x; old t/e", "-a --delete --filter=P_y", &[]),
];

#[test]
fn what_the_source_lacks_goes_and_what_rules_leave_out_stays() -> Outcome {
    demand_rows(REMOVED)
}

#[test]
fn the_target_is_the_source_afterwards() -> Outcome {
    let edit = "mkdir -p t/x/y/z t/d/w; echo x >t/x/y/z/f; ln -s y t/x/k; mkfifo t/d/w/q; rm t/a";
    for jobs in ["--jobs=1", "--jobs=4"] {
        for moment in ["--delete", "--delete-before", "--delete-during", "--delete-after"] {
            let scratch = trees(edit)?;
            sync(["-a", moment, jobs, "s/", "t"]).in_dir(scratch.path()).succeed()?;
            let aspects = Aspects::preserved().without(Aspect::Blocks);
            demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, moment);
        }
    }
    Ok(())
}

#[test]
fn a_directory_that_holds_what_is_left_out_does_not_make_way_for_a_file() -> Outcome {
    let scratch = trees("rm t/a; mkdir t/a; echo x >t/a/keep.o; echo x >t/a/x")?;
    let done = sync(["-a", "--delete", "--exclude=*.o", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert_eq!(fs::read(scratch.at("t/a/keep.o"))?, b"x\n");
    Ok(())
}

#[test]
fn a_file_as_source_removes_nothing() -> Outcome {
    let scratch = trees("echo x >t/x; mkdir t/y")?;
    sync(["-a", "--delete", "s/a", "t"]).in_dir(scratch.path()).succeed()?;
    sync(["-a", "--delete", "s", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(scratch.at("t/x").exists() && scratch.at("t/y").exists());
    assert!(scratch.at("t/s/d/b").exists());
    Ok(())
}

#[test]
fn several_sources_with_a_slash_or_a_list_of_names_are_refused() -> Outcome {
    let scratch = trees("echo a >list; mkdir u; echo u >u/u; echo x >t/x; rm t/a")?;
    let before = snapshot(&scratch.at("t"));
    for words in [
        &["-a", "--delete", "s/", "u/", "t"][..],
        &["-a", "--delete-after", "s/", "u/.", "t"],
        &["-a", "--delete-excluded", "--exclude=x", "s/", "u/", "t"],
        &["-a", "--delete", "--files-from=list", "s/", "t"],
    ] {
        for mode in [&[][..], &["-n"]] {
            let done = sync(mode).words(words).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
            assert!(before == snapshot(&scratch.at("t")), "{words:?}: {done:?}");
        }
    }
    // Each of these has a directory of its own.
    sync(["-a", "--delete", "s", "u", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(
        scratch.at("t/x").exists() && scratch.at("t/s/a").exists() && scratch.at("t/u/u").exists()
    );
    Ok(())
}

/// A file system may not be mounted.
#[test]
fn an_empty_source_empties_nothing_unless_asked() -> Outcome {
    for (operands, target) in [(["empty/", "t"], "t"), (["empty", "t"], "t/empty")] {
        let scratch = trees(
            "mkdir -p empty t/empty/d; echo x >t/empty/d/x; echo x >t/e/x
            touch -d @1600000000 empty t/empty t",
        )?;
        let before = snapshot(&scratch.at("t"));
        let done = sync(["-a", "--delete"]).words(operands).in_dir(scratch.path()).run()?;
        assert_ne!(done.code(), Some(0), "{done:?}");
        assert!(done.errors().contains("--allow-empty"), "{done:?}");
        assert!(before == snapshot(&scratch.at("t")), "{done:?}");
        // Without a removal nothing is refused.
        sync(["-a"]).words(operands).in_dir(scratch.path()).succeed()?;
        assert!(scratch.at("t/empty/d/x").exists());
        let words = ["-a", "--delete", "--allow-empty"];
        sync(words).words(operands).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read_dir(scratch.at(target))?.count(), 0);
    }
    // A directory below an operand may be empty.
    let scratch = trees("echo x >t/e/x")?;
    sync(["-a", "--delete", "s/", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(!scratch.at("t/e/x").exists());
    Ok(())
}

/// Asserts that each file of the source is in the target, and what it had besides in `d`.
fn demand_kept(scratch: &Scratch, root: &Path, context: &str) -> Outcome {
    for name in paths(root)? {
        if fs::symlink_metadata(root.join(&name))?.is_file() {
            let bytes = fs::read(root.join(&name))?;
            assert_eq!(fs::read(scratch.at("t").join(&name))?, bytes, "{name}: {context}");
        }
    }
    demand_besides(scratch, context);
    Ok(())
}

/// Asserts that what only the target has in `d` is there.
fn demand_besides(scratch: &Scratch, context: &str) {
    for name in ["t/d/extraneous", "t/d/y/x"] {
        assert!(scratch.at(name).exists(), "{name}: {context}");
    }
}

/// Files of a directory that takes several requests to read.
const MANY: &str = "mkdir -p below/s/d below/s/e far
    for n in $(seq 300); do echo $n >below/s/d/$n-$(printf %0200d 0); done
    echo new >below/s/new; echo new >below/s/e/new; cp -a below/s t; rm t/new t/e/new; mkdir t/d/y
    echo x >t/d/y/x; echo x >t/d/extraneous";

#[test]
fn nothing_goes_from_a_directory_whose_source_was_not_read_to_its_end() -> Outcome {
    if !is_root()? || !Path::new("/dev/fuse").exists() {
        return ignored("root and /dev/fuse");
    }
    for rule in ["readdir:d=EIO", "readdir:d@2+=EIO", "readdir:d@3+=EIO", "opendir:d=EACCES"] {
        for jobs in ["--jobs=1", "--jobs=4"] {
            let scratch = Scratch::new()?;
            demand(scratch.path(), MANY)?;
            let config = Config { rules: vec![rule.parse()?], ..Config::default() };
            let mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), &config)?;
            let words = ["-a", "--delete", jobs, "far/s/", "t"];
            let done = sync(words).in_dir(scratch.path()).run()?;
            mounted.unmount()?;
            let context = format!("{rule} {jobs}: {done:?}");
            assert_eq!(done.code(), Some(23), "{context}");
            demand_kept(&scratch, &scratch.at("below/s"), &context)?;
        }
    }
    Ok(())
}

#[test]
fn a_target_directory_that_cannot_be_read_loses_nothing() -> Outcome {
    if !is_root()? || !Path::new("/dev/fuse").exists() {
        return ignored("root and /dev/fuse");
    }
    for rule in ["readdir:d=EIO", "readdir:d@2+=EIO"] {
        let scratch = Scratch::new()?;
        let text = MANY
            .replace("below/s", "s")
            .replace("cp -a s t", "mkdir below; cp -a s below/t; ln -s below/t t");
        demand(scratch.path(), &text)?;
        let config = Config { rules: vec![rule.parse()?], ..Config::default() };
        let mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), &config)?;
        let done = sync(["-a", "--delete", "s/", "far/t/"]).in_dir(scratch.path()).run()?;
        mounted.unmount()?;
        assert_eq!(done.code(), Some(23), "{rule}: {done:?}");
        assert_eq!(fs::read(scratch.at("t/new"))?, b"new\n", "{rule}: {done:?}");
        demand_besides(&scratch, &format!("{rule}: {done:?}"));
        let kept = paths(&scratch.at("t/d"))?;
        for name in paths(&scratch.at("s/d"))? {
            assert!(kept.contains(&name), "{rule}: {name}: {done:?}");
        }
    }
    Ok(())
}

#[test]
fn a_source_directory_without_the_right_to_read_it_keeps_its_target() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    for mode in ["000", "300"] {
        let scratch = Scratch::public()?;
        let program = scratch.program("haul")?;
        demand(
            scratch.path(),
            &format!(
                "{BASE}\nmkdir t/d/y; echo x >t/d/y/x; echo x >t/d/extraneous; rm t/a
                 chown -R 12345:12345 s t; chmod {mode} s/d"
            ),
        )?;
        let call = Call::of(&program).words(["sync", "-rlt", "--delete", "s/", "t"]);
        let done = call.in_dir(scratch.path()).by_user().run()?;
        assert_eq!(done.code(), Some(23), "{mode}: {done:?}");
        demand_kept(&scratch, &scratch.at("s"), &format!("{mode}: {done:?}"))?;
    }
    Ok(())
}

#[test]
fn no_listing_that_fails_takes_a_name_that_the_source_has() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let log = tempfile::NamedTempFile::new()?;
    let make = || trees("mkdir t/d/y; echo x >t/d/y/x; echo x >t/x; echo n >s/d/n; echo n >s/e/n");
    let call =
        |scratch: &Scratch| sync(["-a", "--delete", "--jobs=1", "s/", "t"]).in_dir(scratch.path());
    let strace = Strace::new(log.path());
    strace.wrap(call(&make()?)).succeed()?;
    let points = points(&strace.lines()?);
    let mut failed = 0;
    for (name, error) in
        [("getdents64", "EIO"), ("openat", "EACCES"), ("openat", "ENOENT"), ("statx", "EIO")]
    {
        for point in points.iter().filter(|point| point.name == name) {
            let scratch = make()?;
            let fault = format!("{name}:error={error}:when={}", point.occurrence);
            let done =
                Strace::new(log.path()).trace(name).inject(&fault).wrap(call(&scratch)).run()?;
            let context = format!("{fault}: {done:?}");
            for name in ["a", "c", "d/b"] {
                let same =
                    fs::read(scratch.at("t").join(name))? == fs::read(scratch.at("s").join(name))?;
                assert!(same, "{name}: {context}");
            }
            assert!(fs::symlink_metadata(scratch.at("t/l"))?.is_symlink(), "{context}");
            if done.code() == Some(0) {
                assert_eq!(paths(&scratch.at("t"))?, paths(&scratch.at("s"))?, "{context}");
            }
            failed += usize::from(done.code() == Some(23));
        }
    }
    assert!(failed > 3, "only {failed} runs had a failure");
    Ok(())
}

/// Operands of which the source is inside the target, or is the target. All its files stay.
const INSIDE: [&[&str]; 8] = [
    &["a/b/", "a/"],
    &["a/b/.", "a"],
    &["a/b", "a/"],
    &["a/x/../b/", "a/"],
    &["link/", "a/"],
    &["a/b/sub/", "a/"],
    &["a/", "a/"],
    &["a/b/", "link/"],
];

/// Makes a source `a/b` inside a target `a`; it also has a directory, or a file, of its own name.
fn inside(scratch: &Scratch, own_name: &str) -> Outcome {
    demand(
        scratch.path(),
        &format!(
            "mkdir -p a/b/sub a/x m; echo f >a/b/f; echo g >a/b/sub/g; echo x >a/x/x; ln -s a/b link
             {own_name}"
        ),
    )
}

#[test]
fn a_source_inside_the_target_is_not_removed() -> Outcome {
    for own_name in [
        "true",
        "mkdir a/b/b; echo h >a/b/b/h",
        "echo h >a/b/b",
        "mkdir -p a/b/sub/b; echo h >a/b/sub/b/f",
    ] {
        for words in INSIDE {
            for options in [
                &["-a", "--delete"][..],
                &["-a", "--delete", "--force", "--jobs=4", "--allow-empty"],
            ] {
                let scratch = Scratch::new()?;
                inside(&scratch, own_name)?;
                // What is beside the source in the target is not the source.
                let source = scratch.at(if words[0].contains("sub") { "a/b/sub" } else { "a/b" });
                let before = contents_by_path(&source)?;
                let done = sync(options).words(words).in_dir(scratch.path()).run()?;
                let after = contents_by_path(&source)?;
                let lost: Vec<_> = before.difference(&after).collect();
                assert!(lost.is_empty(), "{own_name} {words:?} {options:?}: {lost:?} {done:?}");
            }
        }
    }
    let scratch = Scratch::new()?;
    inside(&scratch, "true")?;
    sync(["-a", "--delete", "a/b/", "a/"]).in_dir(scratch.path()).run()?;
    assert!(!scratch.at("a/x").exists() && scratch.at("a/f").exists(), "the rest goes on");
    Ok(())
}

#[test]
fn a_bind_mount_hides_no_source_inside_the_target() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mount")? {
        return Ok(());
    }
    for own_name in ["true", "mkdir a/b/b; echo h >a/b/b/h"] {
        for (script, words) in [
            ("mount --bind a/b m", ["m/", "a/"]),
            ("mount --bind a m", ["a/b/", "m/"]),
            ("mount --bind a m", ["m/b/", "a/"]),
            ("mount --bind a/b m", ["m", "a/"]),
        ] {
            let scratch = Scratch::new()?;
            inside(&scratch, own_name)?;
            let before = contents_by_path(&scratch.at("a/b"))?;
            let call = sync(["-a", "--delete", "--force"]).words(words);
            let done = in_namespace(&scratch, script, call)?;
            let after = contents_by_path(&scratch.at("a/b"))?;
            let lost: Vec<_> = before.difference(&after).collect();
            assert!(lost.is_empty(), "{own_name} {script} {words:?}: {lost:?} {done:?}");
        }
    }
    Ok(())
}

/// Returns the files of a tree with their contents.
fn contents_by_path(root: &Path) -> Outcome<BTreeSet<(PathBuf, Vec<u8>)>> {
    let names = paths(root)?;
    let files = names.iter().filter(|name| !name.ends_with('/'));
    files.map(|name| Ok((name.into(), fs::read(root.join(name))?))).collect()
}

#[test]
fn a_target_inside_the_source_does_not_nest() -> Outcome {
    for options in [&["-a"][..], &["-a", "--delete"], &["-a", "--jobs=4"]] {
        for target in ["s/t/", "s/d/t/"] {
            let scratch = Scratch::new()?;
            demand(scratch.path(), "mkdir -p s/d; echo f >s/f; echo g >s/d/g")?;
            let mut made = None;
            for _ in 0..2 {
                let done = sync(options).words(["s/", target]).in_dir(scratch.path()).run()?;
                let now = contents_by_path(&scratch.at("s"))?;
                assert!(now.len() <= 4, "{options:?} {target}: {now:?} {done:?}");
                assert_eq!(*made.get_or_insert_with(|| now.clone()), now, "{options:?} {target}");
                assert_eq!(fs::read(scratch.at("s/f"))?, b"f\n", "{options:?} {target}");
                assert_eq!(fs::read(scratch.at("s/d/g"))?, b"g\n", "{options:?} {target}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_mount_point_in_the_target_is_not_emptied() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mount")? {
        return Ok(());
    }
    // The last two are in the place of an entry of the source.
    for point in ["t/m", "t/y/z", "t/a", "t/l"] {
        for options in [
            &["-a", "--delete"][..],
            &["-a", "--delete", "--force", "--jobs=4"],
            &["-ax", "--delete-after"],
        ] {
            let scratch = trees(&format!(
                "mkdir -p keep/d; echo keep >keep/d/f; rm -f {point}; mkdir -p {point}"
            ))?;
            let call = sync(options).words(["s/", "t"]);
            let done = in_namespace(&scratch, &format!("mount --bind keep {point}"), call)?;
            let context = format!("{point} {options:?}: {done:?}");
            assert_eq!(fs::read(scratch.at("keep/d/f"))?, b"keep\n", "{context}");
            assert!(scratch.at(point).is_dir(), "{context}");
        }
    }
    Ok(())
}

#[test]
fn of_a_link_to_elsewhere_only_the_link_goes() -> Outcome {
    for options in
        [&["-a", "--delete"][..], &["-a", "--delete", "--force", "--jobs=4"], &["-aK", "--delete"]]
    {
        let scratch = trees(
            "mkdir out; echo x >out/x; ln -s ../out t/k; mkdir t/y
             ln -s ../../out t/y/k; ln -s ../out/x t/f",
        )?;
        let before = snapshot(&scratch.at("out"));
        sync(options).words(["s/", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(paths(&scratch.at("t"))?, paths(&scratch.at("s"))?, "{options:?}");
        assert!(before == snapshot(&scratch.at("out")), "{options:?}");
    }
    Ok(())
}

/// Makes names in an extraneous directory, in a common one, and outside that are the same.
const SAME_NAMES: &str = "mkdir -p out/z t/x/z; echo o >out/z/f; echo o >out/f; echo o >out/b
    echo x >t/x/z/f; echo x >t/x/f; echo x >t/d/f; older t/d/b";

#[test]
fn a_directory_that_becomes_a_link_meanwhile_is_not_followed() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let log = tempfile::NamedTempFile::new()?;
    let scratch = Scratch::new()?;
    let prepare = || -> Outcome {
        scratch.clear_all()?;
        demand(scratch.path(), &format!("{BASE}\n{SAME_NAMES}"))
    };
    let call = sync(["-a", "--delete", "--jobs=1", "s/", "t"]).in_dir(scratch.path());
    prepare()?;
    let strace = Strace::new(log.path());
    strace.wrap(call.clone()).succeed()?;
    let calls = ["openat", "openat2", "newfstatat", "statx", "fstat", "getdents64", "unlinkat"];
    let mut tried = 0;
    for point in points(&strace.lines()?).iter().filter(|point| calls.contains(&&*point.name)) {
        for swapped in ["t/x", "t/d"] {
            prepare()?;
            let before = contents_by_path(&scratch.at("out"))?;
            let swap = || -> Outcome {
                if scratch.at(swapped).is_dir() {
                    fs::rename(scratch.at(swapped), scratch.at("moved"))?;
                    symlink("../out", scratch.at(swapped))?;
                }
                Ok(())
            };
            let Some(done) = stopped_at(log.path(), &call, point, swap)? else { continue };
            tried += 1;
            let after = contents_by_path(&scratch.at("out"))?;
            assert_eq!(before, after, "{point:?} {swapped}: {done:?}");
        }
    }
    assert!(tried > 20, "only {tried} points");
    Ok(())
}

#[test]
fn a_maximum_holds_across_workers() -> Outcome {
    let edit =
        "for d in 1 2 3 4 5; do mkdir t/x$d; for f in 1 2 3 4; do echo $f >t/x$d/$f; done; done";
    let removals =
        |done: &Done| itemized(done).iter().filter(|line| line.starts_with("*deleting ")).count();
    for jobs in ["--jobs=1", "--jobs=4"] {
        for most in [0, 1, 7, 24, 25, 26] {
            let scratch = trees(&format!("{edit}; rm t/a"))?;
            let all = paths(&scratch.at("t"))?.len();
            let limit = format!("--max-delete={most}");
            let words = ["-ai", "--delete", jobs, &limit, "s/", "t"];
            let foreseen = sync(["-n"]).words(words).in_dir(scratch.path()).run()?;
            let done = sync(words).in_dir(scratch.path()).run()?;
            let context = format!("{jobs} {most}: {done:?}");
            let expected = (most.min(25), Some(if most < 25 { 25 } else { 0 }));
            assert_eq!((removals(&done), done.code()), expected, "{context}");
            assert_eq!((removals(&foreseen), foreseen.code()), expected, "-n: {foreseen:?}");
            // One file is new.
            assert_eq!(paths(&scratch.at("t"))?.len(), all + 1 - most.min(25), "{context}");
            assert_eq!(fs::read(scratch.at("t/a"))?, b"aa\n", "{context}");
        }
    }
    Ok(())
}

/// Another spelling of a name is not an extraneous entry, although its bytes differ.
#[test]
fn a_target_that_ignores_case_loses_nothing_of_the_source() -> Outcome {
    for jobs in ["--jobs=1", "--jobs=4"] {
        for moment in ["--delete", "--delete-before", "--delete-after"] {
            let scratch = Scratch::new()?;
            let Some(mounted) = mount(&scratch)? else { return Ok(()) };
            for name in ["A", "Sub/f", "same", "sub2/X"] {
                scratch.write(&format!("s/{name}"), format!("new {}", name.replace('/', "-")))?;
            }
            for name in ["a", "sub/F", "SAME", "extraneous", "Sub2/x", "Sub2/y"] {
                scratch.write(&format!("below/t/{name}"), "old")?;
            }
            demand(
                scratch.path(),
                "find s below/t -exec touch -d @1600000000 {} +; cp -p s/same below/t/SAME",
            )?;
            let target = mounted.path().join("t");
            let words = ["-a", moment, jobs, "s/"];
            for _ in 0..2 {
                let done = sync(words).word(&target).in_dir(scratch.path()).run()?;
                assert_eq!(done.code(), Some(0), "{moment} {jobs}: {done:?}");
                let found = contents(&scratch.at("below/t"))?;
                assert_eq!(found, contents(&scratch.at("s"))?, "{moment} {jobs}: {done:?}");
            }
        }
    }
    Ok(())
}
