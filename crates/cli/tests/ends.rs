//! The other end of a pipe: a process that is slow, does not block, closes its end or is killed; a socket;
//! a full disk. The same bytes arrive, or the command reports an error.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise, shell};
use super::support::{Outcome, has, ignored, is_root, state};

/// Makes pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }

    /// Most pieces are small, some are larger than a pipe, and before some others have time to come first.
    fn piece(&mut self) -> usize {
        let most = [1, 100, 5000, 70_000, 1_500_000][self.below(5)];
        if self.below(8) == 0 {
            (0..self.below(40)).for_each(|_| std::thread::yield_now());
        }
        1 + self.below(most)
    }
}

fn start(dir: &Path, words: &[&str], stdin: Stdio, stdout: Stdio) -> Outcome<Child> {
    let mut call = Command::new(haul());
    call.args(words).current_dir(dir).env("LC_ALL", "C").stdin(stdin).stdout(stdout);
    Ok(call.spawn()?)
}

fn without_blocking(fd: impl Into<OwnedFd>) -> Outcome<Stdio> {
    let fd = fd.into();
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok(fd.into())
}

fn feed(mut to: impl std::io::Write, bytes: &[u8], seed: u64) {
    let mut numbers = Numbers(seed);
    let mut left = bytes;
    while !left.is_empty() {
        let (piece, rest) = left.split_at(numbers.piece().min(left.len()));
        if to.write_all(piece).is_err() {
            return;
        }
        left = rest;
    }
}

fn drain(mut from: impl std::io::Read, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers(seed);
    let (mut all, mut room) = (Vec::new(), vec![0; 1_500_000]);
    loop {
        let most = numbers.piece();
        match from.read(&mut room[..most]) {
            Ok(0) | Err(_) => return all,
            Ok(count) => all.extend_from_slice(&room[..count]),
        }
    }
}

#[test]
fn the_bytes_are_the_same_for_all_pieces_and_non_blocking_ends() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise((3 << 20) + 4321);
    for seed in 1..4 {
        for words in [
            &["cat"][..],
            &["read", "-"],
            &["write", "-"],
            &["write", "--buffer=1M", "--watermarks=30,60", "-"],
            &["tee", "copy"],
            &["write", "-", "copy"],
            &["split", "-b1M", "--filter=cat"],
            &["dd", "bs=300k", "iflag=fullblock", "status=none"],
            &["dd", "ibs=1M", "obs=70001", "status=none"],
        ] {
            let (stdin, feeding) = std::io::pipe()?;
            let (draining, stdout) = std::io::pipe()?;
            // Commands started by split do not expect a non-blocking output, and to dd it is an error.
            let (stdin, stdout) = match words[0] {
                "split" => (without_blocking(stdin)?, stdout.into()),
                "dd" => (stdin.into(), stdout.into()),
                _ => (without_blocking(stdin)?, without_blocking(stdout)?),
            };
            let mut child = start(scratch.path(), words, stdin, stdout)?;
            let got = std::thread::scope(|scope| {
                scope.spawn(|| feed(feeding, &bytes, seed));
                drain(draining, seed + 100)
            });
            assert!(child.wait()?.success(), "{words:?} {seed}");
            assert!(got == bytes, "{words:?} {seed}: {} bytes", got.len());
            if words.contains(&"copy") {
                assert!(fs::read(scratch.at("copy"))? == bytes, "{words:?} {seed}");
            }
        }
        for sum in ["md5sum", "b3sum", "cksum"] {
            let (stdin, feeding) = std::io::pipe()?;
            let child =
                start(scratch.path(), &[sum, "-"], without_blocking(stdin)?, Stdio::piped())?;
            feed(feeding, &bytes, seed);
            let told = child.wait_with_output()?;
            let whole = Call::of(haul()).words([sum, "-"]).input(bytes.as_slice()).succeed()?;
            assert_eq!(told.stdout, whole.stdout, "{sum} {seed}");
        }
    }
    Ok(())
}

/// The pages of a file and of buffers stay in the pipe until its reader has read them: meanwhile buffers
/// are reused, and when the writer has ended the file may change.
#[test]
fn what_a_slow_reader_still_has_to_see_is_never_changed() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise(5 << 20);
    for words in [
        &["read", "--cache=direct", "--io-size=64K", "--queue-depth=2", "a"][..],
        &["read", "--cache=keep", "--io-size=64K", "--sum=md5", "a"],
        &["cat", "a"],
        &["cat", "-"],
        &["dd", "if=a", "bs=96K", "status=none"],
        &["tee"],
        &["write", "--io-size=64K", "--queue-depth=2", "-"],
        &["split", "-b512K", "--filter=cat", "a"],
    ] {
        scratch.write("a", &bytes)?;
        let stdin: Stdio = fs::File::open(scratch.at("a"))?.into();
        let (mut slow, stdout) = std::io::pipe()?;
        let mut call = Command::new(haul());
        call.args(words).current_dir(scratch.path()).stderr(Stdio::null());
        let mut child = call.stdin(stdin).stdout(stdout).spawn()?;
        drop(call);
        let (mut read, mut room, mut changed) = (Vec::new(), vec![0; 48 << 10], false);
        loop {
            if !changed && child.try_wait()?.is_some() {
                let file = fs::File::options().write(true).open(scratch.at("a"))?;
                std::os::unix::fs::FileExt::write_all_at(&file, &vec![0xee; bytes.len()], 0)?;
                changed = true;
            }
            match slow.read(&mut room)? {
                0 => break,
                count => read.extend_from_slice(&room[..count]),
            }
            state::wait_for_full_pipe(Pid::from_child(&child));
        }
        assert!(child.wait()?.success(), "{words:?}");
        assert!(read == bytes, "{words:?}");
    }
    Ok(())
}

#[test]
fn a_command_without_a_reader_ends_quietly() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(20 << 20))?;
    for line in [
        "haul dd if=a bs=64K status=none",
        "haul tee < a",
        "haul write - < a",
        "haul read a",
        "haul read --cache=drop a",
        "haul read - < a",
        "haul cat a",
        "haul cat - < a",
        "haul cat -n a",
        "cat a | haul cat",
    ] {
        let line = format!("{line} | head -c 10 > /dev/null; exit ${{PIPESTATUS[-2]}}");
        let done = shell(scratch.path(), &line)?;
        assert_eq!((done.status.code(), done.stderr.len()), (Some(141), 0), "{line}: {done:?}");
    }
    demand(scratch.path(), "haul split -b 1M --filter 'head -c 1 > /dev/null' a")
}

#[test]
fn what_a_writer_gave_before_it_was_killed_arrives() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(6 << 20))?;
    let killed = "(head -c 3000000 a; kill -9 $BASHPID) 2>/dev/null";
    for end in [
        "haul write b",
        "haul write --buffer 1M b",
        "haul write --atomic b",
        "haul cat > b",
        "haul read - > b",
        "haul tee b > /dev/null",
        "haul dd of=b bs=100k iflag=fullblock status=none",
        "haul split -b 1M - s.; cat s.* > b",
        "haul md5sum | sed 's/-$/b/' > sum; head -c 3000000 a > b; haul md5sum -c --quiet sum",
    ] {
        let line = format!(
            "set +o pipefail; {killed} | {end}; cmp -n 3000000 a b && [ $(stat -c %s b) = 3000000 ]; \
             code=$?; rm -f b s.*; exit $code"
        );
        let done = shell(scratch.path(), &line)?;
        assert!(done.status.success(), "{line}: {done:?}");
    }
    Ok(())
}

#[test]
fn a_truncated_source_ends_there_for_every_command() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise(16 << 20);
    for words in [
        &["cat", "a"][..],
        &["cat", "-v", "a"],
        &["dd", "if=a", "bs=64K", "status=none"],
        &["split", "-b", "1M", "--filter", "cat", "a"],
    ] {
        scratch.write("a", &bytes)?;
        let mut child = start(scratch.path(), words, Stdio::null(), Stdio::piped())?;
        let mut stdout = child.stdout.take().ok_or("no pipe")?;
        let mut read = vec![0; 1 << 20];
        stdout.read_exact(&mut read)?;
        fs::File::options().write(true).open(scratch.at("a"))?.set_len(9 << 20)?;
        stdout.read_to_end(&mut read)?;
        assert!(child.wait()?.success(), "{words:?}");
        if words[1] != "-v" {
            assert!(read.len() >= 9 << 20 && bytes.starts_with(&read), "{words:?}: {}", read.len());
        }
    }
    Ok(())
}

#[test]
fn sockets_are_ends_like_any_other() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise((6 << 20) + 77);
    scratch.write("a", &bytes)?;
    for (left, right) in [
        (&["read", "a"][..], &["write", "b"][..]),
        (&["cat", "a"], &["tee", "b"]),
        (&["dd", "if=a", "bs=1M", "status=none"], &["dd", "of=b", "bs=1M", "status=none"]),
        (&["write", "-"], &["cat", "-"]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near: OwnedFd = TcpStream::connect(listener.local_addr()?)?.into();
        let far: OwnedFd = listener.accept()?.0.into();
        let stdin = fs::File::open(scratch.at("a"))?;
        let out = fs::File::create(scratch.at("c"))?;
        let mut one = start(scratch.path(), left, stdin.into(), near.into())?;
        let mut other = start(scratch.path(), right, far.into(), out.into())?;
        assert!(one.wait()?.success() && other.wait()?.success(), "{left:?} {right:?}");
        let target = if right == ["cat", "-"] { "c" } else { "b" };
        assert!(fs::read(scratch.at(target))? == bytes, "{left:?} {right:?}");
        fs::write(scratch.at(target), "")?;
    }
    Ok(())
}

#[test]
fn every_command_reports_a_full_disk_and_other_outputs_are_complete() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("m"))?;
    scratch.write("a", noise(12 << 20))?;
    // The mount ends with its private namespace.
    let line = format!(
        "haul() {{ '{0}' \"$@\"; }}; mount -t tmpfs -o size=4m none m
         haul tee m/f b < a > c; echo $?; cmp a b && cmp a c; rm m/*
         haul write m/f b < a; echo $?; cmp a b; rm m/*
         haul split -b 1M a m/x; echo $?; rm m/*
         haul split -n 4 a m/x; echo $?; rm m/*
         cat a | haul split -b 1M - m/x; echo $?; rm m/*
         haul cat -A a > m/f; echo $?; rm m/*
         cat a | haul cat > m/f; echo $?; rm m/*
         cat a | haul dd of=m/f bs=64K iflag=fullblock status=none; echo $?; rm m/*
         for i in $(seq 9999); do echo x; done | haul md5sum - - - > m/f; echo $?
         haul read --sum md5 a > m/f 2> s; echo $?",
        haul().display()
    );
    let call = Call::of("unshare").words(["-m", "bash", "-c", &line]).in_dir(scratch.path());
    let done = call.run()?;
    assert_eq!(done.text(), "1\n1\n1\n1\n1\n1\n1\n1\n0\n1\n", "{done:?}");
    let errors = done.errors();
    assert_eq!(errors.matches("No space left on device").count(), 8, "{errors}");
    assert!(fs::read_to_string(scratch.at("s"))?.contains("No space left on device"));
    Ok(())
}

/// Not `cat`, neither haul's nor GNU's: `copy_file_range` uses the position without its lock.
#[test]
fn two_that_share_an_output_take_turns_and_lose_nothing() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", vec![b'a'; 9 << 20])?;
    scratch.write("b", vec![b'b'; 9 << 20])?;
    // Not cat: the kernel reads the shared position before and sets it after, for GNU's and haul's.
    for one in [
        "haul dd bs=1M status=none <",
        "haul dd bs=1M status=none if=",
        "haul tee <",
        "haul write - <",
        "haul read",
    ] {
        let (one_a, one_b) = match one.strip_suffix('=') {
            Some(_) => (format!("{one}a"), format!("{one}b")),
            None => (format!("{one} a"), format!("{one} b")),
        };
        let line = format!(
            "rm -f c; ({one_a} & {one_b} & wait) > c; for l in a b; do tr -dc $l < c | wc -c; done"
        );
        let done = shell(scratch.path(), &line)?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(said, "9437184\n9437184\n", "{one}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{one}");
    }
    Ok(())
}

/// Serves bytes once by HTTP/1.0 without a length, so that their end is that of the connection.
fn serve(listener: &TcpListener, bytes: &[u8]) -> Outcome {
    let (mut stream, _) = listener.accept()?;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.extend_from_slice(&byte);
    }
    stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n")?;
    Ok(stream.write_all(bytes)?)
}

#[test]
fn a_download_that_breaks_off_does_not_get_its_name() -> Outcome {
    if !has("curl")? {
        return ignored("curl");
    }
    let scratch = Scratch::new()?;
    let bytes = noise(3 << 20);
    for (sent, is_complete) in [(bytes.len() - 1, false), (bytes.len(), true)] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let line = format!(
            "curl -sf --noproxy '*' http://{}/ | haul write --size={} --atomic out
             echo ${{PIPESTATUS[@]}}",
            listener.local_addr()?,
            bytes.len()
        );
        let (done, served) = std::thread::scope(|scope| {
            let serving = scope.spawn(|| serve(&listener, &bytes[..sent]).is_ok());
            (shell(scratch.path(), &line), serving.join())
        });
        let done = done?;
        assert!(matches!(served, Ok(true)), "{done:?}");
        // The server named no length, so curl is content with what came.
        let expected: &[u8] = if is_complete { b"0 0\n" } else { b"0 1\n" };
        assert_eq!(done.stdout, expected, "{done:?}");
        assert_eq!(scratch.at("out").exists(), is_complete);
    }
    assert_eq!(fs::read(scratch.at("out"))?, bytes);
    Ok(())
}
