//! `cat`'s formats: numbers, `$`, `^I`, `M-x`, squeezed blank lines. What a line looks like depends
//! on what came before, also in the file before, so the state continues from file to file.

/// Which formats are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Format {
    pub(super) number: Number,
    pub(super) ends: Shown,
    pub(super) tabs: Shown,
    pub(super) nonprinting: Shown,
    pub(super) blank: Blank,
}

/// Which lines are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Number {
    #[default]
    None,
    All,
    Nonblank,
}

/// Whether something is shown by other characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Shown {
    #[default]
    AsIs,
    Shown,
}

/// What becomes of several empty lines in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Blank {
    #[default]
    Kept,
    Squeezed,
}

/// Formats a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Formatter {
    format: Format,
    place: Place,
    /// A carriage return that may belong to a line's end.
    pending_return: bool,
    lines: u64,
}

/// Where in the stream the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Place {
    /// At the beginning of a line, after a line that was not empty.
    #[default]
    Start,
    InLine,
    /// Behind one empty line.
    Blank,
    /// Behind several.
    Blanks,
}

impl Formatter {
    pub(super) fn new(format: Format) -> Formatter {
        Formatter { format, ..Formatter::default() }
    }

    /// Returns whether bytes go through unchanged.
    pub(super) fn is_idle(&self) -> bool {
        self.format == Format::default()
    }

    /// Formats the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], to: &mut Vec<u8>) {
        let mut left = bytes;
        while let Some(first) = left.first() {
            if *first == b'\n' {
                self.end_line(to);
                left = &left[1..];
                continue;
            }
            let length = left.iter().position(|byte| *byte == b'\n').unwrap_or(left.len());
            let (text, rest) = left.split_at(length);
            left = rest;
            if std::mem::take(&mut self.pending_return) {
                to.push(b'\r');
            }
            if self.place != Place::InLine && self.format.number != Number::None {
                self.number(to);
            }
            self.place = Place::InLine;
            self.text(text, to);
        }
    }

    /// Gives out what waited for more.
    pub(super) fn finish(&mut self, to: &mut Vec<u8>) {
        if std::mem::take(&mut self.pending_return) {
            to.push(b'\r');
        }
    }

    fn end_line(&mut self, to: &mut Vec<u8>) {
        self.place = match self.place {
            Place::InLine => Place::Start,
            Place::Start => Place::Blank,
            Place::Blank | Place::Blanks => Place::Blanks,
        };
        if self.place == Place::Blanks && self.format.blank == Blank::Squeezed {
            return;
        }
        if self.place != Place::Start && self.format.number == Number::All {
            self.number(to);
        }
        if self.format.ends == Shown::Shown {
            if std::mem::take(&mut self.pending_return) {
                to.extend_from_slice(b"^M");
            }
            to.push(b'$');
        }
        to.push(b'\n');
    }

    fn number(&mut self, to: &mut Vec<u8>) {
        self.lines += 1;
        to.extend_from_slice(format!("{:6}\t", self.lines).as_bytes());
    }

    /// Formats a part of a line.
    fn text(&mut self, text: &[u8], to: &mut Vec<u8>) {
        let Format { ends, tabs, nonprinting, .. } = self.format;
        if nonprinting == Shown::Shown {
            text.iter().for_each(|byte| show(*byte, tabs, to));
            return;
        }
        let mut text = text;
        if ends == Shown::Shown
            && let Some((b'\r', before)) = text.split_last()
        {
            self.pending_return = true;
            text = before;
        }
        if tabs == Shown::AsIs {
            to.extend_from_slice(text);
            return;
        }
        for byte in text {
            show_tab(*byte, to);
        }
    }
}

fn show_tab(byte: u8, to: &mut Vec<u8>) {
    if byte == b'\t' {
        to.extend_from_slice(b"^I");
    } else {
        to.push(byte);
    }
}

/// Writes a byte in `^` and `M-` notation.
fn show(byte: u8, tabs: Shown, to: &mut Vec<u8>) {
    let low = byte & 0x7f;
    if byte >= 0x80 {
        to.extend_from_slice(b"M-");
    } else if byte == b'\t' && tabs == Shown::AsIs {
        to.push(byte);
        return;
    }
    match low {
        0x7f => to.extend_from_slice(b"^?"),
        0..0x20 => to.extend_from_slice(&[b'^', low + 64]),
        _ => to.push(low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(format: Format, parts: &[&[u8]]) -> String {
        let mut formatter = Formatter::new(format);
        let mut out = Vec::new();
        parts.iter().for_each(|part| formatter.feed(part, &mut out));
        formatter.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_go_on_over_parts() {
        let all = Format { number: Number::All, ..Format::default() };
        assert_eq!(formatted(all, &[b"a", b"b\n\nc"]), "     1\tab\n     2\t\n     3\tc");
        let nonblank = Format { number: Number::Nonblank, ..Format::default() };
        assert_eq!(formatted(nonblank, &[b"a\n\n\n", b"b\n"]), "     1\ta\n\n\n     2\tb\n");
    }

    #[test]
    fn returns_at_the_end_of_lines_are_shown() {
        let ends = Format { ends: Shown::Shown, ..Format::default() };
        assert_eq!(
            formatted(ends, &[b"a\rb\r\n", b"c\r", b"\n\r", b"d\r"]),
            "a\rb^M$\nc^M$\n\rd\r"
        );
    }

    #[test]
    fn every_byte_is_shown_as_gnu_does() {
        let shown = Format { nonprinting: Shown::Shown, ..Format::default() };
        assert_eq!(
            formatted(shown, &[b"\0\x1f\x7f\x80\x9f\xa0\xfe\xff\t"]),
            "^@^_^?M-^@M-^_M- M-~M-^?\t"
        );
        let tabs = Format { tabs: Shown::Shown, ..shown };
        assert_eq!(formatted(tabs, &[b"\t\x89"]), "^IM-^I");
    }

    #[test]
    fn blank_lines_are_squeezed_over_parts() {
        let squeezed = Format { blank: Blank::Squeezed, ..Format::default() };
        assert_eq!(formatted(squeezed, &[b"\n\n", b"\na\n\n", b"\n\nb"]), "\na\n\nb");
    }
}
