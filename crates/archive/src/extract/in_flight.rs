//! Names of files that workers may not have finished.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use super::place::fold;

/// Names after which all workers are waited for, so that the memory for them is bounded.
const NAMES_MAX: usize = 8192;

/// Names of files that workers may not have finished, each as 64 bits of a hash: two names that share them
/// cost a needless wait.
#[derive(Default)]
pub(super) struct InFlight {
    state: RandomState,
    names: HashSet<u64>,
    /// The name of the current member in the form that names are compared in, and its hash.
    folded: Vec<u8>,
    hash: u64,
}

impl InFlight {
    /// Returns whether workers have to be waited for before a member of this name is made: one may make a
    /// file of this name, or of a name above it, or there are too many names.
    pub(super) fn must_wait(&mut self, name: &[u8]) -> bool {
        self.folded.clear();
        fold(name, &mut self.folded);
        let mut hasher = self.state.build_hasher();
        let mut is_known = false;
        for component in self.folded.split(|byte| *byte == b'/') {
            hasher.write(component);
            self.hash = hasher.finish();
            is_known |= self.names.contains(&self.hash);
            hasher.write_u8(b'/');
        }
        is_known || self.names.len() >= NAMES_MAX
    }

    /// Adds the name that [`InFlight::must_wait`] was called for last.
    pub(super) fn add(&mut self) {
        self.names.insert(self.hash);
    }

    /// Forgets all names: every worker has finished.
    pub(super) fn clear(&mut self) {
        self.names.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_waits_for_itself_and_for_names_above_it() {
        let mut names = InFlight::default();
        assert!(!names.must_wait(b"a/./B"));
        names.add();
        for (name, waits) in
            [("a/b", true), ("A//b/", true), ("a/b/c/d", true), ("a", false), ("a/bc", false)]
        {
            assert_eq!(names.must_wait(name.as_bytes()), waits, "{name}");
        }
        names.clear();
        assert!(!names.must_wait(b"a/b"));
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let mut names = InFlight::default();
        for number in 0..NAMES_MAX {
            assert!(!names.must_wait(number.to_string().as_bytes()));
            names.add();
        }
        assert!(names.must_wait(b"one more"));
    }
}
