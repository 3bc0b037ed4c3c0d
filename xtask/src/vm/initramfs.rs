//! The first root of a machine: busybox, the modules that reach this machine's root, and a script.
//!
//! The script mounts the root of the machine that runs QEMU (9p, read-only) below an overlay in memory, and the
//! modules of the booted kernel in it, and starts the driver there.

use super::cpio::Cpio;
use super::kernels::Unpacked;
use crate::command::{command, output, which};
use crate::error::{Context, Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules without which there is no root; those that they need come with them.
const MODULES: [&str; 5] = ["virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "overlay"];

/// The kernel asks for modules in its first root, where this passes the request on.
const MODPROBE: &str = "#!/bin/busybox sh\nexec /bin/busybox chroot /new /sbin/modprobe \"$@\"\n";

/// The words of the kernel's command line that tell the driver and its job.
pub(super) const DRIVER: &str = "vm_driver";
pub(super) const JOB: &str = "vm_job";

/// What the second serial port says if the driver was started and ended.
pub(super) const ENDED: &str = "the driver has ended";

const INIT: &str = r#"#!/bin/busybox sh
b=/bin/busybox
for f in proc sys dev host over new; do $b mkdir -p /$f; done
$b mount -t proc p /proc; $b mount -t sysfs s /sys; $b mount -t devtmpfs d /dev
for m in /modules/*; do $b insmod $m; done
o=trans=virtio,version=9p2000.L,msize=262144,ro
if ! { $b mount -t 9p -o $o,cache=loose root /host && $b mount -t tmpfs -o size=60% t /over &&
    $b mkdir /over/upper /over/work &&
    $b mount -t overlay -o lowerdir=/host,upperdir=/over/upper,workdir=/over/work o /new; }; then
  echo 'there is no root' > /dev/ttyS1; $b poweroff -f
fi
$b mkdir -p /new/lib/modules; $b mount -t 9p -o $o modules /new/lib/modules
for f in proc sys dev; do $b mount --move /$f /new/$f; done
for f in tmp run mnt var/lib/nfs; do $b mkdir -p /new/$f; $b mount -t tmpfs t /new/$f; done
$b mkdir -p /new/dev/pts /new/dev/shm
$b mount -t devpts d /new/dev/pts; $b mount -t tmpfs s /new/dev/shm
for w in $($b cat /new/proc/cmdline); do
  case $w in vm_driver=*) driver=${w#vm_driver=};; vm_job=*) job=${w#vm_job=};; esac
done
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
$b chroot /new "$driver" vm-guest "$job" < /new/dev/null
echo "the driver has ended with $?" > /new/dev/ttyS1
echo o > /new/proc/sysrq-trigger
while :; do $b sleep 1; done
"#;

/// Makes the first root for a kernel, once, and returns its file.
pub(super) fn provide(kernel: &Unpacked, dir: &Path) -> Result<PathBuf> {
    let file = dir.join(format!("initramfs-{}.cpio", kernel.version));
    let mut cpio = Cpio::default();
    for name in ["bin", "sbin", "modules"] {
        cpio.directory(name);
    }
    let busybox = which("busybox").ok_or_else(|| Error::new("there is no busybox"))?;
    cpio.file("bin/busybox", &fs::read(&busybox).context("read", busybox.display())?);
    cpio.file("init", INIT.as_bytes());
    cpio.file("sbin/modprobe", MODPROBE.as_bytes());
    for (index, module) in modules(kernel)?.iter().enumerate() {
        cpio.file(&format!("modules/{index:02}.ko"), &unpack(module)?);
    }
    fs::write(&file, cpio.finish()).context("write", file.display())?;
    Ok(file)
}

/// Returns the files of the modules in the order in which they have to be loaded.
fn modules(kernel: &Unpacked) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for module in MODULES {
        let mut modprobe = command("modprobe");
        modprobe.arg("-d").arg(&kernel.base).args(["-S", &kernel.version]);
        let text = output(modprobe.args(["--show-depends", module]))?;
        for file in files_of(&text) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// Reads what `modprobe --show-depends` prints: a line for each module; one that is built in has no file.
fn files_of(text: &str) -> Vec<PathBuf> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("insmod "));
    lines.map(|line| line.trim().into()).collect()
}

/// Returns the bytes of a module, decompressed, because busybox reads no other.
fn unpack(module: &Path) -> Result<Vec<u8>> {
    let program = match module.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return fs::read(module).context("read", module.display()),
    };
    let done = command(program).arg("-dc").arg(module).output().context("run", program)?;
    if !done.status.success() {
        return Err(Error::new(format!("{program} cannot decompress {}", module.display())));
    }
    Ok(done.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_with_files_are_listed_in_order() {
        let text = "builtin virtio\ninsmod /k/lib/modules/6/kernel/a.ko.xz \ninsmod /k/b.ko\n";
        let expected: [PathBuf; 2] = ["/k/lib/modules/6/kernel/a.ko.xz".into(), "/k/b.ko".into()];
        assert_eq!(files_of(text), expected);
    }

    #[test]
    fn the_script_knows_the_words_that_the_machine_gets() {
        for word in [DRIVER, JOB] {
            assert!(INIT.contains(&format!("{word}=*) ")), "{word}");
        }
        assert!(INIT.contains(ENDED) && INIT.lines().all(|line| !line.contains('\t')));
    }
}
