//! `haul mv -b`: what had the name, and what had the backup name, is never lost.

use std::fs;

use super::mv::{Two, hidden_names, mv};
use super::support::run::{Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, shell};
use super::support::strace::{Strace, is_usable, occurrences, stopped_at};
use super::support::{Outcome, if_there};

/// A folder with sources, one with targets, and the folder that the command runs in.
struct Sides {
    from: Scratch,
    to: Scratch,
}

impl Sides {
    /// Both on one file system, and on two.
    fn all() -> Outcome<Vec<Sides>> {
        let mut all = vec![Sides { from: Scratch::new()?, to: Scratch::new()? }];
        all.extend(Two::new()?.map(|Two { here, there }| Sides { from: here, to: there }));
        Ok(all)
    }

    fn run(&self, words: &[&str]) -> Outcome<Done> {
        mv(["--jobs=1"]).words(words).word(self.to.path()).in_dir(self.from.path()).run()
    }

    fn target(&self, name: &str) -> Outcome<Option<String>> {
        if_there(fs::read_to_string(self.to.at(name)))
    }

    fn no_hidden_names(&self) -> Outcome {
        assert_eq!(
            (hidden_names(self.from.path())?, hidden_names(self.to.path())?),
            (vec![], vec![])
        );
        Ok(())
    }
}

#[test]
fn a_backup_that_is_a_link_of_its_target_is_kept() -> Outcome {
    for sides in Sides::all()? {
        sides.to.write("f", "old")?;
        fs::hard_link(sides.to.at("f"), sides.to.at("f~"))?;
        sides.from.write("f", "new")?;
        let done = sides.run(&["-b", "f"])?;
        assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
        assert_eq!(sides.target("f")?.as_deref(), Some("new"));
        assert_eq!(sides.target("f~")?.as_deref(), Some("old"));
        assert!(!sides.from.at("f").exists());
        sides.no_hidden_names()?;
    }
    // All three are one file.
    let scratch = Scratch::new()?;
    scratch.write("f", "old")?;
    fs::hard_link(scratch.at("f"), scratch.at("f~"))?;
    fs::hard_link(scratch.at("f"), scratch.at("g"))?;
    mv(["-b", "g", "f"]).in_dir(scratch.path()).succeed()?;
    assert!(!scratch.at("g").exists());
    assert_eq!(
        (fs::read(scratch.at("f"))?, fs::read(scratch.at("f~"))?),
        (b"old".into(), b"old".into())
    );
    Ok(())
}

#[test]
fn a_move_that_fails_keeps_the_previous_backup() -> Outcome {
    let scratch = Scratch::new()?;
    let read = |name: &str| fs::read_to_string(scratch.at(name));
    for linked in [false, true] {
        scratch.clear_all()?;
        scratch.write("d/x", "current")?;
        if linked {
            fs::hard_link(scratch.at("d/x"), scratch.at("d/x~"))?;
        } else {
            scratch.write("d/x~", "precious")?;
        }
        let done = mv(["-b", "-T", "d", "d/x"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert_eq!(read("d/x")?, "current");
        assert_eq!(read("d/x~")?, if linked { "current" } else { "precious" });
        assert_eq!(hidden_names(&scratch.at("d"))?, [""; 0]);
    }
    // An exchange makes no backup.
    scratch.write("a", "a")?;
    mv(["--exchange", "-b", "a", "d/x"]).in_dir(scratch.path()).run()?;
    assert_eq!(read("d/x~")?, "current");
    Ok(())
}

#[test]
fn any_rename_that_fails_keeps_the_previous_backup() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for sides in Sides::all()? {
        let mut failed = 0;
        for occurrence in 1..12 {
            sides.to.clear_all()?;
            sides.from.clear_all()?;
            sides.from.write("x", "new")?;
            sides.to.write("x", "current")?;
            sides.to.write("x~", "precious")?;
            let log = Scratch::new()?;
            let strace = Strace::new(log.at("log"))
                .trace("renameat2,renameat,rename")
                .inject(&format!("renameat2:error=EIO:when={occurrence}"));
            let call = mv(["--jobs=1", "-b", "x"]).word(sides.to.path()).in_dir(sides.from.path());
            let done = strace.wrap(call).run()?;
            let context = format!("{occurrence}: {done:?}");
            let is_done = done.code() == Some(0);
            // The last rename is that of the source, of which the copy has its name by then.
            let is_named = is_done || done.errors().starts_with("mv: cannot remove");
            let expected = if is_named { ["new", "current"] } else { ["current", "precious"] };
            for (name, bytes) in ["x", "x~"].iter().zip(expected) {
                assert_eq!(sides.target(name)?.as_deref(), Some(bytes), "{name} {context}");
            }
            assert_eq!(sides.from.at("x").exists(), !is_done, "{context}");
            sides.no_hidden_names()?;
            if is_done && !strace.has_injected()? {
                break;
            }
            failed += usize::from(!is_done);
        }
        assert!(failed >= 3, "only {failed} failures");
    }
    Ok(())
}

#[test]
fn a_backup_overwrites_nothing_that_was_just_moved() -> Outcome {
    for sides in Sides::all()? {
        sides.to.write("f", "old")?;
        sides.from.write("1/f~", "precious")?;
        sides.from.write("2/f", "new")?;
        sides.from.write("3/other", "other")?;
        let done = sides.run(&["-b", "1/f~", "2/f", "3/other"])?;
        let backup = sides.to.at("f~").display().to_string();
        let line = format!("mv: will not overwrite just-created '{backup}' with '2/f'\n");
        assert_eq!((done.code(), done.errors()), (Some(1), line));
        assert_eq!(sides.target("f~")?.as_deref(), Some("precious"));
        assert_eq!(sides.target("f")?.as_deref(), Some("old"));
        assert_eq!(fs::read(sides.from.at("2/f"))?, b"new");
        assert_eq!(sides.target("other")?.as_deref(), Some("other"));
        // With numbers there is a name for both.
        let done = sides.run(&["--backup=numbered", "2/f"])?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        assert_eq!(sides.target("f.~1~")?.as_deref(), Some("old"));
        sides.no_hidden_names()?;
    }
    Ok(())
}

#[test]
fn a_file_that_is_moved_to_the_name_of_a_backup_backs_it_up() -> Outcome {
    for sides in Sides::all()? {
        sides.to.write("f", "old")?;
        sides.from.write("1/f~", "moved")?;
        sides.from.write("2/f", "new")?;
        let done = sides.run(&["-b", "2/f", "1/f~"])?;
        assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
        for (name, bytes) in [("f", "new"), ("f~", "moved"), ("f~~", "old")] {
            assert_eq!(sides.target(name)?.as_deref(), Some(bytes), "{name}");
        }
        sides.no_hidden_names()?;
    }
    Ok(())
}

#[test]
fn a_file_system_that_refuses_a_rename_late_does_not_change_its_target() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    // overlayfs and quotas of projects answer EXDEV only after the target has got its backup name and lost
    // it again, which sets its ctime.
    for (options, answer) in [("-bu", ""), ("-bi", "y\n"), ("-b", "")] {
        let mut refused = 0;
        for occurrence in 2..=4 {
            let scratch = Scratch::new()?;
            scratch.write("f", "new")?;
            scratch.write("t", "old")?;
            scratch.write("t~", "older")?;
            let inject = format!(
                "printf '{answer}' | strace -f -qqq -o log -e trace=renameat2 \
                 -e inject=renameat2:error=EXDEV:when={occurrence} -- '{}' mv {options} -T f t 2>&1",
                haul().display()
            );
            demand(scratch.path(), "touch -d 2001-01-01 t")?;
            shell(scratch.path(), &inject)?;
            let read = |name| if_there(fs::read_to_string(scratch.at(name)));
            let names = [read("f")?, read("t")?, read("t~")?];
            let done = [None, Some("new".to_owned()), Some("old".to_owned())];
            let undone = ["new", "old", "older"].map(|text| Some(text.to_owned()));
            assert!(names == done || names == undone, "{options} {occurrence}: {names:?}");
            let log = fs::read_to_string(scratch.at("log"))?;
            let is_last = log.lines().any(|line| {
                line.contains("\"f\"") && line.contains("\"t\"") && line.contains("(INJECTED)")
            });
            if is_last {
                refused += 1;
                assert_eq!(names, done, "{options} {occurrence}");
            }
        }
        assert!(refused > 0, "{options}: the rename of the source was not met");
    }
    Ok(())
}

/// Between the rename of a target to its backup name and that of the source another process can take the name.
#[test]
fn a_name_that_is_taken_behind_a_backup_is_not_replaced() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let (scratch, log) = (Scratch::new()?, Scratch::new()?);
    let call = mv(["--jobs=1", "-bT", "f", "t"]).in_dir(scratch.path());
    // The backup name is free, or another name of the target.
    for is_linked in [false, true] {
        let prepare = || -> Outcome {
            scratch.clear_all()?;
            scratch.write("f", "new")?;
            scratch.write("t", "old")?;
            if is_linked {
                fs::hard_link(scratch.at("t"), scratch.at("t~"))?;
            }
            Ok(())
        };
        prepare()?;
        let strace = Strace::new(log.at("log"));
        strace.wrap(call.clone()).succeed()?;
        let lines = strace.lines()?;
        let mut taken = 0;
        for name in ["newfstatat", "renameat2", "unlinkat"] {
            for point in occurrences(&lines, name) {
                prepare()?;
                let mut is_taken = false;
                let done = stopped_at(&log.at("log"), &call, &point, || {
                    is_taken = !scratch.at("t").exists();
                    if is_taken {
                        scratch.write("t", "theirs")?;
                    }
                    Ok(())
                })?;
                let Some(done) = done.filter(|_| is_taken) else { continue };
                taken += 1;
                let context = format!("linked: {is_linked}, {point:?}: {done:?}");
                assert_eq!(done.code(), Some(1), "{context}");
                let read = |name: &str| fs::read_to_string(scratch.at(name));
                assert_eq!((read("t")?, read("t~")?), ("theirs".into(), "old".into()), "{context}");
                assert_eq!(read("f")?, "new", "{context}");
            }
        }
        assert!(taken > 0, "linked: {is_linked}");
    }
    Ok(())
}

/// The numbered backup of one operand gets the name of another one, which is backed up in turn.
#[test]
fn an_operand_may_have_the_name_of_a_backup_of_the_same_run() -> Outcome {
    for sides in Sides::all()? {
        for (how, earlier) in [("numbered", None), ("existing", Some("f.~1~"))] {
            for scratch in [&sides.from, &sides.to] {
                scratch.clear_all()?;
            }
            let taken = if earlier.is_some() { "f.~2~" } else { "f.~1~" };
            sides.from.write("f", "new")?;
            sides.from.write(taken, "another")?;
            sides.to.write("f", "old")?;
            if let Some(earlier) = earlier {
                sides.to.write(earlier, "earlier")?;
            }
            let done = sides.run(&[&format!("--backup={how}"), "f", taken])?;
            assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
            let mut found = Vec::new();
            for entry in fs::read_dir(sides.to.path())? {
                found.push(fs::read_to_string(entry?.path())?);
            }
            found.sort();
            let expected = ["another", "earlier", "new", "old"];
            let expected = expected.iter().filter(|text| **text != "earlier" || earlier.is_some());
            assert_eq!(found, expected.copied().collect::<Vec<_>>());
            assert_eq!(sides.target("f")?.as_deref(), Some("new"));
            assert_eq!(sides.target(taken)?.as_deref(), Some("another"));
        }
    }
    Ok(())
}
