//! Where the time of a check went, so that a slow one is not only slow, but explained.

use serde_json::{Map, Value};
use std::ops::{AddAssign, Index, IndexMut};
use std::time::Instant;

/// A part of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Programs of haul.
    Haul,
    /// GNU's tools, also when they set a check up.
    Gnu,
    /// The comparison of the trees.
    Judge,
    /// The removal of what the check has left.
    Tidy,
}

/// Milliseconds of each part, as the clock of the machine says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent([u64; Part::ALL.len()]);

impl Part {
    const ALL: [Self; 4] = [Self::Haul, Self::Gnu, Self::Judge, Self::Tidy];

    fn name(self) -> &'static str {
        match self {
            Self::Haul => "haul",
            Self::Gnu => "GNU",
            Self::Judge => "judge",
            Self::Tidy => "tidy",
        }
    }
}

impl Index<Part> for Spent {
    type Output = u64;

    fn index(&self, part: Part) -> &u64 {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Spent {
    fn index_mut(&mut self, part: Part) -> &mut u64 {
        &mut self.0[part as usize]
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        for part in Part::ALL {
            self[part] += other[part];
        }
    }
}

impl Spent {
    /// Does something, and adds its time to a part.
    pub(super) fn on<T>(&mut self, part: Part, act: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = act();
        self[part] += u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        done
    }

    /// All milliseconds.
    pub(super) fn total(self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns a text like `1200 ms: haul 500, GNU 300, judge 300, tidy 100`.
    pub(super) fn shown(self) -> String {
        let parts = Part::ALL.map(|part| format!("{} {}", part.name(), self[part]));
        format!("{} ms: {}", self.total(), parts.join(", "))
    }

    pub(super) fn value(self) -> Value {
        let parts = Part::ALL.map(|part| (part.name().to_owned(), self[part].into()));
        Map::from_iter(parts).into()
    }

    /// Reads a value; what it does not have took no time.
    pub(super) fn of_value(value: &Value) -> Self {
        let mut spent = Self::default();
        for part in Part::ALL {
            spent[part] = value[part.name()].as_u64().unwrap_or(0);
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_their_value_and_add_up() {
        let mut spent = Spent::default();
        spent[Part::Gnu] = 7;
        spent[Part::Tidy] = 5;
        assert_eq!(Spent::of_value(&spent.value()), spent);
        spent += spent;
        assert_eq!(spent.shown(), "24 ms: haul 0, GNU 14, judge 0, tidy 10");
        assert_eq!(Spent::of_value(&Value::Null), Spent::default());
    }
}
