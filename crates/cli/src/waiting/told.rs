//! What is told about waiting: a text for people, the properties for programs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::sizes;

/// What a device has done during a run, for this run and for all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceUse {
    pub(crate) name: String,
    /// Time during which it had a request at least.
    pub(crate) busy: Duration,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
}

/// How long a run has waited for its sides until now. A moment counts by the part of the workers that wait for a
/// side, so the waits together are no longer than the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) source: Duration,
    pub(crate) target: Duration,
    /// Waits in calls that read from one side and write to the other.
    pub(crate) both: Duration,
    /// The time in which the workers were looked at.
    pub(crate) seen: Duration,
    /// The devices of both sides, and how long they were looked at.
    pub(crate) devices: Vec<DeviceUse>,
    pub(crate) devices_seen: Duration,
}

impl Waiting {
    /// Returns whether the workers were looked at. A run that was too short, or a kernel that does not tell, has
    /// no waits.
    pub(crate) fn has_waits(&self) -> bool {
        self.seen > Duration::ZERO
    }

    /// Returns what has come since an earlier moment.
    pub(super) fn since(&self, before: &Waiting) -> Waiting {
        let devices = self.devices.iter().map(|device| {
            let earlier = before.devices.iter().find(|other| other.name == device.name);
            let (busy, read, written) = earlier.map_or((Duration::ZERO, 0, 0), |earlier| {
                (earlier.busy, earlier.read_bytes, earlier.written_bytes)
            });
            DeviceUse {
                name: device.name.clone(),
                busy: device.busy.saturating_sub(busy),
                read_bytes: device.read_bytes.saturating_sub(read),
                written_bytes: device.written_bytes.saturating_sub(written),
            }
        });
        Waiting {
            source: self.source.saturating_sub(before.source),
            target: self.target.saturating_sub(before.target),
            both: self.both.saturating_sub(before.both),
            seen: self.seen.saturating_sub(before.seen),
            devices: devices.collect(),
            devices_seen: self.devices_seen.saturating_sub(before.devices_seen),
        }
    }

    /// Returns the lines of `--stats`, each with its end; the columns of a removal have no source.
    pub(crate) fn stats(&self, has_source: bool) -> String {
        let mut text = String::new();
        if self.has_waits() {
            let target = sizes::duration(self.target);
            if has_source {
                let source = sizes::duration(self.source);
                text.push_str(&format!(
                    "waited:  {source} for the source, {target} for the target"
                ));
                if self.both > Duration::ZERO {
                    let both = sizes::duration(self.both);
                    text.push_str(&format!(", {both} for both at once"));
                }
            } else {
                text.push_str(&format!("waited:  {target} for storage"));
            }
            text.push('\n');
        }
        if !self.devices.is_empty() && self.devices_seen > Duration::ZERO {
            let told: Vec<String> =
                self.devices.iter().map(|device| device.words(self.devices_seen)).collect();
            text.push_str(&format!("devices: {}\n", told.join("; ")));
        }
        text
    }

    /// Returns what a line of progress says of the last moments.
    pub(super) fn said(&self, has_source: bool) -> Said {
        let mostly = |wait: Duration| wait > Duration::ZERO && wait * 2 >= self.seen;
        let side = if mostly(self.source + self.target + self.both) {
            match self.source.cmp(&self.target) {
                _ if !has_source => Some("waiting for storage"),
                _ if self.both > self.source.max(self.target) => Some("waiting for both sides"),
                std::cmp::Ordering::Greater => Some("waiting for the source"),
                std::cmp::Ordering::Less => Some("waiting for the target"),
                std::cmp::Ordering::Equal => Some("waiting for both sides"),
            }
        } else {
            None
        };
        let busiest = self.devices.iter().max_by_key(|device| device.busy);
        let device = busiest.filter(|_| self.devices_seen > Duration::ZERO);
        Said { side, device: device.map(|device| device.words(self.devices_seen)) }
    }

    /// Adds the properties of a line of JSON to it.
    pub(crate) fn describe(&self, line: &mut Value) {
        let waited = self.has_waits().then(|| {
            json!({
                "source_seconds": self.source.as_secs_f64(),
                "target_seconds": self.target.as_secs_f64(),
                "both_seconds": self.both.as_secs_f64(),
            })
        });
        let devices = self.devices.iter().map(|device| {
            json!({
                "name": device.name,
                "seconds": self.devices_seen.as_secs_f64(),
                "busy_seconds": device.busy.as_secs_f64(),
                "read_bytes": device.read_bytes,
                "written_bytes": device.written_bytes,
            })
        });
        if let Some(map) = line.as_object_mut() {
            map.insert("waited".to_owned(), waited.unwrap_or(Value::Null));
            map.insert("devices".to_owned(), devices.collect());
        }
    }
}

/// What a line of progress says of waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The side that the run mostly waits for.
    pub(crate) side: Option<&'static str>,
    /// The device that is most busy.
    pub(crate) device: Option<String>,
}

impl Said {
    /// A run that was not looked at.
    pub(crate) const NOTHING: Said = Said { side: None, device: None };
}

impl DeviceUse {
    /// Returns the words about a device in this time: `sda 12 % busy, 9.0 MiB/s read`.
    fn words(&self, time: Duration) -> String {
        // The kernel rounds to its ticks, so a busy device may seem to be busy for longer than it was looked at.
        let busy = 100.0 * self.busy.as_secs_f64() / time.as_secs_f64().max(1e-9);
        let mut text = format!("{} {:.0} % busy", self.name, busy.min(100.0));
        for (bytes, verb) in [(self.read_bytes, "read"), (self.written_bytes, "written")] {
            if bytes > 0 {
                text.push_str(&format!(", {} {verb}", sizes::rate(bytes, time)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(source_s: u64, target_s: u64, both_s: u64, busy_s: u64) -> Waiting {
        let device = DeviceUse {
            name: "sda".to_owned(),
            busy: Duration::from_secs(busy_s),
            read_bytes: 0,
            written_bytes: busy_s << 20,
        };
        Waiting {
            source: Duration::from_secs(source_s),
            target: Duration::from_secs(target_s),
            both: Duration::from_secs(both_s),
            seen: Duration::from_secs(50),
            devices: vec![device],
            devices_seen: Duration::from_secs(50),
        }
    }

    #[test]
    fn the_summary_names_sides_and_devices() {
        let expected = "waited:  3.00 s for the source, 41.00 s for the target\n\
                        devices: sda 12 % busy, 122.9 KiB/s written\n";
        assert_eq!(waiting(3, 41, 0, 6).stats(true), expected);
        let both = waiting(3, 1, 40, 0).stats(true);
        assert!(both.contains(", 40.00 s for both at once\ndevices: sda 0 % busy\n"), "{both}");
        let removal = waiting(0, 7, 0, 6).stats(false);
        assert!(removal.starts_with("waited:  7.00 s for storage\ndevices: sda"), "{removal}");
        assert_eq!(Waiting::default().stats(true), "", "nothing is said that was not looked at");
    }

    #[test]
    fn a_line_names_the_side_that_half_of_the_time_goes_to() {
        for (waits, expected) in [
            (waiting(3, 41, 0, 0), Some("waiting for the target")),
            (waiting(41, 3, 0, 0), Some("waiting for the source")),
            (waiting(0, 0, 41, 0), Some("waiting for both sides")),
            (waiting(5, 5, 5, 0), None),
        ] {
            assert_eq!(waits.said(true).side, expected, "{waits:?}");
        }
        assert_eq!(waiting(0, 41, 0, 0).said(false).side, Some("waiting for storage"));
        assert_eq!(Waiting::default().said(true), Said::NOTHING);
    }

    #[test]
    fn a_part_of_the_time_has_its_part_of_everything() {
        let part = waiting(9, 41, 3, 6).since(&waiting(4, 40, 3, 4));
        assert_eq!((part.source.as_secs(), part.target.as_secs()), (5, 1));
        let device = part.devices.first().unwrap();
        assert_eq!((device.busy.as_secs(), device.written_bytes), (2, 2 << 20));
    }

    #[test]
    fn programs_get_null_for_what_was_not_looked_at() {
        let mut line = json!({});
        Waiting::default().describe(&mut line);
        assert_eq!(line, json!({ "waited": null, "devices": [] }));
        waiting(3, 41, 0, 6).describe(&mut line);
        assert_eq!(
            (&line["waited"]["target_seconds"], &line["devices"][0]["busy_seconds"]),
            (&41.0.into(), &6.0.into())
        );
    }
}
