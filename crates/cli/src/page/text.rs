//! A page as the text of `--help`: options in two columns, in GNU's shape.

use std::fmt::{Display, Formatter, Result};

use super::fold::{COLUMNS, fold, paragraphs};
use super::{Block, Example, Page, Shown};
use crate::getopt::Takes;

impl Display for Page {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for block in &self.blocks {
            match block {
                Block::Text(text) => out.write_str(&paragraphs(text))?,
                Block::Heading(text) => write!(out, "\n{text}:\n")?,
                Block::Options(options) => {
                    options.iter().try_for_each(|option| row(out, option))?;
                }
                Block::Examples(examples) => {
                    out.write_str("\nExamples:\n")?;
                    for Example { command, purpose } in examples {
                        // GNU's test of `cksum --help` takes a word behind two spaces for an algorithm.
                        writeln!(out, "  $ {command}\n      {purpose}")?;
                    }
                }
                Block::Exit(text) => write!(out, "\n{}\n", paragraphs(text))?,
            }
        }
        Ok(())
    }
}

impl Shown {
    /// Returns its names, as `-r, -R, --recursive` or `--reflink[=WHEN]`.
    pub(crate) fn names(&self) -> String {
        let mut names: Vec<String> = self.letters().map(|letter| format!("-{letter}")).collect();
        if !self.long.is_empty() {
            names.push(format!("--{}", self.long));
        }
        let mut text = names.join(", ");
        match self.takes {
            Takes::Required(name) | Takes::Command(name) if !self.long.is_empty() => {
                text.push_str(&format!("={name}"));
            }
            Takes::Optional(name) if !self.long.is_empty() => text.push_str(&format!("[={name}]")),
            _ => {}
        }
        text
    }

    /// Returns its letters.
    pub(crate) fn letters(&self) -> impl Iterator<Item = char> {
        self.short.chars()
    }
}

/// Returns the short page of a command.
pub(super) fn short(page: &Page, name: &str) -> String {
    let usage = page.blocks.iter().find_map(|block| match block {
        Block::Text(text) => text.split("\n\n").next(),
        _ => None,
    });
    let mut text = format!("{}\n\n", usage.unwrap_or_default());
    for (long, words) in page.common {
        if let Some(option) = page.visible().find(|option| option.long == *long) {
            text.push_str(&format!("  {:28}{words}\n", option.names()));
        }
    }
    text.push_str("\nExamples:\n");
    for Example { command, purpose } in page.all_examples().take(3) {
        text.push_str(&format!("  $ {command}\n      {purpose}\n"));
    }
    text.push_str(&format!("\n'haul {name} --help' shows everything.\n"));
    text
}

/// Writes an option, in two columns.
fn row(out: &mut Formatter<'_>, option: &Shown) -> Result {
    const COLUMN: usize = 31;
    let indent = if option.short.is_empty() { "      " } else { "  " };
    let left = format!("{indent}{}", option.names());
    let help = fold(option.help, COLUMNS - COLUMN);
    let mut lines = help.lines();
    if left.len() + 2 > COLUMN {
        writeln!(out, "{left}")?;
    } else {
        writeln!(out, "{left:COLUMN$}{}", lines.next().unwrap_or(""))?;
    }
    lines.try_for_each(|line| writeln!(out, "{:COLUMN$}{line}", ""))
}
