//! Disks that are slower than the page cache.

use super::support::image::Image;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::slow::Slow;
use super::support::{Outcome, if_there};

const MIB: u64 = 1 << 20;

/// The cache accepts everything at once; a bar of accepted bytes would be full for three seconds of four.
#[test]
fn progress_is_of_what_the_disk_has() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", vec![7; 40 * MIB as usize])?;
    let Some(image) = Image::new(&scratch, "ext4")? else { return Ok(()) };
    let Some(slow) = Slow::down(&image.mount, 10 * MIB)? else { return Ok(()) };
    let target = image.mount.join("t");
    let call = cp(["--fsync", "--progress", "--json", "s"]).word(&target);
    let text = slow.feels(call.in_dir(scratch.path())).succeed()?.text();
    let mut told = Vec::new();
    for line in text.lines().filter(|line| line.contains("\"event\":\"progress\"")) {
        let line = super::support::schema::parsed("run", line)?;
        let bytes = |name: &str| line[name].as_u64().unwrap_or(u64::MAX);
        assert_eq!((&line["waits_for_storage"], bytes("total_bytes")), (&true.into(), 40 * MIB));
        told.push((bytes("accepted_bytes"), bytes("stored_bytes")));
    }
    assert!(told.iter().all(|(accepted, stored)| stored <= accepted), "{told:?}");
    assert!(told.is_sorted_by_key(|(_, stored)| *stored), "{told:?}");
    let lags = told.iter().any(|(accepted, stored)| *accepted == 40 * MIB && *stored < 30 * MIB);
    assert!(lags, "the cache has it all, and the disk has not: {told:?}");
    drop(slow);
    assert_eq!(if_there(std::fs::read(&target))?.map(|bytes| bytes.len() as u64), Some(40 * MIB));
    Ok(())
}
