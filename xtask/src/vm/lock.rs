//! The lock on what the laboratory keeps, so that two commands can run beside each other, one on each processor.

use crate::error::{Context, Result};
use std::fs::File;
use std::path::Path;

/// Waits until no other command changes the kept files; holds them until the file is closed.
pub(super) fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let file = File::create(&path).context("create", path.display())?;
    file.lock().context("lock", path.display())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_others_away_until_it_is_closed() {
        let dir = std::env::temp_dir().join(format!("xtask-lock-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let held = lock(&dir).unwrap();
        let other = File::open(dir.join("lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        assert!(other.try_lock().is_ok());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
