//! The options about the correctness of a copy: digests, verification, sources that change.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use haul_engine::request::{Appearance, Hashing, Make, Policy, Resume, Verify, WholeDigest};
use haul_io::Reflink;
use haul_io::digest::{Algorithm, TABLE};

use crate::escape::quote_word;
use crate::getopt::{Usage, choose};
use crate::value::{Dash, file};

/// The values of these options, combined at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    algorithm: Option<&'static Algorithm>,
    verify: bool,
    repair: bool,
    /// Where digests are written.
    pub(crate) sum_file: Option<OsString>,
    /// Whether a journal is kept, and an earlier run resumed.
    pub(crate) resume: bool,
    /// Where it is.
    pub(crate) journal: Option<OsString>,
}

impl Trust {
    /// `--hash`
    pub(crate) fn set_hash(&mut self, name: &OsStr) -> Result<(), Usage> {
        self.algorithm = Some(algorithm("--hash", name)?);
        Ok(())
    }

    /// `--journal`
    pub(crate) fn set_journal(&mut self, name: Option<OsString>) -> Result<(), Usage> {
        self.resume = true;
        self.journal = Some(file("--journal", name, Dash::NoOutput)?);
        Ok(())
    }

    /// `--sum-file`
    pub(crate) fn set_sum_file(&mut self, name: Option<OsString>) -> Result<(), Usage> {
        self.sum_file = Some(file("--sum-file", name, Dash::NoOutput)?);
        Ok(())
    }

    /// `--repair`
    pub(crate) fn repair(&mut self) {
        self.verify = true;
        self.repair = true;
    }

    /// `--verify`
    pub(crate) fn verify(&mut self, name: Option<&OsStr>) -> Result<(), Usage> {
        self.verify = true;
        if let Some(name) = name {
            self.algorithm = Some(algorithm("--verify", name)?);
        }
        Ok(())
    }

    /// Returns the algorithm that was asked for, or the default.
    pub(crate) fn algorithm(&self) -> &'static Algorithm {
        self.algorithm.unwrap_or(&TABLE[0])
    }

    /// Makes a resumable run durable, and refuses options whose result cannot be distinguished from
    /// that of an interrupted run.
    pub(crate) fn settle_resume(
        &self,
        policy: &mut Policy,
        wants_backup: bool,
    ) -> Result<(), Usage> {
        if !self.resume {
            return Ok(());
        }
        if policy.make != Make::Copy {
            let option = match policy.make {
                Make::HardLink => "--link",
                Make::SymbolicLink => "--symbolic-link",
                Make::Copy | Make::Attributes => "--attributes-only",
            };
            return Err(Usage(format!("--resume resumes copying data, and {option} copies none")));
        }
        if wants_backup {
            // A file that had just got its name when the run ended would be backed up again, and
            // take its own backup's place.
            return Err(Usage("options --backup and --resume are mutually exclusive".to_owned()));
        }
        policy.appearance = Appearance::Durable;
        Ok(())
    }

    /// Returns what the request says about resuming.
    pub(crate) fn request(&self) -> Result<Option<Resume>, String> {
        if !self.resume {
            return Ok(None);
        }
        let journal = match &self.journal {
            Some(name) if name.is_empty() => return Err("the journal's name is empty".to_owned()),
            Some(name) => Some(
                CString::new(name.as_bytes()).map_err(|_| "a name holds a NUL byte".to_owned())?,
            ),
            None => None,
        };
        // Where the current directory has no path, its operands are identified by their names alone.
        let here = std::env::current_dir().unwrap_or_default();
        let here = here.into_os_string().into_encoded_bytes();
        Ok(Some(Resume { journal, here }))
    }

    /// Combines the options into the policy.
    pub(crate) fn settle(&self, policy: &mut Policy) -> Result<(), Usage> {
        if !self.verify && self.sum_file.is_none() {
            if self.algorithm.is_some() {
                return Err(Usage("--hash needs --verify or --sum-file".to_owned()));
            }
            return Ok(());
        }
        if policy.data.reflink == Reflink::Always {
            let option = if self.verify { "--verify" } else { "--sum-file" };
            return Err(Usage(format!(
                "{option} hashes every byte that is copied, and --reflink=always copies none"
            )));
        }
        let verify = match (self.verify, self.repair) {
            (false, _) => Verify::No,
            (true, false) => Verify::Compare,
            (true, true) => Verify::Repair,
        };
        let whole = match self.sum_file {
            Some(_) => WholeDigest::Tell,
            None => WholeDigest::No,
        };
        policy.hashing = Some(Hashing { algorithm: self.algorithm(), verify, whole });
        // A file that is not verified gets no name.
        if self.verify && policy.appearance == Appearance::Gradual {
            policy.appearance = Appearance::Whole;
        }
        Ok(())
    }
}

pub(crate) fn algorithm(option: &str, word: &OsStr) -> Result<&'static Algorithm, Usage> {
    if let Some(found) = word.to_str().and_then(Algorithm::find) {
        return Ok(found);
    }
    let names: Vec<(&str, &Algorithm)> = TABLE.iter().map(|of| (of.name, of)).collect();
    choose(option, word, &names)
}

/// Reads the value of `--retry-changed`.
pub(crate) fn retries(word: &OsStr) -> Result<u32, Usage> {
    /// With a pause of 50 ms each this is a minute; a file that changes all that time always does.
    const MOST: u32 = 1000;
    match word.to_str().and_then(|text| text.parse().ok()) {
        Some(count) if count <= MOST => Ok(count),
        _ => Err(Usage(format!(
            "invalid --retry-changed {}: give a number up to {MOST}",
            quote_word(word.as_encoded_bytes())
        ))),
    }
}
