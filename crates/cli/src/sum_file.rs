//! Files of checksums as the ordinary programs write them: GNU's lines, BSD's lines, b3sum's.
//!
//! A sum file comes from elsewhere, so nothing in it is taken for granted: a line that is none is
//! counted and reported, a name is only ever looked up among those that were found.

mod written;

use haul_io::digest::Algorithm;

pub(crate) use written::{OlderLines, SumFile};

/// One line: a name, and what its contents were.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: Vec<u8>,
    pub(crate) digest: Vec<u8>,
    /// Known where the line names it.
    pub(crate) algorithm: Option<&'static Algorithm>,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) lines: Vec<Line>,
    /// Numbers of the lines that are none, from 1.
    pub(crate) wrong: Vec<usize>,
}

/// Reads a file of checksums. Empty lines and comments are passed over.
pub(crate) fn parse(text: &[u8]) -> Sums {
    let mut sums = Sums::default();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match parse_line(line) {
            Some(line) => sums.lines.push(line),
            None => sums.wrong.push(index + 1),
        }
    }
    sums
}

fn parse_line(line: &[u8]) -> Option<Line> {
    // A backslash in front says that the name has escapes.
    let (line, is_escaped) = match line.strip_prefix(b"\\") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let (name, digits, algorithm) = tagged(line).or_else(|| plain(line))?;
    let digits = digits.strip_prefix(b"XXH3_").unwrap_or(digits);
    let name = if is_escaped { unescape(name)? } else { name.to_vec() };
    let digest = from_hex(digits)?;
    (!name.is_empty() && !name.contains(&0)).then_some(Line { name, digest, algorithm })
}

/// `SHA256 (name) = digits`.
fn tagged(line: &[u8]) -> Option<(&[u8], &[u8], Option<&'static Algorithm>)> {
    let open = find(line, b" (")?;
    let tag = std::str::from_utf8(line.get(..open)?).ok()?;
    let algorithm = haul_io::digest::TABLE
        .iter()
        .find(|algorithm| algorithm.tag.eq_ignore_ascii_case(tag))
        .or_else(|| Algorithm::find(tag))?;
    // The name may hold what looks like its end.
    let end = line.windows(4).rposition(|window| window == b") = ")?;
    let name = line.get(open + 2..end)?;
    Some((name, line.get(end + 4..)?, Some(algorithm)))
}

/// `digits  name` or `digits *name`.
fn plain(line: &[u8]) -> Option<(&[u8], &[u8], Option<&'static Algorithm>)> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let (digits, rest) = (line.get(..space)?, line.get(space + 1..)?);
    let name = match rest.first()? {
        b' ' | b'*' => rest.get(1..)?,
        _ => return None,
    };
    Some((name, digits, None))
}

fn find(line: &[u8], what: &[u8]) -> Option<usize> {
    line.windows(what.len()).position(|window| window == what)
}

/// Returns whether a name has to be escaped to stay on its line.
pub(crate) fn needs_escape(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r'))
}

/// Escapes a name as GNU's programs do; its line begins with a backslash then.
pub(crate) fn escaped(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len() + 8);
    for byte in name {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            other => text.push(*other),
        }
    }
    text
}

/// Returns the line of a file whose digest is in digits, as the ordinary programs write it. A name
/// is bytes, and stays the bytes that it is.
pub(crate) fn line(algorithm: &Algorithm, digits: &str, name: &[u8]) -> Vec<u8> {
    let mark = if needs_escape(name) { "\\" } else { "" };
    let start = format!("{mark}{}{digits}  ", algorithm.prefix);
    [start.as_bytes(), &escaped(name), b"\n"].concat()
}

/// Undoes the escapes of a name in a line that begins with a backslash; `None` if it has others.
pub(crate) fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(plain)
}

fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let value =
        |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    digits
        .chunks_exact(2)
        .map(|pair| Some(value(pair.first()?)? << 4 | value(pair.last()?)?))
        .collect()
}

/// Finds out which algorithm the digests of a file are of: from the file's name, unless they have
/// a length that it cannot have; else from their length where only one algorithm has it.
pub(crate) fn guess(file_name: &[u8], digest_bytes: usize) -> Option<&'static Algorithm> {
    const NAMES: &[(&str, &str)] = &[
        ("sha512", "sha512"),
        ("sha384", "sha384"),
        ("sha256", "sha256"),
        ("sha224", "sha224"),
        ("sha1", "sha1"),
        ("md5", "md5"),
        ("blake3", "blake3"),
        ("b3sum", "blake3"),
        ("blake2", "blake2b"),
        ("b2sum", "blake2b"),
        ("xxh128", "xxh3-128"),
        ("xxh3", "xxh3-64"),
        (".b3", "blake3"),
        (".b2", "blake2b"),
    ];
    let name = String::from_utf8_lossy(file_name).to_ascii_lowercase();
    let by_name = NAMES.iter().find(|(part, _)| name.contains(part));
    let named = by_name.and_then(|(_, name)| Algorithm::find(name));
    named.filter(|algorithm| algorithm.start_with(digest_bytes).is_some()).or_else(|| {
        let mut fitting =
            haul_io::digest::TABLE.iter().filter(|algorithm| algorithm.bytes == digest_bytes);
        fitting.next().filter(|_| fitting.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn odd_names_are_escaped_as_gnu_has_it() {
        let md5 = Algorithm::find("md5").expect("md5");
        assert_eq!(line(md5, "ab", b"a b"), b"ab  a b\n");
        assert_eq!(line(md5, "ab", b"a\nb\\\xff"), b"\\ab  a\\nb\\\\\xff\n");
        let xxh3 = Algorithm::find("xxh3").expect("xxh3");
        assert_eq!(line(xxh3, "ab", b"a"), b"XXH3_ab  a\n");
    }

    fn one(line: &str) -> Option<(Vec<u8>, Vec<u8>, Option<&'static str>)> {
        let line = parse_line(line.as_bytes())?;
        Some((line.name, line.digest, line.algorithm.map(|algorithm| algorithm.name)))
    }

    #[test]
    fn lines_of_the_ordinary_programs_are_read() {
        assert_eq!(one("0aff  a b"), Some((b"a b".to_vec(), vec![10, 255], None)));
        assert_eq!(one("0AFF *a"), Some((b"a".to_vec(), vec![10, 255], None)));
        assert_eq!(one("\\00  a\\nb\\\\"), Some((b"a\nb\\".to_vec(), vec![0], None)));
        let tagged = one("SHA256 (a) = (b) = 00ff");
        assert_eq!(tagged, Some((b"a) = (b".to_vec(), vec![0, 255], Some("sha256"))));
        assert_eq!(one("BLAKE3 (x) = 01").map(|line| line.2), Some(Some("blake3")));
        for wrong in ["", "00", "00 a", "0  a", "0g  a", "00  ", "\\00  a\\x", "NONE (a) = 00"] {
            assert_eq!(one(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_algorithm_is_guessed_only_where_it_is_certain() {
        let name = |file: &str, bytes| guess(file.as_bytes(), bytes).map(|found| found.name);
        assert_eq!(name("SHA256SUMS", 32), Some("sha256"));
        assert_eq!(name("tree.b3", 32), Some("blake3"));
        assert_eq!(name("sums", 20), Some("sha1"));
        assert_eq!(name("sums", 32), None);
        assert_eq!(name("sha256-and-more", 64), None);
        assert_eq!(name("md5sums", 20), Some("sha1"));
        assert_eq!(name("tree.b2", 32), Some("blake2b"));
    }

    proptest! {
        // The same cases in every run: what fails in CI fails here.
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(9),
            failure_persistence: None,
            ..ProptestConfig::with_cases(2000)
        })]

        #[test]
        fn anything_may_be_in_a_sum_file(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let sums = parse(&text);
            let lines = text.split(|byte| *byte == b'\n').count();
            prop_assert!(sums.lines.len() + sums.wrong.len() <= lines);
        }

        #[test]
        fn what_looks_like_lines_is_read_without_a_panic(
            text in r"(\\)?([0-9a-f]{0,6}|SHA256|MD5)( [ *(]?)[a-z\\/)= ]{0,12}"
        ) {
            for line in parse(text.as_bytes()).lines {
                prop_assert!(!line.name.is_empty() && !line.digest.is_empty());
            }
        }
    }
}
