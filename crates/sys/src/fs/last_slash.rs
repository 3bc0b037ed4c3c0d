//! Paths, taken apart by their text alone.

/// Splits a path behind its last slash: into its directory, with the slash, and its last component. The directory of a
/// plain name is empty, and so is the component behind a slash at the end.
#[must_use]
pub fn split_at_last_slash(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slash_belongs_to_the_directory() {
        for (path, directory, name) in
            [("a//b", "a//", "b"), ("/b", "/", "b"), ("b", "", "b"), ("a/", "a/", ""), ("", "", "")]
        {
            assert_eq!(
                split_at_last_slash(path.as_bytes()),
                (directory.as_bytes(), name.as_bytes())
            );
        }
    }
}
