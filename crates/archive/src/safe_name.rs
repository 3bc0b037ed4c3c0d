//! Which part of a member's name is used: none that leads out of the target directory.

/// A name without its dangerous beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SafeName<'n> {
    /// The beginning that was removed; empty if there was none.
    pub removed: &'n [u8],
    /// What is left; `.` if nothing was.
    pub rest: &'n [u8],
}

/// Removes slashes at the beginning, and everything up to the last `..`, as GNU tar does.
#[must_use]
pub fn safe_name(name: &[u8]) -> SafeName<'_> {
    let mut end = 0;
    let mut at = 0;
    while at < name.len() {
        let rest = name.get(at..).unwrap_or_default();
        if matches!(rest, [b'.', b'.'] | [b'.', b'.', b'/', ..]) {
            end = at + 2;
        }
        at += rest.iter().position(|byte| *byte == b'/').map_or(rest.len(), |slash| slash + 1);
    }
    let (_, rest) = name.split_at(end);
    let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
    let (removed, rest) = name.split_at(end + slashes);
    SafeName { removed, rest: if rest.is_empty() { b"." } else { rest } }
}

/// Returns whether a component is `..`.
#[must_use]
pub fn has_parent(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/').any(|component| component == b"..")
}

/// Removes a number of components from the beginning; `None` if no more are there.
#[must_use]
pub fn strip_components(name: &[u8], count: usize) -> Option<&[u8]> {
    let slashes = name.iter().take_while(|byte| **byte == b'/').count();
    let mut rest = if count == 0 { name } else { name.get(slashes..).unwrap_or_default() };
    for _ in 0..count {
        let slash = rest.iter().position(|byte| *byte == b'/')?;
        rest = rest.get(slash..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
        rest = rest.get(slashes..).unwrap_or_default();
    }
    (!rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_beginnings_are_removed() {
        for (name, removed, rest) in [
            ("a/b", "", "a/b"),
            ("/a", "/", "a"),
            ("//a", "//", "a"),
            ("a/../b", "a/../", "b"),
            ("../../a/..b/c..", "../../", "a/..b/c.."),
            ("..", "..", "."),
            ("a/..", "a/..", "."),
            ("/", "/", "."),
            ("...", "", "..."),
        ] {
            let safe = safe_name(name.as_bytes());
            assert_eq!((safe.removed, safe.rest), (removed.as_bytes(), rest.as_bytes()));
            assert!(!has_parent(safe.rest));
        }
    }

    #[test]
    fn components_are_counted_as_gnu_counts_them() {
        let strip = |name: &'static str, count| strip_components(name.as_bytes(), count);
        assert_eq!(strip("a/b/c", 1), Some(&b"b/c"[..]));
        assert_eq!(strip("a//b", 1), Some(&b"b"[..]));
        assert_eq!(strip("a/", 1), None);
        assert_eq!(strip("a", 1), None);
        assert_eq!(strip("a", 0), Some(&b"a"[..]));
    }
}
