//! Test fixture: two directories, and a mount of one on the other.

use std::path::{Path, PathBuf};

use haul_faultfs::{Config, Mounted};

pub(crate) struct Place {
    pub(crate) below: PathBuf,
    pub(crate) point: PathBuf,
    _dir: tempfile::TempDir,
}

/// Creates the directories for a mount; prints a message and returns `None` if mounting is not
/// possible.
pub(crate) fn place() -> Option<Place> {
    if !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        println!("ignored: {name} needs root and /dev/fuse");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let (below, point) = (dir.path().join("below"), dir.path().join("point"));
    std::fs::create_dir(&below).unwrap();
    std::fs::create_dir(&point).unwrap();
    Some(Place { below, point, _dir: dir })
}

/// Mounts with rules.
pub(crate) fn faulty(place: &Place, rules: &[&str], config: &Config) -> Mounted {
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    Mounted::new(&place.below, &place.point, &Config { rules, ..config.clone() }).unwrap()
}
