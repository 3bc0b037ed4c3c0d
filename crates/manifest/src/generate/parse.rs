//! The text form of a corpus, in one line.
//!
//! One table lists the shapes, their keys and the bounds of each; parsing, display and error
//! messages all use it.

use std::fmt;

use super::recipe::{Recipe, Shape};

/// The text form of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Count,
    Bytes,
}

/// One key of a shape.
struct Key {
    name: &'static str,
    unit: Unit,
    default: u64,
    low: u64,
    high: u64,
}

/// One shape: its name, its keys, and its constructor from their values in the same order.
struct Entry {
    name: &'static str,
    keys: &'static [Key],
    build: fn(&[u64]) -> Option<Shape>,
}

const fn count(name: &'static str, default: u64, low: u64, high: u64) -> Key {
    Key { name, unit: Unit::Count, default, low, high }
}

const fn bytes(name: &'static str, default: u64, low: u64, high: u64) -> Key {
    Key { name, unit: Unit::Bytes, default, low, high }
}

/// No file system of a test machine can hold more entries.
const FILES_MAX: u64 = 1_000_000_000;

/// The largest file that the page cache of Linux can hold the offsets of (`MAX_LFS_FILESIZE`),
/// rounded down.
const SIZE_MAX: u64 = 1 << 62;

/// haul supports at least 100,000; this bounds a chain.
const DEPTH_MAX: u64 = 10_000_000;

/// Their names, of 15 bytes each, just fit into the longest list (`XATTR_LIST_MAX`).
const NAMES_MAX: u64 = 4_000;

const TABLE: [Entry; 8] = [
    Entry {
        name: "flat",
        keys: &[count("files", 1000, 0, FILES_MAX), bytes("size", 1024, 0, SIZE_MAX)],
        build: |values| {
            let &[files, size] = values else { return None };
            Some(Shape::Flat { files, size })
        },
    },
    Entry {
        name: "nested",
        keys: &[
            count("files", 1000, 0, FILES_MAX),
            count("dirs", 20, 1, FILES_MAX),
            count("parents", 0, 0, FILES_MAX),
            bytes("size", 1024, 0, SIZE_MAX),
        ],
        build: |values| {
            let &[files, dirs, parents, size] = values else { return None };
            Some(Shape::Nested { files, dirs, parents, size })
        },
    },
    Entry {
        name: "scattered",
        keys: &[
            count("files", 1000, 0, FILES_MAX),
            count("dirs", 20, 1, FILES_MAX),
            bytes("size", 1024, 0, SIZE_MAX),
            count("large", 20, 0, FILES_MAX),
            bytes("large-size", 64 << 20, 0, SIZE_MAX),
        ],
        build: |values| {
            let &[files, dirs, size, large, large_size] = values else { return None };
            Some(Shape::Scattered { files, dirs, size, large, large_size })
        },
    },
    Entry {
        name: "mixed",
        keys: &[
            count("files", 1000, 0, FILES_MAX),
            bytes("median", 4096, 1, 1 << 40),
            bytes("cap", 64 << 20, 1, SIZE_MAX),
        ],
        build: |values| {
            let &[files, median, cap] = values else { return None };
            Some(Shape::Mixed { files, median, cap })
        },
    },
    Entry {
        name: "deep",
        keys: &[count("depth", 1000, 0, DEPTH_MAX), count("name", 1, 1, 255)],
        build: |values| {
            let &[depth, name] = values else { return None };
            Some(Shape::Deep { depth, name })
        },
    },
    Entry {
        name: "sparse",
        keys: &[
            bytes("size", 5 << 30, 1, SIZE_MAX),
            count("segments", 8, 0, 1_000_000),
            bytes("data", 64 << 10, 1, 1 << 40),
        ],
        build: |values| {
            let &[size, segments, data] = values else { return None };
            Some(Shape::Sparse { size, segments, data })
        },
    },
    Entry {
        name: "attributes",
        keys: &[bytes("size", 64 << 10, 0, 64 << 10), count("names", 100, 0, NAMES_MAX)],
        build: |values| {
            let &[size, names] = values else { return None };
            Some(Shape::Attributes { size, names })
        },
    },
    Entry {
        name: "random",
        keys: &[count("entries", 60, 0, 1_000_000)],
        build: |values| {
            let &[entries] = values else { return None };
            Some(Shape::Random { entries })
        },
    },
];

/// The key that every shape takes.
const SEED: Key = count("seed", 0, 0, u64::MAX);

/// A recipe that cannot be parsed. `Display` names the wrong part and the valid values, in one
/// line; quoted input is escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The shape is unknown.
    Shape {
        /// The given text.
        given: String,
    },
    /// The shape does not have this key.
    Key {
        /// The shape.
        shape: &'static str,
        /// The given text.
        given: String,
    },
    /// A part is not of the form `key=value`.
    Pair {
        /// The given text.
        given: String,
    },
    /// A key is given twice.
    Twice {
        /// The key.
        key: &'static str,
    },
    /// A value is not a number, or not one for this key.
    Value {
        /// The key.
        key: &'static str,
        /// The given text.
        given: String,
        /// The smallest valid number.
        low: u64,
        /// The largest valid number.
        high: u64,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |given: &String| crate::text::escape(given.as_bytes());
        match self {
            Self::Shape { given } => {
                let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
                write!(f, "no recipe is called '{}'; known are {}", shown(given), names.join(", "))
            }
            Self::Key { shape, given } => {
                let keys = TABLE.iter().filter(|entry| entry.name == *shape);
                let keys: Vec<&str> =
                    keys.flat_map(|entry| entry.keys).chain([&SEED]).map(|key| key.name).collect();
                let keys = keys.join(", ");
                write!(f, "'{shape}' has no key '{}'; its keys are {keys}", shown(given))
            }
            Self::Pair { given } => {
                write!(f, "'{}' is not of the form key=value, such as files=100", shown(given))
            }
            Self::Twice { key } => write!(f, "'{key}' is given twice"),
            Self::Value { key, given, low, high } => write!(
                f,
                "'{key}={}' is not valid: '{key}' takes a number from {low} to {high}{}",
                shown(given),
                if is_bytes(key) { ", with K, M, G or T for powers of 1024" } else { "" }
            ),
        }
    }
}

impl std::error::Error for ParseError {}

fn is_bytes(name: &str) -> bool {
    let mut keys = TABLE.iter().flat_map(|entry| entry.keys);
    keys.any(|key| key.name == name && key.unit == Unit::Bytes)
}

/// Parses the name of a corpus: a shape, and after a colon its keys and values, separated by
/// commas. Keys that are not given have defaults, `seed` is 0.
///
/// | shape | keys |
/// | --- | --- |
/// | `flat` | `files=1000`, `size=1K` |
/// | `nested` | `files=1000`, `dirs=20`, `size=1K` |
/// | `scattered` | `files=1000`, `dirs=20`, `size=1K`, `large=20`, `large-size=64M` |
/// | `mixed` | `files=1000`, `median=4K`, `cap=64M` |
/// | `deep` | `depth=1000`, `name=1` |
/// | `sparse` | `size=5G`, `segments=8`, `data=64K` |
/// | `attributes` | `size=64K`, `names=100` |
/// | `random` | `entries=60` |
///
/// Sizes may end in `K`, `M`, `G` or `T`, also written `KiB` and so on: powers of 1024.
///
/// # Errors
///
/// Names the first wrong part and the valid values.
///
/// ```
/// use haul_manifest::{Shape, parse_recipe};
/// let recipe = parse_recipe("nested:files=50000,dirs=200,size=1K")?;
/// assert_eq!(recipe.shape, Shape::Nested { files: 50_000, dirs: 200, parents: 0, size: 1024 });
/// # Ok::<(), haul_manifest::ParseError>(())
/// ```
pub fn parse_recipe(text: &str) -> Result<Recipe, ParseError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let unknown = || ParseError::Shape { given: name.to_owned() };
    let entry = TABLE.iter().find(|entry| entry.name == name).ok_or_else(unknown)?;
    let keys: Vec<&Key> = entry.keys.iter().chain([&SEED]).collect();
    let mut given: Vec<Option<u64>> = vec![None; keys.len()];
    for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| ParseError::Pair { given: pair.to_owned() })?;
        let wrong_key = || ParseError::Key { shape: entry.name, given: name.to_owned() };
        let index = keys.iter().position(|key| key.name == name).ok_or_else(wrong_key)?;
        let (Some(key), Some(slot)) = (keys.get(index), given.get_mut(index)) else {
            return Err(wrong_key());
        };
        if slot.replace(parse_value(key, value)?).is_some() {
            return Err(ParseError::Twice { key: key.name });
        }
    }
    let values: Vec<u64> =
        keys.iter().zip(given).map(|(key, value)| value.unwrap_or(key.default)).collect();
    // The seed comes last in every list.
    let (seed, values) = values.split_last().ok_or_else(unknown)?;
    let shape = (entry.build)(values).ok_or_else(unknown)?;
    Ok(Recipe { shape, seed: *seed })
}

fn parse_value(key: &Key, text: &str) -> Result<u64, ParseError> {
    let wrong = || ParseError::Value {
        key: key.name,
        given: text.to_owned(),
        low: key.low,
        high: key.high,
    };
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match (text.get(digits.len()..), key.unit) {
        (Some(""), _) => 0,
        (Some("K" | "KiB"), Unit::Bytes) => 10,
        (Some("M" | "MiB"), Unit::Bytes) => 20,
        (Some("G" | "GiB"), Unit::Bytes) => 30,
        (Some("T" | "TiB"), Unit::Bytes) => 40,
        _ => return Err(wrong()),
    };
    // `parse` would also take a plus sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number = digits.parse::<u64>().map_err(|_| wrong())?;
    let value = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if (key.low..=key.high).contains(&value) { Ok(value) } else { Err(wrong()) }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe(self))
    }
}

/// Returns the text of a recipe with all its keys.
fn describe(recipe: &Recipe) -> String {
    let (name, values) = match recipe.shape {
        Shape::Flat { files, size } => ("flat", vec![files, size]),
        Shape::Nested { files, dirs, parents, size } => {
            ("nested", vec![files, dirs, parents, size])
        }
        Shape::Scattered { files, dirs, size, large, large_size } => {
            ("scattered", vec![files, dirs, size, large, large_size])
        }
        Shape::Mixed { files, median, cap } => ("mixed", vec![files, median, cap]),
        Shape::Deep { depth, name } => ("deep", vec![depth, name]),
        Shape::Sparse { size, segments, data } => ("sparse", vec![size, segments, data]),
        Shape::Attributes { size, names } => ("attributes", vec![size, names]),
        Shape::Random { entries } => ("random", vec![entries]),
    };
    let keys = TABLE.iter().filter(|entry| entry.name == name).flat_map(|entry| entry.keys);
    let mut pairs: Vec<String> =
        keys.zip(values).map(|(key, value)| format!("{}={value}", key.name)).collect();
    pairs.push(format!("{}={}", SEED.name, recipe.seed));
    format!("{name}:{}", pairs.join(","))
}
