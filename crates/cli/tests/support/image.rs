//! A file system in a file, with simulated power cuts.

use std::fs;
use std::path::PathBuf;

use super::mounting::unmount;
use super::run::Call;
use super::scratch::Scratch;
use super::{Outcome, has, ignored, is_root};

/// File systems for power cuts: each loses unflushed data in a different way.
pub(crate) const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// A file system in a file, mounted.
pub(crate) struct Image {
    kind: &'static str,
    file: PathBuf,
    pub(crate) mount: PathBuf,
}

impl Image {
    /// Makes one and mounts it; `None`, and the test ignored, if that is not possible.
    pub(crate) fn new(scratch: &Scratch, kind: &'static str) -> Outcome<Option<Image>> {
        Image::made_with(scratch, kind, &[])
    }

    /// The same with options for mkfs.
    pub(crate) fn made_with(
        scratch: &Scratch,
        kind: &'static str,
        options: &[&str],
    ) -> Outcome<Option<Image>> {
        if !is_root()? || !has(&format!("mkfs.{kind}"))? {
            return Ok(None);
        }
        if kind != "btrfs" && !has("xfs_io")? {
            return Ok(None);
        }
        let (file, mount) = (scratch.at(format!("{kind}.img")), scratch.at(kind));
        fs::create_dir(&mount)?;
        let bytes = if kind == "ext4" { 128 << 20 } else { 320 << 20 };
        fs::File::create(&file)?.set_len(bytes)?;
        // mkfs warns about old options.
        let made = Call::of(format!("mkfs.{kind}")).word("-q").words(options).word(&file).run()?;
        assert_eq!(made.code(), Some(0), "{made:?}");
        let image = Image { kind, file, mount };
        if image.mount().is_err() {
            ignored("loop devices")?;
            return Ok(None);
        }
        Ok(Some(image))
    }

    fn mount(&self) -> Outcome {
        let done =
            Call::of("mount").words(["-o", "loop"]).word(&self.file).word(&self.mount).run()?;
        if done.code() == Some(0) { Ok(()) } else { Err(done.errors().into()) }
    }

    fn unmount(&self) -> Outcome {
        unmount(&self.mount)
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(&self) -> Outcome {
        Call::of("sync").word("-f").word(&self.mount).succeed()?;
        Ok(())
    }

    /// Cuts the power: what is not on the disk is lost, including the journal's buffer. btrfs has no
    /// such call, so there a copy of the current contents of the disk replaces it.
    pub(crate) fn cut(&self) -> Outcome {
        if self.kind == "btrfs" {
            let copy = self.file.with_extension("cut");
            Call::of("cp").word("--sparse=always").word(&self.file).word(&copy).succeed()?;
            self.unmount()?;
            fs::rename(copy, &self.file)?;
        } else {
            Call::of("xfs_io").words(["-x", "-c", "shutdown"]).word(&self.mount).succeed()?;
            self.unmount()?;
        }
        self.mount()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // After a failure a mount remains, which the removal of the scratch folder reports.
        let _unmounted = self.unmount();
    }
}
