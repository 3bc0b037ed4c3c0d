//! Files that another process holds a lease on, as file servers do: haul waits for the lease.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has, ignored};

/// Holds a lease on the file that is its argument, reports the kernel's request to release it, and releases
/// it when the test asks for that.
const HOLDER: &str = "
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, lambda *_: os.write(1, b'asked\\n'))
file = open(sys.argv[1], 'r+')
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError:
    os.write(1, b'refused\\n')
    sys.exit()
os.write(1, b'held\\n')
os.read(0, 1)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
";

struct Holder {
    child: Child,
    orders: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Holder {
    fn of(scratch: &Scratch, name: &str) -> Outcome<Holder> {
        let mut child = Command::new("python3")
            .args(["-c", HOLDER, name])
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().ok_or("no pipe")?;
        let said = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        Ok(Holder { child, orders, said })
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn give_up(mut self) -> Outcome {
        self.orders.write_all(b"x")?;
        self.child.wait()?;
        Ok(())
    }
}

#[test]
fn a_lease_on_source_or_target_is_waited_for() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let ways: [(&str, &[&str]); 6] = [
        ("s/a", &["-r", "-T", "s", "t"]),
        ("s/a", &["s/a", "t/a"]),
        ("t/a", &["s/a", "t/a"]),
        ("t/a", &["-a", "-T", "s", "t"]),
        ("s/a", &["-a", "--atomic", "-T", "s", "t"]),
        ("s/a", &["--verify", "s/a", "t/a"]),
    ];
    for (held, words) in ways {
        let scratch = Scratch::new()?;
        scratch.write("s/a", "new")?;
        scratch.write("t/a", "old")?;
        let mut holder = Holder::of(&scratch, held)?;
        match holder.line()?.as_str() {
            "held" => {}
            _ => return ignored("a file system with leases"),
        }
        let running = cp(words).in_dir(scratch.path()).start()?;
        assert_eq!(holder.line()?, "asked", "{held} {words:?}");
        holder.give_up()?;
        let done = running.wait()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{held} {words:?}");
        assert_eq!(std::fs::read(scratch.at("t/a"))?, b"new", "{held} {words:?}");
    }
    Ok(())
}

#[test]
fn compare_and_verify_wait_for_a_lease() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    for words in [["compare", "s", "t"], ["verify", "s", "--against=t"]] {
        let scratch = Scratch::new()?;
        scratch.write("s/a", "same")?;
        demand(scratch.path(), "cp -a s t")?;
        let mut holder = Holder::of(&scratch, "s/a")?;
        if holder.line()? != "held" {
            return ignored("a file system with leases");
        }
        let running = Call::of(haul()).words(words).in_dir(scratch.path()).start()?;
        assert_eq!(holder.line()?, "asked", "{words:?}");
        holder.give_up()?;
        let done = running.wait()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{words:?}");
    }
    Ok(())
}
