//! Every attribute of an entry is in its manifest, as the standard library reports it.

use std::os::unix::fs::MetadataExt as _;

use haul_manifest::{
    Aspects, EntryId, Feature, Kind, Limits, Manifest, ScanOptions, create_tree, random_tree,
};

use crate::support::{Outcome, Scratch, below};

#[test]
fn attributes_agree_with_the_standard_library() -> Outcome {
    let scratch = Scratch::new()?;
    let items = random_tree(5, &Limits { entries: 150, ..Limits::default() });
    create_tree(&scratch.a(), items)?;
    let options = ScanOptions { access_times: true, segments: true, ..ScanOptions::default() };
    let manifest = Manifest::scan(&scratch.a(), &options);
    assert!(manifest.entries.len() > 50);
    for (index, entry) in manifest.entries.iter().enumerate() {
        let path = below(&scratch.a(), manifest.path_of(EntryId(index)).as_bytes());
        let seen = path.symlink_metadata()?;
        assert_eq!(u32::from(entry.mode), seen.mode() & 0o7777);
        assert_eq!((entry.uid, entry.gid), (seen.uid(), seen.gid()));
        assert_eq!(entry.mtime.seconds, seen.mtime());
        assert_eq!(i64::from(entry.mtime.nanoseconds), seen.mtime_nsec());
        assert_eq!((entry.size, entry.nlink), (seen.size(), seen.nlink()));
        assert_eq!(entry.blocks, seen.blocks());
        assert_eq!(entry.kind == Kind::Directory, seen.is_dir());
        assert_eq!(entry.link_text.is_some(), seen.is_symlink());
        if let Some(text) = &entry.link_text {
            assert_eq!(text.as_bytes(), std::fs::read_link(&path)?.as_os_str().as_encoded_bytes());
        }
        if let Some(rdev) = entry.rdev {
            assert_eq!(rustix::fs::makedev(rdev.major, rdev.minor), seen.rdev());
        }
        assert!(entry.atime.is_some());
    }
    assert!(manifest.entries.iter().any(|entry| entry.link_group.is_some()));
    assert!(manifest.entries.iter().any(|entry| !entry.xattrs.is_empty()));
    Ok(())
}

#[test]
fn looking_at_a_tree_does_not_change_it() -> Outcome {
    // Only the access times of symbolic links cannot be preserved.
    let limits = Limits { without: vec![Feature::Symlink], ..Limits::default() };
    let scratch = Scratch::twins(&random_tree(6, &limits))?;
    let options = ScanOptions { access_times: true, segments: true, ..ScanOptions::default() };
    let before = Manifest::scan(&scratch.a(), &options);
    scratch.compare(Aspects::all());
    assert!(Manifest::scan(&scratch.a(), &options) == before, "the tree has changed");
    Ok(())
}

#[test]
fn a_manifest_survives_json() -> Outcome {
    let scratch = Scratch::twins(&random_tree(8, &Limits::default()))?;
    let options = ScanOptions { segments: true, ..ScanOptions::default() };
    let manifest = Manifest::scan(&scratch.a(), &options);
    let json = serde_json::to_string(&manifest)?;
    assert!(serde_json::from_str::<Manifest>(&json)? == manifest, "{json}");
    Ok(())
}

#[test]
fn the_root_may_be_a_file() -> Outcome {
    let scratch = Scratch::new()?;
    std::fs::write(scratch.a(), "content")?;
    let manifest = Manifest::scan(&scratch.a(), &ScanOptions::default());
    assert_eq!(manifest.entries.len(), 1);
    assert_eq!(manifest.find(b"").map(|entry| entry.size), Some(7));
    assert_eq!(manifest.totals().bytes, 7);
    Ok(())
}
