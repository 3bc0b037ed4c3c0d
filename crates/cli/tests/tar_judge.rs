//! Archives that no tar would write, and damaged ones: `haul tar` does what GNU tar does, or fails.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::tar::gnu_tar;
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Writes `a.tar` by a Python script, in which `add` appends a member and `raw` bytes.
fn forge(scratch: &Scratch, script: &str) -> Outcome {
    let script = format!(
        "import tarfile,io\n\
         out=open('a.tar','wb')\n\
         def raw(data): out.write(data)\n\
         def header(i): return i.tobuf(tarfile.GNU_FORMAT)\n\
         def add(name,kind='0',link='',data=b'',mode=0o755,uid=0,user=''):\n\
         \x20i=tarfile.TarInfo(name); i.type=kind.encode(); i.linkname=link; i.mode=mode\n\
         \x20i.size=len(data); i.uid=uid; i.uname=user; i.mtime=1000000000\n\
         \x20raw(header(i)+data+b'\\0'*(-len(data)%512))\n\
         def sized(name,kind,size,link=''):\n\
         \x20i=tarfile.TarInfo(name); i.type=kind.encode(); i.linkname=link; i.size=size; i.mtime=1000000000\n\
         \x20raw(header(i))\n\
         {script}\n\
         raw(b'\\0'*1024)\n\
         out.close()\n"
    );
    Call::of("python3").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// Members and options with which the tree has to be that of GNU tar.
const LIKE_GNU: &[(&[&str], &str)] = &[
    // A link is replaced by a directory or by another link after members went through it.
    (
        &[],
        "add('d','5'); add('d/x',data=b'old'); add('l','2','d'); add('l/f',data=b'one')\n\
         add('l','5'); add('l/x',data=b'new')",
    ),
    (
        &[],
        "add('d','5'); add('e','5'); add('l','2','d'); add('l/f',data=b'one')\n\
         add('l','2','e'); add('l/g',data=b'two')",
    ),
    // Hard links to links that lead out: by another hard link, in another case, through a link.
    (&[], "add('a','2','../x'); add('b','1','a'); add('c','1','b')"),
    (&[], "add('A','2','../x'); add('a','2','../y'); add('b','1','A')"),
    (&[], "add('d','5'); add('l','2','d'); add('d/s','2','../../x'); add('h','1','l/s')"),
    // A later member wins over a file that a worker makes under the same name.
    (
        &[],
        "add('d','5'); add('l','2','d')\n\
         for i in range(200): add('p/%d'%i,data=b'z'*30000)\n\
         add('d/a',data=b'old'); add('l/a','2','target')",
    ),
    (&["--no-overwrite-dir"], "add('d','5'); add('d/f'); add('d','5'); add('d/g')"),
    (&["-U"], "add('./','5'); add('./f',data=b'1')"),
    // A block of zeros ends the archive, whatever follows.
    (&[], "add('first',data=b'1'); raw(b'\\0'*512); add('h',data=header(tarfile.TarInfo('evil')))"),
    (&["--strip-components=1"], "add('../x',data=b'1'); add('d/y',data=b'2')"),
    (&["-i"], "add('first',data=b'1'); raw(b'\\0'*512); add('last',data=b'2')"),
    // Some programs write a size for what has no data.
    (&[], "sized('d/','5',4096); add('d/f',data=b'1'); add('last')"),
    (&[], "sized('d/','\\0',4096); add('d/f',data=b'1'); add('last')"),
    (&[], "sized('l','2',512,'target'); add('last',data=b'2')"),
    (&[], "sized('p','6',512); add('last',data=b'2')"),
    (&[], "add('f',data=b'1'); sized('h','1',512,'f'); add('last',data=b'2')"),
    (&[], "sized('d','5',512); raw(b'x'*512); add('last',data=b'2')"),
    // Of a contiguous file, too, a slash makes a directory.
    (&[], "add('d/','7'); add('d/f',data=b'1')"),
    (&["--exclude=d/f"], "add('d/','7'); add('d/f',data=b'1'); add('last')"),
];

#[test]
fn unusual_archives_give_the_trees_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    for (options, members) in LIKE_GNU {
        let scratch = Scratch::new()?;
        forge(&scratch, members)?;
        for target in ["gnu", "haul"] {
            fs::create_dir(scratch.at(target))?;
        }
        let words = |call: Call| call.words(*options).words(["-xf", "../a.tar"]);
        let gnu = words(gnu_tar()).in_dir(scratch.at("gnu")).run()?;
        let done = words(ours()).in_dir(scratch.at("haul")).run()?;
        assert_eq!(done.code(), gnu.code(), "{members}: {done:?}");
        demand_equal(&scratch.at("gnu"), &scratch.at("haul"), Aspects::contents_only(), members);
    }
    Ok(())
}

#[test]
fn damaged_compressed_archives_are_never_accepted() -> Outcome {
    for (option, program) in [("-z", "gzip"), ("-j", "bzip2"), ("-J", "xz"), ("--zstd", "zstd")] {
        if !has("tar")? || !has(program)? {
            continue;
        }
        let scratch = Scratch::new()?;
        let noise: Vec<u8> =
            (0..60_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        scratch.write("f", noise)?;
        let pack = ["-c", option, "-f", "whole", "f"];
        gnu_tar().words(pack).in_dir(scratch.path()).succeed()?;
        let whole = fs::read(scratch.at("whole"))?;
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x10;
        let mut last = whole.clone();
        let at = last.len() - 6;
        last[at] ^= 1;
        let cut = whole[..whole.len() - 4].to_vec();
        for (what, bytes) in [("flipped", flipped), ("sum", last), ("cut", cut)] {
            scratch.write("a", &bytes)?;
            for action in ["-tf", "-xOf"] {
                let done = ours().words([action, "a"]).in_dir(scratch.path()).run()?;
                assert_eq!(done.code(), Some(2), "{program} {what} {action}: {done:?}");
                let call = ours().words([action, "-"]).input(bytes.clone());
                let done = call.in_dir(scratch.path()).run()?;
                assert_eq!(done.code(), Some(2), "{program} {what} {action}, pipe: {done:?}");
            }
        }
        ours().words(["-tf", "whole"]).in_dir(scratch.path()).succeed()?;
    }
    Ok(())
}

#[test]
fn a_program_that_fails_after_the_last_member_is_heard() -> Outcome {
    let scratch = Scratch::new()?;
    forge(&scratch, "add('f',data=b'1')")?;
    scratch.script("fails", "#!/bin/sh\ncat\nexit 3\n")?;
    for action in ["-tf", "-xOf"] {
        let call = ours().words(["-I", "./fails", action, "a.tar"]).in_dir(scratch.path());
        let done = call.run()?;
        assert_eq!(done.code(), Some(2), "{action}: {done:?}");
        assert!(done.errors().contains("Child returned status 3"), "{action}: {done:?}");
    }
    Ok(())
}

#[test]
fn an_archive_without_a_byte_is_no_archive() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("empty", "")?;
    for words in [["-tf", "empty"], ["-xf", "empty"], ["-tf", "-"], ["-xf", "-"]] {
        let call = ours().words(words).input(Vec::<u8>::new()).in_dir(scratch.path());
        let done = call.run()?;
        assert_eq!(done.code(), Some(2), "{words:?}: {done:?}");
        assert!(done.errors().contains("does not look like a tar archive"), "{done:?}");
    }
    Ok(())
}

/// A number that no user can have gives neither that file to root nor a program that runs as root.
#[test]
fn an_owner_that_cannot_exist_is_an_error_and_gives_no_privileges() -> Outcome {
    let scratch = Scratch::new()?;
    for uid in ["2**33", "2**32-1"] {
        forge(&scratch, &format!("add('f',mode=0o4755,uid={uid},user='nosuch')"))?;
        scratch.clear("f")?;
        let call = ours().words(["--same-owner", "-xpf", "a.tar"]).in_dir(scratch.path());
        let done = call.run()?;
        assert_eq!(done.code(), Some(2), "{uid}: {done:?}");
        let mode = fs::metadata(scratch.at("f"))?.permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{uid}: {mode:o}");
    }
    Ok(())
}

/// Many different records cost no more than their number.
#[test]
fn many_records_in_one_header_are_read() -> Outcome {
    let scratch = Scratch::new()?;
    let script = "r=b''.join(b'12 a%06d=\\n'%i for i in range(300000))\n\
                  i=tarfile.TarInfo('x'); i.type=b'x'; i.size=len(r)\n\
                  raw(header(i)+r+b'\\0'*(-len(r)%512)); add('f')";
    forge(&scratch, script)?;
    let done = ours().words(["-tf", "a.tar"]).in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), done.text().as_str()), (Some(0), "f\n"), "{}", done.errors().len());
    Ok(())
}
