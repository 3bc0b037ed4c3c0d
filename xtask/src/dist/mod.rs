//! `cargo xtask dist`: a static binary and packages for users.
//!
//! For each target the command builds one static binary, stages the files that a package holds, and
//! makes a tarball, a Debian package and an RPM of them, beside a list of licences and a software bill
//! of materials. `source` makes a Debian source package; `library` and `wheel` make what programs in C and
//! Python use. Nothing in them depends on the folder, the user or the time of the build: times are
//! those of the last commit.

mod build;
mod checks;
mod deb;
mod dependencies;
mod image;
mod install;
mod library;
mod licences;
mod linker;
mod options;
mod pack;
mod reproduce;
mod rpm;
mod run;
mod sbom;
mod source;
mod stage;
mod tarball;
mod target;
mod version;

pub(crate) use run::main;
