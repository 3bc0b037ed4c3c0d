//! Existing files of the target: they stay until the source can be read, and are named if their new contents
//! are not complete.

use super::support::run::haul;
use super::support::scratch::Scratch;
use super::support::shell::{demand, shell};
use super::support::{Outcome, ignored, is_root};

#[test]
fn a_file_that_a_signal_leaves_incomplete_is_named() -> Outcome {
    let scratch = Scratch::new()?;
    let line = format!(
        "HAUL='{}'; head -c 64M /dev/zero > big; echo old > there
         timeout -s TERM 1 \"$HAUL\" cp --bandwidth=4M big there; timeout -s TERM 1 \"$HAUL\" cp --bandwidth=4M big new",
        haul().display()
    );
    let done = shell(scratch.path(), &line)?;
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(
        said.matches("'there' was being overwritten and is not complete").count(),
        1,
        "{said}"
    );
    assert!(!scratch.at("new").exists() && !said.contains("'new'"), "{said}");
    Ok(())
}

#[test]
fn what_is_to_be_replaced_stays_if_the_source_cannot_be_opened() -> Outcome {
    for words in [&["--remove-destination"][..], &["-b"], &["--remove-destination", "-b"]] {
        let scratch = Scratch::new()?;
        scratch.write("d", "old\n")?;
        scratch.write("s", "new")?;
        let line = format!(
            "chmod 0 s; chmod 777 .; chown -R 65534 .; setpriv --reuid=65534 --clear-groups \
             '{}' cp {} s d; cat d; ls",
            haul().display(),
            words.join(" ")
        );
        let done = shell(scratch.path(), &line)?;
        let said = String::from_utf8_lossy(&done.stderr);
        if said.contains("setpriv") || !is_root()? {
            return ignored("root and setpriv");
        }
        if said.contains("failed to execute") {
            return ignored("a program that other users can reach");
        }
        assert!(said.contains("cannot open 's'"), "{said}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "old\nd\ns\n", "{words:?}");
    }
    Ok(())
}

#[test]
fn a_current_directory_on_another_file_system_changes_nothing_for_operands() -> Outcome {
    let scratch = Scratch::new()?;
    // A file with a hole at its end is not as long as its data, which only the file system of the file knows.
    let line =
        "truncate -s 4M hole; printf hello | dd of=hole conv=notrunc status=none; mkdir d; P=$PWD
        (cd /proc; haul cp --verify \"$P/hole\" \"$P/d\"); cmp hole d/hole
        haul cp --verify /sys/kernel/mm/transparent_hugepage/enabled o
        cmp o /sys/kernel/mm/transparent_hugepage/enabled";
    demand(scratch.path(), line)
}

#[test]
fn files_that_were_not_begun_keep_their_bytes_after_a_signal() -> Outcome {
    let scratch = Scratch::new()?;
    let line = format!(
        "HAUL='{}'; mkdir s d; for i in $(seq 200); do head -c 100000 /dev/zero > s/$i; echo old > d/$i; done
         timeout -s INT 1 \"$HAUL\" cp -r --jobs=1 --bandwidth=1M s/. d
         find d -size 0 | wc -l; find d -size 4c -o -size -5c | wc -l",
        haul().display()
    );
    let done = shell(scratch.path(), &line)?;
    let said = String::from_utf8_lossy(&done.stdout);
    let counts: Vec<usize> = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(matches!(counts[..], [0..=1, 50..=200]), "{said}");
    Ok(())
}
