//! `--gentle`: every command that moves data rests where others wait, says so, and does the same work.
//!
//! The kernel's files of pressure are replaced by others in a mount namespace, so that no test depends on what else
//! the machine does.

use std::path::Path;

use serde_json::Value;

use super::support::run::{Call, USER, haul};
use super::support::scratch::Scratch;
use super::support::volume::{Volume, volumes, with_a_device};
use super::support::{Outcome, has, ignored, is_root};

const MIB: usize = 1 << 20;

/// What a command says that was held back.
const LINE: &str = "held back: its workers rested for ";

/// A line that changes a byte in the middle of a file and succeeds if a command then says that it differs.
macro_rules! finds_a_changed_byte {
    ($file:literal, $command:literal) => {
        concat!(
            "printf x | dd of=",
            $file,
            " bs=1 seek=5000000 conv=notrunc status=none; \"$HAUL\" ",
            $command,
            " >said 2>&1; test $? = 1 && grep -q differ said"
        )
    };
}

/// Commands, as lines of the shell with a place for the option, for a folder with a file `s` of 9 MiB, a copy of it
/// as `u/s` and `w/s`, its checksum in `sums`, an archive `a.tar` of it, and a tree `tree`; on `m` is another file
/// system. Behind each is a line that succeeds if the work was done. A pipe gets a thousand files: a wait for its other
/// end is no work, and with a single file there may be nothing else to rest for.
const COMMANDS: &[(&str, &str)] = &[
    ("cp GENTLE --reflink=never s t", "cmp s t"),
    ("cp GENTLE -r tree t", "diff -r tree t"),
    ("mv GENTLE s m/s", "cmp u/s m/s && test ! -e s"),
    ("rm GENTLE -r tree", "test ! -e tree"),
    ("cat GENTLE s >t", "cmp s t"),
    ("cat GENTLE tree/*/* | cat >t", "cat tree/*/* | cmp - t"),
    ("cat GENTLE -n s >t", "cat -n s | cmp - t"),
    ("tee GENTLE t <s >/dev/null", "cmp s t"),
    ("dd GENTLE if=s of=t bs=64K status=none", "cmp s t"),
    ("dd GENTLE if=s of=t bs=100 count=90000 status=none", "cmp -n 9000000 s t"),
    ("split GENTLE -b 100K s p", "cat p* | cmp - s"),
    ("split GENTLE -l 100 s p", "cat p* | cmp - s"),
    ("tar GENTLE -cf t.tar s tree", "tar -df t.tar"),
    ("tar GENTLE -xf a.tar -C m", "cmp s m/s"),
    ("tar GENTLE -x -C m <a.tar", "cmp s m/s"),
    ("gzip GENTLE -c s >t.gz", "gzip -dc t.gz | cmp - s"),
    ("gzip GENTLE -dc s.gz >t", "cmp s t"),
    ("hash GENTLE s >t", "\"$HAUL\" hash s | cmp - t"),
    ("sha256sum GENTLE s >t", "cmp sums t"),
    ("cksum GENTLE s >t", "cksum s | cmp - t"),
    ("sum GENTLE s >t", "sum s | cmp - t"),
    ("b3sum GENTLE s >t", "\"$HAUL\" b3sum s | cmp - t"),
    ("xxhsum GENTLE s >t", "\"$HAUL\" xxhsum s | cmp - t"),
    (
        "compare GENTLE --contents u w",
        finds_a_changed_byte!("w/s", "compare --gentle --contents u w"),
    ),
    (
        "verify GENTLE --against=sums s",
        finds_a_changed_byte!("s", "verify --gentle --algorithm=sha256 --against=sums s"),
    ),
    ("verify GENTLE --against=u w", finds_a_changed_byte!("w/s", "verify --gentle --against=u w")),
    ("read GENTLE s >t", "cmp s t"),
    ("read GENTLE tree/*/* | cat >t", "cat tree/*/* | cmp - t"),
    ("write GENTLE t <s", "cmp s t"),
    ("cache warm GENTLE s >t", "grep -q ' 9.0 MiB read,' t"),
];

/// Makes the folder of [`COMMANDS`], of which [`furnish`] makes copies.
fn model() -> Outcome<Scratch> {
    let model = Scratch::new()?;
    let bytes: Vec<u8> = (0..9 * MIB)
        .map(|at| if at % 80 == 79 { b'\n' } else { (at / 9 % 90 + 33) as u8 })
        .collect();
    for name in ["s", "u/s", "w/s"] {
        model.write(name, &bytes)?;
    }
    for directory in 0..10 {
        for file in 0..100 {
            model.write(&format!("tree/{directory}/{file}"), "text")?;
        }
    }
    shell(&model, "sha256sum s >sums && tar -cf a.tar s && gzip -kn s").succeed()?;
    Ok(model)
}

/// Makes the folder anew, with nothing in the page cache.
fn furnish(stage: &Stage) -> Outcome {
    let Stage { model, scratch, elsewhere } = stage;
    scratch.clear_all()?;
    elsewhere.clear_all()?;
    Call::of("cp").word("-a").word(model.at(".")).word(scratch.path()).succeed()?;
    std::os::unix::fs::symlink(elsewhere.path(), scratch.at("m"))?;
    shell(scratch, "sync -f .").succeed()?;
    Call::of(haul()).words(["cache", "drop", "."]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

fn shell(scratch: &Scratch, line: &str) -> Call {
    let program = haul().display().to_string();
    Call::of("sh").words(["-c", line]).in_dir(scratch.path()).env("HAUL", &program)
}

/// Runs a line where the kernel says that tasks waited for storage for all of the last ten seconds, or for none.
fn under_pressure(scratch: &Scratch, files: &Scratch, percent: u32, line: &str) -> Outcome<Call> {
    for name in ["io", "cpu", "memory"] {
        let percent = if name == "io" { percent } else { 0 };
        let text = format!("some avg10={percent}.00 avg60=0.00 avg300=0.00 total=1000\n");
        files.write(name, text)?;
    }
    let folder = files.path().display();
    // Read-only, so that no threshold replaces the text. The files of the process's cgroup are hidden, too.
    let cover = format!(
        "for it in io cpu memory; do mount -o bind,ro {folder}/$it /proc/pressure/$it || exit 99; done; \
         mount -t tmpfs none /sys/fs/cgroup 2>/dev/null; exec \"$0\" \"$@\""
    );
    Ok(shell(scratch, line).under(["unshare", "-m", "--", "sh", "-c", &cover]))
}

/// The folder for [`COMMANDS`], what it is a copy of, and a folder on another file system.
struct Stage {
    model: Scratch,
    scratch: Scratch,
    elsewhere: Scratch,
}

/// Returns the folders; `None` if the tests cannot run.
fn stage() -> Outcome<Option<Stage>> {
    if !is_root()? || !has("unshare")? {
        return Ok(None);
    }
    if !Path::new("/proc/pressure/io").exists() {
        ignored("pressure stall information")?;
        return Ok(None);
    }
    let Some(volume) = with_a_device()?.into_iter().next() else { return Ok(None) };
    let is_other = |other: &Volume| other.name == "tmpfs";
    let Some(other) = volumes()?.into_iter().find(is_other) else { return Ok(None) };
    let (scratch, elsewhere) = (Scratch::on(&volume)?, Scratch::on(&other)?);
    Ok(Some(Stage { model: model()?, scratch, elsewhere }))
}

#[test]
fn every_command_that_moves_data_rests_while_others_wait() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    let files = Scratch::new()?;
    for (command, check) in COMMANDS {
        let line = format!("\"$HAUL\" {}", command.replace("GENTLE", "--gentle"));
        furnish(&stage)?;
        let done = under_pressure(scratch, &files, 100, &line)?.run()?;
        let errors = done.errors();
        assert_eq!(done.code(), Some(0), "{line}: {errors}");
        shell(scratch, check).succeed()?;
        assert!(errors.contains(LINE), "{line}: {errors}");
        assert!(errors.contains("because others waited for storage"), "{line}: {errors}");
    }
    Ok(())
}

/// Without the kernel's files the run measures its own requests, by whichever call it makes them.
#[test]
fn every_command_does_its_work_where_the_kernel_tells_nothing() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    let empty = Scratch::new()?;
    let folder = empty.path().display();
    let cover = format!("mount -o bind {folder} /proc/pressure || exit 99; exec \"$0\" \"$@\"");
    let methods =
        ["ring", "direct", "splice", "sendfile", "mmap-write", "copy-range", "read-write"];
    let by_method = methods.map(|method| (format!("cp GENTLE --method={method} s t"), "cmp s t"));
    let commands = COMMANDS.iter().map(|(line, check)| ((*line).to_owned(), *check));
    let streams = ["cat s | \"$HAUL\" cat GENTLE >t", "cat s | \"$HAUL\" cat GENTLE | cat >t"];
    let streams = streams.map(|line| (line.to_owned(), "cmp s t"));
    for (command, check) in commands.chain(by_method).chain(streams) {
        furnish(&stage)?;
        let line = command.replace("GENTLE", "--gentle");
        let line = if line.contains("$HAUL") { line } else { format!("\"$HAUL\" {line}") };
        let done =
            shell(scratch, &line).under(["unshare", "-m", "--", "sh", "-c", &cover]).run()?;
        assert_eq!(done.code(), Some(0), "{line}: {}", done.errors());
        shell(scratch, check).succeed()?;
    }
    Ok(())
}

/// The kernel's files are open all the time, and what a run may have open is divided among its workers.
#[test]
fn a_limit_of_descriptors_is_kept() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    if !has("prlimit")? {
        return Ok(());
    }
    // With 28 and more the kernel's files are open.
    for limit in [27, 28] {
        furnish(&stage)?;
        // A gentle run takes its time on a busy machine.
        shell(scratch, "rm -r tree/[2-9]").succeed()?;
        for line in
            ["cp GENTLE -a --jobs=8 tree m/tree", "rm GENTLE -r --jobs=8 m/tree", "cp GENTLE s t"]
        {
            let line = format!("exec \"$HAUL\" {}", line.replace("GENTLE", "--gentle"));
            let files = format!("--nofile={limit}");
            let done = shell(scratch, &line).under(["prlimit", &files, "--"]).run()?;
            assert_eq!(done.code(), Some(0), "{limit}: {line}: {}", done.errors());
        }
    }
    Ok(())
}

#[test]
fn a_directory_that_can_be_written_and_not_read_takes_files() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    if !has("setpriv")? {
        return Ok(());
    }
    for (line, check) in [
        ("cp GENTLE s d/s", "cmp s d/s"),
        ("cp GENTLE -a --atomic s d", "cmp s d/s"),
        ("cp GENTLE -r tree d", "diff -r tree d/tree"),
        ("mv GENTLE s d", "cmp u/s d/s"),
    ] {
        furnish(&stage)?;
        scratch.program("haul")?;
        let own = format!("mkdir d && chmod 300 d && chown -R {USER}:{USER} .");
        shell(scratch, &own).succeed()?;
        let line = format!("./haul {}", line.replace("GENTLE", "--gentle"));
        let done = shell(scratch, &line).by_user().run()?;
        assert_eq!(done.code(), Some(0), "{line}: {}", done.errors());
        shell(scratch, check).succeed()?;
    }
    Ok(())
}

#[test]
fn a_run_that_is_not_gentle_or_alone_is_not_held_back() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    let files = Scratch::new()?;
    furnish(&stage)?;
    for (percent, option) in [(100, ""), (0, "--gentle")] {
        let line = format!("rm -f t; \"$HAUL\" cp {option} --reflink=never s t");
        let done = under_pressure(scratch, &files, percent, &line)?.succeed()?;
        assert_eq!(done.errors(), "", "{line}");
    }
    Ok(())
}

#[test]
fn the_summary_has_the_time_of_all_rests() -> Outcome {
    let Some(stage) = stage()? else { return Ok(()) };
    let scratch = &stage.scratch;
    let files = Scratch::new()?;
    for command in [
        "cp --reflink=never s t",
        "cache warm s",
        "compare --contents u w",
        "verify --against=sums s",
    ] {
        furnish(&stage)?;
        let (name, rest) = command.split_once(' ').ok_or("no name")?;
        let line = format!("\"$HAUL\" {name} --gentle --json {rest}");
        let done = under_pressure(scratch, &files, 100, &line)?.run()?;
        assert_eq!(done.code(), Some(0), "{line}: {}", done.errors());
        let text = done.text();
        let last: Value = serde_json::from_str(text.lines().last().ok_or("no line")?)?;
        assert_eq!(last["event"], "summary", "{text}");
        let held = last["held_back_ms"].as_u64();
        assert!(held > Some(0), "{command}: {held:?}");
    }
    Ok(())
}

#[test]
fn the_table_has_every_command_with_the_option() -> Outcome {
    let all = Call::of(haul()).word("--list-applets").succeed()?.text();
    let has_option = |name: &str| -> Outcome<bool> {
        let help = Call::of(haul()).words([name, "--help"]).run()?;
        Ok(help.code() == Some(0) && help.text().contains("--gentle"))
    };
    // Programs that share the options and the code of another one.
    let like = [
        ("gunzip", "gzip"),
        ("zcat", "gzip"),
        ("md5sum", "sha256sum"),
        ("sha1sum", "sha256sum"),
        ("sha224sum", "sha256sum"),
        ("sha384sum", "sha256sum"),
        ("sha512sum", "sha256sum"),
        ("b2sum", "sha256sum"),
    ];
    let mut found = 0;
    for name in all.split_whitespace() {
        if !has_option(name)? {
            continue;
        }
        found += 1;
        let name = like.iter().find(|(one, _)| *one == name).map_or(name, |(_, other)| other);
        let is_tested = COMMANDS.iter().any(|(line, _)| line.split(' ').next() == Some(name));
        assert!(is_tested, "{name} has the option, and no line in the table");
    }
    assert!(found >= 20, "{found} commands");
    Ok(())
}
