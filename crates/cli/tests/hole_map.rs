//! Wrong hole maps: `SEEK_DATA` reports no data where there is some. Every command still reads the right
//! bytes, on every file system.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use haul_faultfs::{Config, Mode, Mounted};

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::volumes;
use super::support::{Outcome, ignored};

const MIB: u64 = 1 << 20;

/// Makes a file of 9 MiB with data at its start, in the middle and near its end, and returns its bytes.
fn furnish(path: &Path) -> Outcome<Vec<u8>> {
    let file = fs::File::create(path)?;
    file.set_len(9 * MIB)?;
    for at in [0, 3 * MIB, 8 * MIB] {
        file.write_all_at(&[0xa5; 70_000], at)?;
    }
    file.sync_all()?;
    Ok(fs::read(path)?)
}

/// Ways to copy `s/file` to `t`.
const COPIES: [&[&str]; 7] = [
    &["cp", "--jobs=1"],
    &["cp", "--jobs=4", "--reflink=never"],
    &["cp", "--reflink=never", "--sparse=always"],
    &["cp", "--reflink=never", "--method=read-write"],
    &["cp", "--reflink=never", "--cache=direct"],
    &["cp", "--verify"],
    &["cp", "--jobs=1", "--reflink=never", "--verify"],
];

#[test]
fn an_end_of_data_that_the_blocks_contradict_is_not_believed() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for volume in volumes()? {
        let scratch = Scratch::below(&volume.path)?;
        fs::create_dir(scratch.at("s"))?;
        let bytes = furnish(&scratch.at("s/file"))?;
        // The first result, the one after the first segment, the one after the second, and, if one thread
        // copies and verifies, all that verification gets of the target.
        for when in ["1+", "3+", "5+", "8+"] {
            let inject = format!("lseek:error=ENXIO:when={when}");
            for words in COPIES {
                let what = format!("{} {when} {words:?}", volume.name);
                let call =
                    Call::of(haul()).words(words).words(["s/file", "t"]).in_dir(scratch.path());
                let strace = Strace::new(scratch.at("log")).trace("lseek").inject(&inject);
                let done = strace.wrap(call).run()?;
                assert_eq!(done.code(), Some(0), "{what}: {done:?}");
                assert!(fs::read(scratch.at("t"))? == bytes, "{what}: other bytes");
            }
            let call =
                Call::of(haul()).words(["read", "--sum=blake3", "s/file"]).in_dir(scratch.path());
            let strace = Strace::new(scratch.at("log")).trace("lseek").inject(&inject);
            let done = strace.wrap(call).run()?;
            assert_eq!(done.code(), Some(0), "{}: {:?}", volume.name, done.errors());
            assert!(done.stdout == bytes, "{} {when}: read gives other bytes", volume.name);
        }
    }
    Ok(())
}

#[test]
fn the_holes_of_a_program_behind_fuse_are_not_believed() -> Outcome {
    if !rustix::process::geteuid().is_root() || !PathBuf::from("/dev/fuse").exists() {
        return ignored("root and /dev/fuse");
    }
    let scratch = Scratch::new()?;
    for name in ["below", "far", "s"] {
        fs::create_dir(scratch.at(name))?;
    }
    let bytes = furnish(&scratch.at("below/file"))?;
    furnish(&scratch.at("s/file"))?;
    let mut config = Config { mode: Mode::Direct, ..Config::default() };
    config.rules = vec!["lseek=hole".parse()?];
    let _mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), &config)?;
    for words in COPIES {
        for (from, to) in [("far/file", "t"), ("far/file", "far/t"), ("s/file", "far/t")] {
            let what = format!("{words:?} {from} {to}");
            let done =
                Call::of(haul()).words(words).words([from, to]).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{what}: {done:?}");
            assert!(fs::read(scratch.at(to))? == bytes, "{what}: other bytes");
            fs::remove_file(scratch.at(to))?;
        }
    }
    let shown: [&[&str]; 5] = [
        &["read", "far/file"],
        &["cat", "far/file"],
        &["dd", "status=none", "if=far/file"],
        &["dd", "status=none", "bs=1M", "if=far/file"],
        &["dd", "status=none", "bs=1M", "conv=sparse", "if=far/file", "of=/dev/stdout"],
    ];
    for words in shown {
        let done = Call::of(haul()).words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {}", done.errors());
        assert!(done.stdout == bytes, "{words:?}: other bytes");
    }
    let done =
        Call::of(haul()).words(["split", "-n", "3", "far/file", "part-"]).in_dir(scratch.path());
    assert_eq!(done.run()?.code(), Some(0));
    let parts = ["aa", "ab", "ac"].map(|end| fs::read(scratch.at(format!("part-{end}"))));
    let joined: Vec<u8> = parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    assert!(joined == bytes, "split: other bytes");
    let sums: Vec<String> = ["far/file", "s/file"]
        .iter()
        .map(|file| {
            let done = Call::of(haul()).words(["b3sum", file]).in_dir(scratch.path()).run()?;
            Ok(done.text().split(' ').next().unwrap_or_default().to_owned())
        })
        .collect::<Outcome<_>>()?;
    assert_eq!(sums[0], sums[1]);
    // The digest of a file that was verified on such a file system is that of its bytes.
    let sum = ["--verify=sha256", "--sum-file=sums", "s/file", "far/t"];
    let done = cp(sum).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let check = Call::of("sha256sum").words(["far/t"]).in_dir(scratch.path()).run()?;
    let digest = check.text().split(' ').next().unwrap_or_default().to_owned();
    let told = fs::read_to_string(scratch.at("sums"))?;
    assert!(!digest.is_empty() && told.contains(&digest), "{told} {digest}");
    Ok(())
}
