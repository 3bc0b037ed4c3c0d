//! Where defaults come from: files and the environment, read into names and values with their lines.

use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::escape::quote;
use crate::file_error::describe;
use crate::trusted_file::{self, Found};

/// The file of the whole machine.
const MACHINE: &str = "/etc/haul.toml";

/// The most of a file that is read: a line for each option there is takes a tenth of it.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Where a default is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A line of a file.
    Line(PathBuf, usize),
    /// `HAUL_OPTIONS`.
    Environment,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Line(path, line) => {
                write!(f, "{}, line {line}", quote(path.as_os_str().as_encoded_bytes()))
            }
            Origin::Environment => f.write_str("HAUL_OPTIONS"),
        }
    }
}

/// What a default sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The option is given without a value, or not given.
    Switch(bool),
    Text(String),
}

/// A default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The command of whose section it is; for all commands without one.
    pub(super) command: Option<String>,
    /// The option's name, without dashes.
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// All defaults that were found.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    /// In rising order of precedence.
    pub(super) settings: Vec<Setting>,
    /// A message for each file that is not trusted.
    pub(super) ignored: Vec<String>,
}

impl Defaults {
    pub(super) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.ignored.is_empty()
    }

    fn add_file(&mut self, path: &Path) -> Result<(), String> {
        let shown = quote(path.as_os_str().as_encoded_bytes());
        match trusted_file::read(path, FILE_BYTES_MAX) {
            Ok(Found::Text(text)) => self.settings.extend(of_text(path, &text)?),
            Ok(Found::Untrusted(why)) => {
                self.ignored.push(format!("warning: ignoring the defaults in {shown}: {why}"));
            }
            // HOME may be that of another user (su, sudo), whose folder is not readable.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
                ) => {}
            Err(error) => return Err(format!("cannot read {shown}: {}", describe(&error))),
        }
        Ok(())
    }
}

/// Reads everything.
pub(super) fn all() -> Result<Defaults, String> {
    let mut all = Defaults::default();
    all.add_file(Path::new(MACHINE))?;
    if let Some(path) = user_file() {
        all.add_file(&path)?;
    }
    if let Some(text) = std::env::var_os("HAUL_OPTIONS") {
        all.settings.extend(of_environment(&text)?);
    }
    Ok(all)
}

/// Returns the user's file; see the XDG Base Directory Specification for paths that are relative.
fn user_file() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("haul/config.toml"))
}

/// Returns the number of the line on which a place of a text is, from 1.
fn line_at(text: &str, place: &Range<usize>) -> usize {
    let before = text.as_bytes().get(..place.start).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Reads the text of a file.
pub(super) fn of_text(path: &Path, text: &str) -> Result<Vec<Setting>, String> {
    let at = |place: Range<usize>| Origin::Line(path.to_owned(), line_at(text, &place));
    let document = DeTable::parse(text)
        .map_err(|error| format!("{}: {}", at(error.span().unwrap_or(0..0)), error.message()))?;
    let mut all = Vec::new();
    for (section, value) in document.get_ref() {
        let origin = at(section.span());
        let ("defaults", DeValue::Table(table)) = (section.get_ref().as_ref(), value.get_ref())
        else {
            return Err(format!("{origin}: there is only the section [defaults]"));
        };
        for (name, value) in table {
            let (word, origin) = (name.get_ref().to_string(), at(name.span()));
            if let DeValue::Table(own) = value.get_ref() {
                for (name, value) in own {
                    let command = Some(word.clone());
                    let found = (name.get_ref().to_string(), at(name.span()));
                    all.push(default(command, found, value.get_ref())?);
                }
            } else {
                all.push(default(None, (word, origin), value.get_ref())?);
            }
        }
    }
    Ok(all)
}

fn default(
    command: Option<String>,
    (name, origin): (String, Origin),
    value: &DeValue<'_>,
) -> Result<Setting, String> {
    let value = match value {
        DeValue::Boolean(is_on) => Value::Switch(*is_on),
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Value::Text(number.as_str().to_owned()),
        _ => {
            return Err(format!(
                "{origin}: the value of {} is no text, no whole number, and neither true nor false",
                quote(name.as_bytes())
            ));
        }
    };
    Ok(Setting { command, name, value, origin })
}

/// Reads `HAUL_OPTIONS`: long options with blanks between, and no quotes.
pub(super) fn of_environment(text: &OsString) -> Result<Vec<Setting>, String> {
    let refused = |why: &str| format!("{}: {why}", Origin::Environment);
    let text = text.to_str().ok_or_else(|| refused("the value is not UTF-8"))?;
    let read = |word: &str| {
        let option = word
            .strip_prefix("--")
            .filter(|option| !option.is_empty())
            .ok_or_else(|| refused(&format!("{} is no long option", quote(word.as_bytes()))))?;
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Value::Text(value.to_owned())),
            None => (option, Value::Switch(true)),
        };
        let name = name.to_owned();
        Ok(Setting { command: None, name, value, origin: Origin::Environment })
    };
    text.split_whitespace().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_with_its_lines() {
        let text =
            "# here\n[defaults]\njobs = 4\nprogress = \"never\"\n\n[defaults.cp]\nverify = true\n";
        let read = of_text(Path::new("f"), text).unwrap();
        let shown: Vec<String> = read
            .iter()
            .map(|one| format!("{:?} {} {:?} {}", one.command, one.name, one.value, one.origin))
            .collect();
        assert_eq!(read.len(), 3, "{shown:?}");
        assert!(shown.contains(&"None jobs Text(\"4\") 'f', line 3".to_owned()), "{shown:?}");
        assert!(
            shown.contains(&"Some(\"cp\") verify Switch(true) 'f', line 7".to_owned()),
            "{shown:?}"
        );
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, why) in [
            ("[defaults]\njobs = = 4\n", "'f', line 2: "),
            ("\n[default]\n", "'f', line 2: there is only the section [defaults]"),
            ("[defaults]\njobs = [1]\n", "'f', line 2: the value of 'jobs' is no text"),
            ("[defaults]\njobs = 1.5\n", "'f', line 2: the value"),
        ] {
            let error = of_text(Path::new("f"), text).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn the_environment_has_long_options_alone() {
        let read = |text: &str| of_environment(&OsString::from(text));
        let names: Vec<String> =
            read(" --jobs=2  --stats ").unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["jobs", "stats"]);
        assert!(read("-j").unwrap_err().starts_with("HAUL_OPTIONS: '-j' is no long option"));
        assert!(read("--").is_err());
    }
}
