//! A person's answer to a question: one line of standard input, or a signal.
//!
//! The standard library's line readers begin again when a signal interrupts a read, so that a user
//! who presses Ctrl-C at a question would have to answer it first.

use std::io::{BufRead, ErrorKind};

/// Reads a line and tells whether it means yes. No answer is no, and so is a signal that ends the
/// run.
pub(crate) fn is_yes() -> bool {
    let mut stdin = std::io::stdin().lock();
    read_line(&mut stdin, || haul_sys::process::stop_signal().is_some())
        .is_some_and(|first| matches!(first, b'y' | b'Y'))
}

/// Reads to the end of a line; returns its first byte, or `None` where there is no line.
fn read_line(from: &mut impl BufRead, stopped: impl Fn() -> bool) -> Option<u8> {
    let mut first = None;
    loop {
        let bytes = match from.fill_buf() {
            Ok([]) => return first,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted && !stopped() => continue,
            Err(_) => return None,
        };
        first = first.or(bytes.first().copied());
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |at| at + 1);
        from.consume(taken);
        if end.is_some() {
            return first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    #[test]
    fn each_question_gets_its_own_line() {
        let mut lines: &[u8] = b"yes\n\nno\nY";
        let answers: Vec<_> = (0..5).map(|_| read_line(&mut lines, || false)).collect();
        assert_eq!(answers, [Some(b'y'), Some(b'\n'), Some(b'n'), Some(b'Y'), None]);
    }

    struct Interrupted;

    impl Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(ErrorKind::Interrupted.into())
        }
    }

    #[test]
    fn a_signal_that_ends_the_run_ends_the_question() {
        assert_eq!(read_line(&mut BufReader::new(Interrupted), || true), None);
    }
}
