//! `haul tar --transform`: names changed as GNU tar changes them, in every action.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{both, contents, demand_same, gnu_tar, ours};
use super::support::{Outcome, has};

fn tree(scratch: &Scratch) -> Outcome {
    scratch.write("d/abc.o", "1")?;
    scratch.write("d/e/Abc-abc-ABC", "2")?;
    scratch.write("d/e/f.txt", "3")?;
    fs::hard_link(scratch.at("d/e/f.txt"), scratch.at("d/g"))?;
    symlink("e/f.txt", scratch.at("d/l"))?;
    let words = ["d", "-exec", "touch", "-hd", "@1000000000", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

const EXPRESSIONS: &[&str] = &[
    "--transform=s/abc/x/",
    "--xform s/abc/x/gi",
    "--transform s/abc/x/;s/d/D/",
    "--transform=s,^d/,top/,",
    "--transform=s,^d,top,RS",
    "--transform=s,e,EE,SH",
    "--transform=flags=r;s,e,EE,",
    "--transform=flags=rSH;s|e|\\|\\||g;s/f/\\//",
    "--transform=s/.*/\\U&/",
    "--transform s/\\(.\\)\\([^/]*\\)$/\\u\\1\\L\\2\\E_/",
    "--transform s/([a-z]+)(-|[.])([a-z]*)/\\3\\2\\1/xi",
    "--transform=s/\\(b\\)c/\\1\\1/g --transform=s/bb/B/",
    "--transform=s/d/d\\/..\\/../",
    "--transform=s/^/\\//",
    "--transform=s/[[:upper:]]\\+/\\l&/g",
];

#[test]
fn names_are_changed_as_gnu_tar_changes_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    gnu_tar().words(["--sort=name", "-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    let none = || Ok(());
    for expression in EXPRESSIONS {
        for action in [
            "-tvf a.tar --show-transformed-names",
            "-tvf a.tar",
            "-tvf a.tar --strip-components=1 --show-transformed-names",
            "-tf a.tar --show-transformed-names d/e",
            "-df a.tar d",
            "--sort=name -c d",
            "--sort=name --posix --mtime=@5 -c d/e d/g",
            "--sort=name -cvvf b.tar --show-transformed-names d",
            "--sort=name -cvf b.tar d /etc/hostname",
        ] {
            let words = format!("{action} {expression}");
            let (gnu, haul) = both(&scratch, &words, &none)?;
            // The bytes of a posix archive have the times of reading.
            if !words.contains("--posix") {
                demand_same(&words, &gnu, &haul);
            }
            assert_eq!(gnu.stdout.len(), haul.stdout.len(), "{words}");
        }
    }
    Ok(())
}

#[test]
fn extracted_files_have_the_names_that_gnu_tar_gives_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    gnu_tar().words(["--sort=name", "-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    for expression in EXPRESSIONS {
        for more in ["", "--strip-components=1 ", "-v --show-transformed-names "] {
            let words = format!("-xf a.tar -C out {more}{expression}");
            let words: Vec<&str> = words.split(' ').collect();
            let mut results = Vec::new();
            for tar in [gnu_tar(), ours()] {
                scratch.clear("out")?;
                fs::create_dir(scratch.at("out"))?;
                let done = tar.words(&words).in_dir(scratch.path()).run()?;
                results.push((done, contents(&scratch, "out")?));
            }
            let [(gnu, gnu_tree), (haul, haul_tree)] = &results[..] else {
                return Err("two runs".into());
            };
            assert_eq!(haul_tree, gnu_tree, "{words:?}");
            demand_same(&words.join(" "), gnu, haul);
        }
    }
    Ok(())
}

#[test]
fn malformed_expressions_are_refused_with_the_words_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for expression in
        ["y/a/b/", "s/a/b", "s/a", "s", "x", "s/a/b/q", "flags=q", "s/a/\\1/", "s/\\(/b/", "s/[/b/"]
    {
        let words = format!("-tf a.tar --transform={expression}");
        let (gnu, haul) = both(&scratch, &words, &|| Ok(()))?;
        demand_same(&words, &gnu, &haul);
    }
    Ok(())
}

/// An expression that matches nothing ends; GNU tar would take all memory.
#[test]
fn a_match_of_nothing_ends() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("abc", "")?;
    let words = ["-cvf", "a.tar", "--transform=s/x*/-/g", "--show-transformed-names", "abc"];
    let done = ours().words(words).in_dir(scratch.path()).succeed()?;
    assert_eq!(done.text(), "-a-b-c\n");
    let words = ["-cf", "a.tar", "--transform=s/.*//", "abc"];
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2));
    assert!(done.errors().contains("abc: nothing is left of the name"), "{}", done.errors());
    Ok(())
}
