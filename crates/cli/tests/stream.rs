//! `haul read`, `haul write`, `haul cat`: the same bytes for every kind of pipe end.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use haul_faultfs::{Config, Mounted};
use rustix::process::Pid;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise, shell};
use super::support::strace::is_usable;
use super::support::volume::volumes;
use super::support::{Outcome, allocated, has, if_there, ignored, is_root, state};

/// Starts the command line of an applet.
fn applet<'w>(name: &str, words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word(name).words(words)
}

#[test]
fn every_size_comes_through_read_and_write_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        for size in [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, (9 << 20) + 12_345] {
            let bytes = noise(size);
            scratch.write("a", &bytes)?;
            for policy in ["auto", "keep", "drop", "direct", "restore"] {
                let line = format!(
                    "haul read --cache={policy} a 2>/dev/null | haul write --cache={policy} b c \
                     2>/dev/null"
                );
                demand(scratch.path(), &line)?;
                for copy in ["b", "c"] {
                    let same = fs::read(scratch.at(copy))? == bytes;
                    assert!(same, "{} {size} {policy} {copy}", volume.name);
                }
            }
        }
        // The space reserved ahead was released.
        let (held, length) = (allocated(&scratch.at("b"))?, fs::metadata(scratch.at("b"))?.len());
        assert!(held <= length + (256 << 10), "{}: {held} bytes for {length}", volume.name);
    }
    Ok(())
}

#[test]
fn the_neighbours_get_and_give_what_they_should() -> Outcome {
    let scratch = Scratch::new()?;
    let text: String = (0..400_000).map(|line| format!("line {}\n", line % 977)).collect();
    scratch.write("a", &text)?;
    scratch.write("random", noise(5 << 20))?;
    demand(
        scratch.path(),
        "haul read random | haul cat | haul dd status=none bs=7k | cmp - random",
    )?;
    for pair in ["gzip", "pigz", "zstd -q", "lz4 -q", "xz -0"] {
        let program = pair.split(' ').next().unwrap_or(pair);
        if !has(program)? {
            continue;
        }
        let line = format!(
            "haul read a | {pair} -c | haul write --atomic z; haul read z | {pair} -dc | \
             haul write b; cmp a b"
        );
        demand(scratch.path(), &line)?;
    }
    demand(
        scratch.path(),
        "haul read a | sort | uniq | haul write --sparse u; sort -u a | cmp - u",
    )?;
    demand(scratch.path(), "haul read a | split -b 1M - s.; haul cat s.* | cmp - a")?;
    if has("md5sum")? {
        let line = "haul read --sum md5 a random 2> sums > /dev/null; md5sum -c --quiet sums; \
                    haul read a | haul write --sum sha256 w > sums; sha256sum -c --quiet sums";
        demand(scratch.path(), line)?;
    }
    for tar in ["tar", "bsdtar"] {
        if has(tar)? {
            let line = format!(
                "{tar} -cf - a random | haul write t; mkdir {tar}.d; haul read t | {tar} -xf - -C \
                 {tar}.d; cmp a {tar}.d/a; cmp random {tar}.d/random"
            );
            demand(scratch.path(), &line)?;
        }
    }
    for pump in ["pv -q", "mbuffer -q"] {
        let program = pump.split(' ').next().unwrap_or(pump);
        if has(program)? {
            demand(
                scratch.path(),
                &format!("haul read random | {pump} | haul write p; cmp random p"),
            )?;
        }
    }
    Ok(())
}

#[test]
fn parts_and_holes_are_read_as_they_are() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(3 << 20))?;
    let lines = [
        "haul read --offset 1000001 --length 70001 a | cmp - <(tail -c +1000002 a | head -c 70001)",
        "haul read --offset 1000001 --length 70001 - < a | cmp - <(tail -c +1000002 a | head -c 70001)",
        "(cat a || true) | haul read --offset 1000001 --length 70001 - | cmp - <(tail -c +1000002 a | head -c 70001)",
        "haul read --offset 99999999 a | cmp - /dev/null",
        "truncate -s 40M h; printf x >> h; printf y | dd of=h bs=1 seek=20000000 conv=notrunc status=none; \
         haul read h | cmp - h; haul read h | haul write --sparse i; cmp h i; [ $(stat -c %b i) -lt 1000 ]",
        "haul read /proc/self/maps > m; [ $(wc -l < m) -gt 10 ]",
    ];
    for line in lines {
        demand(scratch.path(), line)?;
    }
    Ok(())
}

#[test]
fn an_input_that_is_a_file_is_taken_from_where_it_stands_and_the_next_program_goes_on() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        scratch.write("a", noise((20 << 20) + 4321))?;
        for line in [
            "{ haul write b; cat > c; } < a; cat b c | cmp - a; [ ! -s c ]",
            "{ head -c 2M > c; haul write b; } < a; cat c b | cmp - a",
            "{ dd bs=1001 count=3 of=c status=none; haul write b; } < a; cat c b | cmp - a",
            "{ dd bs=1001 count=3 of=c status=none; haul write --cache=drop --sum md5 b; } < a \
             > sum; cat c b | cmp - a; md5sum --quiet -c sum",
            "{ haul write --cache=keep --bandwidth=1G b; } < a; cmp a b",
            "{ haul write --atomic --buffer=4M b; } < a; cmp a b",
            "{ haul read --length 9000001 - > b; cat > c; } < a; cat b c | cmp - a",
            "{ haul read --offset 5000 --length 9000001 - | cat > b; cat > c; } < a; \
             { head -c 5000 a; cat b c; } | cmp - a",
            "{ haul md5sum --cache=direct 2> e > b; cat > c; } < a; cmp b <(md5sum < a); [ ! -s c ]",
            "truncate -s 60M h; printf x >> h; printf y | dd of=h bs=1 seek=30000001 conv=notrunc \
             status=none; haul write --sparse i < h; cmp h i; [ $(stat -c %b i) -lt 1000 ]",
        ] {
            demand(scratch.path(), line)?;
        }
    }
    Ok(())
}

#[test]
fn a_full_disk_is_told_and_leaves_no_file_that_looks_whole() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("m"))?;
    scratch.write("a", noise(12 << 20))?;
    // The mount ends with its private namespace.
    let line = format!(
        "mount -t tmpfs -o size=4m none m; for way in '' --atomic --sparse '--buffer 3M'; do \
         '{0}' read a | '{0}' write $way m/f; echo \"$? $(stat -c %s m/f 2>/dev/null)\"; rm -f m/f; done; \
         ls -A m; '{0}' cat a > m/f; echo $?; '{0}' dd if=a of=m/f bs=1M status=none; echo $?",
        haul().display()
    );
    let done =
        Call::of("unshare").words(["-m", "bash", "-c", &line]).in_dir(scratch.path()).run()?;
    let text = done.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{done:?}");
    for line in lines.iter().take(4) {
        let (code, size) = line.split_once(' ').unwrap_or((line, ""));
        assert_eq!(code, "1", "{done:?}");
        assert!(size.is_empty() || size.parse::<u64>()? < 12 << 20, "{done:?}");
    }
    assert_eq!(lines.get(4..), Some(&["1", "1"][..]), "{done:?}");
    let errors = done.errors();
    assert_eq!(errors.matches("No space left on device").count(), 6, "{errors}");
    Ok(())
}

#[test]
fn output_that_is_input_is_refused_before_it_is_destroyed() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "precious")?;
    fs::hard_link(scratch.at("a"), scratch.at("b"))?;
    for line in [
        "haul write a < a",
        "haul write b < a",
        "haul write --atomic b < a",
        "haul cat a >> a",
        "haul cat a b >> b",
        "haul read a >> a",
        "haul read - < a >> b",
        "haul write - < a >> a",
    ] {
        let done = shell(scratch.path(), line)?;
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{line}");
        assert!(errors.contains("input file is output file"), "{line}: {errors}");
        assert_eq!(fs::read(scratch.at("a"))?, b"precious", "{line}");
    }
    Ok(())
}

#[test]
fn atomic_shows_all_or_nothing() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "old")?;
    fs::set_permissions(scratch.at("f"), std::os::unix::fs::PermissionsExt::from_mode(0o640))?;
    let mut child = Command::new(haul())
        .args(["write", "--atomic", "f"])
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    stdin.write_all(&noise(4 << 20))?;
    assert_eq!(fs::read(scratch.at("f"))?, b"old");
    child.kill()?;
    child.wait()?;
    drop(stdin);
    assert_eq!(fs::read(scratch.at("f"))?, b"old");
    assert_eq!(fs::read_dir(scratch.path())?.count(), 1, "nothing is left behind");
    demand(scratch.path(), "head -c 3000000 /dev/zero | haul write --atomic --fsync f g")?;
    assert_eq!(fs::metadata(scratch.at("f"))?.mode() & 0o777, 0o640);
    assert_eq!(fs::metadata(scratch.at("g"))?.len(), 3_000_000);
    Ok(())
}

#[test]
fn a_stopped_write_keeps_what_arrived_and_no_more() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise(5 << 20);
    for words in [&["write", "f"][..], &["write", "--buffer", "64M", "f"][..]] {
        let mut child = Command::new(haul())
            .args(words)
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("no pipe")?;
        stdin.write_all(&bytes)?;
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = child.wait()?;
        use std::os::unix::process::ExitStatusExt as _;
        assert_eq!(status.signal(), Some(15), "{words:?}");
        let written = fs::read(scratch.at("f"))?;
        assert!(bytes.starts_with(&written), "{words:?}: {} bytes", written.len());
    }
    Ok(())
}

/// The bytes in the pipe after the writer has ended do not change any more: a file may be rewritten as
/// soon as the command that read it has ended.
#[test]
fn pages_of_the_file_are_not_left_in_the_pipe() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise(6 << 20);
    for words in [&["cat", "a"][..], &["read", "a"][..], &["read", "--cache=keep", "a"][..]] {
        scratch.write("a", &bytes)?;
        let mut child = Command::new(haul())
            .args(words)
            .current_dir(scratch.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdout = child.stdout.take().ok_or("no pipe")?;
        let mut read = vec![0; bytes.len()];
        let mut filled = 0;
        while filled < bytes.len() {
            // After it has ended, the file changes while bytes are still in the pipe.
            if child.try_wait()?.is_some() {
                let file = fs::File::options().write(true).open(scratch.at("a"))?;
                std::os::unix::fs::FileExt::write_all_at(&file, &vec![0xee; bytes.len()], 0)?;
            }
            let end = (filled + 65_536).min(bytes.len());
            filled += stdout.read(read.get_mut(filled..end).unwrap_or(&mut []))?;
            state::wait_for_full_pipe(Pid::from_child(&child));
        }
        assert!(child.wait()?.success());
        assert!(read == bytes, "{words:?}");
    }
    Ok(())
}

#[test]
fn a_source_that_is_cut_while_it_is_read_is_read_to_its_end_and_told() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise(16 << 20);
    for policy in ["keep", "drop"] {
        scratch.write("a", &bytes)?;
        let mut child = Command::new(haul())
            .args(["read", "--cache", policy, "--io-size", "256K", "--queue-depth", "4", "a"])
            .current_dir(scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdout = child.stdout.take().ok_or("no pipe")?;
        let mut read = vec![0; 1 << 20];
        stdout.read_exact(&mut read)?;
        fs::File::options().write(true).open(scratch.at("a"))?.set_len(9 << 20)?;
        stdout.read_to_end(&mut read)?;
        let mut told = String::new();
        child.stderr.take().ok_or("no pipe")?.read_to_string(&mut told)?;
        assert_eq!(child.wait()?.code(), Some(1), "{policy}");
        assert_eq!(told, "haul read: a: the file became shorter while it was read\n");
        // Requests that were in flight when it was truncated may still have arrived.
        assert!(read.len() >= 9 << 20 && bytes.starts_with(&read), "{policy}: {}", read.len());
    }
    Ok(())
}

#[test]
fn progress_and_marks_and_rates_change_no_byte() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(6 << 20))?;
    for line in [
        "haul read --bandwidth 40M --progress a 2>log | haul write --bandwidth 40M b; cmp a b; \
         tail -n1 log | grep -q '^read: 6.0 of 6.0 MiB, '",
        "haul read a | haul write --buffer 2M --watermarks 0,100 b; cmp a b",
        "haul read a | haul write --buffer 64K --watermarks 100,1 b; cmp a b",
        "haul read --io-size 4K --queue-depth 1 a | haul write --io-size 4K --queue-depth 1 b; cmp a b",
        "haul read a | haul write --size 6M b; cmp a b",
        "haul read a | haul write b - c | cmp - a; cmp a b; cmp a c",
        "printf old > b; haul read a | haul write - >> b; cmp b <(printf old; cat a)",
    ] {
        demand(scratch.path(), line)?;
    }
    Ok(())
}

#[test]
fn another_number_of_bytes_than_promised_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(6 << 20))?;
    for (size, buffer) in [("1G", ""), ("1M", ""), ("0", ""), ("7M", "--buffer=1M")] {
        let line =
            format!("printf old > b; haul read a | haul write {buffer} --sum=md5 --size={size}");
        let done = shell(scratch.path(), &format!("{line} b"))?;
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(
            (done.status.code(), done.stdout.as_slice()),
            (Some(1), &b""[..]),
            "{line}: {told}"
        );
        assert!(told.contains("6291456 bytes came, but --size promises"), "{line}: {told}");
        // The bytes that arrived are there, without the space that was reserved for more.
        demand(scratch.path(), "cmp a b; [ $(stat -c %b b) -lt 13000 ]")?;
        let done = shell(scratch.path(), &format!("{line} --atomic b c"))?;
        assert_eq!(done.status.code(), Some(1), "{line}");
        assert_eq!(fs::read(scratch.at("b"))?, b"old", "{line}");
        assert_eq!(fs::read_dir(scratch.path())?.count(), 2, "{line}: nothing else is there");
    }
    demand(scratch.path(), "haul read a | haul write --size=6M --atomic b; cmp a b")?;
    demand(scratch.path(), "haul write --size=0 --atomic b < /dev/null; [ ! -s b ]")?;
    Ok(())
}

#[test]
fn digests_name_files_by_their_bytes() -> Outcome {
    let scratch = Scratch::new()?;
    for line in [
        "n=$'a\\xff\\nb'; printf x > \"$n\"; haul read --sum=md5 \"$n\" 2>sums >/dev/null; \
         cmp sums <(md5sum \"$n\")",
        "n=$'a\\xff\\\\b'; haul write --sum=md5 \"$n\" < sums >told; cmp told <(md5sum \"$n\")",
        "haul md5sum --status -c sums told",
    ] {
        demand(scratch.path(), line)?;
    }
    Ok(())
}

#[test]
fn progress_says_which_side_is_waited_for() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(6 << 20))?;
    // Longer than the time until the first line is written.
    for line in [
        "haul read --progress a 2>log | (sleep 2.5; cat >/dev/null); grep -q 'waiting for sleep' log",
        "(sleep 2.5; cat a) | haul write --progress b 2>log; grep -q 'waiting for sleep' log",
        "haul read --progress=auto a 2>log >/dev/null; [ ! -s log ]",
        "haul read --progress=never a 2>log >/dev/null; [ ! -s log ]",
    ] {
        demand(scratch.path(), line)?;
    }
    Ok(())
}

#[test]
fn wrong_command_lines_are_refused_with_words() -> Outcome {
    for (words, said) in [
        (&["write"][..], "missing operand"),
        (&["read"][..], "missing operand"),
        (&["read", "--sum", "crc9", "f"][..], "there is no sum 'crc9'"),
        (&["write", "--watermarks", "5", "f"][..], "invalid --watermarks '5'"),
        (&["read", "--io-size", "1", "f"][..], "invalid --io-size '1'"),
    ] {
        let done = Call::of(haul()).words(words.iter().copied()).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
    }
    let done = applet("read", ["nowhere"]).run()?;
    assert_eq!(done.errors(), "haul read: nowhere: No such file or directory\n");
    let done = applet("write", ["nowhere/f"]).run()?;
    assert_eq!(done.errors(), "haul write: nowhere/f: No such file or directory\n");
    Ok(())
}

#[test]
fn cat_is_gnus_in_every_option() -> Outcome {
    let Some(cat) = super::support::which("cat") else { return ignored("cat") };
    let scratch = Scratch::new()?;
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend_from_slice(b"\n\n\n\r\nx\r\n\r\r\n\ttab\r");
    scratch.write("a", &bytes)?;
    scratch.write("b", b"\n\n\nsecond\n\n\nno newline")?;
    for options in ["-A", "-b", "-e", "-n", "-s", "-t", "-T", "-u", "-v", "-bns", "-nsA", "-sb", ""]
    {
        let words: Vec<&str> =
            [options, "a", "b", "-", "a"].into_iter().filter(|word| !word.is_empty()).collect();
        let run = |call: Call| call.words(&words).input("in\n\nput").in_dir(scratch.path()).run();
        let (ours, theirs) = (run(applet("cat", []))?, run(Call::of(&cat))?);
        assert!(ours.stdout == theirs.stdout, "{options}: {ours:?} {theirs:?}");
        assert_eq!(ours.code(), theirs.code(), "{options}");
    }
    let done = applet("cat", ["missing", "b"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.errors(), "cat: missing: No such file or directory\n");
    assert_eq!((done.code(), done.stdout.len()), (Some(1), fs::read(scratch.at("b"))?.len()));
    let done = applet("cat", ["."]).in_dir(scratch.path()).run()?;
    assert_eq!(done.errors(), "cat: .: Is a directory\n");
    let done = applet("cat", ["b"]).in_dir(scratch.path()).output_to("/dev/full").run()?;
    assert_eq!(done.errors(), "cat: write error: No space left on device\n");
    Ok(())
}

#[test]
fn what_a_killed_write_leaves_is_cleaned_and_what_one_at_work_holds_is_not() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    if !Path::new("/dev/fuse").exists() {
        return ignored("/dev/fuse");
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("below"))?;
    fs::create_dir(scratch.at("far"))?;
    // This file system has no unnamed files, so an unfinished file has a hidden name.
    let mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), &Config::default())?;
    let begin = || -> Outcome<std::process::Child> {
        let mut child = Command::new(haul())
            .args(["write", "--atomic", "f"])
            .current_dir(mounted.path())
            .stdin(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("no pipe")?;
        // More than a pipe holds: when it has been read, the file exists.
        stdin.write_all(&noise(4 << 20))?;
        child.stdin = Some(stdin);
        Ok(child)
    };
    let clean = || applet("clean", ["--older-than=0", "."]).in_dir(mounted.path()).succeed();
    let mut dead = begin()?;
    dead.kill()?;
    dead.wait()?;
    let mut living = begin()?;
    let told = clean()?.text();
    assert_eq!((told.matches("removed").count(), told.matches("left").count()), (1, 1), "{told}");
    drop(living.stdin.take());
    assert!(living.wait()?.success());
    assert_eq!(fs::read(mounted.path().join("f"))?, noise(4 << 20));
    assert_eq!(fs::read_dir(mounted.path())?.count(), 1, "the name is all there is");
    assert_eq!(clean()?.text(), "");
    Ok(())
}

#[test]
fn one_signal_ends_a_write_to_a_full_pipe() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("big", vec![7; 8 << 20])?;
    let line = format!(
        "mkfifo p; exec 3<>p; '{}' write - < big > p & pid=$!
        for turn in $(seq 1000); do
            grep -q pipe_write /proc/$pid/task/*/wchan 2>&- && break; sleep 0.02
        done
        [ $turn = 1000 ] && {{ kill -9 $pid; exit 98; }}
        kill -TERM $pid
        for turn in $(seq 1000); do kill -0 $pid 2>&- || break; sleep 0.02; done
        [ $turn = 1000 ] && {{ kill -9 $pid; exit 99; }}
        wait $pid",
        haul().display()
    );
    let done = shell(scratch.path(), &line)?;
    let code = done.status.code();
    if code == Some(98) {
        return ignored("a kernel that tells what a process waits for");
    }
    assert!(code.is_some_and(|code| code != 0 && code != 99), "{done:?}");
    Ok(())
}

/// A large file is opened anew, and the position of standard input follows.
#[test]
fn a_position_that_does_not_follow_is_told() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let bytes = noise(12 << 20);
    let input = scratch.write("f", &bytes)?;
    let mut wrong = Vec::new();
    for nth in 1..45 {
        let strace = format!(
            "strace -f -qqq -o log -e trace=lseek -P '{}' -e inject=lseek:error=EIO:when={nth}",
            input.display()
        );
        let line = format!(
            "{{ {strace} '{}' read --sum=sha256 --length=9M - > a && cat > b; }} < f",
            haul().display()
        );
        let done = shell(scratch.path(), &line)?;
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        let both =
            [fs::read(scratch.at("a"))?, if_there(fs::read(scratch.at("b")))?.unwrap_or_default()];
        let is_told = errors.contains("Input/output error");
        if done.status.success() && both.concat() != bytes || !done.status.success() && !is_told {
            wrong.push(format!("{nth}: {:?} {errors}", both.map(|part| part.len())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
