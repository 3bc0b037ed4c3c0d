//! Folds texts at the width of a terminal. A text whose lines fit stays as it was written, with its
//! breaks.

/// Columns of `--help`: those of the narrowest usual terminal.
pub(super) const COLUMNS: usize = 80;

/// Folds a text, if one of its lines has more than `columns`.
pub(super) fn fold(text: &str, columns: usize) -> String {
    if text.lines().all(|line| line.chars().count() <= columns) {
        return text.to_owned();
    }
    let (mut folded, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > columns {
            folded.push('\n');
            column = 0;
        } else if column > 0 {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
    }
    if text.ends_with('\n') {
        folded.push('\n');
    }
    folded
}

/// Folds each paragraph of a text: lines that follow one another, are not indented, and are no usage.
pub(super) fn paragraphs(text: &str) -> String {
    let (mut folded, mut paragraph) = (String::new(), String::new());
    for line in text.split_inclusive('\n') {
        if line.starts_with([' ', '\n']) || line.starts_with("Usage:") {
            folded.push_str(&fold(&std::mem::take(&mut paragraph), COLUMNS));
            folded.push_str(line);
        } else {
            paragraph.push_str(line);
        }
    }
    folded + &fold(&paragraph, COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_fit_is_folded() {
        assert_eq!(fold("one two\nthree", 7), "one two\nthree");
        assert_eq!(fold("one two three\nfour\n", 8), "one two\nthree\nfour\n");
        assert_eq!(fold("unbreakable word", 4), "unbreakable\nword");
    }

    #[test]
    fn usage_and_indented_lines_stay() {
        let long = "word ".repeat(20);
        let text = format!("Usage: x {long}\n{long}\n\n  {long}\nshort\nlines\n");
        let folded = paragraphs(&text);
        assert!(folded.starts_with(&format!("Usage: x {long}\nword word")), "{folded}");
        assert!(folded.ends_with(&format!("\n\n  {long}\nshort\nlines\n")), "{folded}");
        assert_eq!(folded.lines().filter(|line| line.len() > COLUMNS).count(), 2);
    }
}
