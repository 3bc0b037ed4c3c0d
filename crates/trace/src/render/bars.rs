//! Histograms drawn in Unicode blocks, a power of two to a line.

use super::table::columns;
use crate::report::{Histogram, to_float};

/// The widest bar, in characters: leaves space for edge and count within 72 columns.
const BAR_WIDTH: u64 = 40;

/// Maximum number of consecutive empty buckets; more are drawn as one line with dots.
pub(super) const MOST_EMPTY: usize = 3;

/// Draws a bar for its share of the highest; any value above zero is visible.
pub(super) fn bar(count: u64, highest: u64, width: u64) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if count == 0 || highest == 0 {
        return String::new();
    }
    let share = to_float(count) / to_float(highest);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 1, of a few hundred eighths"
    )]
    let eighths = ((share * to_float(width * 8)).round() as usize).max(1);
    let mut text: String = std::iter::repeat_n('█', eighths / 8).collect();
    if let Some(part) = EIGHTHS.get(eighths % 8).filter(|part| **part != ' ') {
        text.push(*part);
    }
    text
}

/// Returns the part of a histogram from its lowest to its highest non-empty bucket, with edges.
pub(super) fn lines(histogram: &Histogram, edge: fn(u64) -> String) -> Vec<(String, u64)> {
    histogram
        .buckets()
        .skip_while(|bucket| bucket.count == 0)
        .map(|bucket| (edge(bucket.from), bucket.count))
        .collect()
}

/// Draws a histogram under a title.
pub(super) fn histogram(title: &str, histogram: &Histogram, edge: fn(u64) -> String) -> String {
    let lines = lines(histogram, edge);
    let highest = lines.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for run in lines.chunk_by(|one, next| (one.1 == 0) == (next.1 == 0)) {
        if run.len() > MOST_EMPTY && run.iter().all(|(_, count)| *count == 0) {
            rows.push(vec!["⋮".into(), "│".into()]);
            continue;
        }
        rows.extend(run.iter().map(|(edge, count)| match count {
            0 => vec![edge.clone(), "│".into()],
            _ => {
                let bar = bar(*count, highest, BAR_WIDTH);
                vec![edge.clone(), format!("│{bar} {}", super::quantity::count(*count))]
            }
        }));
    }
    format!("  {title}\n{}", columns(&rows, "    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_vanish() {
        assert_eq!(bar(0, 8, 2), "");
        assert_eq!(bar(8, 8, 2), "██");
        assert_eq!(bar(5, 8, 2), "█▎");
        assert_eq!(bar(1, u64::MAX, 2), "▏");
    }
}
