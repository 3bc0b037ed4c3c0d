//! One line of a terminal, drawn over again and again.
//!
//! Several commands may draw on one terminal: the two ends of a pipe, or copies in the background.
//! Each has a row of its own. The cursor always stands in the row of the first one; the others go
//! down from there, draw, and come back, in one write, which the terminal does not interrupt. Who has
//! which row is settled by names of sockets that the kernel takes back when a process ends.

use haul_sys::sync::Mutex;
use std::io::{ErrorKind, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use haul_sys::process::{is_in_foreground, last_words, terminal_columns, terminal_device};

/// The most commands that get a row of their own on one terminal.
const ROWS_MAX: usize = 8;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Columns that are left free: a line that reaches the last one may wrap, and the terminal echoes `^C`
/// behind it.
const FREE_COLUMNS: usize = 3;

/// A line on standard error.
pub(crate) struct Line {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    row: Option<Row>,
    is_drawn: bool,
    /// Whether the line was taken off for good.
    is_over: bool,
}

/// A row below the cursor, from 0.
struct Row {
    number: usize,
    /// Holds the name; `None` where there are no such names.
    _name: Option<UnixDatagram>,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line { state: Mutex::default() }
    }

    /// Draws what `text` returns for the number of columns that it may have.
    pub(crate) fn draw(&self, text: impl FnOnce(usize) -> String) {
        let mut state = self.state.lock();
        if state.is_over {
            return;
        }
        // The terminal is the shell's, or another program's, as long as this one is in the background.
        if !is_in_foreground(std::io::stderr()) {
            state.is_drawn = false;
            return;
        }
        let mut shown = String::new();
        let row = match state.row.take() {
            Some(row) => match lower(&row) {
                Some(lower) => {
                    shown.push_str(&at_row(row.number, ""));
                    last_words(&at_row(lower.number, ""));
                    lower
                }
                None => row,
            },
            None => {
                let row = first_free();
                last_words(&at_row(row.number, ""));
                row
            }
        };
        let columns = terminal_columns(std::io::stderr()).map_or(COLUMNS, usize::from);
        let columns = columns.saturating_sub(FREE_COLUMNS).max(1);
        let text: String = text(columns).chars().take(columns).collect();
        shown.push_str(&at_row(row.number, &text));
        write(&shown);
        *state = State { row: Some(row), is_drawn: true, is_over: false };
    }

    /// Takes the line off the terminal. What another thread is about to draw is not drawn any more.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        if let State { row: Some(row), is_drawn: true, .. } = &*state {
            write(&at_row(row.number, ""));
            last_words("");
        }
        *state = State { is_over: true, ..State::default() };
    }

    /// Writes something else to the terminal, with all lines out of the way. Those of other commands
    /// come back when they are drawn the next time.
    pub(crate) fn aside<T>(&self, other: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        if state.is_drawn {
            write("\r\x1b[J");
            state.is_drawn = false;
        }
        other()
    }
}

/// Writes on standard error. There is nowhere to tell that this failed.
fn write(text: &str) {
    let _nowhere_to_tell = std::io::stderr().write_all(text.as_bytes());
}

/// Returns what replaces a row by a text, see console_codes(4).
fn at_row(row: usize, text: &str) -> String {
    if row == 0 {
        return format!("\r{text}\x1b[K");
    }
    format!("{}\r{text}\x1b[K\x1b[{row}A\r", "\n".repeat(row))
}

/// Takes the first row that no other command has.
fn first_free() -> Row {
    let taken = |number| match claim(number) {
        Claim::Ours(name) => Some(Row { number, _name: Some(name) }),
        Claim::Unknown => Some(Row { number, _name: None }),
        Claim::Taken => None,
    };
    (0..ROWS_MAX).find_map(taken).unwrap_or(Row { number: 0, _name: None })
}

/// Takes the row above, if the command that had it has ended.
fn lower(row: &Row) -> Option<Row> {
    let number = row.number.checked_sub(1)?;
    match claim(number) {
        Claim::Ours(name) => Some(Row { number, _name: Some(name) }),
        Claim::Taken | Claim::Unknown => None,
    }
}

/// What became of the wish for a row.
enum Claim {
    Ours(UnixDatagram),
    Taken,
    Unknown,
}

fn claim(row: usize) -> Claim {
    // Its own number, which /dev/tty has not.
    let Some(terminal) = terminal_device(std::io::stderr()) else { return Claim::Unknown };
    let name = format!("haul-row-{terminal}-{row}");
    match SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name)) {
        Ok(name) => Claim::Ours(name),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Claim::Taken,
        Err(_) => Claim::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_drawn_and_the_cursor_comes_back() {
        assert_eq!(at_row(0, "text"), "\rtext\x1b[K");
        assert_eq!(at_row(2, "text"), "\n\n\rtext\x1b[K\x1b[2A\r");
    }

    #[test]
    fn a_line_that_was_taken_off_is_not_drawn_again() {
        let line = Line::new();
        line.clear();
        line.draw(|_| panic!("drawn after the end"));
        assert!(line.state.lock().row.is_none());
    }
}
