//! Lines as the programs print them: a digest and a name, in one order or the other.

use haul_io::digest::{Algorithm, hex};

use super::base64;
use super::hash::Hashed;
use crate::sum_file::{escaped, needs_escape};

/// How digests are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Hex,
    Base64,
    Raw,
}

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `MD5 (name) = digest`
    Tagged,
    /// `digest  name`, or `digest *name` with the mark for binary files.
    Plain { binary: bool },
}

/// What a line is printed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) algorithm: &'static Algorithm,
    pub(super) spelling: Spelling,
    pub(super) style: Style,
    /// What ends a line: a newline, or NUL.
    pub(super) end: u8,
    /// Whether names were given, and are therefore shown by the oldest sums.
    pub(super) named: bool,
    /// What stands before the digits.
    pub(super) prefix: &'static str,
}

/// Returns a name as it is shown, after a backslash if it had to be escaped.
pub(super) fn shown(name: &[u8]) -> Vec<u8> {
    if needs_escape(name) { [b"\\".as_slice(), &escaped(name)].concat() } else { name.to_vec() }
}

impl Format {
    pub(super) fn line(&self, name: &[u8], hashed: &Hashed) -> Vec<u8> {
        if self.spelling == Spelling::Raw {
            return hashed.digest.clone();
        }
        let mut line = Vec::with_capacity(name.len() + 160);
        if let Some(old) = self.old_sum(hashed) {
            line.extend_from_slice(old.as_bytes());
            if self.named {
                line.push(b' ');
                line.extend_from_slice(name);
            }
            line.push(self.end);
            return line;
        }
        let escapes = self.end == b'\n' && needs_escape(name);
        let name = if escapes { escaped(name) } else { name.to_vec() };
        if escapes {
            line.push(b'\\');
        }
        let digits = match self.spelling {
            Spelling::Base64 => base64::encode(&hashed.digest),
            Spelling::Hex | Spelling::Raw => hex(&hashed.digest).into_bytes(),
        };
        match self.style {
            Style::Tagged => {
                line.extend_from_slice(self.algorithm.tag.as_bytes());
                if hashed.digest.len() < self.algorithm.bytes {
                    line.extend_from_slice(format!("-{}", hashed.digest.len() * 8).as_bytes());
                }
                line.extend_from_slice(b" (");
                line.extend_from_slice(&name);
                line.extend_from_slice(b") = ");
                line.extend_from_slice(&digits);
            }
            Style::Plain { binary } => {
                line.extend_from_slice(self.prefix.as_bytes());
                line.extend_from_slice(&digits);
                line.extend_from_slice(if binary { b" *" } else { b"  " });
                line.extend_from_slice(&name);
            }
        }
        line.push(self.end);
        line
    }

    /// Sums that are numbers, followed by the file's size in their own units.
    fn old_sum(&self, hashed: &Hashed) -> Option<String> {
        let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        let number = || hashed.digest.iter().fold(0, add);
        let bytes = hashed.file_bytes;
        match self.algorithm.name {
            "crc" | "crc32b" => Some(format!("{} {bytes}", number())),
            "bsd" => Some(format!("{:05} {:>5}", number(), bytes.div_ceil(1024))),
            "sysv" => Some(format!("{} {}", number(), bytes.div_ceil(512))),
            _ => None,
        }
    }
}
