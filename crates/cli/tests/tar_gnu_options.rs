//! Further options of GNU tar: the same output, messages, statuses and archives.

use std::fs;

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{contents, gnu_tar, is_current, ours};
use super::support::{Outcome, has};

fn tree(scratch: &Scratch) -> Outcome {
    for number in 0..6 {
        scratch.write(&format!("d/{number}"), vec![b'x'; 10240])?;
    }
    scratch.write("d/e/f", "x")?;
    fs::hard_link(scratch.at("d/e/f"), scratch.at("link"))?;
    scratch.write("-b", "dash")?;
    scratch.write("one", "d/1\n-T two\n-C d\n3\n")?;
    scratch.write("two", "d/2\n--add-file=-b\n--no-recursion\nd/e\n")?;
    scratch.write("loop", "d/1\n-T loop\n")?;
    scratch.write("nuls", "d/1\0d/2\0")?;
    scratch.write("quoted", "-C 'd' --exclude=\"x y\"\n1\n")?;
    let words = ["d", "-exec", "touch", "-d", "2001-02-03 04:05:06", "{}", "+"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// Command lines that create an archive on standard output, or fail to.
const CREATE: &[&str] = &[
    "--checkpoint d",
    "--checkpoint=2 d",
    "--checkpoint=2 --checkpoint-action=echo=%u:%s%% d",
    "--checkpoint=0 d",
    "--checkpoint-action=dance d",
    "--checkpoint-action=sleep=x d",
    "-T one",
    "-T loop",
    "-T nuls",
    "-T quoted",
    "-v --warning=no-filename-with-nuls -T nuls",
    "--add-file=-b --add-file d/1",
    "d/e --exclude=f",
    "--exclude=1 d/1 d/2 --exclude=2 d/3",
    "d/1 -C d --exclude=2",
    "-l d/e",
    "-l d/e link",
    "--newer-mtime=@1000000000 d/1",
    "-v --newer-mtime=@4000000000 d",
    "-v --newer-mtime=@4000000000 --warning=no-file-unchanged d",
    "-N @1 -N @2 d",
    "--hole-detection=raw d",
    "--hole-detection=none d",
    "--warning=nonsense d",
    "--occurrence d",
    "-s d/1",
];

#[test]
fn archives_and_messages_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? || !is_current()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for words in CREATE {
        let all: Vec<&str> =
            ["-cf", "-", "--sort=name"].into_iter().chain(words.split(' ')).collect();
        let theirs = gnu_tar().words(&all).in_dir(scratch.path()).run()?;
        let done = ours().words(&all).in_dir(scratch.path()).run()?;
        let is_told = |line: &&str| {
            !line.contains("Treating date")
                && !line.contains("Valid arguments")
                // haul has the hint at --help behind every error of the command line.
                && !line.starts_with("Try ")
                && !line.starts_with("  - ")
        };
        let told = |text: String| text.lines().filter(is_told).collect::<Vec<_>>().join("\n");
        assert_eq!(told(done.errors()), told(theirs.errors()), "{words}");
        assert_eq!(done.code(), theirs.code(), "{words}");
        assert!(done.stdout == theirs.stdout, "{words}");
    }
    Ok(())
}

#[test]
fn listings_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? || !is_current()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    gnu_tar().words(["--sort=name", "-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    for words in [
        "-tf a.tar --checkpoint=1",
        "-tf a.tar -K none",
        "-tf a.tar d/1 --show-omitted-dirs",
        "-tvf a.tar --newer-mtime=@4000000000",
        "-df a.tar --checkpoint=3",
        "-tf a.tar -s d/1 d/3",
        "-tf a.tar --one-top-level --show-transformed",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let theirs = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
        let done = ours().words(&words).in_dir(scratch.path()).run()?;
        let told = |text: String| {
            text.lines()
                .filter(|line| !line.contains("Treating date"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(told(done.errors()), told(theirs.errors()), "{words:?}");
        assert_eq!((done.text(), done.code()), (theirs.text(), theirs.code()), "{words:?}");
    }
    Ok(())
}

#[test]
fn what_is_in_the_way_is_replaced_as_by_gnu_tar() -> Outcome {
    if !has("tar")? || !is_current()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/a/f", "new")?;
    scratch.write("s/b", "new")?;
    gnu_tar().words(["-C", "s", "-cf", "a.tar", "a", "b"]).in_dir(scratch.path()).succeed()?;
    for options in [
        &[][..],
        &["--keep-directory-symlink"],
        &["--recursive-unlink"],
        &["--recursive-unlink", "-U"],
        &["--keep-old-files", "--keep-directory-symlink"],
    ] {
        let mut found = Vec::new();
        for (target, call) in [("gnu", gnu_tar()), ("haul", ours())] {
            scratch.clear(target)?;
            scratch.write(&format!("{target}/real/old"), "old")?;
            scratch.write(&format!("{target}/b/deep/old"), "old")?;
            std::os::unix::fs::symlink("real", scratch.at(format!("{target}/a")))?;
            let done =
                call.words(options).words(["-xf", "../a.tar"]).in_dir(scratch.at(target)).run()?;
            let tree = contents(&scratch, target)?;
            let tree: Vec<_> =
                tree.into_iter().map(|(name, bytes)| (name.replace(target, "t"), bytes)).collect();
            found.push((done.text(), done.errors(), done.code(), tree));
        }
        assert_eq!(found[1], found[0], "{options:?}");
    }
    Ok(())
}

/// GNU tar removes the whole tree.
#[test]
fn files_that_are_to_stay_are_not_removed_with_their_directory() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "old")?;
    ours().words(["-C", "s", "-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    for option in ["--keep-newer-files", "--keep-old-files", "--skip-old-files"] {
        scratch.write("t/d/newer", "mine")?;
        let words = ["-xf", "a.tar", "-C", "t", "--recursive-unlink", option];
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(fs::read(scratch.at("t/d/newer"))?, b"mine", "{option}");
        let told = format!("'--recursive-unlink' cannot be used with '{option}'");
        assert!(done.code() == Some(2) && done.errors().contains(&told), "{done:?}");
    }
    Ok(())
}

#[test]
fn actions_at_checkpoints_are_run() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = [
        "-cf",
        "a.tar",
        "--checkpoint=3",
        "--checkpoint-action=dot",
        "--checkpoint-action=exec=echo $TAR_CHECKPOINT $TAR_ARCHIVE >> log",
        "--index-file=index",
        "d",
    ];
    let done = ours().words(words).in_dir(scratch.path()).succeed()?;
    assert_eq!((done.text().as_str(), done.errors().as_str()), ("", ""));
    assert_eq!(fs::read_to_string(scratch.at("log"))?, "3 a.tar\n6 a.tar\n");
    assert_eq!(fs::read_to_string(scratch.at("index"))?, "..");
    // A signal that was sent before is waited for.
    let script = "trap '' USR1; exec \"$0\" tar -cf b.tar --checkpoint=2 \
                  --checkpoint-action=exec='kill -USR1 $PPID' --checkpoint-action=wait=USR1 d";
    let haul = super::support::run::haul().display().to_string();
    Call::of("sh").words(["-c", script, &haul]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("a.tar"))?.len(), fs::read(scratch.at("b.tar"))?.len());
    Ok(())
}

#[test]
fn reading_changes_no_time_of_access() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "x")?;
    for method in ["--atime-preserve", "--atime-preserve=system"] {
        let touch = ["-ad", "2001-02-03 04:05:06", "f"];
        Call::of("touch").words(touch).in_dir(scratch.path()).succeed()?;
        let before = fs::metadata(scratch.at("f"))?.accessed()?;
        ours().words([method, "-cf", "a.tar", "f"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::metadata(scratch.at("f"))?.accessed()?, before, "{method}");
    }
    Ok(())
}

/// A file of another system has a carriage return in each line, with which no pattern matched.
#[test]
fn patterns_of_files_are_read_as_by_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for name in ["config", "sp ", "sp", "cr\r", "cr", "in ner", " first", "vt", "nul", "last"] {
        scratch.write(&format!("d/{name}"), "x")?;
    }
    for patterns in [
        "config\r\n",
        "config\r\n\r\nlast\r\n",
        "sp \n",
        "sp\\ \n",
        "cr\t \r\n",
        "in ner \n first\n",
        "vt\u{b}\u{c}\nlast",
        "last  ",
        "nul\0config\nlast\n",
        "nul\0",
        " \n\n",
        "",
    ] {
        scratch.write("patterns", patterns)?;
        for option in ["--no-null", "--null"] {
            let words = [option, "-X", "patterns", "--sort=name", "-cvf", "a.tar", "d"];
            let gnu = gnu_tar().words(words).in_dir(scratch.path()).run()?;
            let haul = ours().words(words).in_dir(scratch.path()).run()?;
            let found = (haul.text(), haul.errors(), haul.code());
            assert_eq!(found, (gnu.text(), gnu.errors(), gnu.code()), "{patterns:?} {option}");
        }
    }
    Ok(())
}
