//! `--verify`, `--repair`, `--sum-file`, `--retry-changed`: every written file is read again, a wrong one
//! is detected and never gets its name, and digests are those of the ordinary programs.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, Done, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::cycle;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::{Outcome, has, is_root};

const MIB: usize = 1 << 20;

/// Makes files of every kind: empty, small, large enough for two workers, with holes.
fn furnish(scratch: &Scratch) -> Outcome {
    scratch.write("s/empty", "")?;
    scratch.write("s/small", "small")?;
    scratch.write("s/large", cycle(9 * MIB + 13))?;
    let holes = fs::File::create(scratch.at("s/holes"))?;
    holes.set_len(12 * MIB as u64)?;
    holes.write_all_at(&cycle(MIB), 3 * MIB as u64)?;
    holes.write_all_at(b"near the end", 11 * MIB as u64)?;
    Ok(())
}

#[test]
fn a_true_copy_is_verified_whatever_it_is() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let ways: [&[&str]; 7] = [
        &["-a", "--verify", "--jobs=1"],
        &["-a", "--verify=sha256", "--jobs=4"],
        &["-a", "--repair", "--durable"],
        &["-a", "--verify=xxh3", "--sparse=always"],
        &["-a", "--verify=md5", "--sparse=never", "--jobs=4"],
        &["-a", "--verify", "--cache=direct"],
        &["-a", "--verify", "--method=read-write", "--hash=blake2b"],
    ];
    for options in ways {
        scratch.clear("t")?;
        let done = cp(options).words(["-T", "s", "t"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{options:?}: {done:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "verified");
    }
    let proc = cp(["--verify", "/proc/cpuinfo", "c"]).in_dir(scratch.path()).run()?;
    assert_eq!((proc.code(), fs::read(scratch.at("c"))?.is_empty()), (Some(0), false));
    let blind =
        cp(["--verify", "--method=sendfile", "s/large", "x"]).in_dir(scratch.path()).run()?;
    assert!(blind.errors().contains("the bytes are to be hashed"), "{blind:?}");
    Ok(())
}

/// Copies with the first bytes of a write altered before they reach the kernel.
fn corrupted(scratch: &Scratch, options: &[&str], which: &str) -> Outcome<Done> {
    let call = cp(options).words(["s/large", "t"]).in_dir(scratch.path());
    let poke = format!("pwrite64:poke_enter=@arg2=ffeeddcc:when={which}");
    let strace = Strace::new(scratch.at("log")).trace("pwrite64").inject(&poke);
    let done = strace.wrap(call).run()?;
    assert!(strace.text()?.contains("INJECTED"), "{}", strace.text()?);
    Ok(done)
}

#[test]
fn a_false_byte_is_found_and_the_old_file_stays() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for which in ["1", "3", "11"] {
        scratch.write("t", "old")?;
        // Without it the error would stay undetected.
        let unseen = corrupted(&scratch, &["--jobs=1", "--sum-file=sums"], which)?;
        assert_eq!(unseen.code(), Some(0), "{unseen:?}");
        assert_ne!(fs::read(scratch.at("t"))?, fs::read(scratch.at("s/large"))?);
        scratch.write("t", "old")?;
        let found = corrupted(&scratch, &["--jobs=1", "--verify"], which)?;
        assert_eq!(found.code(), Some(1), "{found:?}");
        assert!(
            found.errors().contains("'t' differs from what was read of 's/large'"),
            "{found:?}"
        );
        assert_eq!(fs::read(scratch.at("t"))?, b"old");
        let repaired = corrupted(&scratch, &["--jobs=1", "--repair"], which)?;
        assert_eq!(repaired.code(), Some(0), "{repaired:?}");
        assert!(repaired.errors().contains("was repaired (attempt 1)"), "{repaired:?}");
        assert_eq!(fs::read(scratch.at("t"))?, fs::read(scratch.at("s/large"))?);
    }
    // A file that is wrong every time is given up.
    scratch.write("t", "old")?;
    let hopeless = corrupted(&scratch, &["--jobs=1", "--repair"], "1+")?;
    assert_eq!(hopeless.code(), Some(1), "{hopeless:?}");
    assert_eq!(fs::read(scratch.at("t"))?, b"old");
    assert_eq!(
        fs::read_dir(scratch.path())?
            .filter_map(Result::ok)
            .filter(|entry| { entry.file_name().to_string_lossy().starts_with(".haul-") })
            .count(),
        0
    );
    Ok(())
}

#[test]
fn a_file_system_without_storage_causes_a_warning() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("small", "small")?;
    let target = tempfile::Builder::new().prefix("haul-test-").tempfile_in("/dev/shm")?;
    let path = target.path().display().to_string();
    let done = cp(["--verify", "small", &path]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.errors().contains("could only be compared in the page cache"), "{done:?}");
    Ok(())
}

#[test]
fn sum_files_are_what_the_ordinary_programs_read() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for name in ["with space", "new\nline", "back\\slash", "\u{fc}", "-dash"] {
        scratch.write(&format!("s/{name}"), name)?;
    }
    for (algorithm, program) in
        [("sha256", "sha256sum"), ("md5", "md5sum"), ("sha1", "sha1sum"), ("blake2b", "b2sum")]
    {
        if !has(program)? {
            continue;
        }
        for options in [vec![], vec!["--verify"], vec!["--durable", "--jobs=1"]] {
            scratch.clear("t")?;
            let call = cp(["-r", "--sum-file=sums", "--hash", algorithm]).words(options);
            let done = call.words(["-T", "s", "t"]).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{done:?}");
            let checked = Call::of(program).words(["--strict", "-c", "sums"]);
            let checked = checked.in_dir(scratch.path()).run()?;
            assert_eq!(checked.code(), Some(0), "{algorithm}: {checked:?}");
            assert_eq!(checked.text().lines().count(), 9, "{checked:?}");
        }
    }
    // The sum file must not overwrite a file with other contents.
    scratch.write("precious", "no sums\n")?;
    for (sums, source) in [("s/small", "s/small"), ("precious", "s/small"), ("sums", "sums")] {
        let before = fs::read(scratch.at(sums))?;
        let option = format!("--sum-file={sums}");
        let done = cp([option.as_str(), source, "t4"]).in_dir(scratch.path()).run()?;
        assert_eq!((done.code(), scratch.at("t4").exists()), (Some(1), false), "{done:?}");
        assert!(fs::read(scratch.at(sums))? == before, "{sums}: {done:?}");
    }
    let full = cp(["--sum-file=/dev/full", "s/small", "t2"]).in_dir(scratch.path()).run()?;
    assert_eq!(full.code(), Some(1), "{full:?}");
    let bad = cp(["--hash=crc9", "--verify", "s/small", "t3"]).in_dir(scratch.path()).run()?;
    assert!(bad.errors().contains("crc9"), "{bad:?}");
    Ok(())
}

#[test]
fn a_file_that_changes_is_copied_again_if_that_is_wanted() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for options in [["--jobs=1", "--atomic"], ["--jobs=1", "--verify"], ["--jobs=1", "--stats"]] {
        let scratch = Scratch::new()?;
        let source = scratch.write("s", cycle(3 * MIB))?;
        let grow = || -> Outcome {
            Ok(fs::OpenOptions::new().append(true).open(&source)?.write_all(b"more")?)
        };
        let name = if options[1] == "--verify" { "pwrite64" } else { "splice" };
        let point = Point { name: name.to_owned(), occurrence: 1 };
        let once = cp(options).words(["s", "t"]).in_dir(scratch.path());
        let done = stopped_at(&scratch.at("log"), &once, &point, grow)?.ok_or("no such call")?;
        assert_eq!(done.code(), Some(1), "{options:?}: {done:?}");
        assert!(done.errors().contains("'s' changed while it was copied"), "{done:?}");
        assert!(!scratch.at("t").exists());
        let again = cp(options).words(["--retry-changed=3", "s", "t"]).in_dir(scratch.path());
        let done = stopped_at(&scratch.at("log"), &again, &point, grow)?.ok_or("no such call")?;
        assert_eq!(done.code(), Some(0), "{options:?}: {done:?}");
        assert_eq!(fs::read(scratch.at("t"))?, fs::read(&source)?);
    }
    Ok(())
}

#[test]
fn journaled_data_is_read_from_storage_again() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mkfs.ext4")? || !has("python3")? {
        return Ok(());
    }
    // ext4 accepts O_DIRECT for such files and reads them through the cache.
    let scratch = Scratch::new()?;
    let source = tempfile::Builder::new().prefix("haul-test-").tempfile_in("/dev/shm")?;
    fs::write(source.path(), cycle(3 * MIB))?;
    let count = "import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock * 512)
sys.exit(code)";
    let script = "set -e; mkdir m; truncate -s 64M image; mkfs.ext4 -q -F image
        mount -o loop,data=journal image m; set +e
        python3 -c \"$2\" \"$0\" cp --verify \"$1\" m/t; code=$?
        umount m; exit $code";
    let call = Call::of("unshare").words(["-m", "--", "bash", "-c", script]).word(haul());
    let done = call.word(source.path()).word(count).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let was_read: usize = done.text().trim().parse()?;
    let is_told = done.errors().contains("could only be compared in the page cache");
    assert!(was_read >= 3 * MIB || is_told, "{was_read} bytes were read: {done:?}");
    Ok(())
}
