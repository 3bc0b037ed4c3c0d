//! Corners of `tar` that a reader of its code found: names that replace each other, few descriptors, and
//! members that a verification could pass over.

use std::fs;
use std::os::unix::fs::symlink;

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::tar::ours;
use super::support::volume::volumes;
use super::support::{Outcome, schema};
use super::tar_run::{MIB, content, demand, lines, run, tree};

/// Adds names of the folder `m` to an archive, as they are now.
fn add(scratch: &Scratch, names: &[&str]) -> Outcome {
    let words = ["-rf", "a.tar", "--no-recursion", "-C", "m"];
    demand(scratch, &[&words[..], names].concat())?;
    Ok(())
}

/// A name that was a link to a directory is a file, and nothing goes through it any more.
#[test]
fn a_link_that_is_replaced_is_forgotten() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("m/real/f", "f")?;
    symlink("real", scratch.at("m/lnk"))?;
    add(&scratch, &["real", "lnk", "lnk/f"])?;
    fs::remove_file(scratch.at("m/lnk"))?;
    scratch.write("m/lnk", "a file")?;
    add(&scratch, &["lnk"])?;
    fs::remove_file(scratch.at("m/lnk"))?;
    scratch.write("m/lnk/h", "h")?;
    add(&scratch, &["lnk/h"])?;
    for option in ["-p", "--atomic", "--durable"] {
        fs::create_dir(scratch.at("t"))?;
        let done = run(&scratch, &["-xf", "a.tar", option, "-C", "t"])?;
        assert_eq!(done.code(), Some(2), "{option}: {}", done.errors());
        assert!(!scratch.at("t/real/h").exists(), "{option}");
        assert_eq!(fs::read(scratch.at("t/real/f"))?, b"f", "{option}");
        scratch.clear("t")?;
    }
    Ok(())
}

/// The next file may get the inode number of a file that stood for a link.
#[test]
fn a_file_in_the_place_of_a_link_stays_a_file() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("m"))?;
    symlink("/etc/passwd", scratch.at("m/f"))?;
    add(&scratch, &["f"])?;
    fs::remove_file(scratch.at("m/f"))?;
    scratch.write("m/f", "")?;
    for _ in 0..3 {
        add(&scratch, &["f"])?;
    }
    for option in ["-p", "--atomic", "--durable", "-U"] {
        fs::create_dir(scratch.at("t"))?;
        demand(&scratch, &["-xpf", "a.tar", option, "--jobs=1", "-C", "t"])?;
        let found = fs::symlink_metadata(scratch.at("t/f"))?;
        assert!(found.is_file(), "{option}: {found:?}");
        scratch.clear("t")?;
    }
    Ok(())
}

/// Directories that have no path at the end are synchronised with their file system.
#[test]
fn durable_names_are_on_storage_wherever_they_were_made() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("m/real/f", "f")?;
    symlink("real", scratch.at("m/lnk"))?;
    add(&scratch, &["real", "lnk", "lnk/f"])?;
    fs::remove_file(scratch.at("m/lnk"))?;
    symlink("nowhere", scratch.at("m/lnk"))?;
    add(&scratch, &["lnk"])?;
    fs::create_dir(scratch.at("t"))?;
    let strace = Strace::new(scratch.at("log")).trace("syncfs");
    let words = ["-xf", "a.tar", "--durable", "-C", "t"];
    strace.wrap(ours().words(words).in_dir(scratch.path())).succeed()?;
    assert!(strace.text()?.contains("= 0"), "{}", strace.text()?);
    // A directory that a link outside replaces is no failure, nor is a link with its inode number.
    scratch.clear("m")?;
    scratch.clear("a.tar")?;
    scratch.write("m/d/f", "f")?;
    add(&scratch, &["d", "d/f"])?;
    scratch.clear("m/d")?;
    symlink("../out", scratch.at("m/d"))?;
    add(&scratch, &["d"])?;
    scratch.clear("t")?;
    fs::create_dir(scratch.at("t"))?;
    let words = ["-xf", "a.tar", "--durable", "--recursive-unlink", "-C", "t"];
    assert_eq!(demand(&scratch, &words)?.errors(), "");
    Ok(())
}

#[test]
fn batches_of_files_need_few_descriptors() -> Outcome {
    let scratch = Scratch::new()?;
    for file in 0..300 {
        scratch.write(&format!("s/{file}"), "f")?;
    }
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    for (limit, jobs, option) in [
        (64, 4, "--durable"),
        (64, 16, "--cache=drop"),
        (24, 1, "--durable"),
        (24, 8, "--durable"),
        (24, 16, "--atomic"),
        (128, 64, "--durable"),
    ] {
        fs::create_dir(scratch.at("t"))?;
        let shell = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        let call = Call::of("sh").words(["-c", &shell]).word(haul());
        let jobs = format!("--jobs={jobs}");
        let call = call.words(["tar", "-xf", "a.tar", &jobs, option, "-C", "t"]);
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{limit} {jobs} {option}: {}", done.errors());
        demand_equal(&scratch.at("s"), &scratch.at("t/s"), Aspects::contents_only(), option);
        scratch.clear("t")?;
    }
    Ok(())
}

/// Which occurrence of a pattern is damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    Last,
}

/// Changes one byte of an archive while later members are written, after it went to storage.
fn damaged(
    scratch: &Scratch,
    (options, names): (&[&str], &[&str]),
    (pattern, which): (&[u8], Which),
) -> Outcome<Done> {
    let words = [&["-b1", "--sort=name", "-cf", "a.tar"], options].concat();
    demand(scratch, &[&words[..], names].concat())?;
    let archive = fs::read(scratch.at("a.tar"))?;
    let found = archive.windows(pattern.len()).enumerate().filter(|(_, at)| *at == pattern);
    let places: Vec<usize> = found.map(|(at, _)| at).collect();
    let at = if which == Which::First { places.first() } else { places.last() };
    let at = *at.ok_or("the pattern is not in the archive")?;
    let action = format!(
        "--checkpoint-action=exec=printf Z | dd of=a.tar bs=1 seek={at} conv=notrunc 2>/dev/null"
    );
    let verifying = vec!["--verify", "--checkpoint=3000", &action];
    let done = run(scratch, &[&words[..], &verifying, names].concat())?;
    assert_eq!(fs::read(scratch.at("a.tar"))?[at], b'Z', "the action came too early");
    Ok(done)
}

#[test]
fn every_member_of_an_archive_is_verified() -> Outcome {
    let scratch = Scratch::new()?;
    let long = "L".repeat(120);
    scratch.write(&format!("{long}/a"), "the file")?;
    fs::hard_link(scratch.at(format!("{long}/a")), scratch.at("b"))?;
    scratch.write("big", content(3 * MIB))?;
    scratch.write("f", "the only content")?;
    // The name that a hard link refers to has no checksum.
    let target = format!("{long}/a");
    let names = [&long, "b", "big"];
    let done = damaged(&scratch, (&[], &names), (target.as_bytes(), Which::Last))?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("b: verification failed: it is a link to"), "{}", done.errors());
    // A member of the same name comes later, and is right.
    let options = ["--hard-dereference"];
    let names = ["f", "big", "f"];
    let done = damaged(&scratch, (&options, &names), (b"the only content", Which::First))?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("f: verification failed: Contents differ"), "{}", done.errors());
    // Operands that lead out, one below another, and of the same name.
    scratch.write("d1/a/b", "one")?;
    scratch.write("d2/a/b", "another")?;
    scratch.write("d2/g", "g")?;
    let here = scratch.at("d1");
    let here = here.to_str().ok_or("a name that is no text")?;
    for packing in ["--format=gnu", "--zstd", "-z"] {
        for names in [
            &["-C", "d1", "a", "-C", "../d2", "a/b"][..],
            &["-C", "d1/a", "..", "-C", "../../d2", "g"],
            &["-C", "d1", "../d2", "a", "./a", here],
            &[here, "d2/.", "d2//g"],
        ] {
            demand(&scratch, &[&["-cWf", "a.tar", packing], names].concat())?;
        }
    }
    Ok(())
}

#[test]
fn an_extraction_of_repeated_members_is_verified() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("m/f", "one")?;
    add(&scratch, &["f"])?;
    scratch.write("m/f", "the other")?;
    add(&scratch, &["./f"])?;
    for volume in volumes()? {
        let place = Scratch::on(&volume)?;
        let target = place.path().to_str().ok_or("a name that is no text")?;
        let done = demand(&scratch, &["-xWf", "a.tar", "-C", target])?;
        let is_told = done.errors().contains("could only be compared in the page cache");
        assert!(is_told || volume.name != "tmpfs", "{}", done.errors());
        assert!(!is_told || !matches!(volume.name.as_str(), "ext4" | "xfs"), "{}", done.errors());
    }
    Ok(())
}

#[test]
fn metrics_and_lines_are_whole_whatever_else_is_asked_for() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    fs::create_dir(scratch.at("t"))?;
    fs::create_dir(scratch.at("m"))?;
    demand(&scratch, &["-xf", "a.tar", "-C", "t", "--metrics=m/haul.prom"])?;
    assert!(fs::read_to_string(scratch.at("m/haul.prom"))?.contains("haul_run_success"));
    for words in [
        &["-tRf", "a.tar", "--json"][..],
        &["-xf", "a.tar", "-C", "t", "--json", "--checkpoint=.1"],
        &["-cvf", "b.tar", "--json", "--checkpoint=1", "--checkpoint-action=dot", "s"],
    ] {
        lines(&demand(&scratch, words)?)?;
    }
    Ok(())
}

/// With memory between the archive and the files it is the same archive, and its errors are told.
#[test]
fn a_buffer_changes_nothing_but_when_the_archive_is_waited_for() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for packing in ["--format=gnu", "-z", "--zstd", "--posix"] {
        demand(&scratch, &["--sort=name", packing, "-cf", "plain", "s"])?;
        for buffer in ["--buffer=1", "--buffer=2M", "--buffer=64M"] {
            let words = ["--sort=name", packing, "-cf", "buffered", buffer, "s"];
            demand(&scratch, &words)?;
            let same = fs::read(scratch.at("buffered"))? == fs::read(scratch.at("plain"))?;
            assert!(same, "{packing} {buffer}");
            fs::create_dir(scratch.at("t"))?;
            let shell = "cat buffered | \"$0\" tar -xf - \"$@\" -C t";
            let call = Call::of("sh").words(["-c", shell]).word(haul()).word(buffer);
            let call = call.words(["--watermarks=10,90", packing]);
            let done = call.in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{packing} {buffer}: {}", done.errors());
            let what = format!("{packing} {buffer}");
            let (one, other) = (scratch.at("s"), scratch.at("t/s"));
            demand_equal(&one, &other, Aspects::contents_only(), &what);
            scratch.clear("t")?;
        }
    }
    for packing in ["--format=gnu", "-z"] {
        let done = run(&scratch, &["-cf", "/dev/full", packing, "--buffer=4M", "s"])?;
        assert_eq!(done.code(), Some(2), "{packing}: {}", done.errors());
        assert!(done.errors().contains("No space left"), "{packing}: {}", done.errors());
    }
    let cut = "head -c 100000 plain | \"$0\" tar -tf - --buffer=1M";
    demand(&scratch, &["--sort=name", "-cf", "plain", "s"])?;
    let done = Call::of("sh").words(["-c", cut]).word(haul()).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("Unexpected EOF"), "{}", done.errors());
    for (words, text) in [
        ("-cf a --watermarks=1,2 s", "--watermarks is for --buffer"),
        ("-cf a --buffer=0 s", "--buffer"),
        ("-cf a --buffer=1M --watermarks=200,300 s", "--watermarks"),
        ("-rf plain --buffer=1M s", "--buffer is for"),
        ("-Icat -cf a --buffer=1M s", "--buffer is not for"),
        ("-Icat -tf plain --buffer=1M", "--buffer is not for"),
    ] {
        let done = run(&scratch, &words.split(' ').collect::<Vec<_>>())?;
        assert_eq!(done.code(), Some(2), "{words}");
        assert!(done.errors().contains(text), "{words}: {}", done.errors());
    }
    // A refusal destroys nothing.
    for words in ["-cjf old.tar.bz2 s", "-caf old.tar.lz s", "-Icat -cf old.tar s"] {
        let words: Vec<&str> = words.split(' ').chain(["--buffer=1M"]).collect();
        let name = words.iter().find(|word| word.starts_with("old")).ok_or("no archive")?;
        scratch.write(name, "precious")?;
        assert_eq!(run(&scratch, &words)?.code(), Some(2), "{words:?}");
        assert_eq!(fs::read(scratch.at(name))?, b"precious", "{words:?}");
    }
    Ok(())
}

#[test]
fn a_list_does_not_get_into_the_archive() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for shell in
        ["\"$0\" tar -cvf /dev/stdout s > a.tar", "\"$0\" tar -cvf /dev/stdout s | cat > a.tar"]
    {
        let done = Call::of("sh").words(["-c", shell]).word(haul()).in_dir(scratch.path()).run()?;
        assert!(done.errors().contains("s/d/511"), "{shell}: {}", done.errors());
        demand(&scratch, &["-df", "a.tar"])?;
    }
    for shell in [
        "\"$0\" tar -c --checkpoint=1 --checkpoint-action=dot -f - s > a.tar",
        "\"$0\" tar -c --checkpoint=1 --checkpoint-action=dot -f /dev/stdout s > a.tar",
        "\"$0\" tar -xf a.tar -O --checkpoint=1 --checkpoint-action=dot s/d/32769 > f",
    ] {
        let done = Call::of("sh").words(["-c", shell]).word(haul()).in_dir(scratch.path()).run()?;
        assert!(done.errors().contains("..."), "{shell}: {}", done.errors());
        demand(&scratch, &["-df", "a.tar"])?;
    }
    assert!(fs::read(scratch.at("f"))? == content(32_769));
    scratch.write("x.tar", "precious")?;
    let shell = "\"$0\" tar --json -cf /dev/stdout s >> x.tar";
    let done = Call::of("sh").words(["-c", shell]).word(haul()).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    // The refusal is such a line.
    let text = fs::read_to_string(scratch.at("x.tar"))?;
    schema::lines("tar", text.strip_prefix("precious").ok_or("it was emptied")?)?;
    Ok(())
}

/// Of an archive that is appended to, the new members are verified; the others may be of other files.
#[test]
fn what_is_appended_is_verified() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "old")?;
    demand(&scratch, &["-cf", "a.tar", "a"])?;
    scratch.write("a", "new")?;
    scratch.write("b", content(300_000))?;
    let done = demand(&scratch, &["-rvWf", "a.tar", "a", "b"])?;
    assert_eq!(done.text(), "a\nb\nVerify a\nVerify b\n");
    let action = "--checkpoint-action=exec=printf changed > a";
    let words = ["-rWf", "a.tar", "--checkpoint=20", action, "a", "b"];
    let done = run(&scratch, &words)?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("a: verification failed: Size differs"), "{}", done.errors());
    Ok(())
}

/// A further name of a file says nothing about its bytes.
#[test]
fn a_hard_link_does_not_clear_a_difference() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("m/f", "A")?;
    symlink(".", scratch.at("m/l"))?;
    add(&scratch, &["f", "l"])?;
    scratch.write("m/f", "B")?;
    add(&scratch, &["l/f"])?;
    demand(&scratch, &["-rf", "a.tar", "--no-recursion", "-C", "m", "f", "f"])?;
    scratch.write("m/f", "C")?;
    // The last two are the file and a hard link to itself.
    let listed = demand(&scratch, &["-tvf", "a.tar"])?.text();
    assert!(listed.contains("f link to f"), "{listed}");
    fs::create_dir(scratch.at("t"))?;
    if is_usable()? {
        let words = ["--jobs=1", "-xf", "a.tar", "--verify", "-C", "t"];
        let poke = "pwrite64:poke_enter=@arg2=58:when=2";
        let strace = Strace::new(scratch.at("log")).trace("pwrite64").inject(poke);
        let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
        assert!(strace.text()?.contains("INJECTED"), "{}", strace.text()?);
        assert_eq!(done.code(), Some(2), "{}", done.errors());
    }
    Ok(())
}

/// What an archive says about files outside is not looked at.
#[test]
fn a_verification_looks_at_nothing_outside() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("outside/secret", "secret")?;
    fs::create_dir(scratch.at("m"))?;
    symlink(scratch.at("outside"), scratch.at("m/l"))?;
    add(&scratch, &["l"])?;
    fs::remove_file(scratch.at("m/l"))?;
    scratch.write("m/l/secret", "secret")?;
    add(&scratch, &["l/secret"])?;
    fs::create_dir(scratch.at("t"))?;
    let secret = scratch.at("outside/secret");
    let secret = secret.to_str().ok_or("a name that is no text")?;
    let strace = Strace::new(scratch.at("log")).trace("openat,openat2,fdatasync,pread64");
    let strace = strace.of_file(secret);
    let words = ["-xf", "a.tar", "--verify", "-C", "t"];
    let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert_eq!(strace.text()?, "");
    Ok(())
}

#[test]
fn what_a_rehearsal_leaves_out_is_what_the_run_leaves_out() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    scratch.write("s/x.tar", content(200_000))?;
    let words = ["-C", "s", "--totals", "-cf", "s/x.tar", "."];
    let dry = demand(&scratch, &[&words[..], &["--dry-run"]].concat())?;
    let wet = demand(&scratch, &words)?;
    let total = |done: &Done| -> Option<String> {
        let errors = done.errors();
        let line = errors.lines().find(|line| line.starts_with("Total"))?;
        line.split(' ').nth(3).map(str::to_owned)
    };
    assert!(
        total(&dry).is_some() && total(&dry) == total(&wet),
        "{} {}",
        dry.errors(),
        wet.errors()
    );
    assert!(dry.errors().contains("archive cannot contain itself"), "{}", dry.errors());
    Ok(())
}

/// What an earlier run left in memory alone is put on storage.
#[test]
fn files_that_are_kept_are_durable_too() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/a", content(100))?;
    scratch.write("s/b", content(100_000))?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    fs::create_dir(scratch.at("t"))?;
    demand(&scratch, &["-xf", "a.tar", "-C", "t"])?;
    let strace = Strace::new(scratch.at("log")).trace("fsync");
    let words = ["-xf", "a.tar", "--resume", "--durable", "-C", "t"];
    strace.wrap(ours().words(words).in_dir(scratch.path())).succeed()?;
    // Two files, and the directories t and t/s.
    assert_eq!(strace.text()?.matches("= 0").count(), 4, "{}", strace.text()?);
    Ok(())
}

#[test]
fn a_directory_that_takes_the_place_of_a_file_is_not_archived_empty_in_silence() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let call = ours().words(["--jobs=1", "-cf", "a.tar", "s"]).in_dir(scratch.path());
    let prepare = || -> Outcome {
        scratch.clear("s")?;
        scratch.write("s/x", "file")?;
        Ok(())
    };
    let mut told = 0;
    let names = ["getdents64", "newfstatat", "fstat"].into_iter();
    for (name, occurrence) in names.flat_map(|name| (1..5).map(move |number| (name, number))) {
        let point = Point { name: name.to_owned(), occurrence };
        prepare()?;
        let done = stopped_at(&scratch.at("log2"), &call, &point, || {
            fs::remove_file(scratch.at("s/x"))?;
            scratch.write("s/x/inner", "kept?")?;
            Ok(())
        })?;
        let Some(done) = done else { continue };
        let listed = demand(&scratch, &["-tf", "a.tar"])?.text();
        let is_empty = listed.contains("s/x/\n") && !listed.contains("s/x/inner");
        assert!(!is_empty || done.code() == Some(1), "{point:?}: {}", done.errors());
        told += usize::from(is_empty);
    }
    assert!(told > 0, "the place of the file was never taken in time");
    Ok(())
}

/// Makes a chain of directories with files before and behind the next one, small and large.
fn chain(scratch: &Scratch, depth: usize) -> Outcome {
    let mut folder = "s".to_owned();
    for level in 0..depth {
        for name in ["a", "b", "z"] {
            scratch.write(&format!("{folder}/{name}"), format!("{name} {level}"))?;
        }
        scratch.write(&format!("{folder}/large"), content(300_000))?;
        folder.push_str("/m");
    }
    Ok(())
}

#[test]
fn a_process_with_few_descriptors_makes_and_reads_the_same_archive() -> Outcome {
    let scratch = Scratch::new()?;
    chain(&scratch, 12)?;
    for number in 0..150 {
        scratch.write(&format!("s/many/{number}"), content(300_000))?;
    }
    demand(&scratch, &["-cf", "all.tar", "s"])?;
    for limit in [10, 16, 31, 32, 48, 64, 100, 127, 128, 200] {
        let few = format!(
            "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n {limit} && exec \"$0\" \"$@\""
        );
        let run = |words: &[&str]| {
            ours().words(words).under(["sh", "-c", &few]).in_dir(scratch.path()).succeed()
        };
        for options in [&["-cf"][..], &["--jobs=8", "-cf"]] {
            run(&[options, &["few.tar", "s"]].concat())?;
            let is_same = fs::read(scratch.at("few.tar"))? == fs::read(scratch.at("all.tar"))?;
            assert!(is_same, "{limit} {options:?}");
        }
        for options in [&["-xf"][..], &["--jobs=8", "-xf"]] {
            fs::create_dir(scratch.at("t"))?;
            run(&[options, &["all.tar", "-C", "t"]].concat())?;
            let what = format!("{limit} {options:?}");
            demand_equal(&scratch.at("s"), &scratch.at("t/s"), Aspects::contents_only(), &what);
            scratch.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn a_tree_deeper_than_open_directories_is_archived_whole() -> Outcome {
    let scratch = Scratch::new()?;
    chain(&scratch, 200)?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    demand(&scratch, &["--sort=name", "-cf", "sorted.tar", "s"])?;
    for archive in ["a.tar", "sorted.tar"] {
        fs::create_dir(scratch.at("t"))?;
        demand(&scratch, &["-xf", archive, "-C", "t"])?;
        demand_equal(&scratch.at("s"), &scratch.at("t/s"), Aspects::contents_only(), archive);
        scratch.clear("t")?;
    }
    Ok(())
}
