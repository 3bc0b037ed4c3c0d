//! Names are bytes: found, compared, escaped for display, and stored without loss.

use haul_manifest::{
    Aspects, Body, Difference, Item, ItemKind, Manifest, RawText, ScanOptions, What, escape,
};
use proptest::prelude::*;

use crate::support::{Outcome, Scratch, below, flip_byte};

const NAMES: [&[u8]; 9] = [
    b"\xff\xfe",
    b"new\nline",
    b"\x1b[31mred\x1b[0m",
    b"-rf",
    b" ",
    b"\xe2\x80\xaetxt.exe",
    b"back\\slash",
    "ünïcödé".as_bytes(),
    &[b'n'; 255],
];

#[test]
fn a_difference_in_an_odd_name_is_named_exactly() -> Outcome {
    let items: Vec<Item> = NAMES
        .iter()
        .map(|name| Item::new(1, *name, ItemKind::Regular(Body::dense(10, 1))))
        .collect();
    for name in NAMES {
        let scratch = Scratch::twins(&items)?;
        flip_byte(&below(&scratch.b(), name), 5)?;
        let comparison = scratch.compare(Aspects::all());
        let found: Vec<&Difference> = comparison.differences().collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path.as_bytes(), name);
        assert_eq!(found[0].what, What::Bytes { first_offset: 5 });
        let line = found[0].to_string();
        assert!(line.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{line:?}");
        let manifest = Manifest::scan(&scratch.a(), &ScanOptions::default());
        assert!(manifest.find(name).is_some());
    }
    Ok(())
}

#[test]
fn escapes_are_as_documented() {
    for (bytes, expected) in [
        (&b"plain name"[..], "plain name"),
        (b"new\nline\ttab\rcr", "new\\nline\\ttab\\rcr"),
        (b"\x1b[31m\x7f\0", "\\x1b[31m\\x7f\\x00"),
        (b"\xff\xfeok\xe2\x82", "\\xff\\xfeok\\xe2\\x82"),
        ("\u{202e}\u{85}\u{feff}".as_bytes(), "\\u{202e}\\u{85}\\u{feff}"),
        ("ünïcödé 漢字 👍🏽".as_bytes(), "ünïcödé 漢字 👍🏽"),
        (b"back\\slash", "back\\\\slash"),
        (b" both ", "\\x20both\\x20"),
        (b" ", "\\x20"),
        (b"", ""),
    ] {
        assert_eq!(escape(bytes), expected);
    }
}

#[test]
fn a_difference_is_flat_json_with_lossless_names() -> Outcome {
    let difference =
        Difference { path: RawText::from(&b"d/\xff"[..]), what: What::Mode { a: 0o644, b: 0o600 } };
    let json = serde_json::to_string(&difference)?;
    assert_eq!(json, r#"{"path":{"bytes":"642fff"},"what":"mode","a":420,"b":384}"#);
    assert_eq!(serde_json::from_str::<Difference>(&json)?, difference);
    for wrong in [r#"{"bytes":"6"}"#, r#"{"bytes":"zz"}"#, r#"{"hex":"00"}"#, "{}", "1"] {
        assert!(serde_json::from_str::<RawText>(wrong).is_err(), "{wrong}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_survive_json(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let text = RawText(bytes);
        let json = serde_json::to_string(&text)?;
        prop_assert_eq!(serde_json::from_str::<RawText>(&json)?, text);
    }

    #[test]
    fn escaped_text_is_one_harmless_line(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let shown = escape(&bytes);
        prop_assert!(shown.chars().all(|c| !c.is_control()));
        prop_assert!(shown.is_empty() == bytes.is_empty());
        prop_assert!(!shown.starts_with(' ') && !shown.ends_with(' '));
    }

    #[test]
    fn different_bytes_are_shown_differently(a in ".{0,4}", b in ".{0,4}") {
        prop_assert_eq!(escape(a.as_bytes()) == escape(b.as_bytes()), a == b);
    }
}
