//! Which name a mistyped one probably means.

/// Returns the name that is closest to a word, if it is close enough to be meant: one edit for each
/// three letters. An edit adds, removes or changes a letter, or exchanges two neighbours.
pub(crate) fn closest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// No name is longer; the distance to a long word would take long to compute.
    const LETTERS_MAX: usize = 40;
    let letters = word.chars().count();
    // One letter changes a word of two into many commands, most of which write: `du` is not `dd`.
    if !(3..=LETTERS_MAX).contains(&letters) {
        return None;
    }
    let allowed = letters.div_ceil(3);
    let distances = names.map(|name| (distance(word, name), name));
    let (_, name) =
        distances.filter(|(edits, _)| *edits <= allowed).min_by_key(|(edits, _)| *edits)?;
    Some(name)
}

/// What haul's options are called in other tools: rsync, pv, xcp, zstd, curl.
const OPTIONS_ELSEWHERE: &[(&str, &str)] = &[
    ("threads", "jobs"),
    ("workers", "jobs"),
    ("parallel", "jobs"),
    ("bwlimit", "bandwidth"),
    ("rate-limit", "bandwidth"),
    ("limit-rate", "bandwidth"),
    ("quiet", "progress=never"),
    ("no-progress", "progress=never"),
    ("checksum", "verify"),
    ("direct", "cache=direct"),
    ("nocache", "cache=drop"),
    ("drop-cache", "cache=drop"),
    ("partial", "resume"),
    ("continue", "resume"),
    ("dryrun", "dry-run"),
    ("just-print", "dry-run"),
];

/// What haul's commands are called elsewhere.
const COMMANDS_ELSEWHERE: &[(&str, &str)] = &[
    ("copy", "cp"),
    ("mirror", "sync"),
    ("rsync", "sync"),
    ("move", "mv"),
    ("rename", "mv"),
    ("remove", "rm"),
    ("delete", "rm"),
    ("del", "rm"),
    ("diff", "compare"),
    ("check", "verify"),
    ("benchmark", "bench"),
    ("strace", "trace"),
    ("untar", "tar"),
    ("unzip", "gunzip"),
    ("nocache", "spare"),
    ("man", "manual"),
    ("info", "doctor"),
];

/// Returns the command that is probably meant by a word: what another tool calls it, or the closest name.
pub(crate) fn command<'n>(word: &str, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    match elsewhere(word, COMMANDS_ELSEWHERE) {
        Some(ours) => names.find(|name| *name == ours),
        None => closest(word, names),
    }
}

/// Returns the option that is probably meant, without its dashes, and with a value if only that means the same.
pub(crate) fn option<'n>(word: &str, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    match elsewhere(word, OPTIONS_ELSEWHERE) {
        Some(ours) => {
            let long = ours.split('=').next().unwrap_or(ours);
            names.any(|name| name == long).then_some(ours)
        }
        None => closest(word, names),
    }
}

fn elsewhere(word: &str, table: &[(&str, &'static str)]) -> Option<&'static str> {
    table.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours)
}

/// Returns the number of edits between two words (optimal string alignment).
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, against) in other.iter().enumerate() {
            let changed = at(&last, j) + usize::from(letter != against);
            let mut least = changed.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let is_exchanged = i > 0
                && j > 0
                && one.get(i - 1) == Some(against)
                && other.get(j - 1) == Some(letter);
            if is_exchanged {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (one, other, edits) in [
            ("", "", 0),
            ("cp", "cp", 0),
            ("cpp", "cp", 1),
            ("jbos", "jobs", 1),
            ("jobs", "jobs-of", 3),
            ("verfiy", "verify", 1),
            ("abc", "xyz", 3),
            ("", "abc", 3),
        ] {
            assert_eq!(distance(one, other), edits, "{one} {other}");
            assert_eq!(distance(other, one), edits, "{other} {one}");
        }
    }

    #[test]
    fn only_a_close_name_is_proposed() {
        let names = || ["cp", "mv", "compare", "jobs", "verify"].into_iter();
        assert_eq!(closest("cpp", names()), Some("cp"));
        assert_eq!(closest("compre", names()), Some("compare"));
        assert_eq!(closest("jbos", names()), Some("jobs"));
        for word in ["", "x", "rv", "-v", "fly", "mount", "telepathy", &"a".repeat(10_000)] {
            assert_eq!(closest(word, names()), None, "{word:.20}");
        }
    }

    #[test]
    fn words_of_other_tools_are_known() {
        let names = || ["cp", "compare", "jobs", "progress"].into_iter();
        assert_eq!(command("copy", names()), Some("cp"));
        assert_eq!(command("compre", names()), Some("compare"));
        assert_eq!(command("delete", names()), None, "this one is not there");
        assert_eq!(option("threads", names()), Some("jobs"));
        assert_eq!(option("quiet", names()), Some("progress=never"));
        assert_eq!(option("bwlimit", names()), None);
        assert_eq!(option("jbos", names()), Some("jobs"));
    }
}
