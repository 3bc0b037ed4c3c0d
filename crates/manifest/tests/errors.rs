//! What cannot be read is reported, outweighs differences, and does not stop the rest.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use haul_manifest::{
    Action, Aspects, Body, CompareOptions, Finding, Item, ItemKind, Manifest, ScanOptions, Side,
    Verdict, compare, compare_with, create_tree, remove_tree,
};

use crate::support::{Outcome, Scratch};

#[test]
fn a_missing_root_is_trouble_and_not_a_difference() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.a())?;
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.summary.verdict(), Verdict::Trouble);
    let [Finding::Failure { side: Side::B, failure }] = &comparison.findings[..] else {
        return Err(format!("{:?}", comparison.findings).into());
    };
    assert_eq!(failure.to_string(), ".: cannot open: No such file or directory (os error 2)");
    let both = compare(&scratch.b(), &scratch.b(), &CompareOptions::new(Aspects::none()));
    assert_eq!(both.summary.failures, 2);

    let manifest = Manifest::scan(&scratch.b(), &ScanOptions::default());
    assert!(manifest.entries.is_empty());
    assert_eq!(manifest.failures.len(), 1);
    Ok(())
}

#[test]
fn a_read_that_fails_is_trouble() -> Outcome {
    // The first page of a process is never mapped, so that reading it fails with EIO.
    let broken = Path::new("/proc/self/mem");
    let scratch = Scratch::new()?;
    fs::write(scratch.b(), "content")?;
    let options = CompareOptions::new(Aspects::contents_only());
    for (a, b, side) in [(broken, &*scratch.b(), Side::A), (&*scratch.b(), broken, Side::B)] {
        let comparison = compare(a, b, &options);
        let [Finding::Failure { side: found, failure }] = &comparison.findings[..] else {
            return Err(format!("{:?}", comparison.findings).into());
        };
        assert_eq!((*found, failure.action), (side, Action::Read));
        assert_eq!(comparison.summary.verdict(), Verdict::Trouble);
    }
    Ok(())
}

#[test]
fn the_caller_may_end_the_comparison() -> Outcome {
    let scratch = Scratch::new()?;
    let files = |count: u64| {
        (0..count)
            .map(|index| Item::new(1, format!("f{index}"), ItemKind::Regular(Body::default())))
    };
    create_tree(&scratch.a(), files(10))?;
    create_tree(&scratch.b(), files(0))?;
    let mut seen = 0;
    let options = CompareOptions::new(Aspects::all());
    let summary = compare_with(&scratch.a(), &scratch.b(), &options, &mut |_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(seen, 3);
    assert!(summary.stopped);
    assert_eq!(summary.verdict(), Verdict::Different);
    assert_eq!(scratch.compare(Aspects::all()).summary.total_differences(), 10);
    Ok(())
}

#[test]
fn nothing_is_created_over_anything() -> Outcome {
    let scratch = Scratch::new()?;
    fs::write(scratch.a(), "precious")?;
    let failure = create_tree(&scratch.a(), []).err().ok_or("it was created")?;
    assert_eq!(failure.to_io_error().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(scratch.a())?, b"precious");
    Ok(())
}

#[test]
fn removing_follows_no_link_and_reports_what_is_missing() -> Outcome {
    let scratch = Scratch::new()?;
    create_tree(&scratch.b(), [Item::new(1, "kept", ItemKind::Fifo)])?;
    let link = ItemKind::Symlink(scratch.b().into_os_string().into_encoded_bytes().into());
    create_tree(&scratch.a(), [Item::new(1, "link", link)])?;
    remove_tree(&scratch.a())?;
    assert!(scratch.b().join("kept").symlink_metadata().is_ok());
    let failure = remove_tree(&scratch.a()).err().ok_or("it was removed twice")?;
    assert_eq!(failure.to_io_error().kind(), std::io::ErrorKind::NotFound);
    Ok(())
}
