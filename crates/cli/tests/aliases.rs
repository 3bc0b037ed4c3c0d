//! Several entries of one copy that lead to one file of the target, or read what another one writes.
//!
//! Such a file has the bytes of one source and no others, and the order of overlapping operands decides which
//! one that is, as with GNU cp.

use std::fs;

use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::shell::shell;

/// Makes two sources of different sizes: bytes A, and fewer bytes B.
const SOURCES: &str = "
    fill() { head -c $2 /dev/zero | tr '\\0' $1; }
    mkdir s d; fill A $SIZE > s/a; fill B $((SIZE / 2)) > s/b";

/// Targets in which the entries `a` and `b` of `s` lead to the file `d/b`; and how `s` is copied to them.
const TARGETS: [(&str, &str); 6] = [
    ("echo old > d/b; ln -s b d/a", "s/. d"),
    (": > d/b; ln -s b d/a", "s/. d"),
    ("echo old > d/b; ln d/b d/a", "s/. d"),
    (
        "mkdir s/p s/q d/q; mv s/a s/p/f; mv s/b s/q/f; ln -s q d/p",
        "--keep-directory-symlink s/. d",
    ),
    (
        "mkdir s/p s/q d/p d/q; mv s/a s/p; mv s/b s/q; echo old > d/q/b; ln -s ../q/b d/p/a",
        "s/. d",
    ),
    (
        "mkdir -p s/p/n s/q/n d/q; mv s/a s/p/n/f; mv s/b s/q/n/f; ln -s q d/p",
        "--keep-directory-symlink s/. d",
    ),
];

#[test]
fn a_file_that_two_entries_lead_to_has_the_bytes_of_one() -> Outcome {
    let mut wrong = Vec::new();
    // Several workers share a file of 8 MiB, and `b` is half as long as `a`.
    for size in [10, 70_000, 17 << 20] {
        for (prepare, words) in TARGETS {
            for options in ["--jobs=1", "--jobs=4", "--jobs=4 --fsync", "-a --jobs=4", "--atomic"] {
                let scratch = Scratch::new()?;
                let line = format!(
                    "SIZE={size}{SOURCES}; {prepare}; haul cp -r {options} {words}
                     case $? in 0 | 1) ;; *) exit 8 ;; esac
                     cat $(find d -name b -o -name f | head -n 1) > found
                     fill A $SIZE | cmp -s - found || fill B $((SIZE / 2)) | cmp -s - found || exit 9"
                );
                let done = shell(scratch.path(), &line)?;
                if !done.status.success() {
                    let said = String::from_utf8_lossy(&done.stderr);
                    wrong.push(format!("{size}, {prepare}, {options}: {}: {said}", done.status));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn entries_that_wait_for_a_file_take_no_descriptors() -> Outcome {
    // Every file has as many letters of its own, and all names of the target are one file, which gets the bytes
    // of one of them; the others are refused. The larger ones are for several workers.
    for (count, bytes) in [(200, 300_000), (80, 9 << 20)] {
        let scratch = Scratch::new()?;
        let line = format!(
            "mkdir s d; : > d/0
            for i in $(seq 0 {}); do head -c 4096 /dev/zero | tr '\\0' \"\\\\$(printf %o $((i + 33)))\" > s/$i
                truncate -s {bytes} s/$i; [ -e d/$i ] || ln d/0 d/$i; done
            (ulimit -n 40; haul cp -r --jobs=4 s/. d 2> said); [ $? = 1 ] || exit 9
            grep -v 'will not overwrite just-created' said && exit 8
            cmp -s d/0 s/$(for i in $(seq 0 {}); do cmp -s d/0 s/$i && echo $i; done)",
            count - 1,
            count - 1
        );
        let done = shell(scratch.path(), &line)?;
        assert!(done.status.success(), "{bytes}: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}

#[test]
fn a_name_that_is_gone_when_its_turn_comes_is_told() -> Outcome {
    let scratch = Scratch::new()?;
    // The first entry removes the file that it could not complete, so the second one has none to fill.
    let line = "mkdir -p s/p s/q d/q; ln -s q d/p; echo one > s/q/f; head -c 9M /dev/zero > s/p/f
        haul cp -r --keep-directory-symlink --jobs=2 s/. d; cat d/q/f | wc -c";
    let done = shell(scratch.path(), line)?;
    let bytes = String::from_utf8_lossy(&done.stdout);
    assert!(["4\n", "9437184\n"].contains(&&*bytes), "{bytes}");
    Ok(())
}

/// Operands that overlap, with what prepares them, and a file with its contents after that.
const OVERLAPS: [(&str, &str, &str, &str); 9] = [
    ("mkdir x d; echo first > x/f; echo second > f", "-r x/. f d", "d/f", "second"),
    ("mkdir x d; echo first > f; echo second > x/f", "-r f x/. d", "d/f", "second"),
    ("mkdir x d; echo first > x/f; echo second > f", "-r --atomic x/. f d", "d/f", "second"),
    ("mkdir x d; echo first > x/f; echo second > f", "-rn x/. f d", "d/f", "first"),
    ("mkdir x d; echo first > x/f; echo second > f", "-rb x/. f d", "d/f~", "first"),
    ("mkdir -p x/y y d; echo first > x/y/f; echo second > y/f", "-r x/./ y d", "d/y/f", "second"),
    (
        "mkdir -p up/tree/sub tree/sub; echo second > up/tree/sub/f; echo first > tree/sub/f",
        "-r up/tree tree/sub .",
        "sub/f",
        "second",
    ),
    (
        "mkdir -p up/tree/sub tree/sub other; ln -s ../tree other/way
         echo second > up/tree/sub/f; echo first > tree/sub/f",
        "-r up/tree other/way/sub .",
        "sub/f",
        "second",
    ),
    (
        "mkdir -p a/b d; echo first > a/b/f; echo second > a/b/g",
        "--parents a/b/f ./a/b/g d",
        "d/a/b/g",
        "second",
    ),
];

#[test]
fn overlapping_operands_are_copied_in_their_order() -> Outcome {
    for (prepare, words, file, expected) in OVERLAPS {
        for jobs in [1, 4] {
            let scratch = Scratch::new()?;
            // Many small files beside them keep other workers busy.
            let fill = "for d in x y up/tree/sub; do [ -d $d ] && touch $d/.{1..200}; done; true";
            let line = format!("{prepare}; {fill}; haul cp --jobs={jobs} {words}");
            let done = shell(scratch.path(), &line)?;
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && said.is_empty(), "{words}: {said}");
            assert_eq!(fs::read_to_string(scratch.at(file))?.trim(), expected, "{words}");
        }
    }
    Ok(())
}
