//! What an applet says about itself: one page as data, from which `--help`, the manual
//! and completions are made.

mod bash;
mod fish;
mod fold;
mod manual;
mod text;
mod zsh;

use crate::getopt::{AsDefault, Opt, Origin, Takes, Values};

pub(crate) use bash::bash;
pub(crate) use fish::fish;
pub(crate) use manual::{of_command, of_haul};
pub(crate) use zsh::zsh;

/// The description of an applet, in the order of `--help`.
#[derive(Debug)]
pub(crate) struct Page {
    /// The parts.
    pub(crate) blocks: Vec<Block>,
    /// What an operand can be.
    pub(crate) operand: Argument,
    /// Operands of the form KEY=VALUE.
    pub(crate) keys: Vec<(&'static str, Argument)>,
    /// The options that most people use, by their long names, with a few words each: those of the short page.
    common: &'static [(&'static str, &'static str)],
}

/// A page and what the table of commands says about it.
#[derive(Debug)]
pub(crate) struct Topic {
    /// The command's name.
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) summary: &'static str,
    /// Whether its usage lines begin with its own name, not with haul's.
    pub(crate) drop_in: bool,
    /// The page.
    pub(crate) page: Page,
}

/// What the value of an option, or an operand, can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// There is none.
    None,
    /// Any text.
    Free,
    Files,
    Directories,
    /// The name of a program.
    Command,
    /// One of these.
    Words(Vec<&'static str>),
    /// Several of these, with commas between.
    List(Vec<&'static str>),
}

/// Returns the words that haul itself has in place of a command.
pub(crate) const fn own_words() -> [&'static str; 4] {
    ["help", "--help", "--version", "--list-applets"]
}

/// A part of a page.
#[derive(Debug)]
pub(crate) enum Block {
    /// Paragraphs as they are printed; the first begins with the usage lines.
    Text(String),
    /// The heading of the options behind it, without the colon.
    Heading(&'static str),
    /// Rows of a table of options.
    Options(Vec<Shown>),
    /// Commands to begin with.
    Examples(Vec<Example>),
    /// The sentence on exit statuses.
    Exit(&'static str),
}

/// A command, and what it does.
#[derive(Debug)]
pub(crate) struct Example {
    /// One line for a shell.
    pub(crate) command: String,
    /// What it does, in the imperative.
    pub(crate) purpose: &'static str,
}

/// An option as a page shows it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Its letters.
    pub(crate) short: &'static str,
    /// Its name, or nothing.
    pub(crate) long: &'static str,
    /// Which program has it.
    pub(crate) origin: Origin,
    /// Whether it has an argument.
    pub(crate) takes: Takes,
    /// Its text; empty for another name of the option before it.
    pub(crate) help: &'static str,
    /// What its value can be.
    pub(crate) argument: Argument,
    /// Whether a configuration file may give it.
    pub(crate) as_default: AsDefault,
}

impl Page {
    /// Makes a page from its usage lines and what the applet does.
    pub(crate) fn new(text: impl Into<String>) -> Page {
        Page {
            blocks: vec![Block::Text(text.into())],
            operand: Argument::Files,
            keys: Vec::new(),
            common: &[],
        }
    }

    /// Adds paragraphs.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Page {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds a heading for options.
    pub(crate) fn heading(mut self, text: &'static str) -> Page {
        self.blocks.push(Block::Heading(text));
        self
    }

    /// Adds the options of one origin.
    pub(crate) fn options<I>(mut self, options: &[Opt<I>], origin: Origin) -> Page {
        let shown = options.iter().filter(|option| option.origin == origin).map(|option| Shown {
            short: option.short,
            long: option.long,
            origin: option.origin,
            takes: option.takes,
            help: option.help,
            argument: argument(option.takes, option.values),
            as_default: option.as_default,
        });
        self.blocks.push(Block::Options(shown.collect()));
        self
    }

    /// Adds examples: commands, and what each does.
    pub(crate) fn examples<C: Into<String>>(
        mut self,
        examples: impl IntoIterator<Item = (C, &'static str)>,
    ) -> Page {
        let example = |(command, purpose): (C, _)| Example { command: command.into(), purpose };
        self.blocks.push(Block::Examples(examples.into_iter().map(example).collect()));
        self
    }

    /// Adds the exit statuses.
    pub(crate) fn exit(mut self, text: &'static str) -> Page {
        self.blocks.push(Block::Exit(text));
        self
    }

    /// States what operands can be; without it, they are files.
    pub(crate) fn operand(self, operand: Argument) -> Page {
        Page { operand, ..self }
    }

    /// States the operands of the form KEY=VALUE.
    pub(crate) fn keys(self, keys: Vec<(&'static str, Argument)>) -> Page {
        Page { keys, ..self }
    }

    /// States the options of the short page, by their long names, with at most 50 columns of words each; without it,
    /// there is no short page.
    pub(crate) fn common(self, common: &'static [(&'static str, &'static str)]) -> Page {
        Page { common, ..self }
    }

    /// Returns the short page, which fits a screen of 24 lines, if there is one: how the command is called, the
    /// options that most people use, three examples.
    pub(crate) fn short(&self, name: &str) -> Option<String> {
        (!self.common.is_empty()).then(|| text::short(self, name))
    }

    /// Returns the options that people are shown, and other names of those.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Shown> {
        self.all_options().filter(|option| option.is_visible())
    }

    /// Returns all examples.
    pub(crate) fn all_examples(&self) -> impl Iterator<Item = &Example> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Examples(examples) => examples.as_slice(),
            Block::Text(_) | Block::Heading(_) | Block::Options(_) | Block::Exit(_) => &[],
        })
    }

    /// Returns all options.
    pub(crate) fn all_options(&self) -> impl Iterator<Item = &Shown> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Options(options) => options.as_slice(),
            Block::Text(_) | Block::Heading(_) | Block::Examples(_) | Block::Exit(_) => &[],
        })
    }
}

impl Shown {
    /// Returns whether there is something to show: GNU's options for tests begin with a third dash.
    pub(crate) fn is_visible(&self) -> bool {
        !self.long.starts_with('-')
    }

    /// Returns its help as one line.
    pub(crate) fn words(&self) -> String {
        self.help.replace('\n', " ")
    }

    /// Returns whether its value may be the next word.
    pub(crate) const fn is_required(&self) -> bool {
        matches!(self.takes, Takes::Required(_) | Takes::Command(_))
    }

    /// Returns the name of its value.
    pub(crate) const fn takes_name(&self) -> Option<&'static str> {
        match self.takes {
            Takes::Required(name) | Takes::Optional(name) | Takes::Command(name) => Some(name),
            Takes::Nothing | Takes::Digits => None,
        }
    }
}

fn argument(takes: Takes, values: Values) -> Argument {
    match (takes, values) {
        (Takes::Nothing | Takes::Digits, _) => Argument::None,
        (_, Values::Words(words)) => Argument::Words(words()),
        (_, Values::List(words)) => Argument::List(words()),
        (Takes::Command(_), Values::Named) => Argument::Command,
        (Takes::Required(name) | Takes::Optional(name), Values::Named) => match name {
            "FILE" | "ARCHIVE" => Argument::Files,
            "DIR" | "DIRECTORY" => Argument::Directories,
            _ => Argument::Free,
        },
    }
}
