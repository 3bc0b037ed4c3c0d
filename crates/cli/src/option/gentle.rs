//! `--gentle`: its row and its effect, for every command that moves data. What a run says at its end: `held_back`.

use haul_io::gentle;

use super::effect::{Effect, read};
use crate::getopt::{Opt, Takes, Usage, long, own};

const NAME: &str = "gentle";

const HELP: &str = "work less while other processes wait for storage,\nprocessors or memory; say at the end how much less";

/// Makes the row for a command whose other options are those of another program.
pub(crate) const fn gentle<I: Copy>(id: I) -> Opt<I> {
    own(id, NAME, Takes::Nothing, HELP)
}

/// Makes the row for a command that only haul has.
pub(crate) const fn plain<I: Copy>(id: I) -> Opt<I> {
    long(id, NAME, Takes::Nothing, HELP)
}

/// Makes the effect of the option in a command that does nothing else for it.
pub(crate) const fn begins<R>() -> Effect<R> {
    read(|_, _| Ok(begin()?))
}

/// Makes the process gentle. The option has an effect on all that the process does, as nice(1) has, so it has
/// no place in the settings of a command.
pub(crate) fn begin() -> Result<(), Usage> {
    if gentle::begin() {
        return Ok(());
    }
    Err(Usage("--gentle needs a thread more than may be started: raise 'ulimit -u'".to_owned()))
}
