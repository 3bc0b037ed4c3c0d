//! What haul may refuse although other programs read it, and the other way round, each with its reason.

struct Entry {
    target: &'static str,
    /// A part of the message of the program that refuses.
    says: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for readers; a test demands it"))]
    reason: &'static str,
}

/// What haul refuses.
const STRICTER: &[Entry] = &[Entry {
    target: "tar",
    says: "devices are made only with -p or --devices",
    reason: "an archive that another user made should not make a device",
}];

/// What the reference refuses, and haul reads.
const LOOSER: &[Entry] = &[Entry {
    target: "gzip",
    says: "decompression OK, trailing garbage ignored",
    reason: "a warning: the data are complete",
}];

/// Returns whether a refusal is known: each of haul's messages but the last words is in the table.
pub(crate) fn stricter(target: &str, says: &str) -> bool {
    let mut lines = says.lines().filter(|line| !is_closing(line)).peekable();
    lines.peek().is_some() && lines.all(|line| is_in(STRICTER, target, line))
}

/// Returns whether it is known that the reference refuses this.
pub(crate) fn looser(target: &str, reference_says: &str) -> bool {
    reference_says.lines().any(|line| is_in(LOOSER, target, line))
}

fn is_in(table: &[Entry], target: &str, line: &str) -> bool {
    table.iter().any(|entry| entry.target == target && line.contains(entry.says))
}

/// The line that ends the messages of a tar that has failed.
fn is_closing(line: &str) -> bool {
    line.contains("Exiting with failure status") || line.contains("Error is not recoverable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_message_is_not_accepted() {
        assert!(!stricter("tar", "tar: something new\ntar: Error is not recoverable: exiting now"));
        assert!(!stricter("tar", "tar: Error is not recoverable: exiting now"));
        assert!(stricter(
            "tar",
            "tar: a: Cannot mknod: devices are made only with -p or --devices"
        ));
        assert!(looser("gzip", "gzip: x: decompression OK, trailing garbage ignored"));
        assert!(!looser("xz", "gzip: x: decompression OK, trailing garbage ignored"));
    }

    #[test]
    fn each_entry_has_a_reason() {
        for entry in STRICTER.iter().chain(LOOSER) {
            assert!(entry.says.len() > 5 && entry.reason.len() > 10, "{}", entry.says);
        }
    }
}
