//! Edges of `tar`: modes and directories that exist, streams of nothing, and holes without end.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{gnu_tar, ours};
use super::support::{Outcome, has, ignored};

/// The mode of an archive is masked: what the mask does not cover stays as the kernel made it.
#[test]
fn new_directories_keep_the_setgid_bit_that_they_inherit() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.at("s/d/e"))?;
    scratch.write("s/d/f", "text")?;
    fs::set_permissions(scratch.at("s/d"), fs::Permissions::from_mode(0o4777))?;
    ours().words(["-cf", "a.tar", "-C", "s", "d"]).in_dir(scratch.path()).succeed()?;
    let mut modes = Vec::new();
    for tool in [ours, gnu_tar] {
        let target = scratch.at("t");
        fs::create_dir_all(target.join("d"))?;
        fs::set_permissions(&target, fs::Permissions::from_mode(0o2755))?;
        fs::set_permissions(target.join("d"), fs::Permissions::from_mode(0o3700))?;
        let call = tool().words(["--no-same-permissions", "-xf", "a.tar", "-C", "t"]);
        call.in_dir(scratch.path()).with_umask("022").succeed()?;
        let mode = |name: &str| fs::metadata(target.join(name)).map(|told| told.mode() & 0o7777);
        modes.push([mode("d")?, mode("d/e")?, mode("d/f")?]);
        fs::remove_dir_all(&target)?;
    }
    assert_eq!(modes[0], modes[1]);
    assert_eq!(modes[0], [0o3755, 0o2755, 0o644]);
    Ok(())
}

/// As GNU tar, which opens the directory to write to it.
#[test]
fn a_file_replaces_a_directory_only_if_directories_may_be_removed() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("m/x", "x")?;
    scratch.write("m/y", "y")?;
    ours().words(["-cf", "a.tar", "-C", "m", "x", "y"]).in_dir(scratch.path()).succeed()?;
    for (options, is_full, replaces) in [
        (&[][..], false, true),
        (&[], true, false),
        (&["--overwrite"], false, false),
        (&["--overwrite"], true, false),
        (&["--overwrite", "--recursive-unlink"], false, true),
        (&["--overwrite", "--recursive-unlink"], true, true),
    ] {
        for tool in [ours, gnu_tar] {
            fs::create_dir_all(scratch.at("t/x"))?;
            if is_full {
                scratch.write("t/x/precious", "precious")?;
            }
            let call = tool().words(options).words(["-xf", "a.tar", "-C", "t"]);
            let done = call.in_dir(scratch.path()).run()?;
            let context = format!("{options:?} {is_full}: {done:?}");
            assert_eq!(done.code(), Some(if replaces { 0 } else { 2 }), "{context}");
            assert_eq!(scratch.at("t/x").is_file(), replaces, "{context}");
            assert_eq!(scratch.at("t/x/precious").exists(), is_full && !replaces, "{context}");
            assert!(scratch.at("t/y").is_file(), "{context}");
            fs::remove_dir_all(scratch.at("t"))?;
        }
    }
    Ok(())
}

/// An archive that was cut to nothing before it was compressed.
#[test]
fn a_compressed_stream_of_nothing_is_no_archive() -> Outcome {
    let scratch = Scratch::new()?;
    for program in ["gzip", "xz", "bzip2", "zstd", "lzma"] {
        if !has(program)? {
            continue;
        }
        for bytes in [0, 100] {
            let input = vec![0; bytes];
            let packed = Call::of(program).word("-c").input(input).in_dir(scratch.path());
            scratch.write("a", packed.succeed()?.stdout)?;
            for way in ["-tf", "-xf", "-df"] {
                let done = ours().words([way, "a"]).in_dir(scratch.path()).run()?;
                assert_eq!(done.code(), Some(2), "{program} {bytes} {way}: {done:?}");
            }
            let done = ours().words([&format!("--{program}"), "-t"]);
            let done = done.input(fs::read(scratch.at("a"))?).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(2), "{program} {bytes}: {done:?}");
        }
    }
    Ok(())
}

/// Such a hole takes a few bytes of an archive, and more time to read than a user has.
#[test]
fn the_time_for_a_hole_does_not_grow_with_its_size() -> Outcome {
    let scratch = Scratch::new()?;
    let file = fs::File::create(scratch.at("huge"))?;
    // The largest file of ext4 is smaller by a block.
    if file.set_len((16 << 40) - (1 << 20)).is_err() {
        return ignored("a file system with files of 16 TiB");
    }
    scratch.write("after", "text")?;
    for words in [
        &["-cSf", "a.tar", "huge", "after"][..],
        &["-df", "a.tar"],
        &["-cSf", "a.tar", "--verify", "huge", "after"],
    ] {
        ours().words(words).in_dir(scratch.path()).succeed()?;
    }
    fs::File::options().write(true).open(scratch.at("huge"))?.set_len(1 << 30)?;
    let done = ours().words(["-df", "a.tar"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    let script = "import tarfile,sys\n\
                  i=tarfile.TarInfo('huge'); i.pax_headers={'GNU.sparse.major':'1','GNU.sparse.minor':'0',\
                  'GNU.sparse.name':'huge','GNU.sparse.realsize':str(2**63-1)}; i.size=512\n\
                  import io\n\
                  t=tarfile.open('b.tar','w',format=tarfile.PAX_FORMAT)\n\
                  t.addfile(i,io.BytesIO(b'0\\n'+bytes(510))); t.addfile(tarfile.TarInfo('after')); t.close()";
    Call::of("python3").words(["-c", script]).in_dir(scratch.path()).succeed()?;
    let words = ["-xf", "b.tar", "--sum-file=sums", "-C", "t"];
    fs::create_dir(scratch.at("t"))?;
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{done:?}");
    assert!(done.errors().contains("huge: Cannot hash its holes: File too large"), "{done:?}");
    assert!(scratch.at("t/after").exists() && !scratch.at("t/huge").exists(), "{done:?}");
    Ok(())
}

/// Bits that the archive and the umask deny stay on no directory, however it was made; the setgid and the
/// sticky bit of an existing one stay.
#[test]
fn an_existing_directory_gets_the_masked_permissions_of_the_archive() -> Outcome {
    let scratch = Scratch::new()?;
    for (archived, existing, expected) in [
        (0o700, 0o775, 0o700),
        (0o775, 0o2770, 0o2750),
        (0o777, 0o1777, 0o1750),
        (0o755, 0o700, 0o750),
    ] {
        scratch.clear_all()?;
        for (name, mode) in [("s/d", archived), ("t/d", existing)] {
            fs::create_dir_all(scratch.at(name))?;
            fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(mode))?;
        }
        ours().words(["-cf", "a.tar", "-C", "s", "d"]).in_dir(scratch.path()).succeed()?;
        let call = ours().words(["--no-same-permissions", "-xf", "a.tar", "-C", "t"]);
        call.in_dir(scratch.path()).with_umask("027").succeed()?;
        let found = scratch.at("t/d").metadata()?.permissions().mode() & 0o7777;
        assert_eq!(found, expected, "{archived:o} onto {existing:o}: {found:o}");
    }
    Ok(())
}
