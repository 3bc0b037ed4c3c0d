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
    line: LineNumber,
    table: Option<Box<Table>>,
}

/// What each byte becomes, where that depends on no other byte: lines may be as short as a byte, and then
/// looking for their ends would be most of the work.
#[derive(Debug)]
struct Table([([u8; LONGEST], u8); 256]);

/// Bytes that one byte becomes at most, as in `M-^?`.
const LONGEST: usize = 4;

/// Bytes that are looked up before what they became is added.
const CHUNK_BYTES: usize = 4096;

impl Table {
    /// Makes the table of a format; `None` where what is before a byte matters.
    fn new(format: Format) -> Option<Box<Table>> {
        if format.number != Number::None || format.blank != Blank::Kept {
            return None;
        }
        let mut table = Box::new(Table([([0; LONGEST], 0); 256]));
        let mut formatter = Formatter { format, ..Formatter::default() };
        for (byte, (text, length)) in (0..=u8::MAX).zip(&mut table.0) {
            let mut shown = Vec::new();
            formatter.feed(&[byte], &mut shown);
            formatter.finish(&mut shown);
            text[..shown.len()].copy_from_slice(&shown);
            *length = shown.len() as u8;
        }
        Some(table)
    }

    fn look_up(&self, bytes: &[u8], to: &mut Vec<u8>) {
        let mut room = [0; LONGEST * CHUNK_BYTES];
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let mut at = 0;
            for byte in chunk {
                let (text, length) = &self.0[usize::from(*byte)];
                room[at..at + LONGEST].copy_from_slice(text);
                at += usize::from(*length);
            }
            to.extend_from_slice(&room[..at]);
        }
    }
}

/// Digits of the largest number of lines, and the tab behind them.
const NUMBER_BYTES: usize = 20 + 1;

/// Characters of a number at least, with the tab.
const NUMBER_COLUMNS: usize = 6 + 1;

/// The number of a line as it is printed, counted up in place: lines may be as short as a byte, for which
/// the formatting of an integer would be most of the work.
#[derive(Debug)]
struct LineNumber {
    text: [u8; NUMBER_BYTES],
    /// Where the first digit is.
    first: usize,
}

impl Default for LineNumber {
    fn default() -> LineNumber {
        let mut text = [b' '; NUMBER_BYTES];
        text[NUMBER_BYTES - 1] = b'\t';
        LineNumber { text, first: NUMBER_BYTES - 1 }
    }
}

impl LineNumber {
    /// Counts a line, and returns its number with the spaces before it and the tab behind it.
    fn next(&mut self) -> &[u8] {
        let mut at = NUMBER_BYTES - 1;
        loop {
            at -= 1;
            if at < self.first {
                (self.text[at], self.first) = (b'1', at);
                break;
            }
            if self.text[at] < b'9' {
                self.text[at] += 1;
                break;
            }
            self.text[at] = b'0';
        }
        &self.text[self.first.min(NUMBER_BYTES - NUMBER_COLUMNS)..]
    }
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
        Formatter { format, table: Table::new(format), ..Formatter::default() }
    }

    /// Returns whether bytes go through unchanged.
    pub(super) fn is_idle(&self) -> bool {
        self.format == Format::default()
    }

    /// Formats the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], to: &mut Vec<u8>) {
        if let Some(table) = self.table.as_ref().filter(|_| !self.has_returns(bytes)) {
            return table.look_up(bytes, to);
        }
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

    /// Returns whether a carriage return may be shown as a part of a line's end.
    fn has_returns(&self, bytes: &[u8]) -> bool {
        let Format { ends, nonprinting, .. } = self.format;
        let may_be = ends == Shown::Shown && nonprinting == Shown::AsIs;
        may_be && (self.pending_return || bytes.contains(&b'\r'))
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
        to.extend_from_slice(self.line.next());
    }

    /// Formats a part of a line.
    fn text(&mut self, text: &[u8], to: &mut Vec<u8>) {
        let Format { ends, tabs, nonprinting, .. } = self.format;
        if nonprinting == Shown::Shown {
            let is_plain = |byte: u8| match byte {
                b'\t' => tabs == Shown::AsIs,
                byte => (0x20..0x7f).contains(&byte),
            };
            in_runs(text, is_plain, to);
            return;
        }
        let mut text = text;
        if ends == Shown::Shown
            && let Some((b'\r', before)) = text.split_last()
        {
            self.pending_return = true;
            text = before;
        }
        match tabs {
            Shown::AsIs => to.extend_from_slice(text),
            Shown::Shown => in_runs(text, |byte| byte != b'\t', to),
        }
    }
}

/// Copies runs of plain bytes as they are, and shows each of the others.
fn in_runs(text: &[u8], is_plain: impl Fn(u8) -> bool, to: &mut Vec<u8>) {
    let mut left = text;
    loop {
        let plain = left.iter().position(|byte| !is_plain(*byte)).unwrap_or(left.len());
        let (run, rest) = left.split_at(plain);
        to.extend_from_slice(run);
        let Some((odd, behind)) = rest.split_first() else { return };
        show(*odd, to);
        left = behind;
    }
}

/// Writes a byte in `^` and `M-` notation.
fn show(byte: u8, to: &mut Vec<u8>) {
    let low = byte & 0x7f;
    if byte >= 0x80 {
        to.extend_from_slice(b"M-");
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
    fn numbers_grow_to_the_left() {
        let mut number = LineNumber::default();
        for line in 1..=1_000_001 {
            let shown = number.next();
            if !(1002..=999_997).contains(&line) {
                assert_eq!(shown, format!("{line:6}\t").as_bytes());
            }
        }
        let last = LineNumber { text: *b"18446744073709551614\t", first: 0 }.next().to_vec();
        assert_eq!(last, format!("{}\t", u64::MAX).as_bytes());
    }

    proptest::proptest! {
        /// The table and the search for lines are two ways to one result.
        #[test]
        fn looking_up_is_formatting(
            parts in proptest::collection::vec("[a\r\n\t\u{0}\u{7f}é]{0,6}", 1..5),
            shown in proptest::array::uniform3(proptest::bool::ANY),
        ) {
            let of = |is_shown| if is_shown { Shown::Shown } else { Shown::AsIs };
            let [ends, tabs, nonprinting] = shown.map(of);
            let format = Format { ends, tabs, nonprinting, ..Format::default() };
            let (mut one, mut other) = (Formatter::new(format), Formatter::new(format));
            other.table = None;
            let (mut by_table, mut by_lines) = (Vec::new(), Vec::new());
            for part in &parts {
                one.feed(part.as_bytes(), &mut by_table);
                other.feed(part.as_bytes(), &mut by_lines);
            }
            one.finish(&mut by_table);
            other.finish(&mut by_lines);
            proptest::prop_assert_eq!(by_table, by_lines);
        }
    }

    #[test]
    fn a_long_text_is_looked_up_whole() {
        let shown = Format { nonprinting: Shown::Shown, ..Format::default() };
        let text = vec![0xff; CHUNK_BYTES + 1];
        assert_eq!(formatted(shown, &[&text]), "M-^?".repeat(CHUNK_BYTES + 1));
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
