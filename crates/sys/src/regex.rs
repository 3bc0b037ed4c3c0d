//! `regcomp`, `regexec` — the C library's regular expressions:
//! <https://man7.org/linux/man-pages/man3/regcomp.3.html>
//!
//! Expressions of POSIX, with the longest of the leftmost matches and with references back; no library
//! of Rust has both. haul never calls setlocale(3), so expressions and texts are bytes, and `.` is one
//! byte of a character in UTF-8.

use std::ffi::{CStr, CString};
use std::ops::Range;

/// The syntax of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Basic expressions, as in `grep`.
    Basic,
    /// Extended ones, as in `grep -E`.
    Extended,
}

/// Whether letters match those of the other case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They do not.
    Exact,
    /// They do.
    Ignored,
}

/// A compiled expression.
pub struct Regex {
    compiled: Box<libc::regex_t>,
}

// SAFETY: POSIX.1-2017 requires `regexec` to be thread-safe, and nothing else uses the structure
// between `regcomp` and `regfree`; it has no tie to the thread that made it.
unsafe impl Send for Regex {}
// SAFETY: as above.
unsafe impl Sync for Regex {}

impl Regex {
    /// Compiles an expression. Fails with the C library's text for what is wrong.
    pub fn new(expression: &CStr, syntax: Syntax, case: Case) -> Result<Regex, String> {
        let mut flags = 0;
        if syntax == Syntax::Extended {
            flags |= libc::REG_EXTENDED;
        }
        if case == Case::Ignored {
            flags |= libc::REG_ICASE;
        }
        // SAFETY: zeros are a valid value of this plain structure, which `regcomp` fills; the text ends
        // in a NUL. The box is dropped without `regfree` only where nothing was compiled.
        unsafe {
            let mut compiled: Box<libc::regex_t> = Box::new(std::mem::zeroed());
            match libc::regcomp(&raw mut *compiled, expression.as_ptr(), flags) {
                0 => Ok(Regex { compiled }),
                code => Err(error_text(code, &compiled)),
            }
        }
    }

    /// Returns the places of the leftmost longest match in a text and of the first `groups` groups in
    /// it, the match itself first; `None` for a group that took no part. Returns `None` without a match,
    /// and for a text with a NUL.
    #[must_use]
    pub fn find(&self, text: &[u8], groups: usize) -> Option<Vec<Option<Range<usize>>>> {
        let text = CString::new(text).ok()?;
        let none = libc::regmatch_t { rm_so: -1, rm_eo: -1 };
        let mut places = vec![none; groups + 1];
        // SAFETY: the expression is compiled, the text ends in a NUL, and the pointer and the number
        // are those of the vector.
        let code = unsafe {
            libc::regexec(
                &raw const *self.compiled,
                text.as_ptr(),
                places.len(),
                places.as_mut_ptr(),
                0,
            )
        };
        if code != 0 {
            return None;
        }
        let number = |offset: libc::regoff_t| usize::try_from(offset).ok();
        Some(places.iter().map(|place| Some(number(place.rm_so)?..number(place.rm_eo)?)).collect())
    }
}

impl std::fmt::Debug for Regex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Regex").finish_non_exhaustive()
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        // SAFETY: compiled by `regcomp`, and not used any more.
        unsafe { libc::regfree(&raw mut *self.compiled) }
    }
}

fn error_text(code: i32, compiled: &libc::regex_t) -> String {
    let mut text = [0_u8; 256];
    // SAFETY: the pointer and the length are those of the array.
    let _length = unsafe { libc::regerror(code, compiled, text.as_mut_ptr().cast(), text.len()) };
    CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_the_leftmost_matches_is_found() {
        let regex = Regex::new(c"(a|ab)(c|bcd)?", Syntax::Extended, Case::Exact).unwrap();
        let found = regex.find(b"xabcd", 2).unwrap();
        assert_eq!(found, [Some(1..5), Some(1..2), Some(2..5)]);
        assert_eq!(regex.find(b"xab", 2).unwrap(), [Some(1..3), Some(1..3), None]);
        assert!(regex.find(b"xyz", 2).is_none());
        let twice = Regex::new(c"\\(.\\)\\1", Syntax::Basic, Case::Ignored).unwrap();
        assert_eq!(twice.find(b"xaAb\xff", 1).unwrap()[0], Some(1..3));
        assert!(Regex::new(c"\\(", Syntax::Basic, Case::Exact).unwrap_err().contains('('));
    }
}
