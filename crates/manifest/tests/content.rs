//! The bytes of files: each position, each kind of hole, and files whose reported size is wrong.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_manifest::{
    Aspects, Body, CompareOptions, HolePolicy, Item, ItemKind, RootLinks, Segment, What, compare,
    parse_recipe,
};

use crate::support::{Outcome, Scratch, flip_byte, ignored};

fn one_file(body: Body) -> Vec<Item> {
    vec![Item::new(1, "file", ItemKind::Regular(body))]
}

#[test]
fn one_byte_anywhere() -> Outcome {
    // Around the ends of blocks and read buffers, and in the last byte.
    let size = 700_001;
    for offset in [0, 1, 4095, 4096, 262_143, 262_144, 350_000, 524_288, size - 1] {
        let scratch = Scratch::twins(&one_file(Body::dense(size, 7)))?;
        flip_byte(&scratch.b().join("file"), offset)?;
        scratch.expect_only("file", &What::Bytes { first_offset: offset });
    }
    Ok(())
}

#[test]
fn one_byte_in_data_or_hole_of_a_sparse_file() -> Outcome {
    let data = |offset, length| Segment { offset, length };
    let body =
        Body { size: 10 << 20, data: vec![data(1 << 20, 5000), data(4 << 20, 300_000)], seed: 7 };
    // Leading hole, both data segments, the hole between, the trailing hole and its last byte.
    let offsets = [0, 1 << 20, (1 << 20) + 4999, 2 << 20, (4 << 20) + 299_999, 8 << 20];
    for offset in offsets.into_iter().chain([body.size - 1]) {
        for holes in [HolePolicy::SkipCommon, HolePolicy::ReadAll] {
            let scratch = Scratch::twins(&one_file(body.clone()))?;
            flip_byte(&scratch.b().join("file"), offset)?;
            let expected = What::Bytes { first_offset: offset };
            scratch.expect_only("file", &expected);
            // The reverse: the byte is in A, the hole in B.
            let options = CompareOptions { holes, ..CompareOptions::new(Aspects::contents_only()) };
            let comparison = compare(&scratch.b(), &scratch.a(), &options);
            let found: Vec<_> = comparison.differences().map(|found| &found.what).collect();
            assert_eq!(found, [&expected]);
        }
    }
    Ok(())
}

#[test]
fn zeros_equal_a_hole() -> Outcome {
    let scratch = Scratch::twins(&one_file(Body { size: 1 << 20, data: Vec::new(), seed: 0 }))?;
    fs::write(scratch.a().join("file"), vec![0; 1 << 20])?;
    let comparison = scratch.compare(Aspects::contents_only());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.summary.bytes, 1 << 20);
    Ok(())
}

#[test]
fn a_huge_sparse_file_is_judged_by_its_data() -> Outcome {
    let scratch = Scratch::new()?;
    let recipe = parse_recipe("sparse:size=5G,segments=4,data=64K")?;
    for root in [scratch.a(), scratch.b()] {
        assert_eq!(recipe.generate(&root)?.data_bytes, 4 * 65_536);
    }
    let summary = scratch.compare(Aspects::all()).summary;
    assert_eq!(summary.total_differences() + summary.failures, 0);
    assert_eq!(summary.bytes + summary.hole_bytes, 5 << 30);
    assert!(summary.bytes <= 5 * 65_536, "{}", summary.bytes);
    let last = (5 << 30) - 1;
    flip_byte(&scratch.b().join("sparse"), last)?;
    scratch.expect_only("sparse", &What::Bytes { first_offset: last });
    Ok(())
}

#[test]
fn sizes_differ_and_bytes_before_the_end_too() -> Outcome {
    let scratch = Scratch::twins(&one_file(Body::dense(5000, 1)))?;
    fs::File::options().write(true).open(scratch.b().join("file"))?.set_len(4000)?;
    let labels = || -> Vec<&str> {
        let comparison = scratch.compare(Aspects::contents_only());
        comparison.differences().map(|found| found.what.label()).collect()
    };
    assert_eq!(labels(), ["size"]);
    flip_byte(&scratch.b().join("file"), 10)?;
    assert_eq!(labels(), ["size", "bytes"]);
    Ok(())
}

#[test]
fn roots_may_be_files_and_links() -> Outcome {
    let mut items = one_file(Body::dense(100, 1));
    items.push(Item::new(1, "link", ItemKind::Symlink("file".into())));
    items.push(Item::new(1, "fifo", ItemKind::Fifo));
    let scratch = Scratch::twins(&items)?;
    let labels = |a: &str, b: &str, root_links| -> Vec<&str> {
        let options =
            CompareOptions { root_links, ..CompareOptions::new(Aspects::contents_only()) };
        let comparison = compare(&scratch.a().join(a), &scratch.b().join(b), &options);
        comparison.differences().map(|found| found.what.label()).collect()
    };
    assert_eq!(labels("file", "file", RootLinks::Keep), [""; 0]);
    assert_eq!(labels("fifo", "fifo", RootLinks::Keep), [""; 0]);
    assert_eq!(labels("link", "file", RootLinks::Keep), ["kind"]);
    assert_eq!(labels("link", "file", RootLinks::Follow), [""; 0]);
    flip_byte(&scratch.b().join("file"), 99)?;
    assert_eq!(labels("file", "file", RootLinks::Keep), ["bytes"]);
    assert_eq!(labels("link", "link", RootLinks::Keep), [""; 0]);
    assert_eq!(labels("link", "link", RootLinks::Follow), ["bytes"]);
    Ok(())
}

#[test]
fn files_of_the_kernel_are_read_to_their_end() -> Outcome {
    // One reports size 0, the other 4,096; both are wrong.
    let files = ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"];
    for original in files.map(Path::new) {
        let Ok(content) = fs::read(original) else {
            ignored(&original.display().to_string())?;
            continue;
        };
        let scratch = Scratch::new()?;
        fs::write(scratch.b(), &content)?;
        let options = CompareOptions::new(Aspects::contents_only());
        let found = || compare(original, &scratch.b(), &options);
        assert!(found().is_equal(), "{:?}", found().findings);
        let last = content.len() as u64 - 1;
        fs::File::options().write(true).open(scratch.b())?.write_all_at(b"#", last)?;
        let bytes = What::Bytes { first_offset: last };
        assert!(found().differences().any(|found| found.what == bytes));
        fs::write(scratch.b(), &content[..content.len() - 1])?;
        let a_length = found().differences().map(|found| found.what.clone()).next();
        assert!(matches!(a_length, Some(What::Size { a, b }) if a > last && b == last));
    }
    Ok(())
}
