//! Axes: tick marks and positions of values.

/// A scale from values to positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    kind: Kind,
    /// The values at the ends.
    values: (f64, f64),
    /// Their positions.
    places: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Axis {
    /// Returns a linear axis from 0 to `high`, or slightly more.
    pub(super) fn linear(high: f64, places: (f64, f64)) -> Axis {
        let high = if high > 0.0 { high * 1.04 } else { 1.0 };
        Axis { kind: Kind::Linear, values: (0.0, high), places }
    }

    /// Returns a logarithmic axis from `low` to `high`, which are positive.
    pub(super) fn logarithmic(low: f64, high: f64, places: (f64, f64)) -> Axis {
        let low = low.max(f64::MIN_POSITIVE);
        Axis { kind: Kind::Logarithmic, values: (low, high.max(low * 1.01)), places }
    }

    /// Returns the position of a value; values beyond the ends are at the ends.
    pub(super) fn place(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let value = value.clamp(low, high);
        let share = match self.kind {
            Kind::Linear => (value - low) / (high - low),
            Kind::Logarithmic => libm::log(value / low) / libm::log(high / low),
        };
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// Returns round values to be marked, about `count` of them.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.values;
        match self.kind {
            Kind::Linear => {
                let step = round_step((high - low) / count.max(1) as f64);
                let last = (high / step).floor() as u32;
                (0..=last).map(|index| f64::from(index) * step).collect()
            }
            Kind::Logarithmic => {
                let known = [
                    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0,
                    500.0, 1000.0,
                ];
                let fine = [0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.5];
                let inside = |value: &f64| (low..=high).contains(value);
                let mut ticks: Vec<f64> = known.into_iter().filter(inside).collect();
                if ticks.len() < 3 {
                    ticks.extend(fine.into_iter().filter(inside));
                }
                // 1 is the reference and always marked; the others are kept if there is room.
                ticks.sort_by(|a, b| libm::log(*a).abs().total_cmp(&libm::log(*b).abs()));
                let room = (self.places.1 - self.places.0) / count.max(1) as f64 * 0.6;
                let mut kept: Vec<f64> = Vec::new();
                for tick in ticks {
                    let apart = |other: &f64| (self.place(*other) - self.place(tick)).abs() >= room;
                    if kept.iter().all(apart) {
                        kept.push(tick);
                    }
                }
                kept.sort_by(f64::total_cmp);
                kept
            }
        }
    }
}

/// Returns 1, 2 or 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = libm::exp10(libm::log10(step.max(f64::MIN_POSITIVE)).floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|round| *round >= step * 0.999)
        .unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::linear(0.73, (0.0, 100.0));
        let ticks = axis.ticks(5);
        assert!(ticks.len() >= 4 && ticks.len() <= 8, "{ticks:?}");
        assert!(ticks.iter().all(|tick| *tick <= 0.73 * 1.04));
        let axis = Axis::logarithmic(0.4, 3.0, (0.0, 100.0));
        assert!(axis.ticks(6).contains(&1.0));
        let axis = Axis::logarithmic(0.9, 1.1, (0.0, 100.0));
        assert_eq!(axis.ticks(6), [0.9, 1.0, 1.1]);
    }

    #[test]
    fn values_have_places() {
        let axis = Axis::logarithmic(0.25, 4.0, (10.0, 20.0));
        assert!((axis.place(1.0) - 15.0).abs() < 1e-9);
        assert!((axis.place(100.0) - 20.0).abs() < 1e-9);
        assert!((Axis::linear(0.0, (0.0, 1.0)).place(0.5) - 0.5).abs() < 1e-9);
    }
}
