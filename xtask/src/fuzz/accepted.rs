//! What haul may refuse although other programs read it, and the other way round, each with its reason.

use crate::flaw::Flaw;

use super::odd::{
    anything, has_empty_records, has_link_to_nothing, has_reserved_bits, has_split_size,
};

/// What haul refuses and others read.
struct Stricter {
    target: &'static str,
    /// A part of haul's message.
    says: &'static str,
    /// What the input must have.
    input: fn(&[u8]) -> bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for readers; a test demands it"))]
    reason: &'static str,
}

/// A row for a refusal whose message alone says what the input has.
const fn refused(says: &'static str, reason: &'static str) -> Stricter {
    Stricter { target: "tar", says, input: anything, reason }
}

const STRICTER: &[Stricter] = &[
    refused(
        "devices are made only with -p or --devices",
        "an archive that another user made should not make a device",
    ),
    refused(
        "refused: it has two extended headers of one kind",
        "CPython believes the first of two long names, GNU tar and bsdtar the last",
    ),
    refused(
        "refused: its name or link target contains a NUL",
        "some readers cut a long name there, others take all of it, and no program writes one",
    ),
    refused(
        "refused: it has data, which a member of its kind cannot have",
        "GNU tar's extraction takes the data of a link or a directory for headers, other readers skip them",
    ),
    refused(
        "refused: its sparse map is not in a header of GNU tar",
        "CPython and star read a map and what continues it where GNU tar and bsdtar see a plain file",
    ),
    refused(
        "refused: its sparse map and its header have different sizes",
        "by the map GNU tar's extraction finds the next header elsewhere than its listing by the size",
    ),
    refused(
        "refused: its header has an unknown magic",
        "it is the magic that says whether a prefix and the numbers of a device are there",
    ),
    refused(
        "refused: a global extended header has a name, link, size or attribute of members",
        "GNU tar gives it to each member behind it, bsdtar to none",
    ),
    Stricter {
        target: "tar",
        says: "refused: a number in its header is malformed",
        input: has_split_size,
        reason: "CPython and Go refuse the archive; GNU tar and bsdtar stop at the space",
    },
    Stricter {
        target: "tar",
        says: "refused: its extended header is malformed",
        input: has_empty_records,
        reason: "CPython and Go refuse the archive; GNU tar and bsdtar take a NUL for the end of the records",
    },
    Stricter {
        target: "tar",
        says: "refused: its name is empty",
        input: has_link_to_nothing,
        reason: "GNU tar links to the current directory instead, which succeeds for that directory alone",
    },
    Stricter {
        target: "zstd",
        says: "the compressed data is damaged",
        input: has_reserved_bits,
        reason: "libzstd refuses bits that RFC 8878 reserves since 1.5.6; the zstd of the machine is older",
    },
];

/// What a line of the reference's messages is about, when haul reads what it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    /// The reference gives all the same.
    Nothing,
    /// The reference leaves out a member.
    Member,
    /// It follows another message.
    Followed,
}

/// What the reference refuses, and haul reads.
struct Looser {
    target: &'static str,
    /// Parts of the message, all of which it has.
    says: &'static [&'static str],
    cost: Cost,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for readers; a test demands it"))]
    reason: &'static str,
}

/// A row for a number that decides neither a name nor a size: GNU tar reads the member and fails, haul warns.
const fn number(says: &'static [&'static str]) -> Looser {
    Looser {
        target: "tar",
        says,
        cost: Cost::Nothing,
        reason: "a malformed time, owner or mode is a warning: the data are complete",
    }
}

/// A row for the size of a member that has no data: GNU tar leaves the member out, bsdtar and haul read it.
const fn size(says: &'static [&'static str]) -> Looser {
    Looser {
        target: "tar",
        says,
        cost: Cost::Member,
        reason: "the size of a directory, a link or a device means nothing",
    }
}

const fn followed(says: &'static [&'static str]) -> Looser {
    Looser {
        target: "tar",
        says,
        cost: Cost::Followed,
        reason: "it follows another message of GNU tar, and tells of nothing more",
    }
}

const LOOSER: &[Looser] = &[
    Looser {
        target: "gzip",
        says: &["decompression OK, trailing garbage ignored"],
        cost: Cost::Nothing,
        reason: "a warning: the data are complete",
    },
    number(&["where numeric time_t value expected"]),
    number(&["where numeric uid_t value expected"]),
    number(&["where numeric gid_t value expected"]),
    number(&["where numeric mode_t value expected"]),
    number(&["Archive", "value", "is out of time_t range"]),
    number(&["Archive", "value", "is out of uid_t range"]),
    number(&["Archive", "value", "is out of gid_t range"]),
    number(&["Archive", "value", "is out of mode_t range"]),
    size(&["where numeric off_t value expected"]),
    followed(&["Archive contains obsolescent base-64 headers"]),
    followed(&["This does not look like a tar archive"]),
    followed(&["Skipping to next header"]),
];

/// Returns whether a refusal is known: each of haul's messages but warnings and the last words is in the table.
pub(crate) fn stricter(target: &str, input: &[u8], says: &str) -> bool {
    let mut lines = failures(says).peekable();
    lines.peek().is_some()
        && lines.all(|line| is_stricter(target, input, line) || is_consequence(line, says))
}

fn is_stricter(target: &str, input: &[u8], line: &str) -> bool {
    let fits =
        |row: &Stricter| row.target == target && line.contains(row.says) && (row.input)(input);
    STRICTER.iter().any(fits)
}

/// Returns how many members the reference leaves out of what haul gives, if all that it complains of is known.
pub(crate) fn looser(target: &str, reference_says: &str) -> Option<usize> {
    let mut costs = Vec::new();
    for line in failures(reference_says) {
        let fits =
            |row: &&Looser| row.target == target && row.says.iter().all(|part| line.contains(part));
        costs.push(LOOSER.iter().find(fits)?.cost);
    }
    let count = |wanted: Cost| costs.iter().filter(|cost| **cost == wanted).count();
    (count(Cost::Nothing) + count(Cost::Member) > 0).then(|| count(Cost::Member))
}

/// Returns the messages of a program that are about failures.
pub(crate) fn failures(says: &str) -> impl Iterator<Item = &str> {
    says.lines().filter(|line| !line.trim().is_empty() && !is_closing(line) && !is_warning(line))
}

/// The line that ends the messages of a tar that has failed.
fn is_closing(line: &str) -> bool {
    line.contains("Exiting with failure status") || line.contains("Error is not recoverable")
}

/// Parts of the lines of haul and of GNU tar that have no effect on the exit status.
const WARNINGS: &[&str] = &[
    "in its header is malformed, and is not used",
    ": Ignoring unknown extended header keyword",
    ": A lone zero block at ",
    ": Removing leading `",
    ": Removing leading '",
    ": implausibly old time stamp ",
    ": Unknown file type '",
    " s in the future",
];

/// A line of tar that has no effect on its exit status.
fn is_warning(line: &str) -> bool {
    WARNINGS.iter().any(|warning| line.contains(warning))
}

/// Refusals of members whose data some readers skip and others do not: haul skips them, also where no header follows or
/// the archive is cut off in them.
const OF_DATA: &[&str] = &[
    "refused: it has data, which a member of its kind cannot have",
    "refused: its sparse map and its header have different sizes",
];

/// Returns whether a message follows from a refused member: a link lacks the file that it is a name of, or no header is
/// where the member's data end.
fn is_consequence(line: &str, says: &str) -> bool {
    let ends = [": Unexpected EOF in archive", ": Skipping to next header"];
    if ends.iter().any(|end| line.ends_with(end)) {
        return OF_DATA.iter().any(|refusal| says.contains(refusal));
    }
    let target = line
        .split_once(": Cannot hard link to '")
        .and_then(|(_, rest)| rest.strip_suffix("': No such file or directory"));
    target.is_some_and(|name| says.contains(&format!("{name}: refused: ")))
}

impl Flaw {
    /// Makes a finding whose class has the reason that the first refusal, or message, ends with.
    pub(crate) fn with_reason(class: &str, says: &str) -> Self {
        let refusal = says.lines().find(|line| line.contains("refused: "));
        let first = refusal.or(failures(says).next()).unwrap_or_default();
        let reason = first.rsplit(": ").next().unwrap_or_default();
        // Numbers and names would make a class of each input.
        let words: Vec<&str> = reason
            .split_whitespace()
            .filter(|word| word.chars().all(|letter| letter.is_ascii_alphabetic()))
            .collect();
        Self::of_text(format!("{class}: {}", words.join(" ")), says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_message_is_not_accepted() {
        let known = |says| stricter("tar", b"", says);
        assert!(!known("tar: something new\ntar: Error is not recoverable: exiting now"));
        assert!(!known("tar: Error is not recoverable: exiting now"));
        assert!(known("tar: a: Cannot mknod: devices are made only with -p or --devices"));
        assert!(!known("tar: a: a time in its header is malformed, and is not used"));
        assert!(!stricter("zstd", b"noise", "tar: -: Cannot read: the compressed data is damaged"));
        assert!(!known("tar: a: refused: a number in its header is malformed"));
    }

    #[test]
    fn a_link_lacks_for_no_reason_but_a_refused_file() {
        let refused = "tar: ./a: refused: its header has an unknown magic\n";
        let link = "tar: ./b: Cannot hard link to './a': No such file or directory\n";
        assert!(stricter("tar", b"", &[refused, link].concat()));
        assert!(!stricter("tar", b"", link));
        let other = "tar: ./b: Cannot hard link to './c': No such file or directory\n";
        assert!(!stricter("tar", b"", &[refused, other].concat()));
    }

    #[test]
    fn an_archive_ends_early_for_no_reason_but_refused_data() {
        for end in ["tar: Unexpected EOF in archive\n", "tar: Skipping to next header\n"] {
            assert!(!stricter("tar", b"", end));
            for refusal in OF_DATA {
                assert!(stricter("tar", b"", &format!("tar: a/: {refusal}\n{end}")));
            }
        }
    }

    #[test]
    fn what_the_reference_complains_of_is_known_as_a_whole() {
        let gzip = "\ngzip: x: decompression OK, trailing garbage ignored\n";
        assert_eq!(looser("gzip", gzip), Some(0));
        assert_eq!(looser("xz", gzip), None);
        assert_eq!(looser("gzip", &[gzip, "gzip: x: crc error\n"].concat()), None);
        let time = "tar: Archive contains 'x' where numeric time_t value expected\n";
        let size = "tar: Archive contains 'x' where numeric off_t value expected\n";
        let next = "tar: Skipping to next header\n";
        assert_eq!(looser("tar", time), Some(0));
        assert_eq!(looser("tar", &[time, size, next].concat()), Some(1));
        assert_eq!(looser("tar", next), None);
        assert_eq!(looser("tar", "tar: Archive value -1 is out of off_t range 0..7\n"), None);
    }

    #[test]
    fn each_row_has_a_reason() {
        for row in STRICTER {
            assert!(row.says.len() > 5 && row.reason.len() > 10, "{}", row.says);
        }
        for row in LOOSER {
            assert!(!row.says.is_empty() && row.reason.len() > 10, "{:?}", row.says);
        }
    }

    #[test]
    fn a_class_has_the_reason_without_names_and_numbers() {
        let class = |says| Flaw::with_reason("refuses", says).class;
        assert_eq!(
            class("tar: ./a: refused: the size 12 is wrong\nmore"),
            "refuses: the size is wrong"
        );
        assert_eq!(class("tar: a warning\ntar: ./a: refused: why"), "refuses: why");
        assert_eq!(class(""), "refuses: ");
    }
}
