//! A journalled file system on a device of which some data blocks cannot be written.
//!
//! This needs no device mapper: an ext4 in a file, on a loop device; the file is on a file system that fails
//! writes to a part of it. Metadata and journal are packed at the beginning, and the directory that is
//! written to exists and is large enough beforehand, so the faults hit only contents of files.
//!
//! The loop driver writes a request of the block layer, which may hold bytes of several files, with one
//! write to its file, and reports success if that write took only a part (Linux 6.18, `lo_complete_rq`).
//! No program could learn of the rest, so each request here is one page, which one write takes or refuses.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use haul_faultfs::{Config, Mounted, Rule};
use rustix::fs::{major, minor};

use super::mounting::unmount;
use super::run::Call;
use super::scratch::Scratch;
use super::{Outcome, has, ignored, is_root};

/// The size of the file system.
const IMAGE_BYTES: u64 = 160 << 20;

/// Everything before this offset can be written: inode tables, the journal and the directory need less.
const SOUND_BYTES: u64 = 8 << 20;

/// Names that the directory has had, so that it has room for as many.
const NAMES: usize = 3000;

/// The file system, mounted.
pub(crate) struct Failing {
    is_mounted: bool,
    /// File that limits the requests of the device, and what it contained.
    limit: Option<(PathBuf, String)>,
    faults: Option<Mounted>,
    /// The mount point; `t` in it is an empty directory.
    pub(crate) mount: PathBuf,
    image: PathBuf,
    /// Dropped last, because the others are below it.
    scratch: Scratch,
}

impl Failing {
    /// Makes one with failing blocks between two offsets after the good ones; `None`, and the test
    /// ignored, where that cannot be done.
    pub(crate) fn new(from_bytes: u64, to_bytes: u64) -> Outcome<Option<Failing>> {
        if !is_root()? || !has("mkfs.ext4")? {
            return Ok(None);
        }
        if !PathBuf::from("/dev/fuse").exists() {
            ignored("/dev/fuse")?;
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        for name in ["below", "faulty", "mount"] {
            fs::create_dir(scratch.at(name))?;
        }
        let (image, mount) = (scratch.at("below/image"), scratch.at("mount"));
        fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
        let layout = "packed_meta_blocks=1,lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        let made = Call::of("mkfs.ext4").words(["-q", "-b", "4096", "-N", "8192", "-J", "size=4"]);
        let made = made.words(["-E", layout]);
        // mkfs warns about this layout.
        let made = made.word(&image).run()?;
        assert_eq!(made.code(), Some(0), "{made:?}");
        let mut failing =
            Failing { is_mounted: false, limit: None, faults: None, mount, image, scratch };
        if !failing.mount_image(failing.image.clone())? {
            ignored("loop devices")?;
            return Ok(None);
        }
        failing.furnish()?;
        failing.unmount()?;
        let (from, to) = (SOUND_BYTES + from_bytes, SOUND_BYTES + to_bytes);
        let rule: Rule = format!("write:image@in={from}-{to}=EIO").parse()?;
        let config = Config { rules: vec![rule], ..Config::default() };
        let point = failing.scratch.at("faulty");
        failing.faults = Some(Mounted::new(&failing.scratch.at("below"), &point, &config)?);
        if !failing.mount_image(point.join("image"))? {
            ignored("loop devices on a file system in user space")?;
            return Ok(None);
        }
        failing.keep_requests_apart()?;
        Ok(Some(failing))
    }

    /// Limits each request of the device to a page.
    fn keep_requests_apart(&mut self) -> Outcome {
        let dev = fs::metadata(&self.mount)?.dev();
        let device = format!("/sys/dev/block/{}:{}", major(dev), minor(dev));
        let limit = PathBuf::from(device).join("queue/max_sectors_kb");
        self.limit = Some((limit.clone(), fs::read_to_string(&limit)?));
        Ok(fs::write(limit, "4")?)
    }

    /// Makes a directory with room.
    fn furnish(&self) -> Outcome {
        let dir = self.mount.join("t");
        fs::create_dir(&dir)?;
        for number in 0..NAMES {
            fs::write(dir.join(format!("{number:040}")), "")?;
        }
        for number in 0..NAMES {
            fs::remove_file(dir.join(format!("{number:040}")))?;
        }
        Ok(())
    }

    fn mount_image(&mut self, image: PathBuf) -> Outcome<bool> {
        let mounted =
            Call::of("mount").words(["-o", "loop"]).word(image).word(&self.mount).run()?;
        self.is_mounted = mounted.code() == Some(0);
        Ok(self.is_mounted)
    }

    fn unmount(&mut self) -> Outcome {
        if std::mem::take(&mut self.is_mounted) {
            unmount(&self.mount)?;
        }
        // The limit would hold for the next file of the loop device as well.
        if let Some((limit, before)) = self.limit.take() {
            fs::write(limit, before.trim())?;
        }
        Ok(())
    }

    /// Detaches the device and mounts the contents of the disk from a good device.
    pub(crate) fn reveal(&mut self) -> Outcome {
        self.unmount()?;
        if let Some(faults) = self.faults.take() {
            faults.unmount()?;
        }
        let image = self.image.clone();
        if self.mount_image(image)? { Ok(()) } else { Err("it cannot be mounted again".into()) }
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        // After a failure a mount remains, which the removal of the scratch folder reports.
        let _unmounted = self.unmount();
        self.faults = None;
    }
}
