//! `cargo xtask fs up|down|env [--dir DIR]`.

use super::mounts::{Mounts, Until, down, env_value};
use super::place::Place;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::workspace::Workspace;
use rustix::process::geteuid;
use std::process::ExitCode;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let (verb, dir) = match arguments {
        [verb] => (verb.as_str(), None),
        [verb, option, dir] if option == "--dir" => (verb.as_str(), Some(dir.as_str())),
        _ => ("", None),
    };
    if !["up", "down", "env"].contains(&verb) {
        return Err(Error::new("`fs` takes one of up, down, env, and optionally --dir DIR"));
    }
    let place = Place::shared(&Workspace::find()?, dir)?;
    if verb == "env" {
        println!("export HAUL_TEST_FS='{}'", env_value(&place)?);
        return Ok(ExitCode::SUCCESS);
    }
    if !geteuid().is_root() {
        return Err(Error::new(format!("`fs {verb}` mounts and unmounts, which only root may"))
            .hint("run it as root; the tests themselves then need no root to use the mounts"));
    }
    interrupt::install()?;
    if verb == "down" { down(&place, &[]).map(|()| ExitCode::SUCCESS) } else { up(&place) }
}

fn up(place: &Place) -> Result<ExitCode> {
    let missing = Mounts::up(place.clone(), Until::Down)?.keep();
    for one in place.mounted()? {
        println!("{:14} {}", one.name, place.mount_point(one.name).display());
    }
    for (name, cause) in &missing {
        eprintln!("xtask: no {name}: {cause}");
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
