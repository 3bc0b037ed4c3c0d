//! `--color`: marks for a terminal in lines for people, see "ECMA-48 Select Graphic Rendition" of
//! console_codes(4).

use crate::getopt::{Opt, Takes, long};
use crate::output::{Output, can_draw};
use crate::value::{WHEN_VALUES, When};

/// The name of the option, which messages about its value have.
pub(crate) const COLOR: &str = "--color";

/// Makes the row of the option.
pub(crate) const fn color<I: Copy>(id: I) -> Opt<I> {
    long(
        id,
        "color",
        Takes::Optional("WHEN"),
        "use colors: always, never, or auto (default): on a\nterminal, unless NO_COLOR is set",
    )
    .with(WHEN_VALUES)
}

/// Marks parts of a text, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Decides by the option, by the variable `NO_COLOR` (<https://no-color.org>), and by the terminal.
    pub(crate) fn new(when: When, output: &Output) -> Paint {
        let is_unwanted = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_on = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => output.is_live() && can_draw() && !is_unwanted(),
        };
        Paint { is_on }
    }

    /// Marks what stands out: a heading, a name.
    pub(crate) fn bold(self, text: &str) -> String {
        self.mark("1", text)
    }

    /// Marks what is as it should be.
    pub(crate) fn green(self, text: &str) -> String {
        self.mark("32", text)
    }

    /// Marks what is not as it should be.
    pub(crate) fn red(self, text: &str) -> String {
        self.mark("31", text)
    }

    /// Marks what is not known.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.mark("33", text)
    }

    fn mark(self, code: &str, text: &str) -> String {
        if self.is_on { format!("\x1b[{code}m{text}\x1b[m") } else { text.to_owned() }
    }
}
