//! The programs of the documentation compile, and do what it says.

use std::fs;
use std::path::Path;

use crate::support::{Laboratory, text};

/// Returns the program between two lines of a document.
pub(crate) fn program(document: &str, begin: &str, end: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = fs::read_to_string(root.join(document)).unwrap();
    let (_, rest) = whole.split_once(&format!("{begin}\n")).unwrap();
    rest.split_once(&format!("\n{end}\n")).unwrap().0.to_owned()
}

#[test]
fn the_program_of_the_guide_copies_with_progress_and_reports() {
    let Some(laboratory) = Laboratory::new() else { return };
    let program = program("../../docs/library.md", "```c", "```");
    assert!(program.lines().count() <= 30, "it has to fit on a screen");
    laboratory.compile("copy", &program);
    fs::create_dir_all(laboratory.path().join("a/below")).unwrap();
    fs::write(laboratory.path().join("a/below/file"), "seven b").unwrap();
    let done = laboratory.run(&["./copy", "a", "b"]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(text(&done.stdout), "1 files, 7 bytes\n");
    assert_eq!(fs::read(laboratory.path().join("b/below/file")).unwrap(), b"seven b");
    let done = laboratory.run(&["./copy", "none", "c"]);
    assert_eq!(done.status.code(), Some(1));
    let line = "none -> c: cannot look at the source: No such file or directory";
    assert!(text(&done.stderr).contains(line), "{done:?}");
}

#[test]
fn the_program_of_the_manual_copies() {
    let Some(laboratory) = Laboratory::new() else { return };
    let program = program("man/libhaul.3", ".EX", ".EE").replace("\\en", "\\n");
    laboratory.compile("manual", &program);
    fs::write(laboratory.path().join("a"), "bytes").unwrap();
    assert!(laboratory.run(&["./manual", "a", "b"]).status.success());
    assert_eq!(fs::read(laboratory.path().join("b")).unwrap(), b"bytes");
    assert_eq!(laboratory.run(&["./manual", "none", "c"]).status.code(), Some(1));
}
