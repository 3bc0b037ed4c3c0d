//! A shorter session that creates a profile: the preferred settings of `haul cp` between two file
//! systems.

mod profile;
mod session;
mod toml;

pub use profile::{Choice, PROFILE_VERSION, Profile, profiles};
pub use session::{TUNE_SCENARIOS, TuneOptions, tune, tune_session};
pub use toml::{profile_file_name, write_profile};
