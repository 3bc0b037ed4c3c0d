//! The inputs before they are changed: a small tree in every format, and data in every stream.

use super::lab::Lab;
use crate::command::{command, output};
use crate::error::{Context, Result};
use haul_manifest::Numbers;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// An input, and what made it.
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns archives of one tree by GNU tar, bsdtar and haul.
pub(crate) fn archives(lab: &Lab) -> Result<Vec<Seed>> {
    tree(lab)?;
    let haul = lab.haul.display().to_string();
    let mut seeds = Vec::new();
    for format in ["gnu", "oldgnu", "posix", "ustar", "v7"] {
        let format = format!("--format={format}");
        for options in [&[][..], &["-S"], &["--xattrs"]] {
            let words = [&["-b1", &format], options].concat();
            seeds.push(archive(lab, &["tar"], &words)?);
            seeds.push(archive(lab, &[&haul, "tar"], &words)?);
        }
    }
    for version in ["0.0", "0.1", "1.0"] {
        let version = format!("--sparse-version={version}");
        let words = ["-b1", "--format=posix", "-S", &version];
        seeds.push(archive(lab, &["tar"], &words)?);
        seeds.push(archive(lab, &[&haul, "tar"], &words)?);
    }
    for format in ["pax", "gnutar", "ustar", "v7"] {
        seeds.push(archive(lab, &["bsdtar"], &["-b1", &format!("--format={format}")])?);
    }
    Ok(seeds)
}

/// Archives the tree; a format that cannot hold a name leaves it out, with a message.
fn archive(lab: &Lab, program: &[&str], options: &[&str]) -> Result<Seed> {
    let made = lab.path("seed.tar");
    let mut tar = command(program[0]);
    tar.args(&program[1..]).args(options).arg("-cf").arg(&made);
    let done = tar.current_dir(lab.path("tree")).arg(".").output().context("run", program[0])?;
    let name = format!("{} {}", program.join(" "), options.join(" "));
    let bytes = fs::read(&made).context(&format!("make ({:?})", done.status), &name)?;
    Ok(Seed { name, bytes })
}

/// Makes the tree of the archives: a file of each size around a block, links, a long name, holes.
fn tree(lab: &Lab) -> Result<()> {
    let dir = lab.folder("tree")?;
    let make = || -> std::io::Result<()> {
        fs::create_dir_all(dir.join("d/e"))?;
        for (name, size) in [("empty", 0), ("one", 1), ("d/block", 512), ("d/more", 513)] {
            fs::write(dir.join(name), vec![b'x'; size])?;
        }
        let long = dir.join("n".repeat(120));
        fs::write(&long, "long")?;
        symlink("t".repeat(130), dir.join("d/link"))?;
        symlink("one", dir.join("link"))?;
        fs::hard_link(dir.join("one"), dir.join("d/e/hard"))?;
        let holes = fs::File::create(dir.join("holes"))?;
        holes.set_len(200_000)?;
        std::os::unix::fs::FileExt::write_all_at(&holes, b"data", 65_536)?;
        Ok(())
    };
    make().context("make", dir.display())?;
    let mut attribute = command("setfattr");
    output(attribute.args(["-n", "user.a", "-v", "value"]).arg(dir.join("one")))?;
    Ok(())
}

/// Returns streams of a format, of one and of two members.
///
/// With `in_archives`, each stream is an archive of one file.
pub(crate) fn streams(lab: &Lab, packers: &[&[&str]], in_archives: bool) -> Result<Vec<Seed>> {
    let haul = lab.haul.display().to_string();
    let mut seeds = Vec::new();
    for (index, data) in plain().iter().enumerate() {
        let mut path = lab.write("plain", data)?;
        if in_archives {
            let archive = lab.path("plain.tar");
            output(
                command("tar")
                    .args(["-b1", "-C"])
                    .arg(lab.path(""))
                    .arg("-cf")
                    .args([archive.as_path(), Path::new("plain")]),
            )?;
            path = archive;
        }
        for words in packers {
            let words: Vec<&str> = words
                .iter()
                .map(|word| if *word == "haul" { haul.as_str() } else { word })
                .collect();
            let done = lab.run(&words, Some(&path))?;
            let name = format!("{} of data {index}", words.join(" "));
            seeds.push(Seed { name, bytes: done.output });
        }
    }
    // Streams may follow each other; readers must read both.
    let pairs: Vec<Seed> = seeds
        .windows(2)
        .map(|pair| Seed {
            name: format!("{} and {}", pair[0].name, pair[1].name),
            bytes: [&pair[0].bytes[..], &pair[1].bytes[..]].concat(),
        })
        .collect();
    seeds.extend(pairs);
    Ok(seeds)
}

/// Data that compresses well, badly, not at all, and nothing.
fn plain() -> Vec<Vec<u8>> {
    let mut numbers = Numbers::new(1);
    let mut random = vec![0; 3000];
    numbers.fill(&mut random);
    let text: Vec<u8> = (0..6000).flat_map(|line| format!("line {line}\n").into_bytes()).collect();
    vec![Vec::new(), b"x".to_vec(), random, text, vec![0; 300_000]]
}
