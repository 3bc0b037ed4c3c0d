//! Lists that a run writes beside its targets (`--errors`, `--sum-file`), if the run does not come to its end,
//! is refused, or meets another run.

use std::fs;

use super::support::run::{cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::shell;
use super::support::{Outcome, ignored, is_root};

/// Command lines that leave something out without a failure of an entry; each has to leave a list that says so.
const NOT_AT_THEIR_END: [&str; 4] = [
    "timeout -s INT 1 haul cp -aT --bandwidth=4M --errors=list s t",
    "timeout -s TERM 1 haul cp -aT --bandwidth=4M --errors=list s t",
    "haul cp -aT --preflight --errors=list s/f0 /dev/full/t",
    "haul cp -aT --sum-file=s/f0 --errors=list s t",
];

#[test]
fn a_list_of_a_run_that_did_not_come_to_its_end_says_so() -> Outcome {
    for line in NOT_AT_THEIR_END {
        let scratch = Scratch::new()?;
        let line = format!(
            "mkdir s; for i in $(seq 0 39); do head -c 200000 /dev/urandom > s/f$i; done
             {line} && exit 9; haul cp --retry-failed=list && exit 8; true"
        );
        let line = line.replace("timeout -s INT 1 haul", "timeout -s INT 1 \"$HAUL\"");
        let line = line.replace("timeout -s TERM 1 haul", "timeout -s TERM 1 \"$HAUL\"");
        let line = format!("HAUL='{}'; {line}", haul().display());
        let done = shell(scratch.path(), &line)?;
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{line}: {}: {said}", done.status);
        assert!(!fs::read_to_string(scratch.at("list"))?.contains("\"end\""), "{line}");
        assert!(said.contains("did not come to its end"), "{line}: {said}");
    }
    Ok(())
}

#[test]
fn a_retry_that_is_stopped_forgets_no_failure() -> Outcome {
    let scratch = Scratch::new()?;
    let line = format!(
        "HAUL='{}'; mkdir -p s t/f1 t/f2 t/f3; for i in $(seq 1 9); do head -c 300000 /dev/zero > s/f$i; done
         haul cp -aT --errors=list s t && exit 9; rmdir t/f?
         timeout -s INT 1 \"$HAUL\" cp --retry-failed=list --errors=list --bandwidth=100K && exit 8
         haul cp --retry-failed=list --errors=list && diff -r s t",
        haul().display()
    );
    // Directories in the way are failures; they are gone before the retry.
    let done = shell(scratch.path(), &line.replace("rmdir t/f?", "rmdir t/f1 t/f2 t/f3"))?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Everything was copied, and the list has an end and no failure.
    let list = fs::read_to_string(scratch.at("list"))?;
    assert!(list.lines().count() == 2 && list.contains("\"end\""), "{list}");
    Ok(())
}

#[test]
fn a_list_that_another_run_writes_is_left_alone() -> Outcome {
    for (option, file) in [("--errors=e", "e"), ("--sum-file=sums", "sums")] {
        let scratch = Scratch::new()?;
        scratch.write("s/a", "contents")?;
        cp(["-aT", option, "s", "t"]).in_dir(scratch.path()).succeed()?;
        let before = fs::read(scratch.at(file))?;
        let holder = fs::OpenOptions::new().write(true).open(scratch.at(file))?;
        holder.lock()?;
        let done = cp(["-aT", option, "s", "u"]).in_dir(scratch.path()).run()?;
        assert!(
            done.code() == Some(1) && done.errors().contains("another run writes it"),
            "{done:?}"
        );
        assert_eq!(fs::read(scratch.at(file))?, before);
        assert!(!scratch.at("u").exists());
    }
    Ok(())
}

#[test]
fn a_refused_run_leaves_the_checksums_of_an_older_one() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "contents")?;
    cp(["-aT", "--sum-file=sums", "s", "t"]).in_dir(scratch.path()).succeed()?;
    let before = fs::read(scratch.at("sums"))?;
    for words in [
        &["-aT", "--resume", "--journal=absent/j", "--sum-file=sums", "s", "u"][..],
        &["-a", "--sum-file=sums", "s/a", "s/b", "absent"],
    ] {
        let done = cp(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert_eq!(fs::read(scratch.at("sums"))?, before, "{words:?}");
    }
    Ok(())
}

#[test]
fn a_list_of_a_run_that_did_not_begin_is_no_list_of_entries() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "contents")?;
    let words = ["-aT", "--resume", "--journal=absent/j", "--errors=list", "s", "u"];
    assert_eq!(cp(words).in_dir(scratch.path()).run()?.code(), Some(1));
    let done = cp(["--retry-failed=list"]).in_dir(scratch.path()).run()?;
    assert!(done.code() == Some(1) && done.errors().contains("did not begin"), "{done:?}");
    let done = cp(["-aT", "--dry-run", "--errors=list", "s", "u"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().contains("--errors cannot be combined with --dry-run"), "{done:?}");
    Ok(())
}

#[test]
fn a_retry_adds_to_the_checksums_of_the_run_before() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "first")?;
    scratch.write("s/b", "second")?;
    fs::create_dir_all(scratch.at("t/b"))?;
    fs::create_dir(scratch.at("elsewhere"))?;
    let words = ["-aT", "--sum-file=sums", "--errors=list", "s", "t"];
    assert_eq!(cp(words).in_dir(scratch.path()).run()?.code(), Some(1));
    fs::remove_dir(scratch.at("t/b"))?;
    // A line of a killed run is not complete.
    let whole = fs::read_to_string(scratch.at("sums"))?;
    fs::write(scratch.at("sums"), format!("{whole}0123456789"))?;
    cp(["--retry-failed=../list"]).in_dir(scratch.at("elsewhere")).succeed()?;
    let sums = fs::read_to_string(scratch.at("sums"))?;
    assert!(sums.starts_with(&whole) && sums.lines().count() == 2, "{sums}");
    assert!(sums.lines().all(|line| line.len() > 64), "{sums}");
    Ok(())
}

#[test]
fn a_pipe_without_its_reader_ends_the_run_that_writes_checksums_to_it() -> Outcome {
    let scratch = Scratch::new()?;
    let line = format!(
        "mkdir s; for i in $(seq 2000); do echo $i > s/file_with_a_long_name_$i; done; mkfifo p
         head -c 10 p > /dev/null & timeout 60 '{}' cp -r --sum-file=p s d; echo $?",
        haul().display()
    );
    let done = shell(scratch.path(), &line)?;
    let code = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    assert!(["1", "141"].contains(&&*code), "{code}");
    Ok(())
}

#[test]
fn a_retry_replaces_a_list_in_a_directory_that_cannot_be_written_to() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let line = format!(
        "mkdir -p l s t/f; echo data > s/f; : > l/list; chmod 666 l/list; chown -R 65534 s t; chmod 755 . l s t
         run() {{ setpriv --reuid=65534 --clear-groups '{}' cp \"$@\"; }}
         run -aT --errors=l/list s t && exit 9; rmdir t/f
         run --retry-failed=l/list --errors=l/list || exit; cmp s/f t/f; cat l/list",
        haul().display()
    );
    let done = shell(scratch.path(), &line)?;
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("setpriv") {
        return ignored("setpriv, and a program that other users can reach");
    }
    let list = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && list.lines().count() == 2 && list.contains("\"end\""),
        "{said}{list}"
    );
    Ok(())
}
