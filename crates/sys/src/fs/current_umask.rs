//! `/proc/self/status` — which permission bits new files lose, without a change of the mask:
//! <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>

use super::pseudo::text;
use crate::process::umask;
use crate::sync::Mutex;

/// Returns the process's umask without changing it: the kernel reports it in `/proc/self/status`
/// (Linux 4.7). Any thread may call it at any time. Where there is no `/proc`, does what [`umask`](crate::process::umask) does, in
/// turns: a file that another thread creates at that moment gets the permissions of its owner alone.
#[must_use]
pub fn current_umask() -> u32 {
    static TURN: Mutex<()> = Mutex::new(());
    let told = text("/proc/self/status", STATUS_BYTES).and_then(|text| field(&text));
    told.unwrap_or_else(|| {
        // A second caller would take the mask that the first one has set for the moment for the process's own.
        let _turn = TURN.lock();
        umask()
    })
}

/// More than the kernel prints up to the second line, which has the umask; the first is the command's name,
/// with each of its 16 bytes escaped.
const STATUS_BYTES: usize = 256;

fn field(status: &str) -> Option<u32> {
    let value = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(value.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_the_mask() {
        assert_eq!(field("Name:\tcat\nUmask:\t0027\nState:\tR\n"), Some(0o027));
        assert_eq!(field("Name:\tcat\nState:\tR\n"), None);
        assert_eq!(current_umask(), umask());
    }
}
