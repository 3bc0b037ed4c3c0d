//! Statistics against known data.

use haul_bench::stats::{Interval, fences, interval, level_with, median, paired_ratio, quantile};
use haul_manifest::Numbers;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn quantiles_are_those_of_r() {
    // quantile(c(15, 20, 35, 40, 50), c(.05, .3, .4, .5, 1), type = 7)
    let values = [50.0, 15.0, 35.0, 20.0, 40.0];
    for (p, expected) in [(0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (1.0, 50.0)] {
        assert!(near(quantile(&values, p).unwrap(), expected), "{p}");
    }
    assert!(near(median(&[4.0, 1.0, 3.0, 2.0]).unwrap(), 2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn intervals_are_the_same_for_the_same_seed_and_cover_the_median() {
    let values = [1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 1.0];
    let first = interval(&values, median, 3).unwrap();
    assert_eq!(first, interval(&values, median, 3).unwrap());
    assert!(first.contains(1.0) && first.low >= 0.9 && first.high <= 1.2);
    assert_eq!(interval(&[1.0, 2.0, 3.0, 4.0], median, 3), None);
    let same = interval(&[2.0; 5], median, 3).unwrap();
    assert!(near(same.low, 2.0) && near(same.high, 2.0));
}

/// Of a hundred samples of a known distribution, about 95 intervals have to cover its median.
#[test]
fn intervals_cover_what_they_promise() {
    let mut numbers = Numbers::new(11);
    let covered = (0..200)
        .filter(|seed| {
            let values: Vec<f64> =
                (0..15).map(|_| (numbers.next() >> 11) as f64 / (1_u64 << 53) as f64).collect();
            interval(&values, median, *seed).unwrap().contains(0.5)
        })
        .count();
    assert!((178..=200).contains(&covered), "{covered} of 200");
}

#[test]
fn fences_are_tukeys() {
    // Quartiles 2 and 4, so the fences are at -1 and 7.
    let values = [1.0, 2.0, 3.0, 4.0, 5.0];
    let found = fences(&values).unwrap();
    assert!(near(found.low, -1.0) && near(found.high, 7.0));
    assert_eq!(found.outside(&values), 0);
    let values = [1.0, 1.1, 1.0, 1.05, 9.0];
    assert_eq!(fences(&values).unwrap().outside(&values), 1);
    assert!(fences(&[1.0, 2.0, 3.0]).is_none());
}

#[test]
fn ratios_are_made_within_a_round() {
    // The machine becomes ten times slower, and the tool always takes half of the baseline's time.
    let pairs = [(1.0, 2.0), (2.0, 4.0), (10.0, 20.0), (5.0, 10.0), (3.0, 6.0)];
    let ratio = paired_ratio(&pairs, 1).unwrap();
    assert!(near(ratio.median, 0.5) && near(ratio.geometric_mean, 0.5));
    assert_eq!(ratio.rounds, 5);
    let span = ratio.interval.unwrap();
    assert!(near(span.low, 0.5) && near(span.high, 0.5));
    let ratio = paired_ratio(&[(1.0, 2.0), (8.0, 4.0), (1.0, 0.0)], 1).unwrap();
    assert!(near(ratio.geometric_mean, 1.0), "{ratio:?}");
    assert_eq!((ratio.rounds, ratio.interval), (2, None));
    assert_eq!(paired_ratio(&[], 1), None);
}

#[test]
fn a_lead_excludes_one_against_every_other() {
    type Row = (&'static [Option<(f64, f64)>], &'static [usize]);
    let table: &[Row] = &[
        (&[], &[]),
        (&[Some((0.50, 0.60))], &[]),
        (&[Some((0.50, 0.999))], &[]),
        (&[Some((0.50, 1.0))], &[0]),
        (&[Some((0.95, 1.02))], &[0]),
        (&[Some((1.01, 1.02))], &[0]),
        (&[None], &[0]),
        (&[Some((0.5, 0.6)), Some((0.4, 0.5)), Some((0.3, 0.4))], &[]),
        (&[Some((0.8, 0.9)), Some((0.2, 1.3)), Some((0.3, 0.4))], &[1]),
        (&[Some((0.8, 1.1)), Some((0.2, 1.3)), None], &[0, 1, 2]),
    ];
    for (intervals, level) in table {
        let given: Vec<_> =
            intervals.iter().map(|ends| ends.map(|(low, high)| Interval { low, high })).collect();
        assert_eq!(level_with(&given), *level, "{intervals:?}");
    }
}
