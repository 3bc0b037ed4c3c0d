//! Aligned columns: all but the last are right-aligned.

/// Makes a row of fixed cells.
pub(super) fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// Formats a figure; empty if it is zero, so that the others stand out.
pub(super) fn or_blank(value: u64, write: fn(u64) -> String) -> String {
    if value == 0 { String::new() } else { write(value) }
}

/// Formats rows in columns, two spaces apart, each line indented; the last column is not padded.
pub(super) fn columns(rows: &[Vec<String>], indent: &str) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (index, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(index) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = indent.to_owned();
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let is_last = index + 1 == row.len();
            if !is_last {
                let missing = width.saturating_sub(cell.chars().count());
                line.extend(std::iter::repeat_n(' ', missing));
            }
            line.push_str(cell);
            line.push_str(if is_last { "" } else { "  " });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
