//! `haul rm`: results, messages, and numbers of calls.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haul_manifest::parse_recipe;

use super::support::judge::snapshot;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Line, Point, Strace, is_usable, stopped_at};
use super::support::volume::{Volume, volumes};
use super::support::{Outcome, has, ignored, is_root};

/// The limit of resident memory for every run, independent of the size of the tree.
const MEMORY_BYTES: u64 = 64 << 20;

/// Starts the command line of `haul rm`.
pub(crate) fn rm<'w>(words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word("rm").words(words)
}

fn generate(root: &Path, recipe: &str) -> Outcome {
    parse_recipe(recipe)?.generate(root).map_err(|failure| failure.to_string())?;
    Ok(())
}

fn said(done: &Done) -> (Option<i32>, String) {
    (done.code(), done.errors())
}

#[test]
fn every_kind_of_entry_goes_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        for jobs in ["--jobs=1", "--jobs=4"] {
            let scratch = Scratch::on(&volume)?;
            generate(&scratch.at("t"), "random:entries=300")?;
            generate(&scratch.at("t/n"), "nested:files=3000,dirs=40,size=100")?;
            scratch.write("victim", "victim")?;
            symlink("../victim", scratch.at("t/leads-out"))?;
            rm(["-rf", jobs, "t"]).in_dir(scratch.path()).succeed()?;
            assert!(!scratch.at("t").exists(), "{}", volume.name);
            assert_eq!(fs::read(scratch.at("victim"))?, b"victim");
        }
    }
    Ok(())
}

#[test]
fn a_flat_directory_goes_by_several_workers() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        generate(&scratch.at("t"), "flat:files=20000,size=0")?;
        rm(["-r", "--jobs=4", "t"]).in_dir(scratch.path()).succeed()?;
        assert!(!scratch.at("t").exists(), "{}", volume.name);
    }
    Ok(())
}

#[test]
fn dots_and_the_root_are_refused_by_whatever_name() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    // Nothing of the machine can be reached: an unprivileged user, private namespaces, and a
    // root directory on a tmpfs that holds the program and a few files.
    let script = r#"
        set -e
        mount -t tmpfs none "$2"; cd "$2"
        mkdir -p bin data/deep proof lib lib64 usr; echo kept > proof/file
        cp "$1" bin/haul; cp "$(command -v chroot)" bin/chroot
        for library in $(ldd "$1" bin/chroot | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
            mkdir -p ".$(dirname "$library")"; cp "$library" ".$library"
        done
        mkdir bound; mount --bind . bound
        ln -s / to-root
        for operand in / // /. /data/.. /data/../ ./ . .. bound to-root/ data/deep/../..; do
            if chroot . /bin/haul rm -rf "$operand" 2>> said; then echo "WENT $operand"; fi
        done
        # Where the root is mounted inside a tree, the tree's other entries go and it stays.
        mkdir -p tree/sub; echo x > tree/sub/file; mkdir tree/root; mount --bind . tree/root
        if chroot . /bin/haul rm -rf tree 2>> said; then echo "WENT tree"; fi
        test ! -e tree/sub; cat proof/file; grep -c dangerous said
    "#;
    let scratch = Scratch::public()?;
    let mount = scratch.at("root");
    fs::create_dir(&mount)?;
    std::os::unix::fs::chown(&mount, Some(12345), Some(12345))?;
    let program = scratch.program("haul")?;
    let done = Call::of("unshare")
        .words(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script, "sh"])
        .word(&program)
        .word(&mount)
        .by_user()
        .run()?;
    if done.errors().contains("unshare failed") {
        return ignored("user namespaces");
    }
    let (text, errors) = (done.text(), done.errors());
    assert!(text.starts_with("kept\n") && !text.contains("WENT"), "{text}{errors}");
    Ok(())
}

#[test]
fn mount_points_are_kept_where_that_was_asked_for() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let script = r#"
        set -e
        mount --make-rprivate /
        mkdir -p t/sub t/mnt other; echo kept > other/file; echo x > t/sub/file
        mount --bind other t/mnt
        "$1" rm -rf --preserve-root=all t/mnt && echo WENT
        "$1" rm -rf --one-file-system t && echo WENT
        test ! -e t/sub; cat other/file
    "#;
    let done = Call::of("unshare")
        .words(["--mount", "--", "sh", "-c", &script.replace("set -e", ""), "sh"])
        .word(haul())
        .in_dir(scratch.path())
        .run()?;
    assert_eq!(done.text(), "kept\n", "{}", done.errors());
    assert_eq!(
        done.errors(),
        "rm: skipping 't/mnt', since it's on a different device\n\
         rm: and --preserve-root=all is in effect\n\
         rm: skipping 't/mnt', since it's on a different device\n"
    );
    Ok(())
}

#[test]
fn one_that_cannot_go_does_not_keep_the_others() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    for jobs in ["--jobs=1", "--jobs=4"] {
        let scratch = Scratch::public()?;
        generate(&scratch.at("t"), "nested:files=2000,dirs=20,size=10")?;
        scratch.write("t/locked/stays", "stays")?;
        let chown = Call::of("chown").words(["-R", "12345:12345", "."]).in_dir(scratch.path());
        chown.succeed()?;
        Call::of("chmod").words(["500", "t/locked"]).in_dir(scratch.path()).succeed()?;
        let done = rm(["-rf", jobs, "t"]).by_user().in_dir(scratch.path()).run()?;
        let line = "rm: cannot remove 't/locked/stays': Permission denied\n";
        assert_eq!(said(&done), (Some(1), line.to_owned()));
        assert_eq!(fs::read_dir(scratch.at("t"))?.count(), 1);
    }
    Ok(())
}

/// Operands that are reached through others, with what is removed.
const THROUGH: &[(&str, &[&str])] = &[
    ("mkdir -p r/d1 r/d2; touch r/d1/s r/d2/t r/f; ln -s r link", &["link/d1 link/d2 link/f link"]),
    ("mkdir -p a x/y; touch x/y/z", &["a/../x a", "x a", "a/../x a/../a"]),
    ("mkdir -p else/x/y tree; touch else/x/y/z; ln -s ../else tree/link", &["tree/link/x tree"]),
    ("mkdir -p w/a w/b/c; touch w/b/c/d; ln -s w/a/.. s", &["s/b s/a"]),
];

#[test]
fn operands_that_are_reached_through_others_go_too() -> Outcome {
    let scratch = Scratch::new()?;
    for (made, lines) in THROUGH {
        for (line, jobs) in lines.iter().flat_map(|line| [(line, "--jobs=1"), (line, "--jobs=4")]) {
            scratch.clear_all()?;
            demand(scratch.path(), made)?;
            let gone: Vec<_> = line
                .split(' ')
                .map(|word| {
                    let path = scratch.at(word);
                    let parent = fs::canonicalize(path.parent().ok_or("no parent")?)?;
                    Ok(parent.join(path.file_name().ok_or("no name")?))
                })
                .collect::<Outcome<_>>()?;
            let done = rm(["-rf", jobs]).words(line.split(' ')).in_dir(scratch.path()).run()?;
            assert_eq!(said(&done), (Some(0), String::new()), "{line}");
            for path in gone {
                assert!(path.symlink_metadata().is_err(), "{line}: {}", path.display());
            }
        }
    }
    Ok(())
}

#[test]
fn an_operand_that_stays_is_reported_with_force_too() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), "mkdir -p real/d; touch real/d/f; ln -s real link")?;
    // The kernel removes no directory by the name of a symbolic link; with -f GNU rm leaves it as well.
    let done = rm(["-rf", "link/"]).in_dir(scratch.path()).run()?;
    assert_eq!(said(&done), (Some(0), String::new()));
    let done = rm(["-r", "link/"]).in_dir(scratch.path()).run()?;
    let line = "rm: cannot remove 'link/': Not a directory\n";
    assert_eq!(said(&done), (Some(1), line.to_owned()));
    // What was removed with another operand, or does not exist, is not missed.
    demand(scratch.path(), "mkdir -p t/d/e")?;
    let words = ["-rf", "t", "t", "t/d", "t/d/e", "nowhere", "link/x/y"];
    assert_eq!(said(&rm(words).in_dir(scratch.path()).run()?), (Some(0), String::new()));
    if !is_usable()? {
        return Ok(());
    }
    for (change, expected) in [("rmdir p/t", Some(0)), ("mv p q", Some(1))] {
        demand(scratch.path(), "rm -rf p q; mkdir -p p/t; touch p/t/f")?;
        let call = rm(["-rf", "--jobs=1", "p/t"]).in_dir(scratch.path());
        let point = Point { name: "unlinkat".to_owned(), occurrence: 1 };
        let done =
            stopped_at(&scratch.at("log"), &call, &point, || demand(scratch.path(), change))?;
        let Some(done) = done else { return Err("no removal".into()) };
        let line = expected
            .filter(|code| *code != 0)
            .map_or("", |_| "rm: cannot remove 'p/t': No such file or directory\n");
        assert_eq!(said(&done), (expected, line.to_owned()), "{change}");
    }
    Ok(())
}

#[test]
fn a_deep_tree_needs_few_descriptors_and_little_memory() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    for options in [["-rf", "--jobs=8"], ["-rf", "--dry-run"], ["-r", "--jobs=1"]] {
        // A disk's journal would make this a test of the disk.
        let memory = Path::new("/dev/shm");
        let volume = Volume { name: "tmpfs".to_owned(), path: memory.to_owned() };
        let scratch = if memory.is_dir() { Scratch::on(&volume)? } else { Scratch::new()? };
        let depth = if options[1] == "--dry-run" { 2000 } else { 100_000 };
        generate(&scratch.at("t"), &format!("deep:depth={depth},name=1"))?;
        let call = rm(options).word("t").in_dir(scratch.path());
        let done = call.under(["prlimit", "--nofile=20", "--"]).watching_memory().succeed()?;
        assert_eq!(scratch.at("t").exists(), options[1] == "--dry-run");
        assert!(done.peak_bytes < MEMORY_BYTES, "{} bytes", done.peak_bytes);
    }
    Ok(())
}

#[test]
fn wide_directories_at_every_level_need_few_descriptors() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    // Each level has more entries than one turn reads, so partly read directories wait.
    let mut path = scratch.at("t");
    for _ in 0..12 {
        fs::create_dir(&path)?;
        for number in 0..900 {
            fs::create_dir(path.join(format!("a-rather-long-name-{number}")))?;
        }
        path.push("a-rather-long-name-450");
        fs::remove_dir(&path)?;
    }
    let call = rm(["-r", "--jobs=2", "t"]).in_dir(scratch.path());
    call.under(["prlimit", "--nofile=20", "--"]).succeed()?;
    assert!(!scratch.at("t").exists());
    Ok(())
}

#[test]
fn a_dry_run_changes_nothing_and_tells_everything() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("t/d/file", "x")?;
    let before = snapshot(&scratch.at("t"));
    let done = rm(["-r", "--dry-run", "t"]).in_dir(scratch.path()).succeed()?;
    let lines =
        "would remove 't/d/file'\nwould remove directory 't/d'\nwould remove directory 't'\n";
    assert_eq!(done.text(), lines);
    assert_eq!(snapshot(&scratch.at("t")), before);
    Ok(())
}

#[test]
fn a_gentle_and_slow_removal_is_complete() -> Outcome {
    let scratch = Scratch::new()?;
    generate(&scratch.at("t"), "nested:files=100,dirs=4,size=10")?;
    let large = fs::File::create(scratch.at("t/large"))?;
    let chunk = vec![1; 1 << 20];
    for megabyte in 0..80 {
        std::os::unix::fs::FileExt::write_all_at(&large, &chunk, megabyte << 20)?;
    }
    let begun = std::time::Instant::now();
    let done = rm(["-r", "--gentle", "--rate=200", "t"]).in_dir(scratch.path()).run()?;
    // It says so if other processes have held it back.
    let is_said = |line: &str| line.starts_with("rm: held back: ");
    assert!(done.code() == Some(0) && done.errors().lines().all(is_said), "{}", done.errors());
    assert!(begun.elapsed().as_millis() > 300, "a hundred entries at 200 a second");
    assert!(!scratch.at("t").exists());
    // A process that has the directory open keeps its contents.
    assert_eq!(large.metadata()?.len(), 80 << 20);
    Ok(())
}

/// Counts the calls of removing a tree, from the description of the root directory on.
fn count(recipe: &str) -> Outcome<BTreeMap<String, usize>> {
    let scratch = Scratch::new()?;
    generate(&scratch.at("t"), recipe)?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(rm(["-r", "--jobs=1", "t"]).in_dir(scratch.path())).succeed()?;
    let is_begin = |line: &Line| line.text.contains("AT_FDCWD, \"/\"");
    let mut counts = BTreeMap::new();
    for line in strace.lines()?.into_iter().skip_while(|line| !is_begin(line)) {
        if !line.text.contains("F_GETFD") {
            *counts.entry(line.name).or_default() += 1;
        }
    }
    Ok(counts)
}

#[test]
fn a_file_costs_one_call_and_a_directory_six() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let counts = count("nested:files=1000,dirs=10,size=10")?;
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert_eq!(of("unlinkat"), 1000 + 11, "{counts:?}");
    // At its end the command closes duplicates of standard output and standard error.
    assert_eq!((of("openat"), of("close"), of("getdents64")), (11, 11 + 2, 22), "{counts:?}");
    // Each directory is described once, the operand and the root directory twice.
    assert_eq!(of("fstat") + of("newfstatat"), 11 + 2, "{counts:?}");
    // Whether an operand is a mount point is asked by two calls, for each that is a directory.
    assert_eq!(of("statx"), 2, "{counts:?}");
    // For a few files no other worker starts.
    assert_eq!(of("clone3") + of("clone"), 0, "{counts:?}");
    Ok(())
}

/// A bind mount shows data that have another name, and `rm` can only empty it. A program in place of GNU's rm
/// does that, as scripts for containers expect.
#[test]
fn a_mount_point_is_emptied_only_under_the_name_of_gnu() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let script = r#"
        mount --make-rprivate / && mkdir -p own/sub bound disk link-to locked && mkdir locked/inner
        echo kept > own/file; mount --bind own bound; mount -t tmpfs none disk; echo kept > disk/file
        ln -s disk/.. up
        for point in bound bound/ ./bound disk up/bound; do "$1" rm -r "$point" && echo WENT; done
        cat bound/file disk/file
        "$1" rm -rd --preserve-root=all bound disk; cat bound/file disk/file
        # What is in a mount point, or beside one, is removed.
        "$1" rm -r up/disk/file link-to bound/sub && ls -A disk; ls -A own
        chmod 0 locked; "$1" rm -rf locked && echo gone
        "$1" rm -r --preserve-root bound; ls -A own
        echo again > own/file; ln -s "$1" rm; ./rm -r bound; ls -A own
    "#;
    let done = Call::of("unshare")
        .words(["--mount", "--", "sh", "-c", script, "sh"])
        .word(haul())
        .in_dir(scratch.path())
        .run()?;
    assert_eq!(done.text(), "kept\nkept\nkept\nkept\nfile\ngone\n", "{}", done.errors());
    let kept = |name: &str| {
        format!(
            "rm: cannot remove '{name}': it is a mount point; unmount it, or empty it as GNU rm does with \
             --preserve-root\n"
        )
    };
    let asked = |name: &str| {
        format!(
            "rm: skipping '{name}', since it's on a different device\n\
             rm: and --preserve-root=all is in effect\n"
        )
    };
    let busy = "rm: cannot remove 'bound': Device or resource busy\n";
    let refused = ["bound", "bound/", "./bound", "disk", "up/bound"].map(kept).concat();
    let expected = [&*refused, &*asked("bound"), &*asked("disk"), busy, busy].concat();
    assert_eq!(done.errors(), expected);
    Ok(())
}
