//! Reads options as GNU's `getopt_long` does, with its error messages.
//!
//! Drop-in means that abbreviations, options after operands, `--`, and the messages are those that
//! scripts know; the argument libraries have their own. haul's further options never make a GNU
//! abbreviation ambiguous: theirs count where no name of GNU's begins so.

mod choose;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::suggest;

pub(crate) use choose::{choose, choose_exactly};

/// Whether an option has an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// `-t DIR`, `--name=DIR`, `--name DIR`.
    Required(&'static str),
    /// `--name[=WHEN]`; never the next word.
    Optional(&'static str),
    /// `--name=COMMAND` and `--name COMMAND`: a line for a shell. `--name -- WORD...`: no value, and every
    /// further word is an operand, because the words are a command with options of its own.
    Command(&'static str),
    /// A digit, with the digits that follow it: the `-1000` of old command lines.
    Digits,
}

/// Which program has an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Gnu,
    Haul,
}

/// Whether a configuration file or `HAUL_OPTIONS` may give an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsDefault {
    Allowed,
    /// The option says what one run is for: it makes a run do nothing or less than was asked for, names a
    /// file that the run writes, or takes a protection away. A script that relies on the work of a command
    /// must not meet it by surprise.
    Refused,
}

/// One option of an applet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opt<I> {
    pub(crate) id: I,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    pub(crate) takes: Takes,
    pub(crate) origin: Origin,
    /// Text in `--help`; empty for another name of the previous option.
    pub(crate) help: &'static str,
    /// Which values there are.
    pub(crate) values: Values,
    pub(crate) as_default: AsDefault,
}

/// Which values an option has, for completions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// What the argument's name says: a file for FILE, a directory for DIR or DIRECTORY, else any.
    Named,
    /// One of these words, from the table that the value is read with.
    Words(fn() -> Vec<&'static str>),
    /// Several of these words, separated by commas.
    List(fn() -> Vec<&'static str>),
}

/// Returns the words of a table of values.
pub(crate) fn words_of<V>(table: &[(&'static str, V)]) -> Vec<&'static str> {
    table.iter().map(|(word, _)| *word).collect()
}

impl<I: Copy> Opt<I> {
    /// States which values there are.
    pub(crate) const fn with(self, values: Values) -> Opt<I> {
        Opt { values, ..self }
    }

    /// Returns the same row for a reader that knows it by another name.
    pub(crate) fn known_as<J>(&self, id: J) -> Opt<J> {
        let Opt { short, long, takes, origin, help, values, as_default, .. } = *self;
        Opt { id, short, long, takes, origin, help, values, as_default }
    }

    /// Lets configuration files and `HAUL_OPTIONS` give it.
    pub(crate) const fn or_default(self) -> Opt<I> {
        Opt { as_default: AsDefault::Allowed, ..self }
    }
}

/// Makes an option that GNU's program has, or an option of a program of our own.
pub(crate) const fn opt<I>(
    id: I,
    (short, long): (&'static str, &'static str),
    takes: Takes,
    help: &'static str,
) -> Opt<I> {
    let (origin, values, as_default) = (Origin::Gnu, Values::Named, AsDefault::Refused);
    Opt { id, short, long, takes, origin, help, values, as_default }
}

/// Makes such an option that has no letter.
pub(crate) const fn long<I>(id: I, long: &'static str, takes: Takes, help: &'static str) -> Opt<I> {
    opt(id, ("", long), takes, help)
}

/// Makes an option that only haul has: it never makes an abbreviation of GNU's ambiguous. It is no
/// default unless [`Opt::or_default`] says so.
pub(crate) const fn own<I>(id: I, long: &'static str, takes: Takes, help: &'static str) -> Opt<I> {
    let (short, origin, values, as_default) = ("", Origin::Haul, Values::Named, AsDefault::Refused);
    Opt { id, short, long, takes, origin, help, values, as_default }
}

/// A word of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word<I> {
    Option { id: I, value: Option<OsString> },
    Operand(OsString),
}

/// Why a command line is invalid: the message, without the program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage(pub(crate) String);

/// Where options may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Anywhere,
    /// Before the first operand: the rest belongs to another command.
    First,
}

/// Reads the program's arguments.
pub(crate) fn parse<I: Copy>(
    arguments: &[OsString],
    options: &[Opt<I>],
) -> Result<Vec<Word<I>>, Usage> {
    let is_posix = std::env::var_os("POSIXLY_CORRECT").is_some();
    parse_in(if is_posix { Order::First } else { Order::Anywhere }, arguments, options)
}

/// Reads the program's arguments, where options may follow operands whatever the environment says.
pub(crate) fn parse_anywhere<I: Copy>(
    arguments: &[OsString],
    options: &[Opt<I>],
) -> Result<Vec<Word<I>>, Usage> {
    parse_in(Order::Anywhere, arguments, options)
}

/// Reads the program's arguments, where the first operand is a command with options of
/// its own.
pub(crate) fn parse_before_command<I: Copy>(
    arguments: &[OsString],
    options: &[Opt<I>],
) -> Result<Vec<Word<I>>, Usage> {
    parse_in(Order::First, arguments, options)
}

#[cfg(test)]
thread_local! {
    /// The letters, name and help of every option that this thread offered to the parser first.
    pub(crate) static PARSED: std::cell::RefCell<Vec<(&'static str, &'static str, &'static str)>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

fn parse_in<I: Copy>(
    order: Order,
    arguments: &[OsString],
    options: &[Opt<I>],
) -> Result<Vec<Word<I>>, Usage> {
    #[cfg(test)]
    PARSED.with_borrow_mut(|parsed| {
        // `sum` also tries the options of another command, for its message.
        if parsed.is_empty() {
            parsed.extend(options.iter().map(|option| (option.short, option.long, option.help)));
        }
    });
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    let mut only_operands = false;
    while let Some(argument) = rest.next() {
        let bytes = argument.as_bytes();
        if only_operands || bytes == b"-" || !bytes.starts_with(b"-") {
            words.push(Word::Operand(argument.clone()));
            only_operands |= order == Order::First;
        } else if bytes == b"--" {
            only_operands = true;
        } else if let Some(long) = bytes.strip_prefix(b"--") {
            words.push(long_option(long, &mut rest, options, &mut only_operands)?);
        } else {
            short_options(bytes.get(1..).unwrap_or(b""), &mut rest, options, &mut words)?;
        }
    }
    Ok(words)
}

fn long_option<'a, I: Copy>(
    text: &[u8],
    rest: &mut impl Iterator<Item = &'a OsString>,
    options: &[Opt<I>],
    only_operands: &mut bool,
) -> Result<Word<I>, Usage> {
    let (name, value) = match text.iter().position(|byte| *byte == b'=') {
        Some(at) => (text.get(..at).unwrap_or(b""), text.get(at + 1..)),
        None => (text, None),
    };
    let option = find_long(name, text, options)?;
    let value = value.map(|value| OsString::from_vec(value.to_vec()));
    let value = match (option.takes, value) {
        (Takes::Nothing, Some(_)) => {
            return Err(Usage(format!("option '--{}' doesn't allow an argument", option.long)));
        }
        (takes @ (Takes::Required(_) | Takes::Command(_)), None) => match rest.next() {
            Some(next) if matches!(takes, Takes::Command(_)) && next == "--" => {
                *only_operands = true;
                None
            }
            Some(next) => Some(next.clone()),
            None => return Err(Usage(format!("option '--{}' requires an argument", option.long))),
        },
        (_, value) => value,
    };
    Ok(Word::Option { id: option.id, value })
}

fn find_long<'o, I: Copy>(
    name: &[u8],
    text: &[u8],
    options: &'o [Opt<I>],
) -> Result<&'o Opt<I>, Usage> {
    if let Some(exact) = options.iter().find(|option| option.long.as_bytes() == name) {
        return Ok(exact);
    }
    let of = |origin: Origin| -> Vec<&'o Opt<I>> {
        let begins = |option: &&Opt<I>| {
            option.origin == origin
                && !option.long.is_empty()
                && option.long.as_bytes().starts_with(name)
        };
        options.iter().filter(begins).collect()
    };
    let mut candidates = of(Origin::Gnu);
    if candidates.is_empty() {
        candidates = of(Origin::Haul);
    }
    match candidates.as_slice() {
        [] => Err(unrecognized(name, text, options)),
        [one] => Ok(one),
        several => {
            let names: String =
                several.iter().map(|option| format!(" '--{}'", option.long)).collect();
            Err(Usage(format!(
                "option '--{}' is ambiguous; possibilities:{names}",
                String::from_utf8_lossy(text)
            )))
        }
    }
}

/// Returns GNU's message, with a further line if another name is probably meant.
fn unrecognized<I>(name: &[u8], text: &[u8], options: &[Opt<I>]) -> Usage {
    let mut message = format!("unrecognized option '--{}'", String::from_utf8_lossy(text));
    // An option without help is another name, or not meant for people.
    let names = options.iter().filter(|option| !option.help.is_empty()).map(|option| option.long);
    let meant = std::str::from_utf8(name).ok().and_then(|name| suggest::option(name, names));
    if let Some(meant) = meant {
        message.push_str(&format!("\nDid you mean '--{meant}'?"));
    }
    Usage(message)
}

fn short_options<'a, I: Copy>(
    cluster: &[u8],
    rest: &mut impl Iterator<Item = &'a OsString>,
    options: &[Opt<I>],
    words: &mut Vec<Word<I>>,
) -> Result<(), Usage> {
    let mut left = cluster;
    while let Some((letter, behind)) = left.split_first() {
        let shown = String::from_utf8_lossy(std::slice::from_ref(letter)).into_owned();
        let option = options
            .iter()
            .find(|option| option.short.as_bytes().contains(letter))
            .ok_or_else(|| Usage(format!("invalid option -- '{shown}'")))?;
        if option.takes == Takes::Digits {
            let count = left.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, behind) = left.split_at(count);
            let value = Some(OsStr::from_bytes(digits).to_owned());
            words.push(Word::Option { id: option.id, value });
            left = behind;
            continue;
        }
        if !matches!(option.takes, Takes::Required(_) | Takes::Command(_)) {
            words.push(Word::Option { id: option.id, value: None });
            left = behind;
            continue;
        }
        let value = if behind.is_empty() {
            rest.next().cloned()
        } else {
            Some(OsStr::from_bytes(behind).to_owned())
        };
        let missing = || Usage(format!("option requires an argument -- '{shown}'"));
        words.push(Word::Option { id: option.id, value: Some(value.ok_or_else(missing)?) });
        return Ok(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn opt(
        id: char,
        short: &'static str,
        long: &'static str,
        takes: Takes,
        origin: Origin,
    ) -> Opt<char> {
        let (values, as_default) = (Values::Named, AsDefault::Refused);
        Opt { id, short, long, takes, origin, help: "described", values, as_default }
    }

    const OPTIONS: &[Opt<char>] = &[
        opt('r', "rR", "recursive", Takes::Nothing, Origin::Gnu),
        opt('l', "", "reflink", Takes::Optional("WHEN"), Origin::Gnu),
        opt('t', "t", "target-directory", Takes::Required("DIR"), Origin::Gnu),
        opt('v', "v", "verbose", Takes::Nothing, Origin::Gnu),
        opt('x', "", "verify", Takes::Nothing, Origin::Haul),
        opt('0', "0123456789", "", Takes::Digits, Origin::Gnu),
        opt('f', "", "from", Takes::Command("COMMAND"), Origin::Haul),
    ];

    fn read(arguments: &[&str]) -> Result<Vec<Word<char>>, Usage> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        parse(&arguments, OPTIONS)
    }

    fn option(id: char, value: Option<&str>) -> Word<char> {
        Word::Option { id, value: value.map(OsString::from) }
    }

    fn operand(name: &str) -> Word<char> {
        Word::Operand(OsString::from(name))
    }

    #[test]
    fn options_may_be_clustered_abbreviated_and_anywhere() {
        assert_eq!(
            read(&["a", "-Rv", "b"]).unwrap(),
            [operand("a"), option('r', None), option('v', None), operand("b")]
        );
        assert_eq!(read(&["--rec"]).unwrap(), [option('r', None)]);
        assert_eq!(
            read(&["-tDIR", "-t", "D"]).unwrap(),
            [option('t', Some("DIR")), option('t', Some("D"))]
        );
        assert_eq!(
            read(&["--target=D", "--", "-v"]).unwrap(),
            [option('t', Some("D")), operand("-v")]
        );
        assert_eq!(read(&["--reflink", "never"]).unwrap(), [option('l', None), operand("never")]);
    }

    #[test]
    fn the_options_of_a_command_are_not_ours() {
        let read = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            parse_before_command(&arguments, OPTIONS).unwrap()
        };
        let expected = [option('v', None), operand("ls"), operand("-v"), operand("--")];
        assert_eq!(read(&["-v", "ls", "-v", "--"]), expected);
        assert_eq!(read(&["-v", "--", "ls", "-v", "--"]), expected);
        assert_eq!(read(&["--", "-v"]), [operand("-v")]);
    }

    #[test]
    fn a_command_is_a_line_or_all_further_words() {
        let line = option('f', Some("a | b -v"));
        assert_eq!(read(&["--from=a | b -v", "-v"]).unwrap(), [line.clone(), option('v', None)]);
        assert_eq!(read(&["--from", "a | b -v", "c"]).unwrap(), [line, operand("c")]);
        assert_eq!(
            read(&["-v", "c", "--from", "--", "a", "-v", "--", "--from"]).unwrap(),
            [
                option('v', None),
                operand("c"),
                option('f', None),
                operand("a"),
                operand("-v"),
                operand("--"),
                operand("--from")
            ]
        );
        assert_eq!(read(&["--from"]).unwrap_err().0, "option '--from' requires an argument");
    }

    #[test]
    fn digits_are_one_number_for_each_word() {
        assert_eq!(
            read(&["-v120r", "-3"]).unwrap(),
            [
                option('v', None),
                option('0', Some("120")),
                option('r', None),
                option('0', Some("3"))
            ]
        );
    }

    #[test]
    fn our_options_do_not_make_theirs_ambiguous() {
        assert_eq!(read(&["--ver"]).unwrap(), [option('v', None)]);
        assert_eq!(read(&["--verify"]).unwrap(), [option('x', None)]);
        assert_eq!(read(&["--verif"]).unwrap(), [option('x', None)]);
        assert_eq!(
            read(&["--verifi=1"]).unwrap_err().0,
            "unrecognized option '--verifi=1'\nDid you mean '--verify'?"
        );
    }

    #[test]
    fn the_words_are_getopts() {
        let words = |arguments: &[&str]| read(arguments).unwrap_err().0;
        assert_eq!(words(&["-q"]), "invalid option -- 'q'");
        assert_eq!(words(&["--foo=1"]), "unrecognized option '--foo=1'");
        assert_eq!(words(&["-t"]), "option requires an argument -- 't'");
        assert_eq!(
            words(&["--target-directory"]),
            "option '--target-directory' requires an argument"
        );
        assert_eq!(words(&["--recursive=1"]), "option '--recursive' doesn't allow an argument");
        assert_eq!(
            words(&["--re"]),
            "option '--re' is ambiguous; possibilities: '--recursive' '--reflink'"
        );
    }
}
