//! What a gentle run (`--gentle`) says at its end: how long its workers rested, and why.

use haul_io::gentle::{self, Held, NOTICEABLE};
use haul_sys::pressure::Resource;

/// Returns what a command says at its end, if it was held back.
pub(crate) fn told() -> Option<String> {
    gentle::held().and_then(said)
}

fn said(held: Held) -> Option<String> {
    (held.time >= NOTICEABLE).then(|| words(held))
}

fn words(held: Held) -> String {
    let why = match held.resource {
        Some(Resource::Storage) => "others waited for storage",
        Some(Resource::Processors) => "others waited for processors",
        Some(Resource::Memory) => "others waited for memory",
        None => "its requests took longer than before",
    };
    let seconds = held.time.as_secs_f64();
    format!("held back: its workers rested for {seconds:.2} s in all, because {why}")
}

/// Returns the property of the last JSON line; `None` if the command is not gentle.
pub(crate) fn held_back_ms() -> Option<u64> {
    let held = gentle::held()?;
    Some(u64::try_from(held.time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_line_has_the_time_and_the_reason() {
        let held = Held { time: Duration::from_millis(1234), resource: Some(Resource::Storage) };
        let line =
            "held back: its workers rested for 1.23 s in all, because others waited for storage";
        assert_eq!(said(held).as_deref(), Some(line));
    }

    #[test]
    fn nothing_is_said_of_a_rest_that_nobody_notices() {
        let after = |time| said(Held { time, resource: None });
        assert_eq!(after(Duration::ZERO), None);
        assert_eq!(after(NOTICEABLE - Duration::from_nanos(1)), None);
        assert!(after(NOTICEABLE).is_some_and(|line| line.contains("rested for 0.01 s")));
    }
}
