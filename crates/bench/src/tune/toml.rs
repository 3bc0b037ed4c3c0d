//! A profile as an editable text file.
//!
//! This writes only the few forms of TOML that a profile needs, which is less code than a
//! dependency.

use std::path::{Path, PathBuf};

use super::profile::{Choice, Profile};
use crate::error::Result;
use crate::publish::Publisher;
use crate::stats::Ratio;
use crate::workspace::Storage;

/// Number of letters of a device in a file name; a name has at most 255 bytes.
const DEVICE_LETTERS: usize = 60;

/// Returns the name of the profile's file for a pair of file systems on their devices:
/// `xfs@sda--ext4@sdb.toml`, or `xfs--ext4.toml` for any devices.
#[must_use]
pub fn profile_file_name(source: &Storage, target: &Storage) -> String {
    format!("{}--{}.toml", place_name(source), place_name(target))
}

fn place_name(storage: &Storage) -> String {
    let file_system = plain(&storage.file_system);
    if storage.device.is_empty() {
        return file_system;
    }
    let mut device: String = plain(&storage.device).chars().take(DEVICE_LETTERS).collect();
    if device != storage.device {
        // Two devices whose names differ only in other characters have two profiles.
        device += &format!("-{:08x}", checksum(storage.device.as_bytes()));
    }
    format!("{file_system}@{device}")
}

fn plain(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    name.chars().map(letter).collect()
}

/// Returns the FNV-1a hash: <http://www.isthe.com/chongo/tech/comp/fnv/>.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl Profile {
    /// Returns the name of the profile's file: `xfs@sda--ext4@sdb.toml`.
    #[must_use]
    pub fn file_name(&self) -> String {
        profile_file_name(&self.source, &self.target)
    }

    /// Returns the profile as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# Written by `haul tune`, read by `haul cp`; remove it to have haul decide by itself.\n\
             # A method or a number of jobs is named only if it was significantly faster.\n\
             # It is for these devices; under a name without them, as ext4--xfs.toml, for all.\n",
        );
        text += &format!("version = {}\n", self.version);
        text += &format!("cores = {}\n", self.cores);
        for (key, value) in [
            ("haul", &self.haul),
            ("kernel", &self.kernel),
            ("measured", &self.measured),
            ("source_file_system", &self.source.file_system),
            ("source_device", &self.source.device),
            ("target_file_system", &self.target.file_system),
            ("target_device", &self.target.device),
            ("mount_options", &self.mount_options),
            ("place", &self.place),
        ] {
            text += &format!("{key} = {}\n", quote(value));
        }
        for choice in &self.choices {
            text += &choice_text(choice);
        }
        text
    }
}

fn choice_text(choice: &Choice) -> String {
    let order: Vec<String> = choice.method_order.iter().map(|name| quote(name)).collect();
    let mut text = format!(
        "\n[[choice]]\nscenario = {}\nfile_bytes = {}\nentries = {}\ncache = {}\n",
        quote(&choice.scenario),
        choice.file_bytes,
        choice.entries,
        quote(choice.cache.name())
    );
    if let Some(method) = &choice.method {
        text += &format!("method = {}\n", quote(method));
    }
    if !order.is_empty() {
        text += &format!("method_order = [{}]\n", order.join(", "));
    }
    if let Some(jobs) = choice.jobs {
        text += &format!("jobs = {jobs}\n");
    }
    text += &format!(
        "\n[choice.evidence]\nrounds = {}\nown_time_s = {:.6}\n",
        choice.rounds, choice.own_time_s
    );
    for (name, ratio) in [("method", &choice.method_ratio), ("jobs", &choice.jobs_ratio)] {
        if let Some(ratio) = ratio {
            text += &ratio_text(name, ratio);
        }
    }
    text
}

fn ratio_text(name: &str, ratio: &Ratio) -> String {
    let mut text = format!("{name}_ratio = {:.4}\n", ratio.median);
    if let Some(interval) = ratio.interval {
        let (low, high) = (interval.low, interval.high);
        text += &format!("{name}_ratio_interval = [{low:.4}, {high:.4}]\n");
    }
    text
}

/// Returns a basic string of TOML.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a profile into a directory, which is created if it does not exist, and returns its path.
/// Atomically replaces a profile of the same pair, so that a reader sees the old one or the new
/// one.
///
/// # Errors
///
/// It cannot be written.
pub fn write_profile(folder: &Path, profile: &Profile) -> Result<PathBuf> {
    let name = profile.file_name();
    Publisher::new(folder)?.write(&name, &profile.to_toml())?;
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_devices_apart() {
        let on =
            |device: &str| Storage { file_system: "ext4".to_owned(), device: device.to_owned() };
        let name = |source: &str, target: &str| profile_file_name(&on(source), &on(target));
        assert_eq!(name("", ""), "ext4--ext4.toml");
        assert_eq!(name("sda", "nvme0n1"), "ext4@sda--ext4@nvme0n1.toml");
        // A target on any device is not the target on one.
        assert_eq!(name("sda", ""), "ext4@sda--ext4.toml");
        let (one, two) = (name("", "naa.5000/1"), name("", "naa 5000 1"));
        assert!(one != two && one.starts_with("ext4--ext4@naa_5000_1-"), "{one} {two}");
        let (one, two) = ("x".repeat(300), "x".repeat(301));
        let (one, two) = (name(&one, &one), name(&two, &two));
        assert!(one != two && one.len() < 255, "{one}");
    }
}
