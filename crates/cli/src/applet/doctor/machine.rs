//! What the kernel and the limits of this process offer.

use haul_sys::memory::{available_bytes, cachestat, total_bytes, unwritten_bytes};
use haul_sys::pressure::Pressure;
use haul_sys::process::{
    can_unshare_descriptors, kernel_release, landlock_version, nofile_limits, process_limit,
};
use haul_sys::uring::ring_operations;

use super::finding::Finding;
use super::scratch;

/// The oldest kernel that haul is made for.
const OLDEST: (u32, u32) = (5, 10);

/// What belongs to the whole machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) kernel: String,
    pub(super) processors: usize,
    pub(super) memory_bytes: Option<u64>,
    pub(super) available_bytes: Option<u64>,
    pub(super) unwritten_bytes: Option<u64>,
    pub(super) findings: Vec<Finding>,
}

/// Examines the machine. Starts a thread, makes a ring, and loads an eBPF program if it may.
pub(super) fn examine() -> Machine {
    let kernel = kernel_release();
    let findings = vec![
        kernel_finding(&kernel),
        ring(),
        page_cache(),
        pressure(),
        landlock(),
        tracing(),
        descriptors(),
        processes(),
        Finding::of("unshare-files", can_unshare_descriptors(), |()| {
            "a thread may have its own table of descriptors".to_owned()
        })
        .means(
            "haul does not use it: its workers share descriptors",
            "haul does not need it: its workers share descriptors",
        ),
        page_reporting(),
    ];
    Machine {
        kernel,
        processors: crate::value::processors(),
        memory_bytes: total_bytes(),
        available_bytes: available_bytes(),
        unwritten_bytes: unwritten_bytes(),
        findings,
    }
}

fn kernel_finding(release: &str) -> Finding {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    let version = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => return Finding::unknown("kernel", format!("'{release}' begins with no version")),
    };
    if version >= OLDEST {
        Finding::present("kernel", format!("Linux {release}"))
    } else {
        Finding::missing(
            "kernel",
            format!("Linux {release} is older than {}.{}", OLDEST.0, OLDEST.1),
        )
        .means("", "haul is not tested on it")
    }
}

fn ring() -> Finding {
    let finding = Finding::of("io_uring", ring_operations(), |found| {
        let used: Vec<&str> =
            found.used.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        format!("{} operations, among them {}", found.count, used.join(", "))
    });
    let why = match std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled") {
        Ok(text) if finding.state != super::finding::State::Present && text.trim() != "0" => {
            format!("{}; sysctl kernel.io_uring_disabled is {}", finding.detail, text.trim())
        }
        _ => finding.detail.clone(),
    };
    Finding { detail: why, ..finding }.means(
        "many requests in flight for data that is not cached",
        "streams use threads, copies use plain calls",
    )
}

fn page_cache() -> Finding {
    match scratch::anonymous() {
        Ok(file) => Finding::of("cachestat", cachestat(&file, 0, 0), |_| {
            "counts the cached and dirty pages of a file".to_owned()
        }),
        Err(error) => Finding::unknown("cachestat", error),
    }
    .means(
        "--stats, --explain and --cache=restore ask it what is cached",
        "--stats, --explain and --cache=restore ask mincore instead",
    )
}

fn pressure() -> Finding {
    match Pressure::open() {
        Some(pressure) if pressure.is_reported() => Finding::present(
            "pressure",
            "the kernel reports when tasks wait for storage, processors or memory",
        ),
        Some(_) => Finding::present(
            "pressure",
            "the kernel tells for how long tasks waited, and reports no threshold to this user",
        ),
        None => Finding::missing("pressure", "no pressure stall information: CONFIG_PSI, psi=1"),
    }
    .means(
        "--gentle leaves others the time in which they wait",
        "--gentle goes by the time of its own requests",
    )
}

fn landlock() -> Finding {
    Finding::of("landlock", landlock_version(), |version| format!("version {version}")).means(
        "'haul tar -x' can write nothing outside the target directory",
        "'haul tar -x' relies on its own checks of names alone",
    )
}

#[cfg(feature = "trace")]
fn tracing() -> Finding {
    match haul_trace::Trace::check_ebpf() {
        Ok(()) => Finding::present("ebpf-tracing", "the program can be loaded and attached"),
        Err(why) => Finding::missing("ebpf-tracing", why),
    }
    .means("'haul trace' counts in the kernel", "'haul trace' uses ptrace, which slows the command")
}

#[cfg(not(feature = "trace"))]
fn tracing() -> Finding {
    Finding::unknown("ebpf-tracing", "this build has no 'haul trace'")
}

fn limit(value: u64) -> String {
    if value == u64::MAX { "unlimited".to_owned() } else { value.to_string() }
}

fn descriptors() -> Finding {
    /// Below this number copies have fewer workers and cached directories.
    const ENOUGH: u64 = 1024;
    let (soft, hard) = nofile_limits();
    let detail = if soft == hard {
        limit(hard)
    } else {
        format!("{} now, haul raises it to {}", limit(soft), limit(hard))
    };
    if hard >= ENOUGH {
        Finding::present("descriptors", detail)
    } else {
        Finding::missing("descriptors", detail)
            .means("", "fewer directories stay open; with very few there are fewer workers")
    }
}

fn processes() -> Finding {
    Finding::present("processes", format!("{} for this user", limit(process_limit())))
}

/// Free page reporting takes the memory that the guest frees back to the host, so that newly
/// allocated pages have to be fetched from it again.
fn page_reporting() -> Finding {
    /// `VIRTIO_BALLOON_F_REPORTING` of `include/uapi/linux/virtio_balloon.h`.
    const REPORTING: usize = 5;
    let Ok(devices) = std::fs::read_dir("/sys/bus/virtio/drivers/virtio_balloon") else {
        return Finding::missing("page-reporting", "there is no balloon device")
            .means("", "freed memory stays with this machine");
    };
    let reports = devices.filter_map(Result::ok).any(|device| {
        // One digit for each feature, from the lowest on.
        std::fs::read(device.path().join("features"))
            .is_ok_and(|bits| bits.get(REPORTING) == Some(&b'1'))
    });
    if reports {
        Finding::present("page-reporting", "freed memory goes back to the host")
            .means("memory that was free for long is slower to fill: measure twice", "")
    } else {
        Finding::missing("page-reporting", "the balloon device does not report free pages")
            .means("", "freed memory stays with this machine")
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        assert_eq!(kernel_finding("6.18.5-generic").state, State::Present);
        assert_eq!(kernel_finding("5.10").state, State::Present);
        assert_eq!(kernel_finding("5.9.16").state, State::Missing);
        assert_eq!(kernel_finding("4.19-rt").state, State::Missing);
        assert_eq!(kernel_finding("next").state, State::Unknown);
    }
}
