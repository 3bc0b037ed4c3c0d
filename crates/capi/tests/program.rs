//! One program in C calls everything, in several threads, and checks what it gets; also under valgrind.

use std::os::unix::process::ExitStatusExt as _;

use crate::support::{Laboratory, has, ignored, text};

const PROGRAM: &str = include_str!("program.c");

#[test]
fn a_program_in_c_gets_what_the_manual_promises() {
    let Some(laboratory) = Laboratory::new() else { return };
    laboratory.compile("program", PROGRAM);
    // Without standard input, for a library must not put anything in its place.
    let done = laboratory.run(&["sh", "-c", "exec ./program work closed <&-"]);
    assert!(done.status.success(), "{:?} {}", done.status.signal(), text(&done.stderr));
    assert_eq!(text(&done.stdout), "all is well\n");
}

#[test]
fn valgrind_finds_no_error_and_no_leak() {
    let Some(laboratory) = Laboratory::new() else { return };
    if !has("valgrind") {
        return ignored("valgrind");
    }
    laboratory.compile("program", PROGRAM);
    let valgrind = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full"];
    // The standard library keeps what it knows of the main thread until that ends, which counts as possible.
    let leaks = ["--errors-for-leak-kinds=definite", "./program", "work", "open"];
    let words = [&valgrind[..], &leaks].concat();
    let done = laboratory.run(&words);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "all is well\n");
}
