//! What a gentle run (`--gentle`) says at its end: how long its workers rested, and why.

use std::time::Duration;

use haul_io::gentle::{self, Held};
use haul_sys::pressure::Resource;

/// Returns what a command says at its end, if it was held back.
pub(crate) fn told() -> Option<String> {
    gentle::held().filter(|held| !held.time.is_zero()).map(words)
}

fn words(held: Held) -> String {
    let why = match held.resource {
        Some(Resource::Storage) => "others waited for storage",
        Some(Resource::Processors) => "others waited for processors",
        Some(Resource::Memory) => "others waited for memory",
        None => "its requests took longer than before",
    };
    format!("held back: its workers rested for {} s in all, because {why}", seconds(held.time))
}

/// Returns seconds that are not shown as none.
fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64().max(0.01))
}

/// Returns the property of the last JSON line; `None` if the command is not gentle.
pub(crate) fn held_back_ms() -> Option<u64> {
    let held = gentle::held()?;
    Some(u64::try_from(held.time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_time_and_the_reason() {
        let held = Held { time: Duration::from_millis(1234), resource: Some(Resource::Storage) };
        let line =
            "held back: its workers rested for 1.23 s in all, because others waited for storage";
        assert_eq!(words(held), line);
        assert!(words(Held { time: Duration::from_micros(3), resource: None }).contains("0.01 s"));
    }
}
