//! Files of rules, lists of names, merge files above a tree, limits, and what is refused.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use haul_select::{BuildError, Flaw, Limits, Purpose, Refusal, Selection, Within};
use haul_sys::fs::{CWD, Follow, Time, open_directory};

use crate::support::{builder, selected, write};

fn refusal(purpose: Purpose, rule: &str) -> Option<Refusal> {
    match builder(Path::new("/"), purpose).rule(rule.as_bytes()) {
        Err(BuildError::Rule(Flaw { refusal, .. })) => Some(refusal),
        Err(_) => None,
        Ok(()) => None,
    }
}

#[test]
fn what_has_no_meaning_is_refused_by_name() {
    let read = |rule| refusal(Purpose::Read, rule);
    for valid in [
        "- a",
        "+ a",
        "exclude a",
        "include,/ a",
        "H a",
        "show a",
        "-p a",
        "!",
        "clear",
        "-C",
        ": f",
        "-_a",
    ] {
        assert_eq!(read(valid), None, "{valid}");
    }
    assert_eq!(read("a"), Some(Refusal::Unknown));
    assert_eq!(read("excluded a"), Some(Refusal::Unknown));
    assert_eq!(read("-"), Some(Refusal::NoPattern));
    assert_eq!(read("! a"), Some(Refusal::Trailing));
    assert_eq!(read("-e a"), Some(Refusal::Modifier(b'e')));
    assert_eq!(read(":! a"), Some(Refusal::Modifier(b'!')));
    assert_eq!(read("Hs a"), Some(Refusal::Modifier(b's')));
    assert_eq!(read("P a"), Some(Refusal::RemovesNothing));
    assert_eq!(read("-r a"), Some(Refusal::RemovesNothing));
    assert_eq!(read("-x a"), Some(Refusal::ExtendedAttribute));
    let remove = |rule| refusal(Purpose::Remove, rule);
    assert_eq!(remove("P a"), None);
    assert_eq!(remove("H a"), Some(Refusal::CopiesNothing));
    assert_eq!(remove("-p a"), Some(Refusal::Perishable));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = builder(folder.path(), Purpose::Read);
    let missing = folder.path().join("missing");
    let missing = missing.as_os_str().as_bytes();
    assert!(matches!(builder.patterns_of(false, missing), Err(BuildError::File(..))));
    assert!(matches!(builder.list(missing), Err(BuildError::File(..))));
    let rule = [b". ", missing].concat();
    assert!(matches!(builder.rule(&rule), Err(BuildError::File(..))));
    let endless = folder.path().join("endless");
    write(&endless, &format!(". {}\n", endless.display()));
    let rule = [b". ", endless.as_os_str().as_bytes()].concat();
    let deep = builder.rule(&rule);
    assert!(matches!(deep, Err(BuildError::Rule(Flaw { refusal: Refusal::TooDeep, .. }))));
}

#[test]
fn names_may_end_in_nul() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("src/#c\nd")).unwrap();
    write(&folder.join("src/e"), "");
    write(&folder.join("rules"), "e\0");
    let mut made = builder(folder, Purpose::Read);
    made.separate_by_nul();
    made.patterns_of(false, folder.join("rules").as_os_str().as_bytes()).unwrap();
    assert_eq!(selected(made.finish(), folder, "src/"), ["#c\nd/"]);
    write(&folder.join("list"), "#c\nd\0missing\0");
    let mut made = builder(folder, Purpose::Read);
    made.separate_by_nul();
    made.list(folder.join("list").as_os_str().as_bytes()).unwrap();
    let selection = Arc::new(made.finish());
    let path = CString::new(folder.join("src").as_os_str().as_bytes()).unwrap();
    let directory = open_directory(CWD, &path, Follow::No).unwrap();
    let within = Within::operands(&selection).enter_operand(&path, &directory).unwrap();
    assert!(!within.choose(&directory, c"#c\nd", None, Follow::No).is_excluded());
    assert!(within.choose(&directory, c"e", None, Follow::No).is_excluded());
    assert_eq!(selection.missing().collect::<Vec<_>>(), [b"missing"]);
}

#[test]
fn what_is_listed_below_a_directory_that_has_failed_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("src/a/deep")).unwrap();
    write(&folder.join("list"), "a/x\na/deep/y\na.z\n");
    let path = CString::new(folder.join("src").as_os_str().as_bytes()).unwrap();
    let made = || {
        let mut made = builder(folder, Purpose::Read);
        made.list(folder.join("list").as_os_str().as_bytes()).unwrap();
        Arc::new(made.finish())
    };
    let enter = |selection: &Arc<Selection>| {
        let directory = open_directory(CWD, &path, Follow::No).unwrap();
        Within::operands(selection).enter_operand(&path, &directory).unwrap()
    };
    let selection = made();
    let src = enter(&selection);
    src.meet_below(c"other");
    assert_eq!(selection.missing().count(), 3);
    src.meet_below(c"a/");
    assert_eq!(selection.missing().collect::<Vec<_>>(), [b"a.z"]);
    // A directory of which some names are not known, and an operand that was not entered.
    let selection = made();
    enter(&selection).meet_all();
    assert_eq!(selection.missing().count(), 0);
    let selection = made();
    Within::operands(&selection).meet_below(&path);
    assert_eq!(selection.missing().count(), 0);
}

#[test]
fn a_rule_may_name_directories_above_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    write(&folder.join("top/.f"), "- *.o\n- /t/deep\n");
    for name in ["a.o", "b", "deep/c", "s/deep/d"] {
        write(&folder.join("top/t").join(name), "");
    }
    let mut made = builder(&folder.join("top"), Purpose::Read);
    made.rule(format!(": {}/.f", folder.display()).as_bytes()).unwrap();
    assert_eq!(
        selected(made.finish(), &folder.join("top"), "t/"),
        ["b", "s/", "s/deep/", "s/deep/d"]
    );
}

#[test]
fn a_merge_file_that_is_a_link_or_wrong_stops_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("rules"), "- a\n");
    write(&folder.join("wrong/.f"), "nonsense\n");
    fs::create_dir(folder.join("link")).unwrap();
    std::os::unix::fs::symlink("../rules", folder.join("link/.f")).unwrap();
    let mut made = builder(folder, Purpose::Read);
    made.rule(b": .f").unwrap();
    let within = Within::operands(&Arc::new(made.finish()));
    for name in ["wrong", "link"] {
        let path = CString::new(folder.join(name).as_os_str().as_bytes()).unwrap();
        let directory = open_directory(CWD, &path, Follow::No).unwrap();
        assert!(within.enter_operand(&path, directory).is_err(), "{name}");
    }
}

#[test]
fn merge_files_stay_where_entries_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("src/.f"), "- keep\n");
    write(&folder.join("src/keep"), "");
    write(&folder.join("src/go"), "");
    for (purpose, expected) in [
        (Purpose::Read, [".f", "go"].as_slice()),
        (Purpose::Move, &["go"]),
        (Purpose::Remove, &["go"]),
    ] {
        let mut made = builder(folder, purpose);
        made.rule(b": .f").unwrap();
        assert_eq!(selected(made.finish(), folder, "src/"), expected, "{purpose:?}");
    }
}

#[test]
fn limits_concern_no_directories() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(&folder.join("src/d/small"), "1");
    write(&folder.join("src/large"), "12345");
    let mut made = builder(folder, Purpose::Read);
    made.limit(Limits { most_bytes: Some(4), ..Limits::default() });
    assert_eq!(selected(made.finish(), folder, "src/"), ["d/", "d/small"]);
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    fs::File::options()
        .write(true)
        .open(folder.join("src/large"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    let limit = Time { seconds: 1001, nanoseconds: 0 };
    let mut made = builder(folder, Purpose::Read);
    made.limit(Limits { older_than: Some(limit), ..Limits::default() });
    assert_eq!(selected(made.finish(), folder, "src/"), ["d/", "large"]);
    let mut made = builder(folder, Purpose::Read);
    made.limit(Limits { newer_than: Some(limit), ..Limits::default() });
    assert_eq!(selected(made.finish(), folder, "src/"), ["d/", "d/small"]);
}

#[test]
fn many_literal_patterns_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["n7", "n8", "n9", "d/n100001", "d/x"] {
        write(&folder.join("src").join(name), "");
    }
    let mut text: String = (0..100_000).map(|number| format!("n{number}\n")).collect();
    text.push_str("d/x\n");
    write(&folder.join("rules"), &text);
    let mut made = builder(folder, Purpose::Read);
    made.pattern("--include", true, b"n8").unwrap();
    made.patterns_of(false, folder.join("rules").as_os_str().as_bytes()).unwrap();
    made.pattern("--include", true, b"n9").unwrap();
    assert_eq!(selected(made.finish(), folder, "src/"), ["d/", "d/n100001", "n8"]);
}
