//! Every call with a name is relative to an open directory and follows no link, except for names that the
//! user gave.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use haul_manifest::{Limits, create_tree, random_tree};

use super::support::Outcome;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Line, Strace, is_usable};

/// Calls that take a whole path, whose components another process may have replaced.
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
        let is_bound = line.name.starts_with('f')
            || text.contains("(\"/proc/self/fd/")
            || text.contains("(\"/proc/thread-self/fd/");
        return (!is_bound).then_some("takes a path");
    }
    let quoted: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    // The text of a link is not a path that haul uses.
    let names: Vec<&str> = match line.name.as_str() {
        "readlinkat" => quoted.into_iter().take(1).collect(),
        "symlinkat" => quoted.into_iter().skip(1).collect(),
        _ => quoted,
    };
    if text.contains("AT_FDCWD") && names != ["."] && !names.iter().any(|n| n.starts_with("/proc/"))
    {
        return Some("is relative to the current directory");
    }
    // The kernel keeps a whole path beneath the descriptor, and follows no link; what is found is known by
    // its identity.
    if text.contains("RESOLVE_BENEATH") && text.contains("RESOLVE_NO_SYMLINKS") {
        return None;
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
        // Describing a link's referent changes nothing: it detects a target that is reached through
        // links and is the source.
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
        // The second and third runs find the files of the first.
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

/// Paths that are unrelated to the work: those of the loader, and the kernel's files.
const SYSTEM: [&str; 6] = ["/proc/", "/sys/", "/etc/ld.so", "/lib", "/usr/lib", "/dev/"];

/// Returns what is wrong with a call of any applet: except for the user's operands, in `words`, names are
/// looked up one at a time below open directories.
fn stray(line: &Line, named: &[&str]) -> Option<&'static str> {
    let quoted: Vec<&str> = line.text.split('"').skip(1).step_by(2).collect();
    let is_known = |name: &&str| {
        matches!(*name, "" | "." | ".." | "/")
            || named.contains(name)
            || SYSTEM.iter().any(|at| name.starts_with(at))
    };
    let of_calls = match line.name.as_str() {
        // The test itself starts the program, and the texts of links and directories are not paths that
        // haul uses.
        "execve" | "getcwd" => return None,
        "readlink" | "readlinkat" => quoted.get(..1).unwrap_or(&[]),
        "symlinkat" => quoted.get(1..).unwrap_or(&[]),
        _ => &quoted[..],
    };
    if of_calls.iter().all(is_known) { None } else { objection(line, named) }
}

/// Returns a folder on another file system, if the usual one exists.
fn beyond() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Returns the path by which the kernel knows the image below a folder, if a loop device is there.
///
/// Sums look for the disk of the image, which may be rotational.
fn image_below(folder: &Path) -> std::io::Result<Option<String>> {
    let device = std::fs::metadata(folder)?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let name = format!("/sys/dev/block/{major}:{minor}/loop/backing_file");
    match std::fs::read_to_string(name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        text => text.map(|text| Some(text.trim_end_matches('\n').to_owned())),
    }
}

/// Returns whether a call looks for a configuration file.
fn is_configuration(line: &Line) -> bool {
    ["\"/etc/haul.toml\"", "/haul/config.toml\""].iter().any(|name| line.text.contains(name))
}

#[test]
fn no_applet_looks_up_other_names_by_path() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let path = |name: &str| scratch.at(name).to_string_lossy().into_owned();
    let (absolute, elsewhere) = (path("new"), beyond()?);
    let beyond = elsewhere.path().join("moved").to_string_lossy().into_owned();
    let above = elsewhere.path().to_string_lossy().into_owned();
    let config = path("config");
    let profiles = format!("{config}/haul/profiles");
    let lines: &[&[&str]] = &[
        &["cp", "-a", "--atomic", "s", "new"],
        &["cp", "-a", "--durable", "s", "new"],
        &["cp", "-a", "--resume", "s", "new"],
        &["cp", "-a", "--verify", "s", "new"],
        &["cp", "-a", "--cache=direct", "--fsync", "s", "new"],
        &["cp", "-a", "--dry-run", "s", "new"],
        &["cp", "-a", "--preflight", "s", "new"],
        &["mv", "s", "new"],
        &["mv", "s", &beyond],
        &["rm", "-r", "s"],
        &["rm", "-r", "--gentle", "s"],
        &["clean", "s"],
        &["compare", "s", "s"],
        &["verify", "s", "--against", "s"],
        &["cat", "big"],
        &["dd", "if=big", "of=new", "bs=64k"],
        &["read", "big"],
        &["write", "new"],
        &["write", "--atomic", "--fsync", "--allow-empty", "new"],
        &["tee", "new"],
        &["split", "-n", "1", "big", "new"],
        &["sum", "big"],
        &["hash", "big"],
        &["md5sum", "big"],
        &["cksum", "big"],
        &["b3sum", "big"],
        &["xxhsum", "big"],
    ];
    let here = format!("{}/", scratch.path().display());
    let image = image_below(scratch.path())?;
    let mut named = vec![
        "s", "new", "big", "newaa", "moved", &absolute, &beyond, &above, &here, &profiles, &config,
    ];
    named.extend(image.as_deref());
    // An entry that changed after the copy began is compared with its copy by path: the result
    // can only keep it.
    let is_second_look = |words: &[&str], line: &Line| {
        words[0] == "mv"
            && matches!(line.name.as_str(), "readlinkat" | "newfstatat")
            && line.text.contains("(AT_FDCWD, \"")
    };
    let mut wrong = Vec::new();
    for words in lines {
        for name in ["s", "new", "newaa"] {
            scratch.clear(name)?;
        }
        std::fs::remove_dir_all(&beyond).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        create_tree(&scratch.at("s"), random_tree(45, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        scratch.write("big", vec![7; 300_000])?;
        let strace = Strace::new(scratch.at("log")).trace("%file");
        let call = Call::of(haul()).words(*words).in_dir(scratch.path());
        let done = strace.wrap(call.env("XDG_CONFIG_HOME", &config)).run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
        let calls = strace.lines()?;
        assert!(calls.len() > 5, "{words:?}: {calls:?}");
        for line in &calls {
            if is_second_look(words, line) || is_configuration(line) {
                continue;
            }
            if let Some(objection) = stray(line, &named) {
                wrong.push(format!("{words:?} {objection}: {}", line.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
