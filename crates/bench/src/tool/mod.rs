//! The measured tools: commands as templates, and the table of known tools.

mod discover;
mod peers;
mod template;
mod types;

pub use discover::{Found, discover, haul_methods, version_of};
pub use peers::{PEERS, Peer};
pub use template::{Command, Template, TemplateError};
pub use types::{Group, Tool, Variation};
