//! A read error is reported, takes precedence over differences, and does not stop the rest.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use haul_manifest::{
    Action, Aspect, Aspects, Body, CompareOptions, Failure, Finding, Item, ItemKind, Manifest,
    RawText, ScanOptions, Side, Summary, Verdict, compare, compare_with, create_tree, remove_tree,
};

use crate::support::{Outcome, Scratch};

#[test]
fn a_missing_root_is_trouble_and_not_a_difference() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.a())?;
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.summary.verdict(), Verdict::Trouble);
    let [Finding::Failure { side: Side::B, operand, failure }] = &comparison.findings[..] else {
        return Err(format!("{:?}", comparison.findings).into());
    };
    assert_eq!(operand.as_bytes(), scratch.b().as_os_str().as_encoded_bytes());
    assert_eq!(failure.to_string(), ".: cannot open: No such file or directory (os error 2)");
    let shown = format!("{}: cannot open: No such file or directory", scratch.b().display());
    assert!(comparison.findings[0].to_string().starts_with(&shown), "{:?}", comparison.findings);
    assert_eq!(comparison.summary.conclusion(), "nothing was compared");
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
        let [Finding::Failure { side: found, failure, .. }] = &comparison.findings[..] else {
            return Err(format!("{:?}", comparison.findings).into());
        };
        assert_eq!((*found, failure.action), (side, Action::Read));
        assert_eq!(comparison.summary.verdict(), Verdict::Trouble);
    }
    Ok(())
}

#[test]
fn what_could_not_be_compared_is_in_the_conclusion() -> Outcome {
    let of = |differences: u64, failures: u64| {
        let differences = [("size".to_owned(), differences)].into();
        Summary { entries: 5, differences, failures, ..Summary::default() }.conclusion()
    };
    assert_eq!(of(0, 0), "no difference");
    assert_eq!(of(1, 0), "1 difference");
    assert_eq!(of(0, 1), "no difference in what could be compared, 1 failure");
    assert_eq!(of(2, 3), "2 differences in what could be compared, 3 failures");
    // A failure below the root is shown with its root operand.
    let scratch = Scratch::new()?;
    let failure = Failure { path: "sub/file".into(), action: Action::Read, errno: 5 };
    let operand: RawText = scratch.a().as_os_str().as_encoded_bytes().into();
    let finding = Finding::Failure { side: Side::A, operand, failure };
    let shown = format!("{}/sub/file: cannot read: ", scratch.a().display());
    assert!(finding.to_string().starts_with(&shown), "{finding}");
    Ok(())
}

/// Changes a file of A after its attributes were read and before its contents are read, and returns
/// the findings. The report of a difference in the mode is the point at which the change is made.
fn changed_meanwhile(body: Body, change: fn(&fs::File) -> io::Result<()>) -> Outcome<Vec<Finding>> {
    let item = Item::new(1, "file", ItemKind::Regular(body));
    let scratch = Scratch::twins(&[item])?;
    let path = scratch.a().join("file");
    fs::set_permissions(scratch.b().join("file"), fs::Permissions::from_mode(0o600))?;
    let options = CompareOptions::new(Aspects::contents_only().with(Aspect::Mode));
    let mut findings = Vec::new();
    let mut changed = Ok(());
    compare_with(&scratch.a(), &scratch.b(), &options, &mut |finding| {
        if findings.is_empty() {
            changed = fs::File::options().write(true).open(&path).and_then(|file| change(&file));
        }
        findings.push(finding);
        ControlFlow::Continue(())
    });
    changed?;
    Ok(findings)
}

#[test]
fn a_file_that_changes_while_it_is_compared_is_trouble() -> Outcome {
    let hole = Body { size: 1 << 20, ..Body::default() };
    let dense = Body::dense(100_000, 1);
    type Change = fn(&fs::File) -> io::Result<()>;
    let changes: [(&str, Body, Change); 4] = [
        // If only holes are left, no read can end early.
        ("a hole shrinks", hole.clone(), |file| file.set_len(0)),
        ("a hole grows", hole, |file| file.set_len(2 << 20)),
        ("a file shrinks", dense.clone(), |file| file.set_len(50_000)),
        ("a file loses its bytes", dense.clone(), |file| {
            file.set_len(0)?;
            file.set_len(100_000)
        }),
    ];
    for (what, body, change) in changes {
        let findings = changed_meanwhile(body, change)?;
        let failure = findings.iter().find_map(|finding| match finding {
            Finding::Failure { side: Side::A, failure, .. } => Some(failure.action),
            _ => None,
        });
        assert_eq!(failure, Some(Action::HoldStill), "{what}: {findings:?}");
    }
    assert_eq!(changed_meanwhile(dense, |_| Ok(()))?.len(), 1, "only the mode");
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
