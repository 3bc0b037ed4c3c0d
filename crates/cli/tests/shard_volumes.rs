//! What the volumes of the shards of a copy need: to be whole, and to stay while another shard runs.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use haul_manifest::Aspects;
use rustix::fs::{FlockOperation, flock};

use super::shard::{ALL, furnish, shard, succeed};
use super::support::judge::demand_equal;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, hidden};

/// A volume whose records end before the mark of its shard lacks what no other file has.
#[test]
fn a_shard_whose_volume_is_damaged_is_not_complete() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    succeed(&scratch, 1, 2)?;
    let volume = File::options().write(true).open(scratch.at("j.1"))?;
    volume.write_all_at(b"damage", volume.metadata()?.len() / 2)?;
    let done = succeed(&scratch, 2, 2)?;
    assert!(!done.errors().contains(ALL), "{done:?}");
    assert!(done.errors().contains("shard 1 is not yet"), "{done:?}");
    assert!(succeed(&scratch, 1, 2)?.errors().contains(ALL));
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "damaged");
    Ok(())
}

#[test]
fn clean_leaves_the_volumes_that_other_shards_need() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let words = ["-aT", "s", "t"];
    let done = shard(&scratch, 1, 2, &words).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    // The journal, the volume, and the file of the turns.
    let before = hidden(scratch.path())?;
    assert_eq!(before.len(), 3, "{before:?}");
    let clean = || Call::of(haul()).words(["clean", "--older-than=0", "."]).in_dir(scratch.path());
    // What another shard that runs has locked is the journal, which is read by all.
    let locked: Vec<File> = before.iter().map(File::open).collect::<Result<_, _>>()?;
    let sizes = locked.iter().map(|file| Ok((file.metadata()?.len(), file)));
    let sizes: Vec<(u64, &File)> = sizes.collect::<std::io::Result<_>>()?;
    let is_journal = |file: &&(u64, &File)| {
        let mut header = vec![0; usize::try_from(file.0).unwrap_or(0)];
        file.1.read_exact_at(&mut header, 0).is_ok()
            && String::from_utf8_lossy(&header).contains("recursion=")
    };
    let (_, journal) = sizes.iter().find(is_journal).ok_or("a journal")?;
    flock(journal, FlockOperation::LockShared)?;
    clean().succeed()?;
    let left = hidden(scratch.path())?;
    assert!(left.len() >= 2, "the journal and the volume stay: {left:?}");
    flock(journal, FlockOperation::Unlock)?;
    let done = shard(&scratch, 2, 2, &words).run()?;
    assert!(done.code() == Some(0) && done.errors().contains(ALL), "{done:?}");
    Ok(())
}
