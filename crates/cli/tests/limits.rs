//! Bounded resources: few descriptors, little memory, no more threads than the work needs.

use std::fs;

use haul_manifest::{Aspects, Item, ItemKind, create_tree, parse_recipe};

use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::{Volume, volumes};
use super::support::{Outcome, has, is_root};

/// The limit of resident memory for every run, independent of the size of the tree.
const MEMORY_BYTES: u64 = 64 << 20;

fn generate(scratch: &Scratch, recipe: &str) -> Outcome {
    parse_recipe(recipe)?.generate(&scratch.at("s")).map_err(|failure| failure.to_string())?;
    Ok(())
}

/// Levels of a comb: its paths are longer than `PATH_MAX`, and it is much deeper than 20 descriptors. Each level
/// more costs as many steps as there are above it.
const COMB_LEVELS: usize = 1200;

/// Makes a chain of directories, each with a file and a directory beside the next one.
fn comb(levels: usize) -> impl Iterator<Item = Item> {
    (1..=levels).flat_map(|depth| {
        let file = ItemKind::Regular(haul_manifest::Body::dense(10, depth as u64));
        let beside = ItemKind::Regular(haul_manifest::Body::dense(5, depth as u64));
        [
            Item::new(depth, "file", file),
            Item::new(depth, "side", ItemKind::Directory),
            Item::new(depth + 1, "inner", beside),
            Item::new(depth, "down", ItemKind::Directory),
        ]
    })
}

/// Runs with 20 descriptors, as after `ulimit -n 20`.
fn frugally(call: Call) -> Call {
    call.under(["prlimit", "--nofile=20", "--"])
}

#[test]
fn a_deep_tree_needs_few_descriptors_and_little_memory() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    generate(&scratch, "deep:depth=20000,name=1")?;
    for options in [["-r", "--jobs=1"], ["-a", "--jobs=8"]] {
        let call = cp(options).words(["s", "t"]).in_dir(scratch.path());
        let done = frugally(call).watching_memory().succeed()?;
        let aspects = if options[0] == "-a" { Aspects::all() } else { Aspects::contents_only() };
        demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, options[0]);
        assert!(done.peak_bytes < MEMORY_BYTES, "{} bytes", done.peak_bytes);
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn a_comb_needs_few_descriptors() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    create_tree(&scratch.at("s"), comb(COMB_LEVELS)).map_err(|failure| failure.to_string())?;
    for options in [["-r", "--jobs=4"], ["-a", "--jobs=1"], ["-rv", "--jobs=1"]] {
        frugally(cp(options).words(["s", "t"]).in_dir(scratch.path())).succeed()?;
        let aspects = if options[0] == "-a" { Aspects::all() } else { Aspects::contents_only() };
        demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, options[0]);
        scratch.clear("t")?;
    }
    Ok(())
}

/// With many descriptors the cache of open directories is used.
#[test]
fn a_comb_is_copied_by_several_workers() -> Outcome {
    let scratch = Scratch::new()?;
    create_tree(&scratch.at("s"), comb(COMB_LEVELS)).map_err(|failure| failure.to_string())?;
    cp(["-a", "--jobs=8", "s", "t"]).in_dir(scratch.path()).succeed()?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), "comb");
    Ok(())
}

#[test]
fn wide_trees_with_20_descriptors_are_copied_with_large_files_and_links() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    generate(&scratch, "mixed:files=400,median=4096,cap=16M,seed=5")?;
    for jobs in ["--jobs=1", "--jobs=8"] {
        frugally(cp(["-a", jobs, "s", "t"]).in_dir(scratch.path())).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), jobs);
        scratch.clear("t")?;
    }
    Ok(())
}

/// Hundreds of thousands of inodes are created fastest in memory.
fn fastest() -> Outcome<Scratch> {
    let volumes = volumes()?;
    let tmpfs = volumes.iter().find(|volume| volume.name == "tmpfs");
    let shared = Volume { name: "shared memory".to_owned(), path: "/dev/shm".into() };
    match tmpfs {
        Some(volume) => Scratch::on(volume),
        None if shared.path.is_dir() => Scratch::on(&shared),
        None => Scratch::new(),
    }
}

#[test]
fn memory_does_not_grow_with_a_directory() -> Outcome {
    let scratch = fastest()?;
    generate(&scratch, "flat:files=200000,size=0")?;
    let call = cp(["-r", "s", "t"]).in_dir(scratch.path());
    let done = call.watching_memory().succeed()?;
    assert_eq!(fs::read_dir(scratch.at("t"))?.count(), 200_000);
    assert!(done.peak_bytes > 0 && done.peak_bytes < MEMORY_BYTES, "{} bytes", done.peak_bytes);
    Ok(())
}

#[test]
fn memory_does_not_grow_with_the_number_of_directories() -> Outcome {
    let scratch = fastest()?;
    generate(&scratch, "nested:files=40000,dirs=20000,size=0")?;
    let call = cp(["-a", "s", "t"]).in_dir(scratch.path());
    let done = call.watching_memory().succeed()?;
    assert_eq!(fs::read_dir(scratch.at("t"))?.count(), 20_000);
    assert!(done.peak_bytes > 0 && done.peak_bytes < MEMORY_BYTES, "{} bytes", done.peak_bytes);
    Ok(())
}

/// Counts the threads that a run starts.
fn threads(scratch: &Scratch, words: &[&str]) -> Outcome<usize> {
    let strace = Strace::new(scratch.at("log")).trace("?clone,?clone3,?fork,?vfork");
    strace.wrap(cp(words).in_dir(scratch.path())).succeed()?;
    Ok(strace.lines()?.len())
}

#[test]
fn threads_are_started_only_where_there_is_work_for_them() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    generate(&scratch, "flat:files=10,size=1024")?;
    scratch.write("f", "one file")?;
    assert_eq!(threads(&scratch, &["f", "g", "--jobs=8"])?, 0, "one file");
    assert_eq!(threads(&scratch, &["-r", "s", "t", "--jobs=8"])?, 0, "ten files");
    scratch.clear("s")?;
    generate(&scratch, "nested:files=2000,dirs=40,size=1024")?;
    assert_eq!(threads(&scratch, &["-r", "s", "one", "--jobs=1"])?, 0, "one job");
    // The number of other workers that find work depends on the machine.
    let started = threads(&scratch, &["-r", "s", "three", "--jobs=3"])?;
    assert!((1..=2).contains(&started), "{started} threads for three jobs");
    Ok(())
}

#[test]
fn one_thread_does_it_where_others_are_refused() -> Outcome {
    if !is_root()? || !has("prlimit")? || !has("setpriv")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    let binary = scratch.program("haul")?;
    generate(&scratch, "nested:files=1000,dirs=20,size=1024")?;
    scratch.write("s/large", vec![7; 9 << 20])?;
    fs::create_dir(scratch.at("out"))?;
    let user = Some(super::support::run::USER);
    std::os::unix::fs::chown(scratch.at("out"), user, user)?;
    // The limit applies to all processes of the user, and only without privileges.
    let call = Call::of(&binary).words(["cp", "-r", "--jobs=4", "--stats", "s", "out/t"]);
    let call = call.in_dir(scratch.path()).under(["prlimit", "--nproc=1", "--"]).by_user();
    let done = call.run()?;
    assert_eq!(done.code(), Some(0), "{}", done.errors());
    assert!(done.errors().contains("workers: 1\n"), "{}", done.errors());
    demand_equal(&scratch.at("s"), &scratch.at("out/t"), Aspects::contents_only(), "nproc");
    Ok(())
}

#[test]
fn few_processes_are_enough() -> Outcome {
    if !is_root()? || !has("setpriv")? || !has("prlimit")? {
        return Ok(());
    }
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        scratch.write("a", super::support::shell::noise((20 << 20) + 7))?;
        fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        for (few, line) in [
            (1, "haul write b < a"),
            (2, "haul write b < a"),
            (3, "haul write b < a"),
            (1, "haul read a > b"),
            (2, "haul read a > b"),
        ] {
            // No other process of the machine has this user number, so none is counted.
            let line = format!(
                "exec setpriv --reuid=23456 --regid=23456 --clear-groups prlimit --nproc={few} {}",
                line.replace("haul", &format!("'{}'", haul().display()))
            );
            let done = Call::of("bash").words(["-c", &line]).in_dir(scratch.path()).run()?;
            let what = format!("{}: {line}: {done:?}", volume.name);
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{what}");
            assert!(fs::read(scratch.at("a"))? == fs::read(scratch.at("b"))?, "{what}");
            fs::remove_file(scratch.at("b"))?;
        }
    }
    Ok(())
}
