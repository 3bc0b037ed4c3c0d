//! Defaults for haul's own options: `/etc/haul.toml`, the user's `config.toml`, `HAUL_OPTIONS`.
//!
//! They become words before those of the command line, which therefore override them. GNU's options
//! are never among them: scripts rely on what those do. For the same reason a program that is called
//! by the name of GNU's (`cp`, `rm`) has no defaults unless `--config` asks for them.

mod apply;
mod source;

#[cfg(test)]
pub(crate) use apply::CONFIG;
pub(crate) use apply::{Called, Given, words};

/// What the overview and haul(1) say about defaults.
pub(crate) const ABOUT: &str = "\
Defaults: /etc/haul.toml and ~/.config/haul/config.toml may have sections
[defaults] and [defaults.COMMAND], COMMAND being cp, mv, rm, read or write, with
long options that GNU's tools do not have: jobs = 4, stats = true.
HAUL_OPTIONS='--jobs=4 --stats' overrides them, and the command line overrides
HAUL_OPTIONS. --debug of cp and mv shows what applies, --no-config ignores it.
A link that is called cp, mv or rm has no defaults, unless --config is given.
A file is ignored, with a warning, if another user owns it or may write to it.
Options that are for one run (--dry-run, --metrics) cannot be defaults.
";
