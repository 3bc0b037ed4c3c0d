//! Sizes at which a buffer ends: each at size - 1, size and size + 1, on every test file system.
//!
//! Data read into a buffer of a fixed size may be truncated, omitted or read again where it just does not
//! fit. So the sizes are those of the buffers in the code, and of the kernel's own limits. The tests check
//! the result with calls of their own, with room for the largest possible value.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use haul_manifest::Aspects;
use rustix::fs::{
    CWD, Mode, OFlags, XattrFlags, lgetxattr, llistxattr, lsetxattr, mkdirat, openat,
};
use rustix::io::Errno;

use super::mv::mv;
use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise};
use super::support::volume::pairs;
use super::support::{Outcome, is_root};

/// The first buffer for a value or a list (256), the block of an ext4 (4096), the kernel's limit (65,536).
const VALUES: [usize; 20] = [
    0, 1, 2, 127, 128, 254, 255, 256, 257, 258, 511, 512, 513, 3000, 4000, 4095, 4096, 4097,
    65_535, 65_536,
];

/// Lists of names, likewise.
const LISTS: [usize; 12] = [10, 254, 255, 256, 257, 258, 1000, 4095, 4096, 4097, 5000, 60_000];

/// Lengths of link targets: the buffers in which links are read, a page, and the longest possible.
const TEXTS: [usize; 13] = [1, 59, 60, 127, 128, 255, 256, 257, 1023, 1024, 2048, 4094, 4095];

/// Entries of an access-control list. With 31 its value is shorter than 256 bytes, with 32 longer.
const LISTED_USERS: [u32; 6] = [1, 27, 28, 29, 60, 300];

/// Buffers for bytes, and sizes at which another method or number of workers begins: a block, a pipe, a
/// share, a buffer, a trial, a request, a draw, a window, and the least size that workers share.
const BUFFERS: [usize; 16] = [
    512,
    4 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    96 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    640 << 10,
    1 << 20,
    2 << 20,
    3 << 20,
    4 << 20,
    8 << 20,
    16 << 20,
];

/// The largest size that is tested between every pair of file systems; larger ones on one only.
const EVERYWHERE_BYTES: usize = 1 << 20;

/// The command lines of a copy that preserves attributes, and of a move.
const KEEPING: [&[&str]; 3] = [
    &["cp", "-a", "--jobs=1"],
    &["cp", "-r", "--preserve=xattr,mode", "--jobs=2"],
    &["mv", "--jobs=1"],
];

/// The size of the test's own buffer: more than any value or list.
const ROOM_BYTES: usize = 1 << 17;

fn value(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut room = vec![0; ROOM_BYTES];
    let length = lgetxattr(path, name, &mut room)?;
    room.truncate(length);
    Ok(room)
}

/// Returns the names of all attributes of a kind, sorted.
fn names(path: &Path, prefix: &str) -> Result<Vec<Vec<u8>>, Errno> {
    let mut room = vec![0; ROOM_BYTES];
    let length = llistxattr(path, &mut room)?;
    let list = room.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let wanted = list.filter(|name| name.starts_with(prefix.as_bytes()));
    let mut found: Vec<Vec<u8>> = wanted.map(<[u8]>::to_vec).collect();
    found.sort();
    Ok(found)
}

/// Sets attributes on the source of a copy, and for a trial on its target file system. Returns `false`,
/// and removes both, if one of the file systems does not support them.
fn is_taken(paths: [&Path; 2], attributes: &[(String, Vec<u8>)]) -> Outcome<bool> {
    for path in paths {
        for (name, value) in attributes {
            match lsetxattr(path, name.as_str(), value, XattrFlags::empty()) {
                Ok(()) => {}
                Err(
                    Errno::NOSPC
                    | Errno::TOOBIG
                    | Errno::RANGE
                    | Errno::OPNOTSUPP
                    | Errno::PERM
                    | Errno::DQUOT
                    | Errno::INVAL,
                ) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(true)
}

/// Kinds of file that can have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bearer {
    File,
    Directory,
    Link,
}

impl Bearer {
    fn make(self, path: &Path) -> Outcome {
        match self {
            Bearer::File => fs::write(path, "bearer")?,
            Bearer::Directory => fs::create_dir(path)?,
            Bearer::Link => symlink("nowhere", path)?,
        }
        Ok(())
    }

    fn remove(self, path: &Path) -> Outcome {
        Ok(if self == Bearer::Directory { fs::remove_dir(path) } else { fs::remove_file(path) }?)
    }

    /// User attributes exist only on files and directories.
    fn prefix(self) -> &'static str {
        if self == Bearer::Link { "trusted." } else { "user." }
    }
}

const BEARERS: [Bearer; 3] = [Bearer::File, Bearer::Directory, Bearer::Link];

/// Attributes, and the number of their bytes that is tested.
type Sized = (usize, Vec<(String, Vec<u8>)>);

/// Copies and moves files with attributes between all pairs of file systems, and compares.
fn keep(list: impl Fn(&str) -> Vec<Sized>) -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (from, to) in pairs()? {
        for words in KEEPING {
            let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
            fs::create_dir(here.at("s"))?;
            let mut made = Vec::new();
            for bearer in BEARERS {
                for (bytes, attributes) in list(bearer.prefix()) {
                    let name = format!("{bearer:?}-{bytes}");
                    let (at, trial) = (here.at("s").join(&name), there.at("trial"));
                    bearer.make(&at)?;
                    bearer.make(&trial)?;
                    let is_taken = is_taken([&at, &trial], &attributes)?;
                    bearer.remove(&trial)?;
                    if is_taken {
                        made.push((name, bearer, attributes));
                    } else {
                        bearer.remove(&at)?;
                    }
                }
            }
            tried += made.len();
            let call = Call::of(haul()).words(words).words(["-T", "s"]).word(there.at("t"));
            let done = call.in_dir(here.path()).run()?;
            let place = format!("{} to {}, {}", from.name, to.name, words.join(" "));
            if done.code() != Some(0) {
                wrong.push(format!("{place}: {done:?}"));
            }
            for (name, bearer, attributes) in made {
                let at = there.at("t").join(&name);
                let arrived = names(&at, bearer.prefix()).unwrap_or_default().len();
                let differs = attributes.iter().find(|(attribute, bytes)| {
                    value(&at, attribute).as_deref() != Ok(bytes.as_slice())
                });
                if arrived != attributes.len() || differs.is_some() {
                    wrong.push(format!("{place}: {name}: {arrived} of {} names", attributes.len()));
                }
            }
        }
    }
    assert!(tried > 50, "only {tried} were taken");
    assert!(wrong.is_empty(), "{} wrong of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn attribute_values_at_every_buffer_size_are_kept() -> Outcome {
    keep(|prefix| VALUES.map(|bytes| (bytes, vec![(format!("{prefix}v"), noise(bytes))])).to_vec())
}

#[test]
fn lists_of_attribute_names_at_every_buffer_size_are_kept() -> Outcome {
    keep(|prefix| LISTS.map(|bytes| (bytes, listed(prefix, bytes))).to_vec())
}

/// Makes attributes without values whose names, with their final bytes, have this total length.
fn listed(prefix: &str, bytes: usize) -> Vec<(String, Vec<u8>)> {
    const MOST: usize = 200;
    let least = prefix.len() + 6;
    let mut left = bytes;
    let mut list = Vec::new();
    while left > 0 {
        // The remainder is enough for one more name, or nothing.
        let takes = if left <= MOST { left } else { (MOST - 20).min(left - least) };
        let digits = takes.saturating_sub(prefix.len() + 1).max(1);
        list.push((format!("{prefix}{:0digits$}", list.len()), Vec::new()));
        left = left.saturating_sub(takes.max(1));
    }
    list
}

/// Makes an access-control list in the kernel's form, with this number of users besides the owner.
fn access_list(users: u32) -> Vec<u8> {
    const OWNER: u16 = 1;
    const USER: u16 = 2;
    const GROUP: u16 = 4;
    const MASK: u16 = 16;
    const OTHERS: u16 = 32;
    const NOBODY: u32 = u32::MAX;
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let named = (0..users).map(|user| (USER, 4, 1000 + user));
    let entries = [(OWNER, 6, NOBODY)].into_iter().chain(named);
    for (tag, rights, id) in
        entries.chain([(GROUP, 4, NOBODY), (MASK, 6, NOBODY), (OTHERS, 0, NOBODY)])
    {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(u16::to_le_bytes(rights));
        bytes.extend(u32::to_le_bytes(id));
    }
    bytes
}

#[test]
fn access_control_lists_at_every_buffer_size_are_kept() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (from, to) in pairs()? {
        for words in KEEPING {
            let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
            fs::create_dir(here.at("s"))?;
            let mut made = Vec::new();
            for users in LISTED_USERS {
                for (bearer, attribute) in [
                    (Bearer::File, "system.posix_acl_access"),
                    (Bearer::Directory, "system.posix_acl_access"),
                    (Bearer::Directory, "system.posix_acl_default"),
                ] {
                    let name = format!("{bearer:?}-{users}-{}", attribute.len());
                    let (at, trial) = (here.at("s").join(&name), there.at("trial"));
                    bearer.make(&at)?;
                    bearer.make(&trial)?;
                    let list = [(attribute.to_owned(), access_list(users))];
                    let is_taken = is_taken([&at, &trial], &list)?;
                    bearer.remove(&trial)?;
                    if is_taken {
                        made.push((name, attribute, users));
                    } else {
                        bearer.remove(&at)?;
                    }
                }
            }
            tried += made.len();
            let call = Call::of(haul()).words(words).words(["-T", "s"]).word(there.at("t"));
            let done = call.in_dir(here.path()).run()?;
            let place = format!("{} to {}, {}", from.name, to.name, words.join(" "));
            if done.code() != Some(0) {
                wrong.push(format!("{place}: {done:?}"));
            }
            for (name, attribute, users) in made {
                let arrived = value(&there.at("t").join(&name), attribute);
                if arrived.as_deref() != Ok(access_list(users).as_slice()) {
                    wrong.push(format!("{place}: {name}: {:?}", arrived.map(|list| list.len())));
                }
            }
        }
    }
    assert!(tried > 50, "only {tried} were taken");
    assert!(wrong.is_empty(), "{} wrong of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn link_texts_at_every_buffer_size_are_kept() -> Outcome {
    let mut tried = 0;
    for (from, to) in pairs()? {
        for words in KEEPING {
            let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
            fs::create_dir(here.at("s"))?;
            let mut made = Vec::new();
            for bytes in TEXTS {
                let text = "l/".repeat(bytes / 2) + if bytes % 2 == 1 { "l" } else { "" };
                let (at, trial) = (here.at(format!("s/{bytes}")), there.at("trial"));
                if symlink(&text, &trial).is_ok() {
                    fs::remove_file(&trial)?;
                    if symlink(&text, &at).is_ok() {
                        made.push((bytes, text));
                    }
                }
            }
            let call = Call::of(haul()).words(words).words(["-T", "s"]).word(there.at("t"));
            call.in_dir(here.path()).succeed()?;
            for (bytes, text) in made {
                let arrived = fs::read_link(there.at(format!("t/{bytes}")))?;
                let place = format!("{} to {}, {words:?}", from.name, to.name);
                assert_eq!(arrived.as_os_str().as_bytes(), text.as_bytes(), "{place}: {bytes}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "only {tried} texts were taken");
    Ok(())
}

/// Writes files of all sizes around those of the buffers, and returns how many.
fn files(root: &Path, most: usize) -> Outcome<usize> {
    fs::create_dir(root)?;
    let bytes = noise(most + 1);
    let mut count = 0;
    for buffer in BUFFERS.into_iter().filter(|buffer| *buffer <= most) {
        for size in [buffer - 1, buffer, buffer + 1] {
            let part = bytes.get(..size).ok_or("a size beyond all")?;
            fs::write(root.join(size.to_string()), part)?;
            count += 1;
        }
    }
    Ok(count)
}

#[test]
fn files_at_every_buffer_size_arrive_between_all_file_systems() -> Outcome {
    let model = Scratch::new()?;
    files(&model.at("s"), EVERYWHERE_BYTES)?;
    for (from, to) in pairs()? {
        let ways: [&[&str]; 4] = [
            &["cp", "-a"],
            &["cp", "-a", "--jobs=1", "--reflink=never"],
            &["cp", "-a", "--atomic"],
            &["mv"],
        ];
        let here = Scratch::on(&from)?;
        for words in ways {
            let there = Scratch::on(&to)?;
            here.clear("s")?;
            files(&here.at("s"), EVERYWHERE_BYTES)?;
            let call = Call::of(haul()).words(words).words(["-T", "s"]).word(there.at("t"));
            call.in_dir(here.path()).succeed()?;
            let place = format!("{} to {}, {}", from.name, to.name, words.join(" "));
            demand_equal(&model.at("s"), &there.at("t"), Aspects::contents_only(), &place);
        }
    }
    Ok(())
}

#[test]
fn large_files_at_every_buffer_size_arrive() -> Outcome {
    let scratch = Scratch::new()?;
    let most = BUFFERS.into_iter().max().unwrap_or_default();
    files(&scratch.at("s"), most)?;
    for words in [&["-r", "--jobs=1"][..], &["-r", "--jobs=3"], &["-r", "--sparse=always"]] {
        cp(words).words(["-T", "s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_equal(
            &scratch.at("s"),
            &scratch.at("t"),
            Aspects::contents_only(),
            &format!("{words:?}"),
        );
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn streams_at_every_buffer_size_are_whole() -> Outcome {
    let scratch = Scratch::new()?;
    files(&scratch.at("s"), 2 << 20)?;
    for line in [
        "haul cat s/$f > out",
        "haul cat s/$f | haul cat > out",
        "cat s/$f | haul cat | cat > out",
        "haul read s/$f | haul write out",
        "cat s/$f | haul write --atomic out",
        "haul tee out < s/$f > /dev/null",
        "haul dd if=s/$f of=out bs=64K status=none",
        "cat s/$f | haul dd of=out ibs=4096 obs=65536 status=none",
        "rm -f x??; haul split -b 65536 s/$f; cat x?? > out 2> /dev/null",
        "haul read s/$f --io-size=65536 | haul write --io-size=4096 out",
    ] {
        demand(
            scratch.path(),
            &format!("for f in $(ls s); do rm -f out; {line}; cmp s/$f out; done"),
        )?;
    }
    Ok(())
}

#[test]
fn directories_that_fill_a_buffer_arrive_and_go() -> Outcome {
    // Of names this long, 234 fill 64 KiB; of short ones, 2048 and 2730. A batch has 32 entries.
    let counts =
        [(31, 8), (32, 8), (33, 8), (233, 255), (234, 255), (235, 255), (2047, 8), (2049, 8)];
    for (from, to) in pairs()? {
        let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
        for (count, length) in counts {
            let dir = here.at(format!("s/{count}-{length}"));
            fs::create_dir_all(&dir)?;
            for number in 0..count {
                fs::write(dir.join(format!("{number:0length$}")), "")?;
            }
        }
        let place = format!("{} to {}", from.name, to.name);
        cp(["-r", "-T", "s"]).word(there.at("t")).in_dir(here.path()).succeed()?;
        demand_equal(&here.at("s"), &there.at("t"), Aspects::contents_only(), &place);
        mv(["-T", "s"]).word(there.at("u")).in_dir(here.path()).succeed()?;
        assert!(!here.at("s").exists(), "{place}");
        demand_equal(&there.at("t"), &there.at("u"), Aspects::contents_only(), &place);
        Call::of(haul()).words(["rm", "-r", "t", "u"]).in_dir(there.path()).succeed()?;
        assert_eq!(fs::read_dir(there.path())?.count(), 0, "{place}");
    }
    Ok(())
}

#[test]
fn paths_at_the_kernels_limit_arrive_and_go() -> Outcome {
    const LIMIT: usize = 4096;
    for (from, to) in pairs()? {
        for path_bytes in [LIMIT - 2, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 300] {
            let (here, there) = (Scratch::on(&from)?, Scratch::on(&to)?);
            deep(&here.at("s"), path_bytes)?;
            let place = format!("{} to {}, {path_bytes} bytes", from.name, to.name);
            cp(["-a", "s"]).word(there.at("t")).in_dir(here.path()).succeed()?;
            demand_equal(&here.at("s"), &there.at("t"), Aspects::contents_only(), &place);
            mv(["s"]).word(there.at("u")).in_dir(here.path()).succeed()?;
            demand_equal(&there.at("t"), &there.at("u"), Aspects::contents_only(), &place);
            Call::of(haul()).words(["rm", "-r", "t"]).in_dir(there.path()).succeed()?;
            assert_eq!(there.path().metadata()?.nlink() > 0, !there.at("t").exists(), "{place}");
        }
    }
    Ok(())
}

/// Makes nested directories until the path of the last, from `s` on, has this length, and a file in it.
fn deep(root: &Path, path_bytes: usize) -> Outcome {
    const NAME_BYTES: usize = 200;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::create_dir(root)?;
    let mut dir = openat(CWD, root, flags, Mode::empty())?;
    let mut left = path_bytes - 1;
    while left > 1 {
        // A name and a slash; the remainder is enough for one more, or nothing.
        let takes = if left <= NAME_BYTES + 1 { left } else { (NAME_BYTES + 1).min(left - 2) };
        let name = CString::new("n".repeat(takes - 1))?;
        mkdirat(&dir, &name, Mode::from_raw_mode(0o755))?;
        dir = openat(&dir, &name, flags, Mode::empty())?;
        left -= takes;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = openat(&dir, "file", flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, b"deep")?;
    Ok(())
}
