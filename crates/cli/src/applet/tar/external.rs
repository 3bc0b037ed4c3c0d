//! Formats of compressed archives that other programs read and write.

/// A program, the first bytes of its format, and the endings of names for `-a`.
const PROGRAMS: &[(&str, &[u8], &[&str])] = &[
    ("lzip", b"LZIP", &["lz"]),
    ("lzop", b"\x89LZO", &["lzo", "tzo"]),
    ("compress", b"\x1f\x9d", &["Z", "taZ"]),
];

/// Returns the program whose format data with these first bytes have.
pub(super) fn of_magic(begin: &[u8]) -> Option<&'static str> {
    PROGRAMS.iter().find(|(_, magic, _)| begin.starts_with(magic)).map(|(program, ..)| *program)
}

/// Returns the program that the ending of a file's name stands for.
pub(super) fn of_name(name: &[u8]) -> Option<&'static str> {
    let ending = name.rsplit(|byte| *byte == b'.').next()?;
    let is_it = |known: &&str| ending.len() < name.len() && known.as_bytes() == ending;
    let found = PROGRAMS.iter().find(|(_, _, endings)| endings.iter().any(is_it));
    found.map(|(program, ..)| *program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found() {
        assert_eq!(of_magic(b"LZIP\x01"), Some("lzip"));
        assert_eq!(of_name(b"a.tar.lzo"), Some("lzop"));
        assert_eq!((of_name(b"lz"), of_magic(b"LZ")), (None, None));
    }
}
