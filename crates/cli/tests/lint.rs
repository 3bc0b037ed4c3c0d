//! Every call that names something does so relative to a directory that is held open, and follows
//! no link, apart from what a person named.

use haul_manifest::{Limits, create_tree, random_tree};

use super::support::Outcome;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::strace::{Line, Strace, is_usable};

/// Calls that take a whole path, which somebody may have changed on the way.
const BY_PATH: [&str; 20] = [
    "open", "creat", "stat", "lstat", "access", "mkdir", "rmdir", "unlink", "rename", "link",
    "symlink", "readlink", "chmod", "chown", "lchown", "truncate", "utimes", "utime", "mknod",
    "statfs",
];

/// Returns what is wrong with a call, if anything.
fn objection(line: &Line, operands: &[&str]) -> Option<&'static str> {
    let text = &line.text;
    if BY_PATH.contains(&line.name.as_str()) {
        return Some("takes a path");
    }
    if line.name.ends_with("xattr") {
        let is_bound = line.name.starts_with('f') || text.contains("(\"/proc/self/fd/");
        return (!is_bound).then_some("takes a path");
    }
    let quoted: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    // What a link says is no name of ours.
    let names: Vec<&str> = match line.name.as_str() {
        "readlinkat" => quoted.into_iter().take(1).collect(),
        "symlinkat" => quoted.into_iter().skip(1).collect(),
        _ => quoted,
    };
    if text.contains("AT_FDCWD") && names != ["."] && !names.iter().any(|n| n.starts_with("/proc/"))
    {
        return Some("is relative to the current directory");
    }
    let is_operand = names.iter().any(|name| operands.contains(name));
    let is_named = names.iter().all(|name| !name.contains('/'));
    if !is_named && !is_operand && !names.iter().any(|n| n.starts_with("/proc/self/fd/")) {
        return Some("walks a path below a descriptor");
    }
    let follows = match line.name.as_str() {
        "openat" | "openat2" => {
            !text.contains("O_NOFOLLOW") && !text.contains("RESOLVE_NO_SYMLINKS")
        }
        // Describing what a link leads to changes nothing: it is how a target that is reached
        // through links is kept from being the source.
        "fchownat" | "utimensat" => {
            !text.contains("AT_SYMLINK_NOFOLLOW")
                && !text.contains("AT_EMPTY_PATH")
                && !text.contains(", NULL, [")
                && !text.contains("\"/proc/self/fd/")
        }
        "fchmodat" => !text.contains("\"/proc/self/fd/"),
        _ => false,
    };
    (follows && !is_operand && names != ["."]).then_some("follows links")
}

/// Lists what is wrong with the calls of a run, from when the engine opens the current directory.
fn violations(lines: &[Line], operands: &[&str]) -> Vec<String> {
    lines
        .iter()
        .skip_while(|line| !line.text.starts_with("openat(AT_FDCWD, \".\""))
        .filter_map(|line| {
            objection(line, operands).map(|objection| format!("{objection}: {}", line.text))
        })
        .collect()
}

#[test]
fn found_names_are_never_looked_up_through_links_or_paths() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for seed in 40..44 {
        create_tree(&scratch.at("s"), random_tree(seed, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        // The second and third runs meet what the first has made.
        for options in [["-a", "-T"], ["-a", "-T"], ["-aT", "--remove-destination"], ["-rT", "-f"]]
        {
            let strace = Strace::new(scratch.at("log")).trace("%file,%desc");
            let call = cp(options).words(["s", "t"]).in_dir(scratch.path());
            assert_eq!(strace.wrap(call).run()?.code(), Some(0), "seed {seed} {options:?}");
            let lines = strace.lines()?;
            assert!(lines.len() > 100, "{lines:?}");
            let violations = violations(&lines, &["s", "t"]);
            assert!(violations.is_empty(), "seed {seed} {options:?}\n{}", violations.join("\n"));
        }
        scratch.clear("s")?;
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn the_lint_sees_what_it_is_for() {
    let line = |text: &str| Line {
        pid: 1,
        name: text.split('(').next().unwrap_or_default().to_owned(),
        text: text.to_owned(),
    };
    for bad in [
        "openat(5, \"f\", O_RDONLY) = 6",
        "openat(AT_FDCWD, \"s/f\", O_RDONLY|O_NOFOLLOW) = 6",
        "openat(5, \"a/f\", O_RDONLY|O_NOFOLLOW) = 6",
        "fchmodat(5, \"f\", 0644) = 0",
        "utimensat(5, \"f\", [], 0) = 0",
        "lsetxattr(\"t/f\", \"user.a\") = 0",
        "mkdir(\"t/d\", 0700) = 0",
    ] {
        assert!(objection(&line(bad), &["s"]).is_some(), "{bad}");
    }
    for good in [
        "openat(5, \"f\", O_RDONLY|O_NOFOLLOW) = 6",
        "openat(3, \"s\", O_RDONLY|O_DIRECTORY) = 6",
        "newfstatat(5, \"f\", {}, AT_SYMLINK_NOFOLLOW) = 0",
        "symlinkat(\"/some/where\", 5, \"l\") = 0",
        "fgetxattr(5, \"user.a\") = 0",
    ] {
        assert_eq!(objection(&line(good), &["s"]), None, "{good}");
    }
}
