//! A profile as an editable text file.
//!
//! This writes only the few forms of TOML that a profile needs, which is less code than a
//! dependency.

use std::path::{Path, PathBuf};

use super::profile::{Choice, Profile};
use crate::error::Result;
use crate::publish::Publisher;
use crate::stats::Ratio;

/// Returns the name of the profile's file for a pair of file systems: `xfs--ext4.toml`.
#[must_use]
pub fn profile_file_name(source: &str, target: &str) -> String {
    let plain = |name: &str| -> String {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        name.chars().map(letter).collect()
    };
    format!("{}--{}.toml", plain(source), plain(target))
}

impl Profile {
    /// Returns the name of the profile's file: `xfs--ext4.toml`.
    #[must_use]
    pub fn file_name(&self) -> String {
        profile_file_name(&self.source_file_system, &self.target_file_system)
    }

    /// Returns the profile as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# Written by `haul tune`, read by `haul cp`; remove it to have haul decide by itself.\n\
             # A method or a number of jobs is named only if it was significantly faster.\n",
        );
        text += &format!("version = {}\n", self.version);
        text += &format!("cores = {}\n", self.cores);
        for (key, value) in [
            ("haul", &self.haul),
            ("kernel", &self.kernel),
            ("measured", &self.measured),
            ("source_file_system", &self.source_file_system),
            ("target_file_system", &self.target_file_system),
            ("mount_options", &self.mount_options),
            ("device", &self.device),
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
