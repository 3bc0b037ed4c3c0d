//! Lists that a run writes (`--sum-file`, `--errors`, `--journal`): a place where the run itself creates or
//! removes files is refused before anything changes; other places are allowed.

use std::fs;

use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::shell::{demand, shell};

fn scene() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "A\n")?;
    scratch.write("s/sums.txt", "sum\n")?;
    scratch.write("s/d/deep", "deep\n")?;
    scratch.write("o/d/kept", "kept\n")?;
    demand(scratch.path(), "ln -s o link; ln -s s from")?;
    Ok(scratch)
}

#[test]
fn a_list_where_the_copy_makes_a_file_is_refused() -> Outcome {
    for line in [
        "haul cp -r s/. o --sum-file o/sums.txt",
        "haul cp -r s/. link/ --sum-file o/sums.txt",
        "haul cp -rT s o --errors=o/a",
        "haul cp -rT from/ o --errors=link/d/deep",
        "haul cp s/a o --errors=o/a",
        "haul cp -t o s/a s/sums.txt --errors=$PWD/o/../o/a",
        "haul cp s/a new --errors=new",
        "haul cp s/a new --errors=./o/../new",
        "haul cp -r s/. o --journal=o/a --resume",
        "mkdir -p o/s; haul cp --parents s/a o --errors=o/s/a",
    ] {
        let scratch = scene()?;
        let done = shell(scratch.path(), line)?;
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{line}: {errors}");
        assert!(errors.contains("put it elsewhere"), "{line}: {errors}");
        for made in ["o/a", "o/sums.txt", "o/d/deep", "o/s/a", "new"] {
            assert!(!scratch.at(made).exists(), "{line}: {made}");
        }
    }
    Ok(())
}

#[test]
fn a_list_that_would_be_removed_is_refused() -> Outcome {
    for list in ["s/E", "s/d/E", "from/E"] {
        let scratch = scene()?;
        let done = shell(scratch.path(), &format!("haul rm -r s --errors {list}"))?;
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{errors}");
        assert!(errors.contains("put it elsewhere"), "{errors}");
        assert_eq!(fs::read(scratch.at("s/a"))?, b"A\n");
    }
    Ok(())
}

#[test]
fn a_list_that_no_entry_meets_may_be_anywhere() -> Outcome {
    let scratch = scene()?;
    for line in [
        "haul cp -r s/. o --sum-file o/SUMS --errors o/E",
        "haul cp -r s/. o --sum-file SUMS --errors E",
        "haul cp -r s/. o --sum-file=/dev/stderr 2>SEEN; test -s SEEN",
        "haul cp -r s/. o2 --resume --journal=J",
        "haul rm -r from --errors s/E2",
    ] {
        demand(scratch.path(), line)?;
    }
    assert_eq!(fs::read(scratch.at("o/sums.txt"))?, b"sum\n");
    assert_eq!(fs::read_to_string(scratch.at("o/SUMS"))?.lines().count(), 3);
    Ok(())
}
