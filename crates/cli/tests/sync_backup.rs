//! `haul sync --backup`: what is replaced or removed gets another name.

use std::fs;
use std::os::unix::fs::symlink;

use super::identity::in_namespace;
use super::support::run::Done;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has, is_root};
use super::sync_lines::{BASE, Row, demand_rows, row, sync};

const KEPT: &[Row] = &[
    row(
        "older t/a; ln -sfn x t/l; rm t/p; mkfifo t/p; echo x >t/x; old t t/l t/p",
        "-ab",
        &[">f..t...... a", "cLc........ l -> a"],
    ),
    row(
        "older t/a; echo x >t/x; ln -s k t/k; mkfifo t/q; old t",
        "-ab --delete",
        &[">f..t...... a", "*deleting   x", "*deleting   k", "*deleting   q"],
    ),
    row(
        "echo x >t/x; mkdir t/y; old t",
        "-a --delete --backup-dir=../bak",
        &["*deleting   x", "*deleting   y/"],
    ),
    row(
        "mkdir -p t/y/z; echo x >t/y/z/x; echo x >t/y/k; chmod 700 t/y; older t/d/b; old t t/d",
        "-a --delete --backup-dir=../bak",
        &[
            "*deleting   y/",
            "*deleting   y/z/",
            "*deleting   y/z/x",
            "*deleting   y/k",
            ">f..t...... d/b",
        ],
    ),
    row(
        "older t/a; echo x >t/x; old t",
        "-ab --delete --suffix=.old",
        &[">f..t...... a", "*deleting   x"],
    ),
    row("older t/a; old t", "-a --backup-dir=../bak --suffix=.o", &[">f..t...... a"]),
    // Backups of an earlier run stay, and the next backup replaces one.
    row(
        "older t/a; echo b >t/a~; echo c >t/x~; mkdir t/y; echo d >t/y/z~; old t",
        "-ab --delete",
        &[">f..t...... a"],
    ),
    row(
        "older t/a; echo b >t/a~; echo c >t/x~; old t",
        "-ab --delete-excluded",
        &[">f..t...... a", "*deleting   x~", "*deleting   a~"],
    ),
    // A directory in the place of a file, and the reverse.
    row("rm -r t/d; echo d >t/d; old t/d t", "-ab", &["cd+++++++++ d/", ">f+++++++++ d/b"]),
    row(
        "rm t/a; mkdir t/a; echo x >t/a/x; old t",
        "-a --delete --backup-dir=../bak",
        &["*deleting   a/x", ">f+++++++++ a"],
    ),
    // Attributes alone: nothing is replaced.
    row("chmod 600 t/a; older t/d/b; old t/d", "-abc", &[".f...p..... a", ".f..t...... d/b"]),
];

#[test]
fn what_is_replaced_or_removed_has_a_backup() -> Outcome {
    demand_rows(KEPT)
}

fn trees(edit: &str) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\n{edit}"))?;
    Ok(scratch)
}

fn run(scratch: &Scratch, words: &[&str]) -> Outcome<Done> {
    sync(words).in_dir(scratch.path()).run()
}

/// A directory in which a backup stays is kept, without a failure.
#[test]
fn a_directory_with_a_backup_stays() -> Outcome {
    let scratch = trees("mkdir -p t/y/z; echo x >t/y/z/x; old t")?;
    let foreseen = run(&scratch, &["-abni", "--delete", "s/", "t"])?;
    let done = run(&scratch, &["-abi", "--delete", "s/", "t"])?;
    assert_eq!(foreseen.text(), done.text());
    assert_eq!((done.text(), done.code()), ("*deleting   y/z/x\n".to_owned(), Some(0)), "{done:?}");
    assert_eq!(fs::read_to_string(scratch.at("t/y/z/x~"))?, "x\n");
    let again = run(&scratch, &["-abi", "--delete", "s/", "t"])?;
    assert_eq!((again.text(), again.code()), (String::new(), Some(0)), "{again:?}");
    Ok(())
}

/// The directory of the backups is in the target, where the source has none: it stays, with those of earlier runs.
#[test]
fn a_directory_of_backups_in_the_target_is_not_removed() -> Outcome {
    let scratch = trees("older t/a; mkdir -p t/bak/1; echo x >t/bak/1/x")?;
    let words = ["-a", "--delete", "--backup-dir=bak/2", "s/", "t"];
    for _ in 0..2 {
        let done = run(&scratch, &words)?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        assert!(scratch.at("t/bak/1/x").exists());
        assert_eq!(fs::read_to_string(scratch.at("t/bak/2/a"))?, "aa\n");
    }
    Ok(())
}

/// Another user has put a link where the backups go: nothing is written behind it, and nothing is lost.
#[test]
fn no_link_leads_backups_out_of_their_directory() -> Outcome {
    let scratch = trees("older t/a t/d/b; mkdir victim bak; echo x >t/x")?;
    symlink("../victim", scratch.at("t/bak"))?;
    let done = run(&scratch, &["-a", "--delete", "--backup-dir=bak", "s/", "t"])?;
    assert_ne!(done.code(), Some(0), "{done:?}");
    symlink("../victim", scratch.at("bak/d"))?;
    let done = run(&scratch, &["-a", "--delete", "--backup-dir=../bak", "s/", "t"])?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert_eq!(fs::read_dir(scratch.at("victim"))?.count(), 0);
    assert_eq!(fs::read_to_string(scratch.at("bak/x"))?, "x\n");
    let kept = fs::metadata(scratch.at("t/d/b"))?;
    assert!(kept.modified()?.elapsed()?.as_secs() > 1, "the file without a backup was replaced");
    Ok(())
}

/// A backup that cannot be made keeps the file: a directory has its name.
#[test]
fn a_file_without_a_backup_is_neither_replaced_nor_removed() -> Outcome {
    let scratch = trees("older t/a; echo old >t/a; echo x >t/x; mkdir t/a~ t/x~")?;
    let done = run(&scratch, &["-ab", "--delete", "s/", "t"])?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert_eq!(fs::read_to_string(scratch.at("t/a"))?, "old\n");
    assert_eq!(fs::read_to_string(scratch.at("t/x"))?, "x\n");
    Ok(())
}

/// A name that the source has is not replaced by the backup of another file.
#[test]
fn a_backup_does_not_replace_what_the_run_has_made() -> Outcome {
    let scratch = trees("echo old >t/a; older t/a; echo tilde >s/a~; touch -d @1600000000 s/a~")?;
    let done = run(&scratch, &["-ab", "s/", "t"])?;
    let read = |path: &str| fs::read_to_string(scratch.at(path));
    assert_eq!(done.code(), Some(23), "{done:?}");
    // Which of the two comes first is not defined. The one that is there is not replaced.
    match &*read("t/a~")? {
        "tilde\n" => assert_eq!(read("t/a")?, "old\n"),
        backup => assert_eq!((backup, &*read("t/a")?), ("old\n", "aa\n")),
    }
    Ok(())
}

/// A directory of backups on another file system is refused for each file, which stays.
#[test]
fn backups_do_not_leave_their_file_system() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let scratch = trees("echo old >t/a; older t/a; mkdir other")?;
    let call = sync(["-a", "--backup-dir=../other", "s/", "t"]);
    let done = in_namespace(&scratch, "mount -t tmpfs none other", call)?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert_eq!(fs::read_to_string(scratch.at("t/a"))?, "old\n");
    Ok(())
}

#[test]
fn names_of_backups_are_checked() -> Outcome {
    let scratch = trees("")?;
    for (word, text) in [("--suffix=a/b", "slash"), ("--suffix=", "is empty")] {
        let done = run(&scratch, &["-ab", word, "s/", "t"])?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains(text), "{done:?}");
    }
    Ok(())
}
