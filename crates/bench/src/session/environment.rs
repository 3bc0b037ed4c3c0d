//! The machine of a measurement.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The kernel's name and release.
    pub kernel: String,
    /// The processor.
    pub processor: String,
    /// How many processors may be used.
    pub cores: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// When it was measured: seconds since 1970.
    pub time_s: u64,
    /// Whether root measured.
    pub root: bool,
    /// Whether the machine returns free memory to a host (free page reporting).
    #[serde(default)]
    pub page_reporting: bool,
}

impl Environment {
    /// Returns the description of this machine.
    #[must_use]
    pub fn gather() -> Environment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Environment {
            kernel: Environment::kernel_now(),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: available_parallelism().map_or(1, usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal")
                .and_then(|value| value.trim_end_matches(" kB").trim().parse::<u64>().ok())
                .map_or(0, |kilobytes| kilobytes * 1024),
            page_bytes: rustix::param::page_size() as u64,
            time_s: since.map_or(0, |since| since.as_secs()),
            root: haul_sys::process::identity().uid == 0,
            page_reporting: Path::new("/sys/module/page_reporting").exists(),
        }
    }

    /// Returns the name and release of the running kernel: `Linux 6.18.5 x86_64`.
    #[must_use]
    pub fn kernel_now() -> String {
        let uname = rustix::system::uname();
        let parts = [uname.sysname(), uname.release(), uname.machine()];
        parts.map(std::ffi::CStr::to_string_lossy).join(" ")
    }

    /// Returns the day and time in UTC: `2025-01-31 12:00 UTC`.
    #[must_use]
    pub fn time_text(&self) -> String {
        let (year, month, day) = civil(self.time_s / 86_400);
        let minutes = self.time_s % 86_400 / 60;
        format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
    }
}

/// Returns the part of a kernel's name that determines its behaviour: `Linux 6.18` of `Linux
/// 6.18.5-2 x86_64`.
#[must_use]
pub fn kernel_series(kernel: &str) -> String {
    let mut words = kernel.split_whitespace();
    let (system, release) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let numbers: Vec<&str> = release.split('.').take(2).collect();
    format!("{system} {}", numbers.join("."))
}

/// Returns the value of a `name : value` line.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns year, month and day of a day since 1970 (Hinnant, "chrono-compatible low-level date
/// algorithms": eras of 400 years that begin in March).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_453), (2025, 12, 31));
        let environment = Environment { time_s: 86_399, ..Environment::default() };
        assert_eq!(environment.time_text(), "1970-01-01 23:59 UTC");
    }

    #[test]
    fn the_machine_tells_of_itself() {
        let environment = Environment::gather();
        assert!(environment.kernel.starts_with("Linux "));
        assert!(environment.cores >= 1 && environment.memory_bytes > 0);
    }
}
