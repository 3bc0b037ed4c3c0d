//! gzip's messages, which scripts know: a file's are gathered, and printed together.

use haul_codec::Damage;

use super::codes::Code;
use super::settings::{Settings, Target};

/// The name that messages begin with, also those of `gunzip` and `zcat`.
pub(super) const PROGRAM: &str = "gzip";

/// How many files were done, and how often one failed or there was a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) done: u64,
    pub(super) failures: u64,
    pub(super) warnings: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Counts) {
        self.done += other.done;
        self.failures += other.failures;
        self.warnings += other.warnings;
    }
}

/// What is to be said about one file.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// For standard error.
    pub(super) text: Vec<u8>,
    /// For standard output.
    pub(super) lines: Vec<u8>,
    pub(super) code: Code,
    pub(super) counts: Counts,
    /// Whether nothing more can be done for any file: standard output failed, or a signal came.
    pub(super) is_end: bool,
}

impl Said {
    /// Adds what is to be said about the next file.
    pub(super) fn add(&mut self, next: Said) {
        self.text.extend(next.text);
        self.lines.extend(next.lines);
        self.code = self.code.and(next.code);
        self.counts.add(next.counts);
        self.is_end |= next.is_end;
    }

    /// Adds `gzip: `, a name and a text, as a line.
    fn line(&mut self, before: &str, name: &[u8], text: &str) {
        self.text.extend_from_slice(format!("{before}{PROGRAM}: ").as_bytes());
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(text.as_bytes());
        self.text.push(b'\n');
    }

    /// Counts a file that was done.
    pub(super) fn done(&mut self) {
        self.counts.done += 1;
    }

    /// Lets the exit status say that a file failed.
    pub(super) fn fail(&mut self) {
        self.code = self.code.and(Code::Error);
        self.counts.failures += 1;
    }

    /// Lets the exit status say that something was left out or ignored.
    pub(super) fn caution(&mut self) {
        self.code = self.code.and(Code::Warning);
        self.counts.warnings += 1;
    }

    /// Says that a file failed.
    pub(super) fn error(&mut self, name: &[u8], text: &str) {
        self.line("", name, text);
        self.fail();
    }

    /// Adds what a person has to know about a failure.
    pub(super) fn hint(&mut self, lines: &[String]) {
        lines.iter().for_each(|text| self.line("", b"", text));
    }

    /// Says, behind an empty line, that a file failed: gzip may have printed the beginning of a line.
    pub(super) fn break_off(&mut self, name: &[u8], text: &str) {
        self.line("\n", name, text);
        self.fail();
    }

    /// Warns, unless warnings are unwanted; the exit status shows it in any case.
    pub(super) fn warn(&mut self, settings: &Settings, name: &[u8], text: &str) {
        self.warn_behind("", settings, name, text);
    }

    /// Warns behind an empty line.
    pub(super) fn warn_behind(
        &mut self,
        before: &str,
        settings: &Settings,
        name: &[u8],
        text: &str,
    ) {
        if !settings.is_quiet() {
            self.line(before, name, text);
        }
        self.caution();
    }

    /// Says something that does not change the exit status.
    pub(super) fn note(&mut self, name: &[u8], text: &str) {
        self.line("", name, text);
    }

    /// Adds text as it is.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// Says what is wrong with a compressed file.
    pub(super) fn damage(&mut self, settings: &Settings, name: &[u8], damage: Damage) {
        let invalid = |what: &str| format!(": invalid compressed data--{what}");
        let (has_break, text) = match damage {
            Damage::UnknownFormat => (true, ": not in gzip format".to_owned()),
            Damage::UnexpectedEnd => (true, ": unexpected end of file".to_owned()),
            Damage::Method(method) => {
                (false, format!(": unknown method {method} -- not supported"))
            }
            Damage::Encrypted => (false, " is encrypted -- not supported".to_owned()),
            Damage::Flags(flags) => (false, format!(" has flags {flags:#x} -- not supported")),
            Damage::HeaderChecksum(said, computed) => (
                false,
                format!(": header checksum 0x{said:04x} != computed checksum 0x{computed:04x}"),
            ),
            Damage::NameTooLarge => (true, ": corrupted input -- file name too large".to_owned()),
            Damage::Format => (true, invalid("format violated")),
            Damage::Checksum => (true, invalid("crc error")),
            Damage::Length => (true, invalid("length error")),
            Damage::UnknownCheck(_) => (true, invalid("unknown check")),
            Damage::ZipHeader => (true, ": not a valid zip file".to_owned()),
            Damage::ZipMethod => {
                (true, ": first entry not deflated or stored -- use unzip".to_owned())
            }
            Damage::ZipEncrypted => (true, ": encrypted file -- use unzip".to_owned()),
            Damage::CodeBits(bits) => {
                (true, format!(": compressed with {bits} bits, can only handle 16 bits"))
            }
            Damage::Code if settings.target == Target::Stdout => {
                (true, ": corrupt input.".to_owned())
            }
            Damage::Code => (true, ": corrupt input. Use zcat to recover some data.".to_owned()),
            Damage::CodeLength => {
                let text = ": invalid compressed data -- Huffman code bit length out of range";
                (true, text.to_owned())
            }
            Damage::CodeTable => (true, ": too many leaves in Huffman tree".to_owned()),
            Damage::CodeTableIncomplete => (true, ": too few leaves in Huffman tree".to_owned()),
            Damage::OtherFormat => {
                let text = ": a gzip member before data of pack, compress or lzh is not supported";
                (false, text.to_owned())
            }
            Damage::Memory => (false, ": not enough memory".to_owned()),
            Damage::Lzh => (false, ": lzh data is not supported in this version".to_owned()),
        };
        if has_break { self.break_off(name, &text) } else { self.error(name, &text) }
    }
}

/// Tells whether gzip ends behind a file with this damage: it goes on only where a header is wrong.
pub(super) fn ends_run(damage: Damage) -> bool {
    matches!(
        damage,
        Damage::UnexpectedEnd
            | Damage::Format
            | Damage::Checksum
            | Damage::Length
            | Damage::NameTooLarge
            | Damage::Code
            | Damage::CodeLength
            | Damage::CodeTable
            | Damage::CodeTableIncomplete
    )
}

/// Formats a ratio as gzip does: how much of `whole` was saved.
pub(super) fn ratio(saved: i128, whole: u64) -> String {
    let percent = if whole == 0 { 0.0 } else { 100.0 * saved as f64 / whole as f64 };
    format!("{percent:5.1}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applet::gzip::settings::Task;

    #[test]
    fn ratios_have_gzips_form() {
        assert_eq!(ratio(63, 100), " 63.0%");
        assert_eq!(ratio(-3, 2), "-150.0%");
        assert_eq!(ratio(-20, 0), "  0.0%");
    }

    #[test]
    fn an_error_is_not_reduced_to_a_warning() {
        let settings = Settings::new(Task::Compress, Target::Files);
        let mut said = Said::default();
        said.error(b"a", ": no");
        said.warn(&settings, b"b", ": hm");
        assert_eq!(said.code, Code::Error);
        assert_eq!(said.counts, Counts { done: 0, failures: 1, warnings: 1 });
        assert_eq!(said.text, b"gzip: a: no\ngzip: b: hm\n");
    }
}
