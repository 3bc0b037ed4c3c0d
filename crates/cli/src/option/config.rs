//! `--config` and `--no-config`: their texts. They take effect before the command reads its words, see
//! `defaults`.

/// What `--config` does.
pub(crate) const CONFIG: &str =
    "apply the defaults of 'haul --help' also where the\nprogram is called by its own name";

/// What `--no-config` does.
pub(crate) const NO_CONFIG: &str = "apply no defaults, also none of HAUL_OPTIONS";
