//! What a command line of the GNU family asks for, and GNU's messages for invalid ones.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use haul_io::Cache;
use haul_io::digest::{Algorithm, CHECKSUMS, TABLE};

use super::format::{Format, Spelling, Style};
use crate::ending::CommandError;
use crate::escape::quote_word;
use crate::getopt::{Usage, choose_exactly};

/// Which program is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// One algorithm, named.
    Fixed(&'static str),
    /// `b2sum`
    Blake2,
    /// `cksum`
    Cksum,
    /// `sum`
    Sum,
    /// `haul hash`
    Own,
}

/// The algorithms of `cksum`, in the order of its messages.
pub(super) const CKSUM: [&str; 12] = [
    "bsd", "sysv", "crc", "crc32b", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
    "blake2b", "sm3",
];

/// Why nothing is done.
pub(super) enum Refusal {
    /// The message names `--help`.
    Usage(String),
    /// These messages, and that is it.
    Plain(Vec<String>),
}

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Refusal {
        match error {
            CommandError::Usage(usage) => Refusal::Usage(usage.0),
            CommandError::Plain(text) => Refusal::Plain(vec![text]),
        }
    }
}

/// `--status`, `--warn` and `--quiet`, of which the last wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loudness {
    Usual,
    Status,
    Warn,
    Quiet,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) program: Program,
    pub(super) algorithm: &'static Algorithm,
    /// Whether the algorithm was asked for by name.
    pub(super) specified: bool,
    length: Option<(u64, OsString)>,
    pub(super) spellings: Vec<Spelling>,
    pub(super) tag: Option<bool>,
    pub(super) binary: Option<bool>,
    pub(super) zero: bool,
    pub(super) check: bool,
    pub(super) loudness: Loudness,
    pub(super) strict: bool,
    pub(super) ignore_missing: bool,
    pub(super) debug: bool,
    pub(super) cache: Cache,
    pub(super) jobs: Option<usize>,
}

/// Finds an algorithm, checksums included.
pub(super) fn find(name: &str) -> Option<&'static Algorithm> {
    let checksum = || CHECKSUMS.iter().find(|algorithm| algorithm.name == name);
    Algorithm::find(name).or_else(checksum)
}

/// Returns whether lines do not show the algorithm of their digests.
fn is_unmarked(algorithm: &Algorithm) -> bool {
    CHECKSUMS.iter().any(|checksum| checksum.name == algorithm.name)
}

impl Settings {
    pub(super) fn new(program: Program, algorithm: &'static Algorithm) -> Settings {
        Settings {
            program,
            algorithm,
            specified: false,
            length: None,
            spellings: Vec::new(),
            tag: None,
            binary: None,
            zero: false,
            check: false,
            loudness: Loudness::Usual,
            strict: false,
            ignore_missing: false,
            debug: false,
            cache: Cache::Auto,
            jobs: None,
        }
    }

    pub(super) fn set_algorithm(&mut self, name: &OsStr) -> Result<(), CommandError> {
        self.algorithm = self.named(name)?;
        self.specified = true;
        Ok(())
    }

    pub(super) fn set_length(&mut self, bits: OsString) -> Result<(), CommandError> {
        self.length = Some((length(&bits)?, bits));
        Ok(())
    }

    /// `--untagged`, which ends what `--tag` says about the mode.
    pub(super) fn untag(&mut self) {
        if self.tag == Some(true) {
            self.binary = None;
        }
        self.tag = Some(false);
    }

    fn named(&self, word: &OsStr) -> Result<&'static Algorithm, CommandError> {
        let names: Vec<&'static str> = if self.program == Program::Own {
            if let Some(known) = word.to_str().and_then(Algorithm::find) {
                return Ok(known);
            }
            TABLE.iter().map(|algorithm| algorithm.name).collect()
        } else {
            CKSUM.to_vec()
        };
        let values: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
        let name = choose_exactly("--algorithm", word, &values)?;
        find(name).ok_or_else(|| CommandError::Usage(Usage(format!("{name} is not there"))))
    }

    /// Returns the length of digests in bytes.
    pub(super) fn digest_bytes(&self) -> Result<usize, Refusal> {
        let most = self.algorithm.bytes;
        let Some((bits, text)) = &self.length else { return Ok(most) };
        let refused = |why: String| {
            let first = format!("invalid length: {}", quote_word(text.as_bytes()));
            Err(Refusal::Plain(vec![first, why]))
        };
        let chosen = self.algorithm.length == haul_io::digest::Length::Chosen;
        if *bits > 0 && !chosen {
            let only = "--length is only supported with --algorithm=blake2b";
            return Err(Refusal::Plain(vec![only.to_owned()]));
        }
        if *bits > 8 * most as u64 {
            let tag = quote_word(self.algorithm.tag.as_bytes());
            return refused(format!("maximum digest length for {tag} is {} bits", 8 * most));
        }
        if !bits.is_multiple_of(8) {
            return refused("length is not a multiple of 8".to_owned());
        }
        Ok(if *bits == 0 { most } else { usize::try_from(bits / 8).unwrap_or(most) })
    }

    /// Refuses options that cannot be combined, as GNU does and in its order.
    pub(super) fn validate(&self) -> Result<(), Refusal> {
        if self.check && self.specified && is_unmarked(self.algorithm) {
            let text = "--check is not supported with --algorithm={bsd,sysv,crc,crc32b}";
            return Err(Refusal::Plain(vec![text.to_owned()]));
        }
        let has = |spelling| self.spellings.contains(&spelling);
        if has(Spelling::Base64) && has(Spelling::Raw) {
            return Err(usage("--base64 and --raw are mutually exclusive"));
        }
        if self.is_tagged() && self.binary == Some(false) {
            return Err(usage(if self.program == Program::Cksum {
                "--text mode is only supported with --untagged"
            } else {
                "--tag does not support --text mode"
            }));
        }
        if self.zero && self.check {
            return Err(usage("the --zero option is not supported when verifying checksums"));
        }
        if self.tag == Some(true) && self.check && self.program != Program::Cksum {
            return Err(usage("the --tag option is meaningless when verifying checksums"));
        }
        if self.binary.is_some() && self.check {
            return Err(usage(
                "the --binary and --text options are meaningless when verifying checksums",
            ));
        }
        let only_checking = [
            (self.ignore_missing, "ignore-missing"),
            (self.loudness == Loudness::Status, "status"),
            (self.loudness == Loudness::Warn, "warn"),
            (self.loudness == Loudness::Quiet, "quiet"),
            (self.strict, "strict"),
        ];
        for (given, name) in only_checking {
            if given && !self.check {
                return Err(usage(&format!(
                    "the --{name} option is meaningful only when verifying checksums"
                )));
            }
        }
        Ok(())
    }

    fn is_tagged(&self) -> bool {
        self.tag.unwrap_or(self.program == Program::Cksum)
    }

    pub(super) fn is_raw(&self) -> bool {
        self.spellings.contains(&Spelling::Raw)
    }

    pub(super) fn format(&self, named: bool) -> Format {
        let spelling = self.spellings.last().copied().unwrap_or(Spelling::Hex);
        let binary = self.binary == Some(true);
        Format {
            algorithm: self.algorithm,
            spelling,
            style: if self.is_tagged() { Style::Tagged } else { Style::Plain { binary } },
            end: if self.zero { 0 } else { b'\n' },
            named,
            prefix: if spelling == Spelling::Hex { self.algorithm.prefix } else { "" },
        }
    }

    /// Returns what lines of a check file may be of: with a tag, and without one.
    pub(super) fn checkable(&self) -> (Vec<&'static Algorithm>, Option<&'static Algorithm>) {
        match self.program {
            Program::Own => (TABLE.iter().collect(), Some(self.algorithm)),
            Program::Cksum if !self.specified => {
                let tags = CKSUM.iter().filter_map(|name| Algorithm::find(name)).collect();
                (tags, None)
            }
            Program::Cksum | Program::Blake2 | Program::Fixed(_) | Program::Sum => {
                (vec![self.algorithm], Some(self.algorithm))
            }
        }
    }
}

fn usage(text: &str) -> Refusal {
    Refusal::Usage(text.to_owned())
}

/// Reads a length in bits; a length that is too large is refused later, with the maximum.
fn length(word: &OsStr) -> Result<u64, CommandError> {
    let text = word.to_str().unwrap_or_default().trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let shown = quote_word(word.as_bytes());
        return Err(CommandError::Plain(format!("invalid length: {shown}")));
    }
    Ok(digits.parse().unwrap_or(u64::MAX))
}
