//! `haul clean`: where it runs from, and how deep it searches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haul_manifest::parse_recipe;

use crate::support::run::{Call, haul};
use crate::support::scratch::Scratch;
use crate::support::{Outcome, has, is_root};

fn clean() -> Call {
    Call::of(haul()).word("clean")
}

#[test]
fn a_current_directory_that_the_user_may_not_search_is_not_needed() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let (closed, open) = (Scratch::new()?, Scratch::public()?);
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777))?;
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700))?;
    open.write("file", "")?;
    let done = clean().word(open.path()).in_dir(closed.path()).by_user().run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn a_deep_tree_is_searched_with_few_descriptors() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let recipe = parse_recipe("deep:depth=2000,name=1")?;
    recipe.generate(&scratch.at("s")).map_err(|failure| failure.to_string())?;
    let call = clean().word("s").in_dir(scratch.path());
    let done = call.under(["prlimit", "--nofile=20", "--"]).run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}
