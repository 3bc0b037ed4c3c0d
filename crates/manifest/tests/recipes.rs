//! The names of corpora: parsed, displayed, and rejected with a hint.

use haul_manifest::{ItemKind, Recipe, Shape, parse_recipe};
use proptest::prelude::*;

use crate::support::Outcome;

#[test]
fn recipes_are_read() -> Outcome {
    let shape = |text: &str| parse_recipe(text).map(|recipe| recipe.shape);
    assert_eq!(shape("flat")?, Shape::Flat { files: 1000, size: 1024 });
    assert_eq!(shape("flat:")?, Shape::Flat { files: 1000, size: 1024 });
    assert_eq!(shape("flat:size=2MiB,files=7")?, Shape::Flat { files: 7, size: 2 << 20 });
    assert_eq!(shape("deep:depth=100000,name=255")?, Shape::Deep { depth: 100_000, name: 255 });
    assert_eq!(shape("random")?, Shape::Random { entries: 60 });
    assert_eq!(parse_recipe("mixed:seed=18446744073709551615")?.seed, u64::MAX);
    Ok(())
}

#[test]
fn large_files_are_strewn_evenly() -> Outcome {
    for large in [0, 3, 20, 21] {
        let text = format!("scattered:files=50,dirs=7,size=10,large={large},large-size=1000");
        let sizes: Vec<u64> = parse_recipe(&text)?
            .items()
            .filter_map(|item| match item.kind {
                ItemKind::Regular(body) => Some(body.size),
                _ => None,
            })
            .collect();
        let many = |size| sizes.iter().filter(|found| **found == size).count();
        assert_eq!((many(10), many(1000)), (50, large), "{text}");
        let plain = parse_recipe("nested:files=50,dirs=7,size=10")?;
        if large == 0 {
            assert!(parse_recipe(&text)?.items().eq(plain.items()), "without large ones, nested");
        }
    }
    Ok(())
}

#[test]
fn errors_help() {
    for (text, expected) in [
        (
            "",
            "no recipe is called ''; known are flat, nested, scattered, mixed, deep, sparse, \
             attributes, random",
        ),
        (
            "flta:files=1",
            "no recipe is called 'flta'; known are flat, nested, scattered, mixed, deep, sparse, \
             attributes, random",
        ),
        ("flat:dirs=1", "'flat' has no key 'dirs'; its keys are files, size, seed"),
        ("flat:files", "'files' is not of the form key=value, such as files=100"),
        ("flat:files=1,files=2", "'files' is given twice"),
        (
            "flat:files=many",
            "'files=many' is not valid: 'files' takes a number from 0 to 1000000000",
        ),
        ("flat:files=1K", "'files=1K' is not valid: 'files' takes a number from 0 to 1000000000"),
        ("flat:files=+1", "'files=+1' is not valid: 'files' takes a number from 0 to 1000000000"),
        ("deep:name=256", "'name=256' is not valid: 'name' takes a number from 1 to 255"),
        (
            "mixed:median=99999999T",
            "'median=99999999T' is not valid: 'median' takes a number from 1 to 1099511627776, \
             with K, M, G or T for powers of 1024",
        ),
        (
            "\u{1b}[31m",
            "no recipe is called '\\x1b[31m'; known are flat, nested, scattered, mixed, deep, sparse, \
             attributes, random",
        ),
    ] {
        let error = parse_recipe(text).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(expected));
    }
}

fn any_recipe() -> impl Strategy<Value = Recipe> {
    let number = || 1..200_u64;
    let shape = prop_oneof![
        (number(), number()).prop_map(|(files, size)| Shape::Flat { files, size }),
        (number(), number(), 0..9_u64, number()).prop_map(|(files, dirs, parents, size)| {
            Shape::Nested { files, dirs, parents, size }
        }),
        (number(), number(), number(), number(), number()).prop_map(
            |(files, dirs, size, large, large_size)| Shape::Scattered {
                files,
                dirs,
                size,
                large,
                large_size
            }
        ),
        (number(), number(), number()).prop_map(|(files, median, cap)| Shape::Mixed {
            files,
            median,
            cap
        }),
        (0..=65_536_u64, 0..=4000_u64).prop_map(|(size, names)| Shape::Attributes { size, names }),
        (number(), number()).prop_map(|(depth, name)| Shape::Deep { depth, name }),
        (number(), number(), number()).prop_map(|(size, segments, data)| Shape::Sparse {
            size,
            segments,
            data
        }),
        number().prop_map(|entries| Shape::Random { entries }),
    ];
    (shape, any::<u64>()).prop_map(|(shape, seed)| Recipe { shape, seed })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_is_read_back(recipe in any_recipe()) {
        prop_assert_eq!(parse_recipe(&recipe.to_string()), Ok(recipe));
    }

    #[test]
    fn no_text_is_a_panic(text in "[a-z]{0,6}:?([a-z]{1,7}=?[0-9+KMGTiB-]{0,22},?){0,3}") {
        // The test only requires that it returns.
        let _ = parse_recipe(&text);
    }
}
