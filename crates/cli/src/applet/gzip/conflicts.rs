//! Which files of a directory must not be done at the same time: where the output of one has the name
//! of another, or of another's output. Done one after the other, in the order of the directory, each
//! finds what the one before left; done at the same time, one could remove what another has just
//! written.

use std::collections::HashMap;

use super::names::{original, shortened, suffix_at};
use super::settings::{Settings, Target, Task};

/// The longest name of most file systems; a longer one is shortened.
const NAME_BYTES_MAX: usize = 255;

/// Returns the places of these names in groups: those of one group are done one after the other.
/// Groups and the places in them are in order.
pub(super) fn groups(settings: &Settings, names: &[&[u8]]) -> Vec<Vec<usize>> {
    let writes = settings.target == Target::Files
        && matches!(settings.task, Task::Compress | Task::Decompress);
    if !writes {
        return (0..names.len()).map(|place| vec![place]).collect();
    }
    // Headers may say any name, and with `-f` that of a file that exists.
    if settings.decompresses() && settings.keeps_name() && settings.force > 0 {
        return Some((0..names.len()).collect())
            .filter(|_| !names.is_empty())
            .into_iter()
            .collect();
    }
    // Each place leads to an earlier one of its group, the first one to itself.
    let mut before: Vec<usize> = (0..names.len()).collect();
    let mut users: HashMap<Vec<u8>, usize> = HashMap::new();
    for (place, name) in names.iter().enumerate() {
        for used in [Some(name.to_vec()), output(settings, name)].into_iter().flatten() {
            let other = *users.entry(used).or_insert(place);
            let (one, other) = (first(&before, place), first(&before, other));
            if let Some(later) = before.get_mut(one.max(other)) {
                *later = one.min(other);
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    for place in 0..names.len() {
        let group = *group_of.entry(first(&before, place)).or_insert(groups.len());
        match groups.get_mut(group) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

fn first(before: &[usize], place: usize) -> usize {
    let mut at = place;
    while let Some(next) = before.get(at).copied().filter(|next| *next != at) {
        at = next;
    }
    at
}

/// Returns the name that the output of a file gets, if it gets one.
fn output(settings: &Settings, name: &[u8]) -> Option<Vec<u8>> {
    if settings.decompresses() {
        return suffix_at(name, &settings.suffix).map(|at| original(name, at));
    }
    let mut output = [name, &settings.suffix].concat();
    while output.len() > NAME_BYTES_MAX {
        output = shortened(&output, &settings.suffix)?;
    }
    Some(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(settings: &Settings, names: &[&str]) -> Vec<Vec<usize>> {
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        groups(settings, &names)
    }

    #[test]
    fn a_file_and_its_output_are_one_group() {
        let compress = Settings::new(Task::Compress, Target::Files);
        let names = ["b", "a.gz", "c.gz", "a", "a.gz.gz"];
        assert_eq!(grouped(&compress, &names), [vec![0], vec![1, 3, 4], vec![2]]);
        let decompress = Settings::new(Task::Decompress, Target::Files);
        let names = ["x.z", "a", "b.gz", "x.gz", "b.tgz", "b.tar", "x"];
        assert_eq!(grouped(&decompress, &names), [vec![0, 3, 6], vec![1], vec![2], vec![4, 5]]);
        assert!(grouped(&decompress, &[]).is_empty());
    }

    #[test]
    fn long_names_that_are_shortened_to_the_same_are_one_group() {
        let compress = Settings::new(Task::Compress, Target::Files);
        let (one, other) = ("n".repeat(254), "n".repeat(253));
        assert_eq!(grouped(&compress, &[&one, "a", &other]), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn what_writes_no_file_has_no_conflicts() {
        let test = Settings::new(Task::Test, Target::Stdout);
        assert_eq!(grouped(&test, &["a", "a.gz"]), [[0], [1]]);
    }
}
