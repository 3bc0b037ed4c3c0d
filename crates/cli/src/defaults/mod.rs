//! Defaults for haul's own options: `/etc/haul.toml`, the user's `config.toml`, `HAUL_OPTIONS`.
//!
//! They become words before those of the command line, which therefore override them. GNU's options
//! are never among them: scripts rely on what those do. For the same reason a program that is called
//! by the name of GNU's (`cp`, `rm`) has no defaults unless `--config` asks for them.

mod apply;
mod source;

pub(crate) use apply::{Called, Given, words};
