//! `haul tar -S`: files with holes, in the four layouts that GNU tar writes.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use haul_manifest::{Aspect, Aspects};

use super::support::judge::demand_equal;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{both, demand_same, gnu_tar, is_current, ours};
use super::support::{Outcome, has, ignored};

const LAYOUTS: &[&[&str]] = &[
    &["-S"],
    &["-S", "--format=oldgnu"],
    &["-S", "--posix"],
    &["--sparse-version=0.0", "--posix"],
    &["--sparse-version=0.1", "--posix"],
    &["--sparse-version=1.0", "--posix"],
];

/// Files whose data begin, end, fill and are missing. Returns whether this file system keeps holes.
fn tree(scratch: &Scratch) -> Outcome<bool> {
    let file = |name: &str, bytes: u64, places: &[u64]| -> Outcome {
        let file = fs::File::create(scratch.write(&format!("d/{name}"), "")?)?;
        file.set_len(bytes)?;
        for place in places {
            file.write_all_at(&vec![b'x'; 5000], *place)?;
        }
        file.sync_all()?;
        Ok(())
    };
    file("empty", 0, &[])?;
    file("hole", 5_000_000, &[])?;
    file("begin", 3_000_001, &[0])?;
    file("end", 3_005_000, &[3_000_000])?;
    file("both", 3_005_000, &[0, 3_000_000])?;
    let many: Vec<u64> = (0..100).map(|at| at * 65_536).collect();
    // The end is data: a hole there is only believed if the blocks of the file agree, and the blocks
    // of a map with many entries count, too.
    file("many", 99 * 65_536 + 5000, &many)?;
    file(&format!("{}/{}", "n".repeat(60), "m".repeat(90)), 1 << 20, &[500_000])?;
    scratch.write("d/plain", "plain")?;
    scratch.write("d/whole", vec![b'w'; 400_000])?;
    fs::hard_link(scratch.at("d/both"), scratch.at("d/both2"))?;
    let words = ["d", "-exec", "touch", "-hd", "@1000000000.25", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(fs::metadata(scratch.at("d/many"))?.blocks() * 512 < 3_000_000)
}

#[test]
fn sparse_archives_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    if !tree(&scratch)? {
        return ignored("a file system with holes");
    }
    for layout in LAYOUTS {
        let archive = |call: Call| {
            let call = call.words(["--sort=name", "-c", "d"]).words(*layout);
            call.in_dir(scratch.path()).succeed().map(|done| done.stdout)
        };
        let (gnu, haul) = (archive(gnu_tar())?, archive(ours())?);
        if !layout.contains(&"--posix") {
            // Versions before 1.35 fill other fields.
            assert!(haul == gnu || !is_current()?, "{layout:?}");
            continue;
        }
        // The headers have times of access, and with GNU tar the number of its process.
        assert_eq!(haul.len(), gnu.len(), "{layout:?}");
        let list = |bytes: Vec<u8>| {
            let call = gnu_tar().words(["-tvvR", "--full-time"]).input(bytes);
            call.succeed().map(|done| done.text())
        };
        assert_eq!(list(haul)?, list(gnu)?, "{layout:?}");
    }
    Ok(())
}

#[test]
fn sparse_archives_are_extracted_with_their_holes() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    if !tree(&scratch)? {
        return ignored("a file system with holes");
    }
    let blocks = |name: &str| fs::metadata(scratch.at(name)).map(|found| found.blocks());
    for layout in LAYOUTS {
        for (writer, reader) in [(ours(), ours()), (ours(), gnu_tar()), (gnu_tar(), ours())] {
            let words = ["-cf", "a.tar", "d"];
            writer.words(words).words(*layout).in_dir(scratch.path()).succeed()?;
            scratch.clear("out")?;
            fs::create_dir(scratch.at("out"))?;
            reader.words(["-xf", "a.tar", "-C", "out"]).in_dir(scratch.path()).succeed()?;
            let aspects = Aspects::preserved().without(Aspect::Mtime);
            let (from, to) = (scratch.at("d"), scratch.at("out/d"));
            demand_equal(&from, &to, aspects, &format!("{layout:?}"));
            assert!(blocks("out/d/many")? <= blocks("d/many")? + 256, "{layout:?}");
            assert!(blocks("out/d/hole")? <= 16, "{layout:?}");
            let same = ours().words(["-df", "a.tar"]).in_dir(scratch.path()).run()?;
            assert_eq!((same.code(), same.text()), (Some(0), String::new()), "{layout:?}");
        }
    }
    Ok(())
}

#[test]
fn a_format_without_sparse_files_is_refused() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for words in ["-S --format=ustar -cf a.tar .", "--format=v7 -cSf a.tar ."] {
        let (gnu, haul) = both(&scratch, words, &|| Ok(()))?;
        demand_same(words, &gnu, &haul);
    }
    Ok(())
}

#[test]
fn an_unknown_version_is_refused() -> Outcome {
    let scratch = Scratch::new()?;
    for version in ["2.0", "x", "1.", "0.2"] {
        let option = format!("--sparse-version={version}");
        let done = ours().words(["-cf", "a.tar", &option, "."]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{version}");
        assert!(done.errors().contains("Invalid sparse version value"), "{}", done.errors());
    }
    Ok(())
}

/// With `--sparse-version=1.0` the header has `DIR/GNUSparseFile.0/FILE`, cut to 100 bytes. Where that ended in a
/// slash, haul took the member for a directory with data, and read nothing behind it.
#[test]
fn sparse_members_are_read_whatever_their_cut_name_ends_in() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("zlast", "z")?;
    // Directory names so long that the cut is in each place of `/GNUSparseFile.NUMBER/`, and before it.
    for bytes in (72..=84).chain([98, 99, 100, 120]) {
        for letter in ["d", "é"] {
            let folder = letter.repeat(bytes / letter.len());
            let name = format!("{folder}/f");
            let file = fs::File::create(scratch.write(&name, "")?)?;
            file.write_all_at(b"hi", 1 << 20)?;
            file.sync_all()?;
            let words = ["--posix", "-S", "-cf", "a.tar", &name, "zlast"];
            for (reader, writer) in [(ours(), ours()), (gnu_tar(), ours()), (ours(), gnu_tar())] {
                if !has("tar")? {
                    continue;
                }
                writer.words(words).in_dir(scratch.path()).succeed()?;
                let done = reader.words(["-tf", "a.tar"]).in_dir(scratch.path()).succeed()?;
                assert!(done.text().ends_with("/f\nzlast\n"), "{name}: {}", done.text());
            }
            ours().words(words).in_dir(scratch.path()).succeed()?;
            scratch.clear("out")?;
            let words = ["-xf", "a.tar", "--one-top-level=out"];
            ours().words(words).in_dir(scratch.path()).succeed()?;
            let (from, to) = (fs::read(scratch.at(&name))?, scratch.at(format!("out/{name}")));
            assert!(from == fs::read(to)?, "{name}");
            scratch.clear(&folder)?;
        }
    }
    Ok(())
}
