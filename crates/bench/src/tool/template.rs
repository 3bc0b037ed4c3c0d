//! Command templates: words with `{source}` and `{target}` in them.
//!
//! A shell costs about a millisecond and hides the tool's resource usage, so a template is split
//! into words here and run directly; only a template that needs a shell gets one, and the report
//! notes it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Characters that are special to a shell outside quotes.
const SHELL_CHARACTERS: &str = "|&;<>()$`*?[]~#!\n";

/// A command with `{source}` and `{target}` in place of paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Words(Vec<String>),
    Shell,
}

/// A command with its paths filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty.
    pub words: Vec<OsString>,
}

/// The error of a text that is not a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// There is no word in it.
    Empty,
    /// A quote is not closed, or a backslash is last.
    Unclosed,
    /// It does not contain `{target}`.
    NoTarget,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemplateError::Empty => "the command is empty",
            TemplateError::Unclosed => "a quote is not closed",
            TemplateError::NoTarget => "the command does not say {target}",
        })
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// There is no word in it, a quote is open, or `{target}` is missing.
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        if !text.contains("{target}") {
            return Err(TemplateError::NoTarget);
        }
        Template::any(text)
    }

    /// Parses a template that may lack a target, such as `true`.
    ///
    /// # Errors
    ///
    /// There is no word in it, or a quote is open.
    pub fn any(text: &str) -> Result<Template, TemplateError> {
        let form = match split(text)? {
            Some(words) if words.is_empty() => return Err(TemplateError::Empty),
            Some(words) => Form::Words(words),
            None => Form::Shell,
        };
        Ok(Template { text: text.to_owned(), form })
    }

    /// Returns the template as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it is run by `sh -c`.
    #[must_use]
    pub fn needs_shell(&self) -> bool {
        self.form == Form::Shell
    }

    /// Returns the program's name, if that is known without a shell.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        match &self.form {
            Form::Words(words) => words.first().map(String::as_str),
            Form::Shell => None,
        }
    }

    /// Fills in the paths, and replaces the first word by `program`.
    #[must_use]
    pub fn command(&self, program: Option<&Path>, source: &Path, target: &Path) -> Command {
        let paths = [("{source}", source), ("{target}", target)];
        let words = match &self.form {
            Form::Shell => {
                let quoted = |path: &Path| quote(path.as_os_str().as_bytes());
                let text =
                    paths.iter().fold(self.text.clone().into_bytes(), |text, (mark, path)| {
                        replace(&text, mark.as_bytes(), &quoted(path))
                    });
                vec!["sh".into(), "-c".into(), OsString::from_vec(text)]
            }
            Form::Words(words) => {
                let fill = |word: &String| {
                    let filled =
                        paths.iter().fold(word.clone().into_bytes(), |text, (mark, path)| {
                            replace(&text, mark.as_bytes(), path.as_os_str().as_bytes())
                        });
                    OsString::from_vec(filled)
                };
                let mut words: Vec<OsString> = words.iter().map(fill).collect();
                if let (Some(first), Some(program)) = (words.first_mut(), program) {
                    program.as_os_str().clone_into(first);
                }
                words
            }
        };
        Command { words }
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Template, TemplateError> {
        Template::any(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.text
    }
}

impl Command {
    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new("true"), OsString::as_os_str)
    }

    /// Returns the arguments.
    #[must_use]
    pub fn arguments(&self) -> &[OsString] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// Splits a text as a shell would; `None` if only a shell can understand it.
fn split(text: &str) -> Result<Option<Vec<String>>, TemplateError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err(TemplateError::Unclosed),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('$' | '`') => return Ok(None),
                        Some('\\') => match characters.next() {
                            Some(inner @ ('"' | '\\' | '$' | '`')) => word.push(inner),
                            Some(inner) => word.extend(['\\', inner]),
                            None => return Err(TemplateError::Unclosed),
                        },
                        Some(inner) => word.push(inner),
                        None => return Err(TemplateError::Unclosed),
                    }
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or(TemplateError::Unclosed)?;
                word.get_or_insert_default().push(escaped);
            }
            other if SHELL_CHARACTERS.contains(other) => return Ok(None),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(Some(words))
}

/// Quotes bytes for a shell.
fn quote(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    quoted.extend(replace(bytes, b"'", br"'\''"));
    quoted.push(b'\'');
    quoted
}

fn replace(text: &[u8], mark: &[u8], by: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(mark) {
            replaced.extend_from_slice(by);
            rest = after;
        } else {
            replaced.push(*first);
            rest = after;
        }
    }
    replaced
}
