//! The container image of `packaging/Containerfile`: assembled from its lines and tried, so that the file is checked on
//! machines without a container engine.

use super::install::chroot;
use super::stage::clear;
use super::target::Target;
use super::version::Version;
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    /// Paths in the context, and absolute paths in the image.
    copies: Vec<(String, String)>,
    entry_point: String,
}

/// Reads the file: an image FROM scratch, files to copy, and a program.
fn parse(text: &str) -> Result<Image> {
    let mut image = Image { copies: Vec::new(), entry_point: String::new() };
    let mut base = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["FROM", from] => base = from,
            ["COPY", from, to] if to.starts_with('/') => {
                image.copies.push(((*from).to_owned(), (*to).to_owned()));
            }
            ["ENTRYPOINT", program] => {
                image.entry_point = program.trim_matches(['[', ']', '"']).to_owned();
            }
            _ => return Err(Error::new(format!("packaging/Containerfile has the line {line:?}"))),
        }
    }
    let has_program = image.copies.iter().any(|(_, to)| *to == image.entry_point);
    if base == "scratch" && has_program {
        return Ok(image);
    }
    Err(Error::new("packaging/Containerfile is not FROM scratch, or lacks its program"))
}

/// Assembles the image of a target from its tarball, and copies a tree in it.
pub(super) fn check(
    workspace: &Workspace,
    target: &Target,
    version: &Version,
    out: &Path,
) -> Result<()> {
    if !target.is_here() {
        return Ok(());
    }
    let path = workspace.root.join("packaging/Containerfile");
    let image = parse(&fs::read_to_string(&path).context("read", path.display())?)?;
    let folder = workspace.target.join("dist/image");
    clear(&folder)?;
    let (context, root) = (folder.join("context"), folder.join("root"));
    fs::create_dir_all(&context).context("create", context.display())?;
    let tarball = out.join(format!("haul-{}-{}.tar.gz", version.number, target.machine));
    let unpack = ["--extract", "--strip-components=1", "--file"];
    output(command("tar").args(unpack).arg(&tarball).arg("--directory").arg(&context))?;
    assemble(&image, &context, &root)?;
    let data = root.join("data/from/deep");
    fs::create_dir_all(&data).context("create", data.display())?;
    fs::write(data.join("file"), "content").context("write", data.display())?;
    // A container engine mounts /proc in every container.
    let proc = root.join("proc");
    fs::create_dir_all(&proc).context("create", proc.display())?;
    let run =
        |words: &[&str]| output(chroot(&root).arg(&image.entry_point).args(words)).map(|_| ());
    run(&["cp", "-a", "/data/from", "/data/to"])?;
    run(&["compare", "/data/from", "/data/to"])?;
    println!("the container image was assembled, and copies a tree");
    fs::remove_dir_all(&folder).context("remove", folder.display())
}

/// Copies what the image says from the context.
fn assemble(image: &Image, context: &Path, root: &Path) -> Result<()> {
    for (from, to) in &image.copies {
        let to = root.join(to.trim_start_matches('/'));
        let parent = to.parent().unwrap_or(root);
        fs::create_dir_all(parent).context("create", parent.display())?;
        output(command("cp").args(["-a", "--"]).arg(context.join(from)).arg(&to))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_this_repository_is_understood() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/Containerfile");
        let image = parse(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(image.entry_point, "/usr/bin/haul");
        assert!(image.copies.iter().any(|(from, _)| from == "bin/haul"));
    }

    #[test]
    fn a_file_that_needs_more_is_refused() {
        let good = "FROM scratch\nCOPY a /b\nENTRYPOINT [\"/b\"]\n";
        assert!(parse(good).is_ok());
        for (old, new) in [("scratch", "debian"), ("COPY a /b", "RUN true"), ("/b\"", "/c\"")] {
            assert!(parse(&good.replace(old, new)).is_err(), "{new}");
        }
    }

    #[test]
    fn an_image_has_what_is_copied_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("xtask-image-{}", std::process::id()));
        let (context, root) = (folder.join("context"), folder.join("root"));
        fs::create_dir_all(context.join("lib/deep")).unwrap();
        fs::write(context.join("lib/deep/file"), "x").unwrap();
        fs::write(context.join("other"), "x").unwrap();
        let copies = vec![("lib".to_owned(), "/usr/lib/haul".to_owned())];
        let image = Image { copies, entry_point: String::new() };
        assemble(&image, &context, &root).unwrap();
        assert_eq!(fs::read_to_string(root.join("usr/lib/haul/deep/file")).unwrap(), "x");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
