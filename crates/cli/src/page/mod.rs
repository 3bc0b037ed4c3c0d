//! What an applet says about itself: one page as data, from which `--help` is printed.

mod text;

use crate::getopt::{Opt, Origin, Takes};

/// The description of an applet, in the order of `--help`.
#[derive(Debug)]
pub(crate) struct Page {
    /// The parts.
    pub(crate) blocks: Vec<Block>,
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
    /// The sentence on exit statuses.
    Exit(&'static str),
}

/// An option as a page shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Its letters.
    pub(crate) short: &'static str,
    /// Its name, or nothing.
    pub(crate) long: &'static str,
    /// Whether it has an argument.
    pub(crate) takes: Takes,
    /// Its text; empty for another name of the option before it.
    pub(crate) help: &'static str,
}

impl Page {
    /// Makes a page from its usage lines and what the applet does.
    pub(crate) fn new(text: impl Into<String>) -> Page {
        Page { blocks: vec![Block::Text(text.into())] }
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
            takes: option.takes,
            help: option.help,
        });
        self.blocks.push(Block::Options(shown.collect()));
        self
    }

    /// Adds the exit statuses.
    pub(crate) fn exit(mut self, text: &'static str) -> Page {
        self.blocks.push(Block::Exit(text));
        self
    }

    /// Returns all options.
    pub(crate) fn all_options(&self) -> impl Iterator<Item = &Shown> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Options(options) => options.as_slice(),
            Block::Text(_) | Block::Heading(_) | Block::Exit(_) => &[],
        })
    }
}
