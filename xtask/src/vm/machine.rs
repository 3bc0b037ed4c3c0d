//! One machine of QEMU: booted, watched until it ends or its time is over, and what it said.

use super::initramfs::{DRIVER, ENDED, JOB};
use super::kernels::Unpacked;
use crate::command::{command, read, which};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Disks of a machine: one for the other side of a copy, one for the file system, and for power cuts the log
/// of the latter, its contents after a cut, and what a mount changes of them.
const DISKS: usize = 5;

/// XFS needs 300 MB, and F2FS and btrfs have large areas of their own. The files are sparse.
const DISK_BYTES: u64 = 3 << 30;

const MEMORY: &str = "2G";

/// A panic ends the machine. Most of the others are against what takes long in software: protections against other
/// tenants of a processor, pages that are filled with zeros twice, waits for every processor, the clock of a device.
const BOOT_WORDS: &str = "console=ttyS0 loglevel=4 panic=-1 edd=off mitigations=off nokaslr \
    random.trust_cpu=on init_on_alloc=0 lsm=landlock audit=0 tsc=reliable \
    rcupdate.rcu_expedited=1 cryptomgr.notests";

/// The processor in software. Its string instructions move one byte after the other, so that the kernel must not
/// prefer them; its protections of pages end a translated block at each copy from and to a program.
const SOFTWARE: [&str; 4] =
    ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off,smap=off,smep=off"];

/// How QEMU runs the machine's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acceleration {
    Kvm,
    /// In software: ten to fifty times slower.
    Tcg,
}

impl Acceleration {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kvm => "by KVM",
            Self::Tcg => "in software, because KVM does not run it here",
        }
    }
}

/// What a machine boots, and where its files are.
pub(super) struct Machine<'a> {
    pub(super) kernel: &'a Unpacked,
    pub(super) initramfs: &'a Path,
    /// A folder for disks and the console.
    pub(super) dir: &'a Path,
    pub(super) acceleration: Acceleration,
}

/// How a machine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The driver ran to its end with this status.
    Driver(i32),
    /// The kernel stopped, there was no root, or the time was over.
    Early,
}

impl Machine<'_> {
    /// Boots the machine, with a program of this machine as its driver, and passes on each line of the
    /// driver.
    pub(super) fn run(
        &self,
        driver: &Path,
        job: &Path,
        limit: Duration,
        mut see: impl FnMut(&str),
    ) -> Result<End> {
        // The kernel's command line has no quoting.
        for path in [driver, job] {
            if path.to_string_lossy().contains(char::is_whitespace) {
                return Err(Error::new(format!("white space in {}", path.display())));
            }
        }
        let disks = self.make_disks()?;
        let mut qemu = self.command(&disks, limit);
        let job = job.display();
        let words = format!("{DRIVER}={} {JOB}={job}", driver.display());
        qemu.arg("-append").arg(format!("{BOOT_WORDS} {words}"));
        let mut end = End::Early;
        let status = read(&mut qemu, |line| {
            let line = line.trim_end();
            let ended = line.strip_prefix(ENDED).and_then(|rest| rest.strip_prefix(" with "));
            match ended.and_then(|status| status.parse().ok()) {
                Some(status) => end = End::Driver(status),
                None => see(line),
            }
        });
        for disk in disks {
            fs::remove_file(&disk).context("remove", disk.display())?;
        }
        status.map(|_| end)
    }

    /// The file with what the kernel said.
    pub(super) fn console(&self) -> PathBuf {
        self.dir.join("console.txt")
    }

    fn make_disks(&self) -> Result<Vec<PathBuf>> {
        let disk = |index| {
            let path = self.dir.join(format!("disk-{index}"));
            let file = File::create(&path).context("create", path.display())?;
            file.set_len(DISK_BYTES).context("enlarge", path.display())?;
            Ok(path)
        };
        (0..DISKS).map(disk).collect()
    }

    fn command(&self, disks: &[PathBuf], limit: Duration) -> std::process::Command {
        // It is in the process group of this command, which signals reach.
        let mut qemu = command("timeout");
        qemu.args(["--foreground", "--kill-after=5", &limit.as_secs().to_string()]);
        qemu.arg("qemu-system-x86_64").args(match self.acceleration {
            Acceleration::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Acceleration::Tcg => SOFTWARE,
        });
        qemu.args([
            "-machine",
            "pc,hpet=off",
            "-smp",
            "2",
            "-m",
            MEMORY,
            "-display",
            "none",
            "-no-reboot",
            "-nodefaults",
        ]);
        // The first serial port has the kernel's messages, the second one the driver's.
        qemu.arg("-serial").arg(format!("file:{}", self.console().display()));
        qemu.args(["-serial", "stdio"]);
        qemu.arg("-kernel").arg(&self.kernel.image).arg("-initrd").arg(self.initramfs);
        for (tag, path) in [("root", Path::new("/")), ("modules", &self.kernel.modules())] {
            let (path, shared) = (path.display(), "security_model=none,readonly=on");
            let share = format!("local,id={tag},path={path},{shared},multidevs=remap");
            qemu.arg("-fsdev").arg(share);
            qemu.arg("-device").arg(format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}"));
        }
        for disk in disks {
            let drive = format!("file={},format=raw,if=virtio,cache=unsafe", disk.display());
            qemu.arg("-drive").arg(drive);
        }
        qemu
    }
}

/// Time in which a machine has to come up to show that KVM works here.
const TRIAL: Duration = Duration::from_secs(30);

/// Finds out whether KVM runs a stock kernel here: `/dev/kvm` alone does not show it.
pub(super) fn acceleration(
    kernel: &Unpacked,
    initramfs: &Path,
    dir: &Path,
) -> Result<Acceleration> {
    if !Path::new("/dev/kvm").exists() {
        return Ok(Acceleration::Tcg);
    }
    let machine = Machine { kernel, initramfs, dir, acceleration: Acceleration::Kvm };
    let nothing = which("true").ok_or_else(|| Error::new("there is no `true`"))?;
    let outcome = machine.run(&nothing, Path::new("/"), TRIAL, |_| {});
    interrupt::check()?;
    Ok(match outcome? {
        End::Driver(0) => Acceleration::Kvm,
        _ => Acceleration::Tcg,
    })
}
