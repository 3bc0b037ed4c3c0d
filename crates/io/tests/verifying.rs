//! Verifying a file: bytes reported as read from storage were read from it, and a file has the size
//! of its source.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64};

use haul_io::Watch;
use haul_io::block_digests::{BlockDigests, Piece, Remember};
use haul_io::digest::Algorithm;
use haul_io::quirk::of_magic;
use haul_io::verification::{Unverified, Verification, VerifiedFrom, Whole, source_bytes, verify};
use haul_sys::fs::{fstat, fstatfs};

use super::support::{Outcome, Place, ignored, places};

const BYTES: usize = 1 << 20;

/// Makes bytes that can be compressed, but not to nothing.
fn bytes() -> Vec<u8> {
    (0..BYTES).map(|at| (at % 251) as u8 ^ (at / 65_536) as u8).collect()
}

fn text(error: haul_sys::CallError) -> String {
    error.text()
}

/// Makes a file with these bytes and this attribute, written back; `None` if the file system has no
/// such attribute.
fn make(place: &Place, attribute: &str) -> Outcome<Option<File>> {
    let path = place.at("target");
    let _absent = std::fs::remove_file(&path);
    let mut file = File::options().create_new(true).read(true).write(true).open(&path)?;
    if !attribute.is_empty() {
        let set = Command::new("chattr").arg(attribute).arg(&path).stderr(Stdio::null()).status();
        if !set.is_ok_and(|status| status.success()) {
            ignored(&format!("a file system that has the attribute {attribute}"))?;
            return Ok(None);
        }
    }
    file.write_all(&bytes())?;
    file.sync_all()?;
    Ok(Some(file))
}

fn digests() -> Result<BlockDigests, String> {
    let algorithm = Algorithm::find("blake3").ok_or("no blake3")?;
    let digests = BlockDigests::new(algorithm, Remember::Pieces);
    let mut digest = algorithm.start();
    digest.update(&bytes());
    digests.learn(&[Piece::new(0, BYTES as u64, &digest.finish())]);
    Ok(digests)
}

fn verified(file: &File, size: u64) -> Outcome<Verification> {
    let (stop, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    let watch = Watch { stop: &stop, bytes: &moved, pace: None };
    let quirk = of_magic(fstatfs(file).map_err(text)?.magic);
    let digests = digests()?;
    let unverified = Unverified { fd: file.as_fd(), quirk, bytes: size, digests: &digests };
    verify(&unverified, Whole::Taken, &watch).map_err(|error| format!("{error:?}").into())
}

/// Returns the number of bytes that this thread has read from storage.
fn read_from_storage() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

#[test]
fn what_is_said_to_come_from_storage_was_read_from_it() -> Outcome {
    if read_from_storage().is_none() {
        return ignored("a kernel that counts what a thread reads");
    }
    for place in places()? {
        // Compressed data and journaled data are read through the cache despite the flag.
        let pretended = match place.name.as_str() {
            "btrfs" => "+c",
            "ext4" | "ext4-4k" => "+j",
            _ => "",
        };
        for attribute in ["", pretended] {
            let Some(file) = make(&place, attribute)? else { continue };
            let before = read_from_storage();
            let verification = verified(&file, BYTES as u64)?;
            let was_read = read_from_storage() > before;
            let what = format!("{} {attribute}: {:?}", place.name, verification.verified_from);
            assert!(verification.differing.is_empty(), "{what}");
            assert!(
                was_read || verification.verified_from == VerifiedFrom::Cache,
                "{what}, and nothing was read"
            );
            let is_plain = attribute.is_empty() && !place.name.starts_with("tmpfs");
            assert!(!is_plain || verification.verified_from == VerifiedFrom::Storage, "{what}");
        }
    }
    Ok(())
}

#[test]
fn a_cache_that_cannot_be_emptied_is_told() -> Outcome {
    for place in places()? {
        let Some(file) = make(&place, "")? else { continue };
        // Pages that a process has mapped stay.
        let mut window = haul_sys::memory::Window::new(BYTES).map_err(text)?;
        window.show(file.as_fd(), 0, BYTES).map_err(text)?;
        assert_eq!(
            verified(&file, BYTES as u64)?.verified_from,
            VerifiedFrom::Cache,
            "{}",
            place.name
        );
    }
    Ok(())
}

#[test]
fn the_verified_size_is_the_sources() -> Outcome {
    for place in places()? {
        let Some(file) = make(&place, "")? else { continue };
        let quirk = of_magic(fstatfs(&file).map_err(text)?.magic);
        let source = fstat(&file).map_err(text)?;
        let size = source_bytes(&source, quirk, &digests()?);
        assert_eq!(size, BYTES as u64, "{}", place.name);
        for other in [size - 1, size / 2, size + 1, size + 70_000] {
            file.set_len(other)?;
            file.sync_all()?;
            let verification = verified(&file, size)?;
            assert!(!verification.differing.is_empty(), "{} {other}", place.name);
        }
    }
    Ok(())
}
