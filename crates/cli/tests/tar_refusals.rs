//! Headers that GNU tar, bsdtar, CPython and Go read differently: `haul tar` refuses each with the name of
//! the member, and reads what is behind it. Devices, pipes and names in another case, too.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};

use super::support::image::Image;
use super::support::judge::snapshot;
use super::support::run::{Call, Done};
use super::support::scratch::Scratch;
use super::support::tar::ours;
use super::support::{Outcome, entries, has, is_root};

/// Writes `a.tar` by a Python script, in which `member` appends a member with records of an extended
/// header, `header` makes a header with its data, and `patched` changes bytes of one.
fn forge(scratch: &Scratch, script: &str) -> Outcome {
    forge_each(scratch, &[("a.tar".to_owned(), script)])
}

/// Writes an archive for each name and script, in one process: Python takes longer to start than to write.
fn forge_each(scratch: &Scratch, archives: &[(String, &str)]) -> Outcome {
    let write = |(name, script): &(String, &str)| {
        format!(
            "out=open('{name}','wb')\n{script}\nraw(header('z'))\nraw(b'\\0'*1024)\nout.close()\n"
        )
    };
    let scripts: String = archives.iter().map(write).collect();
    let script = format!(
        "import tarfile\n\
         def raw(data): out.write(data)\n\
         def record(key,value):\n\
         \x20 rest=len(key)+len(value)+3; n=rest+1\n\
         \x20 while n!=rest+len(str(n)): n=rest+len(str(n))\n\
         \x20 return b'%d %s=%s\\n'%(n,key.encode(),value)\n\
         def header(name,kind='0',data=b'',link='',device=(0,0)):\n\
         \x20 i=tarfile.TarInfo(name); i.type=kind.encode(); i.size=len(data); i.mode=0o644\n\
         \x20 i.linkname=link; i.devmajor,i.devminor=device\n\
         \x20 return i.tobuf(tarfile.GNU_FORMAT if kind in 'LKS' else tarfile.USTAR_FORMAT)+data+b'\\0'*(-len(data)%512)\n\
         def patched(block,at,data):\n\
         \x20 b=bytearray(block); b[at:at+len(data)]=data; b[148:156]=b' '*8\n\
         \x20 b[148:156]=b'%06o\\0 '%sum(b[:512])\n\
         \x20 return bytes(b)\n\
         def x(*records): raw(header('x','x',b''.join(record(k,v) for k,v in records)))\n\
         def g(*records): raw(header('g','g',b''.join(record(k,v) for k,v in records)))\n\
         def sparse(data,*records): x(*[('GNU.sparse.'+k,v) for k,v in records]); raw(header('a','0',data))\n\
         def pairs(*all): return b''.join(b'%011o\\0%011o\\0'%p if isinstance(p,tuple) else p for p in all)\n\
         def old(size,*map,more=0,magic=b'ustar  \\0',data=b'd'*512):\n\
         \x20 b=header('a','S',data)\n\
         \x20 for change in ((386,pairs(*map)),(482,bytes([more])),(483,b'%011o\\0'%size),(257,magic)):\n\
         \x20  b=patched(b,*change)\n\
         \x20 raw(b)\n\
         def star(data,*changes):\n\
         \x20 b=header('a','S',data)\n\
         \x20 for change in ((257,b'ustar\\x0000'),(475,b'\\0'+b'%011o '%0*2),*changes): b=patched(b,*change)\n\
         \x20 raw(b)\n\
         {scripts}"
    );
    Call::of("python3").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// What is in an archive, and what haul says. The last member is read.
const REFUSED: &[(&str, &str)] = &[
    // Which size: some readers skip more than others, and see other members behind it.
    (
        "x(('size',b'0')); raw(header('a','0',header('evil')))",
        "a: refused: its header and its extended",
    ),
    (
        "x(('size',b'512')); raw(header('a')+header('evil'))",
        "a: refused: its header and its extended",
    ),
    // The data of a link: GNU tar takes them for headers, others skip them.
    ("x(('mtime',b'1')); raw(header('a','1',header('evil'),'z'))", "a: refused: it has data"),
    ("g(('comment',b'x')); raw(header('a','1',b'd'*700,'z'))", "a: refused: it has data"),
    // Numbers that are neither octal nor plain base 256.
    ("raw(patched(header('a','0',b'1'),124,b'\\x81'+b'\\0'*10+b'\\1'))", "a: refused: a number"),
    (
        "raw(patched(header('a','0',b'1'),124,b'\\xff'*12))",
        "a: refused: a number in its header is negative",
    ),
    (
        "raw(patched(header('a','0',b'1'),124,b'\\x80'+b'\\xff'*11))",
        "a: refused: a number in its header is too",
    ),
    ("raw(patched(header('a','0',b'1'),124,b'\\0'+b'0000000001'+b'\\0'))", "a: refused: a number"),
    ("raw(patched(header('a','0',b'1'),124,b'0000000001x\\0'))", "a: refused: a number"),
    ("raw(patched(header('a','0',b'1'),124,b'-0000000001\\0'))", "a: refused: a number"),
    ("raw(patched(header('a','0',b'1'),124,b'00000 00001\\0'))", "a: refused: a number"),
    (
        "raw(patched(header('a','0',b'1'),124,b' '*12))",
        "a: refused: a number in its header is malformed",
    ),
    // Sizes that no file has, where the size means nothing: no reader accepts them.
    (
        "raw(patched(header('a/','5'),124,b'\\xff'*12))",
        "a/: refused: a number in its header is negative",
    ),
    (
        "raw(patched(header('a','2',link='b'),124,b'-1'.ljust(12,b'\\0')))",
        "a: refused: a number in its header is negative",
    ),
    (
        "raw(patched(header('a','1',link='b'),124,b'\\x80'+b'\\x7f'*11))",
        "a: refused: a number in its header is too large",
    ),
    // Which device it is.
    (
        "raw(patched(header('a','3',device=(1,3)),329,b'x'*8))",
        "a: refused: a number in its header is malformed",
    ),
    // Which name.
    (
        "raw(patched(header('L','L',b'safe.conf.d/payload.so\\0'),124,b'%011o\\0'%9)); raw(header('a'))",
        "safe.conf: refused: its long name is longer than the header says",
    ),
    (
        "raw(patched(header('K','K',b'../../etc/passwd'),124,b'%011o\\0'%5)); raw(header('a','2',link='b'))",
        "a: refused: its long name is longer than the header says",
    ),
    (
        "raw(patched(header('L','L',b'long\\0'),124,b'0000000005x\\0')); raw(header('a'))",
        "a: refused: a number in its header is malformed",
    ),
    ("x(('path',b'a\\0b')); raw(header('c'))", "its name or link target contains a NUL"),
    (
        "x(('linkpath',b'a\\0b')); raw(header('c','2',link='d'))",
        "its name or link target contains a NUL",
    ),
    ("raw(header('././@LongLink','L',b'a\\0b\\0')); raw(header('c'))", "contains a NUL"),
    (
        "raw(patched(header('L','L',b'a\\0bcdefg'),124,b'%011o\\0'%4)); raw(header('c'))",
        "its name or link target contains a NUL",
    ),
    ("x(('path',b'')); raw(header('a'))", "its extended header is malformed"),
    ("x(('linkpath',b'')); raw(header('a','2',link='b'))", "its extended header is malformed"),
    ("raw(header('a','2'))", "a: refused: its name is empty"),
    ("x(('path',b'a'),('path',b'b')); raw(header('c'))", "two values of one keyword"),
    ("raw(header('L','L',b'a\\0')); x(('path',b'b')); raw(header('c'))", "different names"),
    (
        "raw(header('L','L',b'a\\0')); raw(header('L','L',b'b\\0')); raw(header('c'))",
        "two extended headers",
    ),
    (
        "x(('path',b'a')); x(('path',b'b')); raw(header('c'))",
        "it has two extended headers of one kind",
    ),
    ("g(('linkpath',b'b')); raw(header('a','2',link='c'))", "a global extended header has a name"),
    // A prefix and a device that only some readers see.
    (
        "raw(patched(patched(header('a'),257,b'ustarX00'),345,b'p\\0'))",
        "a: refused: its header has an unknown magic",
    ),
    (
        "raw(patched(header('a','3',device=(1,3)),257,b'ustarX00'))",
        "a: refused: its header has an unknown magic",
    ),
    // Records that are cut in other places.
    (
        "raw(header('x','x',b'9 path=a\\n9 path=b')); raw(header('a'))",
        "its extended header is malformed",
    ),
    ("raw(header('x','x',b'99 path=a\\n')); raw(header('a'))", "its extended header is malformed"),
    (
        "raw(header('x','x',b'10 path=a\\n\\n')); raw(header('a'))",
        "its extended header is malformed",
    ),
    ("x(('SCHILY.xattr.user\\0x',b'')); raw(header('a'))", "its extended header is malformed"),
    // Data where no reader, or only some, expect them.
    ("x(('size',b'512')); raw(header('a','1',header('evil'),'b'))", "a: refused: it has data"),
    ("raw(header('a/','0',header('evil')))", "a/: refused: it has data"),
    ("raw(header('a/','7',header('evil')))", "a/: refused: it has data"),
    ("x(('path',b'a')); raw(header('b/','\\0',header('evil')))", "a: refused: it has data"),
    ("x(('path',b'a/')); raw(header('b','\\0',header('evil')))", "a/: refused: it has data"),
    // Sparse maps.
    // GNU tar begins each region at a block, and takes another header for the data of the last one.
    ("old(2000,(0,256),(128,256)); raw(header('evil'))", "a: refused: its sparse map"),
    ("old(100,(0,512))", "a: refused: its sparse map"),
    ("old(2000,(512,512),b'\\0'*24,(0,0))", "a: refused: its sparse map"),
    ("old(2000,(512,512),b'\\0'*12+b'%011o\\0'%0)", "a: refused: its sparse map"),
    ("old(2000,(512,100),(1024,412)); raw(header('evil'))", "a: refused: its sparse map"),
    // GNU tar lists a member in the data of the map, and does not extract it.
    (
        "raw(patched(patched(patched(header('a','S',header('evil')+b'd'*512),124,b'%011o\\0'%512),386,pairs((0,1024))),\
         483,b'%011o\\0'%1024))",
        "a: refused: its sparse map and its header have different sizes",
    ),
    (
        "x(*[('GNU.sparse.'+k,v) for k,v in (('map',b'0,1024'),('size',b'1024'),('numblocks',b'1'))])\n\
         raw(header('a','0',header('evil'))+b'd'*512)",
        "a: refused: its sparse map and its header have different sizes",
    ),
    // GNU tar and bsdtar take the data for those of a file; CPython looks for a map, and for what continues it.
    (
        "old(2000,(512,512),magic=b'ustar\\x0000')",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    (
        "old(2000,(512,512),magic=b'\\0'*8)",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    (
        "old(2000,(512,512),more=1,magic=b'\\0'*8,data=b'\\0'*512); raw(header('evil'))",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    // Blocks behind the end of the map, which GNU tar takes for data: it finds the next header elsewhere.
    (
        "old(2000,(512,512),more=1,data=b'\\0'*512); raw(header('evil'))",
        "a: refused: its sparse map ends before its last block",
    ),
    (
        "old(2000,(0,0),(0,0),b'\\0'*12+b'%011o\\0'%0,more=1,data=b'\\0'*512); raw(header('evil'))",
        "a: refused: its sparse map ends before its last block",
    ),
    (
        "sparse(b'd'*7,('map',b'0,5,3,2'),('size',b'9'),('numblocks',b'2')); raw(header('evil'))",
        "a: refused: its sparse map overlaps",
    ),
    (
        "sparse(b'd'*7,('map',b'0,7,3'),('size',b'9'),('numblocks',b'2'))",
        "a: refused: its sparse map overlaps",
    ),
    ("sparse(b'd'*7,('map',b'0,7'),('size',b'9'),('numblocks',b'2'))", "its sparse map"),
    (
        "sparse(b'd'*7,('map',b'0,7'),('size',b'9'),('realsize',b'8'),('numblocks',b'1'))",
        "different sizes",
    ),
    (
        "sparse(b'',('offset',b'0'),('size',b'9'),('numblocks',b'1'))",
        "a: refused: its sparse map overlaps",
    ),
    ("sparse(b'',('name',b'b'))", "the version of its sparse map is not supported"),
    ("sparse(b'',('minor',b'0'))", "the version of its sparse map is not supported"),
    (
        "sparse(b'',('major',b'7'),('minor',b'0'),('realsize',b'9'))",
        "the version of its sparse map",
    ),
    (
        "sparse(b'0\\n'.ljust(512,b'\\0'),('major',b'1'),('minor',b'0'),('realsize',b'9'),\
         ('map',b'0,0'),('numblocks',b'1'))",
        "the version of its sparse map",
    ),
    (
        "sparse(b'2\\n0\\n5\\n3\\n2\\n'.ljust(512,b'\\0')+b'd'*7,('major',b'1'),('minor',b'0'),('realsize',b'9'))\n\
         raw(header('evil'))",
        "its sparse map overlaps",
    ),
    // The map of star: in blocks that the size counts, in fewer, with more data than the size has, and in the header.
    (
        "star(pairs((0,512),(1024,512)).ljust(512,b'\\0')+header('evil')+b'd'*512)",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    (
        "star(b'd'*512); raw(header('evil'))",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    (
        "star(pairs((0,1024)).ljust(512,b'\\0')); raw(header('evil')+b'd'*512)",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    (
        "star(header('evil'),(356,pairs((0,512))))",
        "a: refused: its sparse map is not in a header of GNU tar",
    ),
    // GNU tar lists a directory, and extracts a file.
    (
        "sparse(b'1\\n0\\n7\\n'.ljust(512,b'\\0')+b'd'*7,('major',b'1'),('minor',b'0'),('realsize',b'7'),\
         ('name',b'b/'))",
        "it is a sparse file whose name ends in a slash",
    ),
];

/// Headers that hide where the next one begins: nothing behind them is read.
const LOST: &[(&str, &str)] = &[
    (
        "x(('size',b'10737418244')); raw(header('a','0',b'1234')+header('evil'))",
        "a: refused: its header and",
    ),
    ("x(('size',b'')); raw(header('a'))", "a number in its header is malformed"),
    ("x(('size',b'+1')); raw(header('a','0',b'1'))", "a number in its header is malformed"),
    ("x(('size',b'0x1')); raw(header('a','0',b'1'))", "a number in its header is malformed"),
    ("x(('size',b'1'),('size',b'2')); raw(header('a','0',b'1'))", "two values of one keyword"),
    ("g(('size',b'512')); raw(header('a')+header('evil'))", "a: refused: a global extended header"),
    ("g(('path',b'b')); raw(header('a'))", "a global extended header has a name, link, size"),
    ("g(('GNU.sparse.name',b'b')); raw(header('a'))", "a global extended header has a name"),
    (
        "old(2000,(0,0),(0,0),(0,0),(512,512),more=1,data=pairs((1024,0)).ljust(504,b'\\0')+b'\\1'*8)\n\
         raw(header('evil'))",
        "a: refused: its sparse map ends before its last block",
    ),
    (
        "raw(header('x','x',record('comment',b'x'*5000000))); raw(header('a'))",
        "extended header is too large",
    ),
    (
        "for n in range(5): g(('comment',b'x'*1000000))\nraw(header('a'))",
        "extended header is too large",
    ),
    (
        "raw(header('x','x',b'9 path=a\\nx size=9\\n')); raw(header('a'))",
        "a: refused: its extended header is malformed",
    ),
    (
        "raw(patched(header('x','x',b'9 path=b\\n'),124,b'x'*12)); raw(header('a'))",
        "x: refused: a number in its header is malformed",
    ),
    (
        "raw(header('g','g',b'9 path=a\\n9 path=b')); raw(header('a'))",
        "g: refused: its extended header is malformed",
    ),
];

/// What costs no member: what haul says, the status of a listing, and the names of the members.
const KEPT: &[(&str, &str, i32, &str)] = &[
    // What decides neither a name nor a size, nor where the next header is.
    ("raw(patched(header('a'),136,b'x'*12))", "a: a time in its header is malformed", 0, "a z"),
    ("raw(patched(header('a'),136,b' '*12))", "a: a time in its header is malformed", 0, "a z"),
    ("x(('mtime',b'soon')); raw(header('a'))", "a: a time in its header is malformed", 0, "a z"),
    ("g(('mtime',b'soon')); raw(header('a'))", "g: a time in its header is malformed", 0, "a z"),
    (
        "raw(patched(patched(header('a'),257,b'ustar  \\0'),345,b'x'*12))",
        "a: a time in its header is malformed",
        0,
        "a z",
    ),
    ("raw(patched(header('a'),108,b'\\xff'*8))", "a: an owner in its header", 0, "a z"),
    ("raw(patched(header('a'),116,b' '*8))", "a: an owner in its header is malformed", 0, "a z"),
    ("x(('uid',b'root')); raw(header('a'))", "a: an owner in its header is malformed", 0, "a z"),
    ("raw(patched(header('a','2',link='b'),124,b'x'*12))", "a: the size in its header", 0, "a z"),
    ("raw(patched(header('a'),329,b'x'*8))", "", 0, "a z"),
    ("raw(patched(header('a'),100,b'x'*8))", "a: the mode in its header is malformed", 0, "a z"),
    ("raw(patched(header('a'),100,b' '*8))", "a: the mode in its header is malformed", 0, "a z"),
    ("raw(patched(header('a'),100,b'\\xff'*8))", "a: the mode in its header is", 0, "a z"),
    ("raw(patched(header('a'),257,b'ustarX00'))", "", 0, "a z"),
    // All readers stop at a NUL.
    ("raw(patched(header('a'),116,b'000000\\0x'))", "", 0, "a z"),
    ("b=header('a'); raw(b[:148]+b[148:154]+b'\\0x'+b[156:])", "", 0, "a z"),
    // Headers that agree.
    ("raw(header('L','L',b'a\\0')*2); raw(header('b'))", "", 0, "a z"),
    ("x(('size',b'512')); x(('size',b'512')); raw(header('a','0',header('evil')))", "", 0, "a z"),
    ("g(('size',b'0')); raw(header('a'))", "", 0, "a z"),
    // Blocks that continue a map, and a region without bytes.
    ("old(2000,(512,512),(2000,0))", "", 0, "a z"),
    (
        "old(9000,*[(512*n,0) for n in range(3)],(1536,512),more=1,data=b'\\0'*512); raw(b'd'*512)",
        "",
        0,
        "a z",
    ),
    // Each member would have a copy of them.
    (
        "g(('SCHILY.xattr.user.a',b'b')); raw(header('a'))",
        "a global extended header has a name, link, size or att",
        2,
        "a z",
    ),
    (
        "g(('SCHILY.acl.default',b'b')); raw(header('a'))",
        "a global extended header has a name, link, size or att",
        2,
        "a z",
    ),
    (
        "g(('RHT.security.selinux',b'b')); raw(header('a'))",
        "a global extended header has a name, link, size or att",
        2,
        "a z",
    ),
    ("g(('uname',b'b'*2000)); raw(header('a'))", "its extended header is too large", 2, "a z"),
];

fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = text.split_whitespace().collect();
    names.sort_unstable();
    names
}

/// Lists, extracts and compares an archive; returns what haul says of each.
fn read(scratch: &Scratch, archive: &str, script: &str, kept: &str) -> Outcome<[Done; 3]> {
    scratch.clear("in")?;
    fs::create_dir(scratch.at("in"))?;
    let run = |words: &[&str]| ours().words(words).in_dir(scratch.at("in")).run();
    let archive = format!("../{archive}");
    let extracted = run(&["-xf", &archive, "--no-same-owner"])?;
    let listed = run(&["-tf", &archive])?;
    let compared = run(&["-df", &archive])?;
    let found = entries(&scratch.at("in"))?;
    let found: Vec<_> =
        found.iter().map(|one| one.file_name().to_string_lossy().into_owned()).collect();
    let found = found.join(" ");
    assert_eq!(names(&listed.text()), names(kept), "{script}: {}", listed.errors());
    assert_eq!(names(&found), names(kept), "{script}: {}", extracted.errors());
    Ok([extracted, listed, compared])
}

/// Names an archive for each script.
fn numbered<'s>(scripts: impl Iterator<Item = &'s str>) -> Vec<(String, &'s str)> {
    scripts.enumerate().map(|(number, script)| (format!("{number}.tar"), script)).collect()
}

#[test]
fn what_programs_read_differently_is_refused_by_name() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (table, kept) in [(REFUSED, "z"), (LOST, "")] {
        let archives = numbered(table.iter().map(|(script, _)| *script));
        forge_each(&scratch, &archives)?;
        for ((archive, script), (_, message)) in archives.iter().zip(table) {
            for done in read(&scratch, archive, script, kept)? {
                let errors = done.errors();
                assert_eq!(done.code(), Some(2), "{script}: {errors}");
                assert!(
                    errors.contains("refused") && errors.contains(message),
                    "{script}: {errors}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn what_decides_no_name_and_no_size_costs_no_member() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let archives = numbered(KEPT.iter().map(|(script, ..)| *script));
    forge_each(&scratch, &archives)?;
    for ((archive, script), (_, message, status, kept)) in archives.iter().zip(KEPT) {
        let [extracted, listed, _] = read(&scratch, archive, script, kept)?;
        for done in [&extracted, &listed] {
            let errors = done.errors();
            assert_eq!(done.code(), Some(*status), "{script}: {errors}");
            assert_eq!(errors.is_empty(), message.is_empty(), "{script}: {errors}");
            assert!(errors.contains(message), "{script}: {errors}");
        }
    }
    Ok(())
}

/// A member whose own header was overwritten by zeros is missing, which must not look like the end of an archive.
#[test]
fn headers_without_their_member_are_told() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for headers in ["x(('path',b'q'))", "raw(header('L','L',b'q\\0'))"] {
        forge(&scratch, &format!("raw(header('a'))\n{headers}\nraw(b'\\0'*1024)"))?;
        let list = |options: &str| ours().words([options, "a.tar"]).in_dir(scratch.path()).run();
        let (done, further) = (list("-tf")?, list("-tif")?);
        assert_eq!((done.code(), done.text().as_str()), (Some(2), "a\n"), "{headers}");
        assert!(done.errors().contains("Unexpected EOF in archive"), "{}", done.errors());
        // With -i zeros end nothing: what they said is not said of the next member.
        assert_eq!((further.code(), further.text().as_str()), (Some(2), "a\nz\n"), "{headers}");
        let refused = "q: refused: no member follows its headers";
        assert!(further.errors().contains(refused), "{}", further.errors());
    }
    Ok(())
}

#[test]
fn a_malformed_mode_lets_only_the_owner_in() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    forge(
        &scratch,
        "raw(patched(header('a'),100,b'7777x\\0\\0\\0')); raw(patched(header('b/','5'),100,b'\\xff'*8))\n\
         raw(header('c')); raw(patched(header('d','1',link='c'),100,b'\\xff'*8))",
    )?;
    for option in ["-m", "-p"] {
        scratch.clear("in")?;
        fs::create_dir(scratch.at("in"))?;
        let done = ours().words(["-xf", "../a.tar", option]).in_dir(scratch.at("in")).run()?;
        assert_eq!(done.code(), Some(0), "{option}: {done:?}");
        let mode = |name: &str| -> Outcome<u32> {
            Ok(fs::metadata(scratch.at("in").join(name))?.permissions().mode() & 0o7777)
        };
        let modes = [mode("a")?, mode("b")?, mode("c")?];
        assert_eq!(modes, [0o600, 0o700, 0o644], "{option}: {}", done.errors());
    }
    Ok(())
}

#[test]
fn devices_are_made_only_when_asked_for() -> Outcome {
    if !is_root()? || !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    forge(
        &scratch,
        "raw(header('null','3',device=(1,3))); raw(header('loop','4',device=(7,0)))\n\
         raw(header('whiteout','3')); raw(header('last'))",
    )?;
    for (option, are_made) in
        [("-m", false), ("--same-owner", false), ("-p", true), ("--devices", true)]
    {
        scratch.clear("in")?;
        fs::create_dir(scratch.at("in"))?;
        let done = ours().words(["-xf", "../a.tar", option]).in_dir(scratch.at("in")).run()?;
        let is = |name: &str| {
            fs::symlink_metadata(scratch.at("in").join(name)).map(|stat| stat.file_type())
        };
        assert_eq!(
            is("null").is_ok_and(|kind| kind.is_char_device()),
            are_made,
            "{option}: {done:?}"
        );
        assert_eq!(
            is("loop").is_ok_and(|kind| kind.is_block_device()),
            are_made,
            "{option}: {done:?}"
        );
        assert!(is("whiteout")?.is_char_device() && is("last")?.is_file(), "{option}: {done:?}");
        assert_eq!(done.code(), Some(if are_made { 0 } else { 2 }), "{option}: {done:?}");
        let refused = "Cannot mknod: devices are made only with -p or --devices";
        let told = done.errors().matches(refused).count();
        assert_eq!(told, if are_made { 0 } else { 2 }, "{option}: {}", done.errors());
    }
    Ok(())
}

/// A pipe or a device in the way is neither opened nor waited for.
#[test]
fn a_pipe_in_the_way_does_not_block() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    forge(&scratch, "raw(header('d/','5')); raw(header('d/p','0',b'new'))")?;
    for option in ["-p", "--overwrite", "-U", "-k", "--keep-newer-files", "--skip-old-files"] {
        scratch.clear("d")?;
        fs::create_dir(scratch.at("d"))?;
        Call::of("mkfifo").word(scratch.at("d/p")).succeed()?;
        let done = ours().words(["-xf", "a.tar", option]).in_dir(scratch.path()).run()?;
        let kind = fs::symlink_metadata(scratch.at("d/p"))?.file_type();
        let is_replaced = kind.is_file() && fs::read(scratch.at("d/p"))? == b"new";
        assert!(is_replaced || kind.is_fifo(), "{option}: {done:?}");
        assert!(
            is_replaced
                || done.code() == Some(2)
                || option.contains("skip")
                || option.contains("newer"),
            "{option}: {done:?}"
        );
    }
    Ok(())
}

/// On a file system that ignores case, links are found under the other spelling, too.
#[test]
fn names_in_another_case_do_not_lead_out() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let Some(image) = Image::made_with(&scratch, "ext4", &["-O", "casefold"])? else {
        return Ok(());
    };
    let top = image.mount.join("top");
    let mut refused = 0;
    for script in [
        "raw(header('A','2',link='../out')); raw(header('a/secret','0',b'1'))",
        "raw(header('A','2',link='../out/secret')); raw(header('a','0',b'1'))",
        "raw(header('A','2',link='../out/secret')); raw(header('b','1',link='a')); raw(header('B','0',b'1'))",
        "raw(header('d/','5')); raw(header('D','2',link='../out')); raw(header('d/secret','0',b'1'))",
    ] {
        if top.exists() {
            fs::remove_dir_all(&top)?;
        }
        fs::create_dir_all(top.join("out"))?;
        fs::create_dir(top.join("in"))?;
        fs::write(top.join("out/secret"), "secret")?;
        symlink("../out", top.join("in/Planted"))?;
        Call::of("chattr").word("+F").word(top.join("in")).run()?;
        forge(&scratch, script)?;
        let before = snapshot(&top.join("out"));
        for option in ["-p", "--overwrite", "-U"] {
            let archive = scratch.at("a.tar");
            let call = ours().words(["-x", option, "-f"]).word(archive).in_dir(top.join("in"));
            let done = call.run()?;
            assert!(snapshot(&top.join("out")) == before, "{script} {option}: {done:?}");
            refused += usize::from(done.code() == Some(2));
        }
    }
    assert!(refused > 0);
    Ok(())
}
