//! The command line of `cargo xtask dist`.

use super::target::{TARGETS, Target};
use crate::error::{Error, Result};

/// What to make.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) targets: Vec<&'static Target>,
    /// Whether each package is installed in a fresh root and tried.
    pub(super) installs: bool,
    /// Whether everything is built a second time elsewhere and compared.
    pub(super) reproduces: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { targets: Vec::new(), installs: false, reproduces: false };
        for argument in arguments {
            match argument.as_str() {
                "--install" => options.installs = true,
                "--reproduce" => options.reproduces = true,
                other if other.starts_with('-') => {
                    return Err(Error::new(format!("there is no option {other:?}"))
                        .hint("cargo xtask dist [--install] [--reproduce] [TARGET…], or cargo xtask dist library|wheel|source"));
                }
                name => options.targets.push(Target::named(name)?),
            }
        }
        if options.targets.is_empty() {
            options.targets.extend(TARGETS.iter().filter(|target| target.is_here()));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn this_machines_packages_are_made_unless_some_are_named() {
        assert!(parse(&[]).unwrap().targets.iter().all(|target| target.is_here()));
        let one = parse(&["aarch64", "--install"]).unwrap();
        assert_eq!((one.targets.len(), one.installs, one.reproduces), (1, true, false));
        assert!(parse(&["--fast"]).unwrap_err().to_string().contains("--reproduce"));
        assert!(parse(&["sparc"]).unwrap_err().to_string().contains("x86_64 and aarch64"));
    }
}
