//! Container engines, sandboxes and old kernels refuse calls: with `EPERM` (a seccomp filter), or
//! with `ENOSYS` (a kernel or filter that does not know them). haul then uses other calls, with the same
//! result.
//!
//! The tests use the kernel's own filters. The replacements of refused calls are in `io/src/errno.rs`
//! and in haul-sys.

use std::os::unix::fs::{FileExt as _, symlink};

use haul_manifest::Aspects;

use super::support::image::Image;
use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::volumes;
use super::support::{Outcome, has};

/// Calls that are newer than the oldest supported kernel, or that container engines refuse.
const REFUSED: [(&str, i64); 19] = [
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("copy_file_range", libc::SYS_copy_file_range),
    ("sendfile", libc::SYS_sendfile),
    ("splice", libc::SYS_splice),
    ("preadv2", libc::SYS_preadv2),
    ("pwritev2", libc::SYS_pwritev2),
    ("cachestat", 451),
    ("mincore", libc::SYS_mincore),
    ("sync_file_range", libc::SYS_sync_file_range),
    ("fallocate", libc::SYS_fallocate),
    ("fadvise64", libc::SYS_fadvise64),
    ("renameat2", libc::SYS_renameat2),
    ("statx", libc::SYS_statx),
    ("tee", libc::SYS_tee),
    ("openat2", libc::SYS_openat2),
    ("close_range", libc::SYS_close_range),
    ("name_to_handle_at", libc::SYS_name_to_handle_at),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
];

const MIB: usize = 1 << 20;

/// Makes a tree `s` with one entry for each way of copying.
fn plant(scratch: &Scratch) -> Outcome {
    for index in 0..40_u8 {
        scratch.write(&format!("s/small/{index}"), vec![index; usize::from(index) * 100])?;
    }
    scratch.write("s/medium", vec![7; 3 * MIB + 5])?;
    // Enough for several workers, and for a ring.
    scratch.write("s/large", vec![9; 9 * MIB + 1])?;
    let sparse = std::fs::File::create(scratch.at("s/sparse"))?;
    sparse.write_all_at(b"end", 20 * MIB as u64)?;
    symlink("medium", scratch.at("s/link"))?;
    std::fs::hard_link(scratch.at("s/medium"), scratch.at("s/second"))?;
    Ok(())
}

/// Returns the calls of [`REFUSED`] that a command makes, or all if that cannot be known. A filter of the others
/// would change nothing.
fn made(scratch: &Scratch, call: &Call) -> Outcome<Vec<(&'static str, i64)>> {
    if !is_usable()? {
        return Ok(REFUSED.to_vec());
    }
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).run()?;
    let lines = strace.lines()?;
    // An older strace does not know the names of newer calls.
    let is_made = |(name, number): &(&str, i64)| {
        let unknown = format!("syscall_{number:#x}");
        lines.iter().any(|line| line.name == *name || line.name == unknown)
    };
    Ok(REFUSED.into_iter().filter(is_made).collect())
}

#[test]
fn a_copy_does_without_any_call_that_is_refused() -> Outcome {
    for (place, volume) in volumes()?.into_iter().enumerate() {
        // What an errno of these calls means does not depend on the file system.
        let errnos = [libc::EPERM, libc::ENOSYS];
        let errnos = if place == 0 { &errnos[..] } else { &errnos[..1] };
        let scratch = Scratch::on(&volume)?;
        plant(&scratch)?;
        for options in [
            ["-a", "--stats", "--jobs=3"],
            ["-a", "--cache=direct", "--reflink=never"],
            ["-a", "--cache=drop", "--reflink=never"],
            ["-a", "--jobs=1", "--reflink=never"],
        ] {
            let call = Call::of(haul()).word("cp").words(options).words(["s", "t"]);
            let call = call.in_dir(scratch.path());
            let made = made(&scratch, &call)?;
            assert!(made.len() > 1, "{options:?} {}: {made:?}", volume.name);
            scratch.clear("t")?;
            for (name, number) in made {
                for errno in errnos {
                    let done = call.clone().behind_filter(&[number], *errno).run()?;
                    let what = format!("{name} {errno} {options:?} {}: {done:?}", volume.name);
                    // There may be figures, and warnings where direct I/O is not possible.
                    let said = done.errors();
                    let is_wrong = said.contains("cannot") || said.contains("error");
                    assert_eq!((done.code(), is_wrong), (Some(0), false), "{what}");
                    let (source, target) = (scratch.at("s"), scratch.at("t"));
                    demand_equal(&source, &target, Aspects::preserved(), &what);
                    scratch.clear("t")?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_others_do_without_them_as_well() -> Outcome {
    let scratch = Scratch::new()?;
    plant(&scratch)?;
    let large = std::fs::read(scratch.at("s/large"))?;
    for (name, number) in REFUSED {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let run = |script: &str| {
                let call = Call::of("sh").words(["-ec", script]).word(haul());
                call.in_dir(scratch.path()).behind_filter(&[number], errno).succeed()
            };
            for script in [
                "\"$0\" read s/large | \"$0\" write --fsync t",
                "\"$0\" read --cache=direct s/large | \"$0\" write --cache=direct --atomic t",
                "\"$0\" cat s/large > t",
                "\"$0\" cat s/large | \"$0\" tee t > t2; cmp t t2; rm t2",
                "\"$0\" dd if=s/large of=t bs=1M status=none",
                "\"$0\" split -n 4 s/large t.; cat t.* > t; rm t.*",
                "\"$0\" cp -a s u; \"$0\" mv u/large t; \"$0\" rm -r u; [ ! -e u ]",
                "\"$0\" md5sum s/large > sum; \"$0\" md5sum --quiet -c sum; cp s/large t",
            ] {
                let _said_nothing = run(script)?;
                let what = format!("{name} {errno} {script}");
                assert!(std::fs::read(scratch.at("t"))? == large, "{what}");
                scratch.clear("t")?;
            }
        }
    }
    Ok(())
}

/// What kernels, filters and security modules answer to a call that they do not allow.
const ANSWERS: [i32; 4] = [libc::EPERM, libc::ENOSYS, libc::EACCES, libc::EINVAL];

/// Calls that another call can replace; see `refused.rs` in haul-sys.
const REPLACED: [(&str, i64); 6] = [
    ("cachestat", 451),
    ("linkat", libc::SYS_linkat),
    ("openat2", libc::SYS_openat2),
    ("renameat2", libc::SYS_renameat2),
    ("statx", libc::SYS_statx),
    ("sync_file_range", libc::SYS_sync_file_range),
];

/// Commands that make `t` of `s`, or of its copy `u`; `FAR` is on another file system.
const SCRIPTS: [&str; 10] = [
    "\"$0\" cp -aT --atomic s t",
    "\"$0\" cp -aT --durable s t",
    "\"$0\" cp -aT --verify s t",
    "\"$0\" cp -aT --resume s t; rm .haul-*",
    "\"$0\" write --atomic u/d/3 < s/d/4; \"$0\" write --atomic u/d/3 < s/d/3; \"$0\" mv u t",
    "\"$0\" gzip u/d/3; \"$0\" gzip -d u/d/3.gz; \"$0\" mv u t",
    "\"$0\" tar -cf a -C s .; \"$0\" mv empty t; \"$0\" tar -xpf a -C t",
    "\"$0\" tar -cf a -C s .; \"$0\" mv empty t; \"$0\" tar -xpf a --atomic -C t",
    "\"$0\" mv u \"$FAR\"/t; \"$0\" mv \"$FAR\"/t t",
    "\"$0\" compare s u; \"$0\" mv u t",
];

#[test]
fn files_are_published_archived_and_compared_without_any_call_that_is_refused() -> Outcome {
    let far = Scratch::below(std::path::Path::new("/dev/shm"))?;
    for (name, number) in REPLACED {
        for errno in ANSWERS {
            let scratch = Scratch::new()?;
            for index in 0..5_u8 {
                scratch.write(&format!("s/d/{index}"), vec![index; usize::from(index) * 1000])?;
            }
            symlink("d/3", scratch.at("s/link"))?;
            for script in SCRIPTS {
                for left in ["t", "a", "u", "empty"] {
                    scratch.clear(left)?;
                }
                std::fs::create_dir(scratch.at("empty"))?;
                Call::of("cp").words(["-a", "s", "u"]).in_dir(scratch.path()).succeed()?;
                let call = Call::of("sh").words(["-ec", script]).word(haul());
                let call = call.env("FAR", &far.path().display().to_string());
                let call = call.in_dir(scratch.path()).behind_filter(&[number], errno);
                let done = call.run()?;
                let what = format!("{name} {errno} {script}: {done:?}");
                assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{what}");
                let same = Call::of("diff").words(["-r", "s", "t"]).in_dir(scratch.path()).run()?;
                assert_eq!(same.code(), Some(0), "{what}: {same:?}");
                assert!(super::support::hidden(scratch.path())?.is_empty(), "{what}");
            }
        }
    }
    Ok(())
}

/// As over ZFS, which has no map of extents, and where a file has fewer blocks than bytes.
#[test]
fn compressed_files_below_an_overlay_count_as_stored() -> Outcome {
    let scratch = Scratch::new()?;
    let Some(image) = Image::new(&scratch, "btrfs")? else { return Ok(()) };
    if !has("unshare")? {
        return Ok(());
    }
    scratch.write("s", vec![b'a'; 3 << 20])?;
    let script = "mount -o remount,compress-force=zstd btrfs && mkdir -p lower m btrfs/u btrfs/w && \
                  mount -t overlay -o lowerdir=lower,upperdir=btrfs/u,workdir=btrfs/w none m && \
                  exec \"$0\" \"$@\"";
    for (number, option) in ["--durable", "--atomic", "--verify"].iter().enumerate() {
        let call = cp([option]).word("s").word(format!("m/t{number}")).in_dir(scratch.path());
        let call = call.under(["unshare", "-m", "--", "sh", "-c", script]);
        let done = call.behind_filter(&[libc::SYS_ioctl], libc::EPERM).run()?;
        assert_eq!(done.code(), Some(0), "{option}: {done:?}");
    }
    drop(image);
    Ok(())
}
