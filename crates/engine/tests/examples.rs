//! The programs of the folder `examples`, which cargo builds with the tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs an example in a folder.
fn example(name: &str, folder: &Path, words: &[&str]) -> Output {
    // target/debug/deps/all-HASH → target/debug/examples/NAME
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    Command::new(program).args(words).current_dir(folder).output().unwrap()
}

fn tree(folder: &Path, files: usize) {
    fs::create_dir_all(folder.join("a/below")).unwrap();
    for number in 0..files {
        fs::write(folder.join(format!("a/below/{number}")), "five\n").unwrap();
    }
    std::os::unix::fs::symlink("below/0", folder.join("a/link")).unwrap();
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_tree_is_copied_visited_moved_and_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    tree(folder, 3);
    let copied = example("copy_tree", folder, &["a", "b"]);
    assert!(copied.status.success(), "{copied:?}");
    assert!(text(&copied.stdout).ends_with("3 files, 2 directories\n"), "{copied:?}");
    assert_eq!(fs::read_link(folder.join("b/link")).unwrap(), Path::new("below/0"));
    let visited = example("visit_tree", folder, &["b/below"]);
    assert!(text(&visited.stdout).contains("5 b/below/2\n"), "{visited:?}");
    assert!(text(&visited.stdout).ends_with("15 bytes in all\n"), "{visited:?}");
    let moved = example("move_files", folder, &["b", "c"]);
    assert_eq!(text(&moved.stdout), "1 renamed, 0 copied\n");
    assert!(!folder.join("b").exists());
    let removed = example("remove_tree", folder, &["c", "a"]);
    assert_eq!(text(&removed.stdout), "12 entries\n");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn a_message_has_the_paths_the_action_and_the_reason() {
    let scratch = tempfile::tempdir().unwrap();
    for (name, words, message) in [
        ("copy_tree", &["none", "b"][..], "none -> b: cannot look at the source: No such file"),
        ("visit_tree", &["none"], "none: fstat: No such file"),
        ("move_files", &["none", "b"], "none -> b: cannot look at the source: No such file"),
        ("remove_tree", &["none"], "none: cannot remove it: No such file"),
    ] {
        let done = example(name, scratch.path(), words);
        assert!(!done.status.success(), "{done:?}");
        let errors = text(&done.stderr);
        assert!(errors.contains(&format!("{message} or directory\n")), "{errors}");
    }
}
