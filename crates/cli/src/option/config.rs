//! `--config` and `--no-config`: their rows. They take effect before the command reads its words, see
//! `defaults`.

use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, own};

/// Makes the row of `--config`.
pub(crate) const fn config<I: Copy>(id: I) -> Opt<I> {
    own(
        id,
        "config",
        Nothing,
        "apply the defaults of 'haul --help' also where the\nprogram is called by its own name",
    )
}

/// Makes the row of `--no-config`.
pub(crate) const fn no_config<I: Copy>(id: I) -> Opt<I> {
    own(id, "no-config", Nothing, "apply no defaults, also none of HAUL_OPTIONS")
}
