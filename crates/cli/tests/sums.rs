//! The sums: known digests, check files that the original programs read and write, order, odd inputs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use haul_manifest::wait_until;
use rustix::process::Pid;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::state::minor_faults;
use super::support::volume::volumes;
use super::support::{Outcome, has, ignored, is_root, which};

fn sum<'w>(program: &str, words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word(program).words(words)
}

fn said(done: &Done) -> (Option<i32>, String, String) {
    (done.code(), done.text(), done.errors())
}

/// Names that must be escaped or can be mistaken for something else.
const ODD_NAMES: [&str; 6] =
    ["plain", "with space", "back\\slash", "new\nline", "car\rreturn", "*star"];

const KNOWN: [(&str, &str, &str); 8] = [
    ("md5sum", "md5", "900150983cd24fb0d6963f7d28e17f72"),
    ("sha1sum", "sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("sha224sum", "sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    ("sha256sum", "sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "sha384sum",
        "sha384",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    (
        "sha512sum",
        "sha512",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    (
        "b2sum",
        "blake2b",
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
    ),
    ("b3sum", "blake3", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
];

#[test]
fn the_old_name_of_hash_is_refused_with_the_new_one() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("abc", "abc")?;
    for words in [vec!["-a", "blake3", "abc"], vec!["--check", "abc"]] {
        let done = sum("sum", words).in_dir(scratch.path()).run()?;
        assert_eq!((done.code(), done.text()), (Some(1), String::new()));
        assert!(done.errors().contains("is called 'haul hash' now"), "{}", done.errors());
    }
    let done = sum("sum", ["-q"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().starts_with("sum: invalid option -- 'q'"), "{}", done.errors());
    assert!(!done.errors().contains("hash"), "{}", done.errors());
    Ok(())
}

#[test]
fn known_bytes_have_known_sums_by_every_name() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("abc", "abc")?;
    for (program, algorithm, digest) in KNOWN {
        let line = format!("{digest}  abc\n");
        assert_eq!(sum(program, ["abc"]).in_dir(scratch.path()).succeed()?.text(), line);
        let stdin = sum(program, []).input("abc").succeed()?.text();
        assert_eq!(stdin, format!("{digest}  -\n"), "{program}");
        let own = sum("hash", ["-a", algorithm, "abc"]).in_dir(scratch.path());
        assert_eq!(own.succeed()?.text(), line, "{algorithm}");
    }
    let cases = [
        (vec!["cksum", "abc"], "1219131554 3 abc\n"),
        (vec!["cksum", "-a", "crc32b", "abc"], "891568578 3 abc\n"),
        (vec!["cksum", "-a", "bsd", "abc"], "16556     1 abc\n"),
        (vec!["cksum", "-a", "sysv", "abc"], "294 1 abc\n"),
        (vec!["sum", "abc"], "16556     1 abc\n"),
        (vec!["sum", "-s", "-r", "abc"], "16556     1 abc\n"),
        (vec!["sum", "-s", "abc", "abc"], "294 1 abc\n294 1 abc\n"),
        (vec!["sum", "--sysv", "abc"], "294 1 abc\n"),
        (vec!["cksum", "-a", "md5", "--base64", "abc"], "MD5 (abc) = kAFQmDzST7DWlj99KOF/cg==\n"),
        (vec!["cksum", "-a", "blake2b", "-l", "16", "abc"], "BLAKE2b-16 (abc) = ae1e\n"),
        (vec!["xxhsum", "abc"], "44bc2cf5ad770999  abc\n"),
        (vec!["xxhsum", "-H0", "abc"], "32d153ff  abc\n"),
        (vec!["xxhsum", "-H2", "abc"], "06b05ab6733a618578af5f94892f3950  abc\n"),
        (vec!["xxhsum", "-H3", "abc"], "XXH3 (abc) = 78af5f94892f3950\n"),
        (vec!["b3sum", "-l", "5", "--seek", "3", "abc"], "ac38465133  abc\n"),
    ];
    for (words, expected) in cases {
        let done = Call::of(haul()).words(&words).in_dir(scratch.path()).succeed()?;
        assert_eq!(done.text(), expected, "{words:?}");
    }
    Ok(())
}

/// A program, its options to print, and its options to check.
const ORIGINALS: [(&str, &[&str]); 14] = [
    ("md5sum", &[]),
    ("md5sum", &["--tag"]),
    ("md5sum", &["--binary"]),
    ("sha1sum", &[]),
    ("sha224sum", &[]),
    ("sha256sum", &["--tag"]),
    ("sha384sum", &[]),
    ("sha512sum", &[]),
    ("b2sum", &["--length=128"]),
    ("b2sum", &["--tag"]),
    ("b3sum", &[]),
    ("b3sum", &["--tag"]),
    ("xxhsum", &["-H1"]),
    ("xxhsum", &["-H2"]),
];

#[test]
fn check_files_are_interchangeable_with_the_originals() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ODD_NAMES {
        scratch.write(name, name)?;
    }
    for (program, options) in ORIGINALS {
        if !has(program)? {
            continue;
        }
        let original = which(program).unwrap_or_default();
        // Older versions of xxhsum and b3sum print some names as they are.
        let is_older = matches!(program, "xxhsum" | "b3sum");
        let names: &[&str] = if is_older { &ODD_NAMES[..2] } else { &ODD_NAMES };
        let call = |is_ours: bool| {
            let call = if is_ours { sum(program, []) } else { Call::of(&original) };
            call.in_dir(scratch.path())
        };
        let ours = call(true).words(options).words(names).succeed()?;
        let theirs = call(false).words(options).words(names).run()?;
        if theirs.code() != Some(0) && is_older {
            ignored(&format!("a {program} that takes {options:?}"))?;
            continue;
        }
        assert_eq!(ours.text(), theirs.text(), "{program} {options:?}");
        for checks in [true, false] {
            scratch.write("sums", &ours.stdout)?;
            let done = call(checks).words(["-c", "sums"]).run()?;
            assert_eq!(done.code(), Some(0), "{program} {options:?}: {done:?}");
            assert_eq!(done.text().matches(": OK").count(), names.len(), "{program}");
        }
    }
    Ok(())
}

#[test]
fn what_came_of_many_files_is_told_in_order() -> Outcome {
    let scratch = Scratch::new()?;
    let names: Vec<String> = (0..300).map(|index| format!("f{index}")).collect();
    for (index, name) in names.iter().enumerate() {
        // The first are the largest, so that the last are done first.
        scratch.write(name, vec![b'x'; (300 - index) * 2000])?;
    }
    let words = || names.iter().map(String::as_str);
    let call = |jobs: &'static str| sum("sha1sum", [jobs]).words(words()).in_dir(scratch.path());
    let one = call("--jobs=1").succeed()?.text();
    assert_eq!(one.lines().count(), 300);
    assert!(one.lines().zip(&names).all(|(line, name)| line.ends_with(&format!("  {name}"))));
    assert_eq!(call("--jobs=7").succeed()?.text(), one);
    scratch.write("sums", &one)?;
    fs::remove_file(scratch.at("f100"))?;
    scratch.write("f200", "else")?;
    let done = sum("sha1sum", ["--jobs=7", "-c", "sums"]).in_dir(scratch.path()).run()?;
    let lines: Vec<String> = done.text().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 300);
    assert_eq!(
        (lines[100].as_str(), lines[200].as_str()),
        ("f100: FAILED open or read", "f200: FAILED")
    );
    assert_eq!(
        done.errors(),
        "sha1sum: f100: No such file or directory\n\
         sha1sum: WARNING: 1 listed file could not be read\n\
         sha1sum: WARNING: 1 computed checksum did NOT match\n"
    );
    assert_eq!(done.code(), Some(1));
    Ok(())
}

/// Options, the check file, and the result: exit code, output, messages.
type Case<'c> = (&'c [&'c str], String, (i32, &'c str, String));

#[test]
fn checking_says_what_gnu_says() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("abc", "abc")?;
    let good = "900150983cd24fb0d6963f7d28e17f72  abc\n";
    let bad = "000150983cd24fb0d6963f7d28e17f72  abc\n";
    let missing = "900150983cd24fb0d6963f7d28e17f72  gone\n";
    let none = "md5sum: s: no properly formatted checksum lines found\n";
    let junk = "md5sum: WARNING: 1 line is improperly formatted\n";
    let cases: [Case<'_>; 10] = [
        (&[], good.into(), (0, "abc: OK\n", String::new())),
        (&["--quiet"], good.into(), (0, "", String::new())),
        (&["--status"], bad.into(), (1, "", String::new())),
        (&[], "junk\n".into(), (1, "", none.into())),
        (&[], format!("# note\n\n{good}junk\n"), (0, "abc: OK\n", junk.into())),
        (&["--strict"], format!("{good}junk\n"), (1, "abc: OK\n", junk.into())),
        (
            &["-w"],
            format!("{good}junk\n"),
            (
                0,
                "abc: OK\n",
                format!("md5sum: s: 2: improperly formatted MD5 checksum line\n{junk}"),
            ),
        ),
        (&["--ignore-missing"], format!("{missing}{good}"), (0, "abc: OK\n", String::new())),
        (
            &["--ignore-missing"],
            missing.into(),
            (1, "", "md5sum: s: no file was verified\n".into()),
        ),
        // A line with one space must not be followed by one with two: the name could be another.
        (
            &[],
            format!("900150983cd24fb0d6963f7d28e17f72 abc\n{}", good.replace("  ", " ")),
            (0, "abc: OK\nabc: OK\n", String::new()),
        ),
    ];
    for (options, text, (code, shown, errors)) in cases {
        scratch.write("s", &text)?;
        let done = sum("md5sum", ["-c"]).words(options).word("s").in_dir(scratch.path()).run()?;
        assert_eq!(said(&done), (Some(code), shown.to_owned(), errors), "{options:?} {text}");
    }
    Ok(())
}

#[test]
fn one_file_on_all_cores_has_the_sum_of_one_core() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise((20 << 20) + 4097);
    scratch.write("large", &bytes)?;
    let call = |options: &[&'static str]| {
        sum("b3sum", []).words(options).word("large").in_dir(scratch.path()).succeed()
    };
    let one = call(&["--num-threads=1"])?.text();
    assert_eq!(call(&["--num-threads=5"])?.text(), one);
    assert_eq!(sum("b3sum", []).input(bytes).succeed()?.text(), one.replace("large", "-"));
    Ok(())
}

#[test]
fn the_page_cache_may_be_passed_by() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        scratch.write("large", vec![7; (9 << 20) + 513])?;
        scratch.write("small", "abc")?;
        let call = |options: &[&'static str]| {
            sum("md5sum", []).words(options).words(["large", "small"]).in_dir(scratch.path()).run()
        };
        let kept = call(&["--cache=keep"])?.text();
        assert_eq!(kept.lines().count(), 2);
        for cache in ["--cache=auto", "--cache=drop", "--cache=direct", "--cache=restore"] {
            let done = call(&[cache])?;
            assert_eq!(
                (done.code(), done.text()),
                (Some(0), kept.clone()),
                "{} {cache}",
                volume.name
            );
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_goes_on() -> Outcome {
    if !is_root()? || !has("setpriv")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.write("abc", "abc")?;
    let locked = scratch.write("locked", "x")?;
    fs::set_permissions(locked, fs::Permissions::from_mode(0o000))?;
    let done =
        sum("md5sum", [".", "locked", "gone", "abc"]).in_dir(scratch.path()).by_user().run()?;
    assert_eq!(
        said(&done),
        (
            Some(1),
            "900150983cd24fb0d6963f7d28e17f72  abc\n".to_owned(),
            "md5sum: .: Is a directory\nmd5sum: locked: Permission denied\n\
             md5sum: gone: No such file or directory\n"
                .to_owned()
        )
    );
    Ok(())
}

#[test]
fn standard_input_is_read_in_its_turn() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("abc", "abc")?;
    let done =
        sum("md5sum", ["abc", "-", "abc", "-"]).in_dir(scratch.path()).input("abc").succeed()?;
    let (abc, empty) = ("900150983cd24fb0d6963f7d28e17f72", "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(done.text(), format!("{abc}  abc\n{abc}  -\n{abc}  abc\n{empty}  -\n"));
    Ok(())
}

#[test]
fn a_full_disk_and_a_reader_that_left_are_heard() -> Outcome {
    if !Path::new("/dev/full").exists() {
        return ignored("/dev/full");
    }
    let done = sum("md5sum", []).input("abc").output_to("/dev/full").run()?;
    assert_eq!(
        (done.code(), done.errors().as_str()),
        (Some(1), "md5sum: write error: No space left on device\n")
    );
    let script = "\"$0\" md5sum /dev/null /dev/null | true; exit \"${PIPESTATUS[0]}\"";
    let gone = "mkfifo p; true < p & exec 3> p; wait $!; \"$0\" md5sum /dev/null >&3; exit $?";
    if has("bash")? {
        let scratch = Scratch::new()?;
        for script in [script, gone] {
            let call = Call::of("bash").words(["-c", script]).word(haul());
            let done = call.in_dir(scratch.path()).run()?;
            assert!(matches!(done.code(), Some(0 | 141)) && done.errors().is_empty(), "{done:?}");
        }
    }
    Ok(())
}

#[test]
fn what_makes_no_sense_is_refused_in_gnus_words() -> Outcome {
    let cases: [(&[&str], &str); 8] = [
        (
            &["md5sum", "--quiet"],
            "md5sum: the --quiet option is meaningful only when verifying checksums",
        ),
        (&["md5sum", "--tag", "-t"], "md5sum: --tag does not support --text mode"),
        (
            &["md5sum", "-c", "-z"],
            "md5sum: the --zero option is not supported when verifying checksums",
        ),
        (&["cksum", "-a", "sha22"], "cksum: invalid argument 'sha22' for '--algorithm'"),
        (
            &["cksum", "-a", "crc", "-c"],
            "cksum: --check is not supported with --algorithm={bsd,sysv,crc,crc32b}",
        ),
        (&["cksum", "-l", "8"], "cksum: --length is only supported with --algorithm=blake2b"),
        (&["b2sum", "-l", "9"], "b2sum: invalid length: '9'"),
        (&["md5sum", "-q"], "md5sum: invalid option -- 'q'"),
    ];
    for (words, first) in cases {
        let done = Call::of(haul()).words(words).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert_eq!(done.errors().lines().next(), Some(first));
    }
    Ok(())
}

/// Cached files are hashed in place, and may be truncated meanwhile.
#[test]
fn a_file_that_is_truncated_while_it_is_hashed_causes_no_signal() -> Outcome {
    let scratch = Scratch::new()?;
    let whole = vec![0x5a; 24 << 20];
    for turn in 0..12 {
        let path = scratch.write("a", &whole)?;
        let child = std::process::Command::new(haul())
            .args(["b3sum", "--num-threads=4", "a"])
            .current_dir(scratch.path())
            .stdout(std::process::Stdio::piped())
            .spawn()?;
        // After some more pages each time, or at its end.
        let pid = Pid::from_child(&child);
        wait_until("it has come so far", || {
            minor_faults(pid).is_none_or(|faults| faults >= turn * 400)
        });
        std::fs::File::options().write(true).open(path)?.set_len((turn << 20) + 77)?;
        let done = child.wait_with_output()?;
        assert!(done.status.success() && done.stdout.ends_with(b"  a\n"), "{turn}: {done:?}");
    }
    Ok(())
}
