//! `haul tar --max-size` and `--max-entries`: bombs are refused before they are made, and no header makes
//! haul take more memory than an archive may have.

use std::fs;

use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::tar::{contents, ours};
use super::support::{Outcome, has};

/// Two small files, a sparse one of 1 GiB with 1 KiB of data, and a small one.
fn archive(scratch: &Scratch) -> Outcome {
    scratch.write("d/a", "12345")?;
    scratch.write("d/b", "1")?;
    let large = fs::File::options().write(true).open(scratch.write("d/large", "")?)?;
    large.set_len(1 << 30)?;
    std::os::unix::fs::FileExt::write_all_at(&large, &[7; 1024], 1 << 20)?;
    scratch.write("d/z", "z")?;
    let words = ["-c", "--sort=name", "-Sf", "a.tar", "d"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    ours().words(["--zstd"]).words(words).in_dir(scratch.path()).succeed()?;
    fs::rename(scratch.at("a.tar"), scratch.at("a.tar.zst"))?;
    ours().words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

fn in_folder(scratch: &Scratch, words: &str) -> Outcome<Done> {
    scratch.clear("in")?;
    fs::create_dir(scratch.at("in"))?;
    ours().words(words.split(' ')).in_dir(scratch.at("in")).run()
}

/// The options, the exact message, and the names that are extracted or listed before.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "--max-size=1000",
        "d/large: its 1073741824 bytes would make 1073741830 bytes, more than --max-size=1000 allows; \
         3 members of 6 bytes were DONE before; give a larger --max-size for an archive that you trust",
        &["d", "d/a", "d/b"],
    ),
    (
        "--max-size=0",
        "d/a: its 5 bytes would make 5 bytes, more than --max-size=0 allows; 1 member of 0 bytes was \
         DONE before; give a larger --max-size for an archive that you trust",
        &["d"],
    ),
    (
        "--max-entries=2",
        "d/b: more members than --max-entries=2 allows; 2 members of 5 bytes were DONE before; give a \
         larger --max-entries for an archive that you trust",
        &["d", "d/a"],
    ),
];

#[test]
fn what_goes_beyond_a_limit_is_refused_before_it_is_made() -> Outcome {
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    for (option, message, names) in REFUSED {
        for (mode, done) in [("-xf", "extracted"), ("-tf", "listed")] {
            let words = format!("{mode} ../a.tar {option}");
            let run = in_folder(&scratch, &words)?;
            let message = message.replace("DONE", done);
            let expected = format!("tar: {message}\ntar: Error is not recoverable: exiting now\n");
            assert_eq!((run.code(), run.errors()), (Some(2), expected), "{words}");
            let found: Vec<String> = match mode {
                "-tf" => run.text().lines().map(|line| line.trim_end_matches('/').into()).collect(),
                _ => contents(&scratch, "in/d")?.into_keys().map(|name| name[5..].into()).collect(),
            };
            assert_eq!(found.len(), names.len(), "{words}: {found:?}");
            assert!(names.iter().all(|name| found.iter().any(|one| one == name)), "{found:?}");
        }
    }
    // A comparison stops there, too; the files are those of the archive.
    let words = ["-df", "a.tar", "--max-size=1000"];
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2));
    assert!(done.errors().contains("3 members of 6 bytes were compared before"), "{done:?}");
    Ok(())
}

#[test]
fn what_stays_within_the_limits_is_extracted() -> Outcome {
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    for words in [
        "-xf ../a.tar --max-size=1073741831 --max-entries=5",
        "-xf ../a.tar.zst --max-size=2G",
        // Only what is selected counts.
        "-xf ../a.tar --max-size=1 --max-entries=2 d/z",
        "-xf ../a.tar --max-size=10 --exclude=large",
        // Directories that are there already are not made.
        "-xf ../a.tar --max-entries=5 --one-top-level=.",
    ] {
        let done = in_folder(&scratch, words)?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{words}");
        assert!(scratch.at("in/d/z").exists(), "{words}");
    }
    Ok(())
}

#[test]
fn a_compressed_archive_counts_as_it_is_decompressed() -> Outcome {
    let scratch = Scratch::new()?;
    // A tiny member, and then zeros without end, which no member claims.
    scratch.write("f", "1")?;
    ours().words(["-cf", "a.tar", "f"]).in_dir(scratch.path()).succeed()?;
    let mut bytes = fs::read(scratch.at("a.tar"))?;
    bytes.resize(40 << 20, 0);
    scratch.write("a.tar", &bytes)?;
    ours().words(["-I", "gzip", "-cf", "packed", "a.tar"]).in_dir(scratch.path()).succeed()?;
    Call::of("gzip").word("a.tar").in_dir(scratch.path()).succeed()?;
    for mode in ["-tf", "-xf"] {
        let done = in_folder(&scratch, &format!("{mode} ../a.tar.gz --max-size=1M"))?;
        let deed = if mode == "-tf" { "listed" } else { "extracted" };
        let expected = format!(
            "tar: ../a.tar.gz: the decompressed archive is longer than --max-size=1048576 allows, in or \
             behind f; 1 member of 1 byte was {deed} before; give a larger --max-size for an archive \
             that you trust\ntar: Error is not recoverable: exiting now\n"
        );
        assert_eq!((done.code(), done.errors()), (Some(2), expected), "{mode}");
        in_folder(&scratch, &format!("{mode} ../a.tar.gz"))?;
    }
    Ok(())
}

#[test]
fn directories_that_only_names_need_count() -> Outcome {
    let scratch = Scratch::new()?;
    let deep = vec!["d"; 60].join("/");
    scratch.write(&format!("{deep}/f"), "")?;
    let name = format!("{deep}/f");
    ours().words(["-cf", "a.tar", &name, &name]).in_dir(scratch.path()).succeed()?;
    let done = in_folder(&scratch, "-xf ../a.tar --max-entries=50")?;
    assert_eq!(done.code(), Some(2), "{done:?}");
    assert!(done.errors().contains("with the directories in its name"), "{}", done.errors());
    in_folder(&scratch, "-xf ../a.tar --max-entries=62")?;
    Ok(())
}

#[test]
fn limits_are_for_reading() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "")?;
    for (words, message) in [
        ("-cf a.tar f --max-size=1", "--max-size and --max-entries are for -x, -t and -d"),
        ("-cf a.tar f --max-entries=1", "--max-size and --max-entries are for -x, -t and -d"),
        ("-xf a.tar --max-entries=x", "invalid --max-entries 'x': give a number"),
        ("-xf a.tar --max-size=x", "invalid --max-size"),
    ] {
        let done = ours().words(words.split(' ')).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words}: {done:?}");
        assert!(done.errors().contains(message), "{words}: {}", done.errors());
        assert!(!scratch.at("a.tar").exists());
    }
    Ok(())
}

/// Archives whose headers would take more than [`MEMORY_MAX`] if all of them were kept.
const GREEDY: &[&str] = &[
    // Each global header adds attributes, or keywords that are not known.
    "for n in range(40):\n\
     \x20 raw(header('g','g',b''.join(record('SCHILY.xattr.user.%d.%d'%(n,i),b'v'*65000) for i in range(60))))\n\
     member('f')",
    "block=header('g','g',b''.join(record('k%d'%i,b'') for i in range(100000)))\n\
     for n in range(32): raw(block)\n\
     member('f')",
    // Symbolic links that are kept to the end, with targets of 3 MB.
    "for n in range(40): member('l%d'%n,'2',linkpath=b'../'+b'x'*3000000)",
    // Directories that are kept to the end, whose owners have names of 3 MB.
    "for n in range(40): member('d%d'%n,'5',uname=b'x'*3000000)",
    // Sparse maps of a million empty regions, of which many could wait for a worker.
    "data=b'1000000\\n'+b'0\\n0\\n'*1000000\n\
     data+=b'\\0'*(-len(data)%512)\n\
     for n in range(12):\n\
     \x20 more={'GNU.sparse.major':b'1','GNU.sparse.minor':b'0','GNU.sparse.realsize':b'0'}\n\
     \x20 member('s%d'%n,'0',data,**more)",
];

/// The most memory that any of them may take: twice the largest extended header, a few sparse maps, and
/// what every run takes.
const MEMORY_MAX: u64 = 100 << 20;

#[test]
fn no_header_takes_memory_without_bound() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for members in GREEDY {
        let script = format!(
            "import tarfile\n\
             out=open('a.tar','wb')\n\
             def raw(data): out.write(data)\n\
             def record(key,value):\n\
             \x20 rest=len(key)+len(value)+3; n=rest+1\n\
             \x20 while n!=rest+len(str(n)): n=rest+len(str(n))\n\
             \x20 return b'%d %s=%s\\n'%(n,key.encode(),value)\n\
             def header(name,kind,data):\n\
             \x20 i=tarfile.TarInfo(name); i.type=kind.encode(); i.size=len(data); i.mode=0o755\n\
             \x20 return i.tobuf(tarfile.USTAR_FORMAT)+data+b'\\0'*(-len(data)%512)\n\
             def member(name,kind='0',data=b'',**more):\n\
             \x20 if more: raw(header('x','x',b''.join(record(k,v) for k,v in more.items())))\n\
             \x20 raw(header(name,kind,data))\n\
             {members}\n\
             raw(b'\\0'*1024)\n\
             out.close()\n"
        );
        Call::of("python3").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
        for mode in ["-xf", "-tf"] {
            scratch.clear("in")?;
            fs::create_dir(scratch.at("in"))?;
            let call = ours().words([mode, "../a.tar", "--jobs=2"]).in_dir(scratch.at("in"));
            let done = call.watching_memory().run()?;
            let mib = done.peak_bytes >> 20;
            assert!(!done.crashed(), "{members}: {:?}", done.code());
            assert!(done.peak_bytes < MEMORY_MAX, "{mode} took {mib} MiB: {members}");
        }
    }
    Ok(())
}
