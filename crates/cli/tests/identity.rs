//! Source and target are the same file: by another name, by a link, by a mount. Nothing may be lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::support::run::{Call, Done, cp};
use super::support::scratch::Scratch;
use super::support::shell::shell;
use super::support::versus::{Versus, Words};
use super::support::{Outcome, gnu, has, is_root};

const TEXT: &[u8] = b"the only copy";

/// Makes a file with every kind of second name.
fn furnish(root: &Path) -> Outcome {
    fs::create_dir_all(root.join("d/sub"))?;
    fs::write(root.join("f"), TEXT)?;
    fs::hard_link(root.join("f"), root.join("hard"))?;
    symlink("f", root.join("soft"))?;
    symlink("soft", root.join("softer"))?;
    symlink(".", root.join("here"))?;
    fs::write(root.join("d/x"), TEXT)?;
    symlink("d", root.join("to-d"))?;
    Ok(())
}

/// Options with which a file might be mistaken for another one.
const OPTIONS: [&[&str]; 12] = [
    &[],
    &["-f"],
    &["-a"],
    &["-d"],
    &["-P"],
    &["-rL"],
    &["--remove-destination"],
    &["-a", "--remove-destination"],
    &["-fP"],
    &["-l"],
    &["-lf"],
    &["-u"],
];

/// The file of [`furnish`] and its other names.
const NAMES: [&str; 7] = ["f", "./f", "here/f", "hard", "soft", "softer", "here/soft"];

#[test]
fn no_second_name_makes_a_file_destroy_itself() -> Outcome {
    let scratch = Scratch::new()?;
    for options in OPTIONS {
        for source in NAMES {
            for target in NAMES {
                scratch.clear("w")?;
                fs::create_dir(scratch.at("w"))?;
                furnish(&scratch.at("w"))?;
                let call = cp(options).words([source, target]).in_dir(scratch.at("w"));
                let done = call.run()?;
                // A link may have been replaced; the bytes still exist.
                let left = fs::read(scratch.at("w/f"));
                let context = format!("cp {options:?} {source} {target}: {done:?}");
                assert!(left.is_ok_and(|bytes| bytes == TEXT), "{context}");
            }
        }
    }
    Ok(())
}

#[test]
fn gnu_refuses_the_same_second_names() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    // If the folder is reached through a link, GNU does not detect that two links are the same.
    let names = ["f", "./f", "hard", "soft", "softer"];
    let mut versus = Versus::new(gnu, Scratch::new()?);
    for options in OPTIONS {
        for source in names {
            for target in names {
                // GNU removes the only copy there, before it detects that it was the source.
                if options.contains(&"--remove-destination") && source != target {
                    continue;
                }
                let words = [options, &[source, target]].concat();
                versus.run(&words, Words::Same, &furnish)?;
            }
        }
    }
    versus.end()
}

#[test]
fn a_directory_is_not_copied_into_itself_by_any_spelling() -> Outcome {
    let scratch = Scratch::new()?;
    let targets = ["d", "d/new", "d/sub", "d/sub/new", "to-d/new", "here/d/new", "d/.", "./d//"];
    for source in ["d", "d/.", "./d//", "to-d/", "here/d"] {
        for target in targets {
            scratch.clear("w")?;
            fs::create_dir(scratch.at("w"))?;
            furnish(&scratch.at("w"))?;
            for options in ["-r", "-a", "-rL", "-rT"] {
                let call = cp([options, source, target]).in_dir(scratch.at("w"));
                let done = call.run()?;
                let context = format!("cp {options} {source} {target}: {done:?}");
                // `d/.` onto `d` merges a directory with itself, which GNU refuses file by file.
                assert_eq!(done.code(), Some(1), "{context}");
                assert_eq!(fs::read(scratch.at("w/d/x"))?, TEXT, "{context}");
                assert!(depth(&scratch.at("w")) < 8, "{context}");
            }
        }
    }
    Ok(())
}

/// Returns the depth of a small tree.
fn depth(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let dirs = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    dirs.map(|entry| 1 + depth(&entry.path())).max().unwrap_or(0)
}

#[test]
fn two_operands_with_one_name_do_not_overwrite_each_other() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a/x", "first")?;
    scratch.write("b/x", "second")?;
    for options in [["-r", "--jobs=8"], ["-a", "--jobs=8"], ["-f", "--jobs=1"]] {
        scratch.clear("t")?;
        fs::create_dir(scratch.at("t"))?;
        let done = cp(options).words(["a/x", "b/x", "t"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert_eq!(done.errors(), "cp: will not overwrite just-created 't/x' with 'b/x'\n");
        assert_eq!(fs::read(scratch.at("t/x"))?, b"first", "{options:?}");
    }
    Ok(())
}

#[test]
fn directories_with_one_name_are_merged_one_after_the_other() -> Outcome {
    let scratch = Scratch::new()?;
    for index in 0..200 {
        scratch.write(&format!("a/d/{index}"), "first")?;
        scratch.write(&format!("b/d/{index}"), "second")?;
    }
    fs::create_dir(scratch.at("t"))?;
    let done = cp(["-r", "--jobs=8", "a/d", "b/d", "t"]).in_dir(scratch.path()).run()?;
    // As with GNU: the second operand does not overwrite the copy of the first.
    for index in 0..200 {
        let made = fs::read(scratch.at(format!("t/d/{index}")))?;
        assert!(made == b"first" || (made == b"second" && done.code() == Some(0)), "{done:?}");
    }
    Ok(())
}

/// Runs a script in private mount and user namespaces, which end with it.
pub(crate) fn in_namespace(scratch: &Scratch, script: &str, call: Call) -> Outcome<Done> {
    let script = format!("set -e; {script}; exec \"$0\" \"$@\"");
    call.in_dir(scratch.path()).under(["unshare", "-m", "--", "sh", "-c", &script]).run()
}

#[test]
fn a_bind_mount_is_no_way_around() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mount")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("a/f", TEXT)?;
    scratch.write("single", TEXT)?;
    fs::create_dir(scratch.at("b"))?;
    fs::write(scratch.at("over"), "")?;
    let mounts = "mount --bind a b; mount --bind single over";
    for words in [
        ["a/f", "b/f"].as_slice(),
        &["-f", "a/f", "b/f"],
        &["--remove-destination", "a/f", "b/f"],
        &["-a", "single", "over"],
        &["-rT", "a", "b"],
    ] {
        let done = in_namespace(&scratch, mounts, cp(words))?;
        assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
        assert!(done.errors().contains("are the same file"), "{words:?}: {done:?}");
        assert_eq!(fs::read(scratch.at("a/f"))?, TEXT, "{words:?}");
        assert_eq!(fs::read(scratch.at("single"))?, TEXT, "{words:?}");
    }
    let done = in_namespace(&scratch, "mount --bind a b", cp(["-r", "a", "b/new"]))?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(depth(&scratch.at("a")) <= 1, "{done:?}");
    Ok(())
}

#[test]
fn mounts_inside_are_not_entered_with_x_and_copied_without() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mount")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/here", TEXT)?;
    scratch.write("s/file", TEXT)?;
    fs::create_dir(scratch.at("s/mount"))?;
    let mounts = "mount -t tmpfs -o mode=711 none s/mount; echo there > s/mount/there; \
                  mount --bind s/mount/there s/file";
    let done = in_namespace(&scratch, mounts, cp(["-ax", "s", "t"]))?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    assert_eq!(fs::read(scratch.at("t/here"))?, TEXT);
    assert!(scratch.at("t/mount").is_dir(), "the mount point itself is made");
    assert!(fs::read_dir(scratch.at("t/mount"))?.next().is_none(), "and nothing in it");
    assert_eq!(
        fs::read(scratch.at("t/file"))?,
        b"there\n",
        "only directories are borders, as in GNU's cp"
    );
    scratch.clear("t")?;
    let done = in_namespace(&scratch, mounts, cp(["-a", "s", "t"]))?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    assert_eq!(fs::read(scratch.at("t/mount/there"))?, b"there\n");
    assert_eq!(fs::read(scratch.at("t/file"))?, b"there\n");
    Ok(())
}

/// An output that is the input would be empty before it is read.
#[test]
fn no_stream_is_emptied_by_its_own_output() -> Outcome {
    let scratch = Scratch::new()?;
    for (line, is_refused) in [
        ("dd if=f of=f", true),
        ("dd if=f of=hard bs=4", true),
        ("dd if=soft of=f bs=1 seek=3", true),
        ("dd of=softer < f", true),
        ("tee f < f", true),
        ("tee hard new < f", true),
        ("tee --output-error=exit soft < f", true),
        ("dd if=f of=f conv=notrunc", false),
        ("dd if=f of=new", false),
        ("dd if=f of=new seek=9", false),
        ("tee new < f", false),
        ("tee d/x < f", false),
    ] {
        scratch.clear_all()?;
        furnish(scratch.path())?;
        let done = shell(scratch.path(), &format!("haul {line} > /dev/null"))?;
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(i32::from(is_refused)), "{line}: {errors}");
        assert_eq!(errors.contains("input file is output file"), is_refused, "{line}: {errors}");
        assert_eq!(fs::read(scratch.at("f"))?, TEXT, "{line}: {errors}");
    }
    Ok(())
}
