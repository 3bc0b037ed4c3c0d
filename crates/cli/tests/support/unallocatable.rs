//! An ext4 that accepts writes and then finds no blocks for them.
//!
//! ext4 allocates the blocks of a file when it writes the pages back. Here one of the two groups of blocks is
//! full, and four bytes of the bitmap of the other one are damaged, as one bad sector would leave them. The
//! kernel notices when it allocates, drops the pages and logs "Data will be lost"; no later flush fails.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::mounting::unmount;
use super::run::Call;
use super::scratch::Scratch;
use super::{Outcome, has, ignored, is_root};

/// The size of a block, and the number of blocks of a group.
const BLOCK_BYTES: u64 = 4096;
const GROUP_BLOCKS: u64 = 8192;

/// Free blocks of the full group that may be left: fewer than any file of the tests needs.
const LEFT_BLOCKS: u64 = 3;

/// Attempts to fill the group, each of which takes what the one before has left, and to mount an image.
const ATTEMPTS: usize = 40;

/// The file system.
pub(crate) struct Unallocatable {
    is_mounted: bool,
    /// The mount point; `t` in it is an empty directory.
    pub(crate) mount: PathBuf,
    scratch: Scratch,
}

impl Unallocatable {
    /// Makes and mounts one; `None`, and the test ignored, where that cannot be done.
    pub(crate) fn new() -> Outcome<Option<Unallocatable>> {
        if !is_root()? || !has("mkfs.ext4")? || !has("dumpe2fs")? {
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        let mount = scratch.at("mount");
        fs::create_dir(&mount)?;
        let mut made = Unallocatable { is_mounted: false, mount, scratch };
        let image = made.image("model");
        fs::File::create(&image)?.set_len(2 * GROUP_BLOCKS * BLOCK_BYTES)?;
        let call = Call::of("mkfs.ext4").words(["-q", "-b", "4096", "-N", "1024", "-J", "size=4"]);
        let call = call.word("-g").word(GROUP_BLOCKS.to_string());
        let call = call.words(["-O", "metadata_csum,^uninit_bg,^flex_bg"]);
        call.words(["-E", "lazy_itable_init=0"]).word(&image).succeed()?;
        if !made.mount(&image, "loop")? {
            ignored("loop devices")?;
            return Ok(None);
        }
        fs::create_dir(made.mount.join("t"))?;
        made.fill_first_group()?;
        made.unmount()?;
        let (_, bitmap) = made.groups()?;
        let file = fs::File::options().write(true).open(&image)?;
        file.write_all_at(&[0xff, 0x00, 0xaa, 0x55], bitmap * BLOCK_BYTES)?;
        made.renew()?;
        Ok(Some(made))
    }

    /// Mounts it as it was in the beginning.
    pub(crate) fn renew(&mut self) -> Outcome {
        self.unmount()?;
        let (model, image) = (self.image("model"), self.image("image"));
        Call::of("cp").word("--sparse=always").word(model).word(&image).succeed()?;
        // The kernel would otherwise read the bitmaps some time after the file system is mounted.
        if self.mount(&image, "loop,no_prefetch_block_bitmaps,errors=continue")? {
            return Ok(());
        }
        Err("it cannot be mounted".into())
    }

    /// Writes back everything that can be, so that what was lost is not in memory any more.
    pub(crate) fn sync(&self) -> Outcome {
        Call::of("sync").word("-f").word(&self.mount).run()?;
        Ok(())
    }

    /// Mounts what is on the disk.
    pub(crate) fn reveal(&mut self) -> Outcome {
        self.sync()?;
        self.unmount()?;
        let image = self.image("image");
        if self.mount(&image, "loop,ro")? { Ok(()) } else { Err("it cannot be mounted".into()) }
    }

    fn image(&self, name: &str) -> PathBuf {
        self.scratch.at(name)
    }

    fn mount(&mut self, image: &PathBuf, options: &str) -> Outcome<bool> {
        let call = Call::of("mount").word("-o").word(options).word(image).word(&self.mount);
        // Another process may take the loop device that mount has just found free.
        for _ in 0..ATTEMPTS {
            let done = call.run()?;
            self.is_mounted = done.code() == Some(0);
            if self.is_mounted || !done.errors().contains("loop device") {
                break;
            }
        }
        Ok(self.is_mounted)
    }

    fn unmount(&mut self) -> Outcome {
        if std::mem::take(&mut self.is_mounted) { unmount(&self.mount) } else { Ok(()) }
    }

    /// Returns the number of free blocks of the first group, and the block that holds the bitmap of the second.
    fn groups(&self) -> Outcome<(u64, u64)> {
        // Its version is on standard error.
        let said = Call::of("dumpe2fs").word(self.image("model")).run()?.text();
        let numbers = |before: &str, after: &str| -> Vec<u64> {
            let lines = said.lines().filter_map(|line| line.trim().strip_prefix(before));
            let words = lines.filter(|rest| rest.contains(after));
            words.filter_map(|rest| rest.split([' ', ',']).next()?.parse().ok()).collect()
        };
        let (free, bitmaps) = (numbers("", "free blocks, "), numbers("Block bitmap at ", ""));
        match (&free[..], &bitmaps[..]) {
            (&[free, _], &[_, bitmap]) => Ok((free, bitmap)),
            _ => Err(format!("not two groups: {said}").into()),
        }
    }

    fn fill_first_group(&self) -> Outcome {
        for number in 0..ATTEMPTS {
            self.sync()?;
            let (free, _) = self.groups()?;
            if free <= LEFT_BLOCKS {
                return Ok(());
            }
            // The last blocks go one file at a time: a large one could take some of the other group.
            let blocks = if free > 400 { free - 200 } else { free };
            fs::write(
                self.mount.join(format!("ballast-{number}")),
                vec![0_u8; usize::try_from(blocks * BLOCK_BYTES)?],
            )?;
        }
        Err("the first group does not become full".into())
    }
}

impl Drop for Unallocatable {
    fn drop(&mut self) {
        // After a failure a mount remains, which the removal of the scratch folder reports.
        let _unmounted = self.unmount();
    }
}
