//! Templates become commands without a shell wherever that is possible.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use haul_bench::{Group, PEERS, Template, TemplateError, Work, discover};

fn words(template: &str) -> Vec<OsString> {
    let template = Template::any(template).unwrap();
    template.command(None, Path::new("/a b/s'x"), Path::new("/t")).words
}

#[test]
fn words_are_split_as_a_shell_would() {
    assert_eq!(words("cp -R {source} {target}"), ["cp", "-R", "/a b/s'x", "/t"]);
    assert_eq!(words("dd if={source} of={target}"), ["dd", "if=/a b/s'x", "of=/t"]);
    assert_eq!(words(r#"a 'b c' "d \"e" f\ g ''"#), ["a", "b c", "d \"e", "f g", ""]);
    assert_eq!(words("rsync {source}/ {target}/"), ["rsync", "/a b/s'x/", "/t/"]);
}

#[test]
fn what_needs_a_shell_gets_one_with_quoted_paths() {
    let template = Template::parse("cat {source} > {target}").unwrap();
    assert!(template.needs_shell());
    assert_eq!(words("cat {source} > {target}"), ["sh", "-c", r"cat '/a b/s'\''x' > '/t'"]);
    for text in ["a | b", "a && b", "a $HOME", "a \"$HOME\"", "a *", "a; b", "a `b`"] {
        assert!(Template::any(text).unwrap().needs_shell(), "{text}");
    }
    assert!(!Template::any("a '|' \\; b").unwrap().needs_shell());
}

#[test]
fn nonsense_is_refused() {
    assert_eq!(Template::parse("cp {source}"), Err(TemplateError::NoTarget));
    assert_eq!(Template::any("  "), Err(TemplateError::Empty));
    assert_eq!(Template::any("cp 'x"), Err(TemplateError::Unclosed));
    assert_eq!(Template::any("cp \\"), Err(TemplateError::Unclosed));
}

#[test]
fn a_program_takes_the_place_of_the_first_word() {
    let template = Template::parse("cp {source} {target}").unwrap();
    let command = template.command(Some(Path::new("/x/cp")), Path::new("s"), Path::new("t"));
    assert_eq!(command.words, ["/x/cp", "s", "t"]);
    assert_eq!(template.program(), Some("cp"));
}

#[test]
fn every_known_template_can_be_read() {
    for peer in PEERS {
        for text in [peer.tree, peer.file, peer.delete].into_iter().flatten() {
            assert!(Template::parse(text).is_ok(), "{text}");
        }
    }
    let mut names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PEERS.len());
}

#[test]
fn installed_tools_are_found_with_their_versions() {
    let found = discover(&["/nowhere".into(), "/usr/bin".into(), "/bin".into()], None);
    let cp = found.iter().find(|program| program.program == "cp").unwrap();
    let tools = cp.tools(Work::CopyTree, Group::Usual);
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].name, "cp");
    assert!(cp.version.is_some());
    assert!(cp.tools(Work::Delete, Group::Usual).is_empty());
    assert!(discover(&["/nowhere".into()], None).is_empty());
}

#[test]
fn haul_is_asked_for_its_methods() {
    let folder = tempfile::tempdir().unwrap();
    let haul = folder.path().join("haul");
    let script = "#!/bin/sh\n[ \"$2\" = --list-methods ] && printf 'reflink  clones\\nring\\n'\n";
    // Another process writes it: a child of another test might inherit this process's descriptor, and
    // the kernel executes no file that a process has open for writing.
    let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", write, "sh"]).arg(&haul).arg(script).status().unwrap().success());
    let found = discover(&[], Some(&haul));
    assert_eq!(found[0].methods, ["reflink", "ring"]);
    let names = |work, group| -> Vec<String> {
        found[0].tools(work, group).into_iter().map(|tool| tool.name).collect()
    };
    assert_eq!(names(Work::CopyTree, Group::Usual), ["haul"]);
    assert_eq!(names(Work::CopyTree, Group::Methods), ["haul-reflink", "haul-ring"]);
    assert_eq!(names(Work::Delete, Group::Methods), [""; 0], "nothing is copied");
    let tools = found[0].tools(Work::CopyTree, Group::Methods);
    assert_eq!(tools[1].method.as_deref(), Some("ring"));
    assert_eq!(tools[1].template.text(), "haul cp -R --method=ring {source} {target}");
    assert_eq!(names(Work::CopyFile, Group::Depths).len(), 5);
    assert_eq!(names(Work::CopyFile, Group::Sizes), [""; 0], "this haul has no read-write");
}
