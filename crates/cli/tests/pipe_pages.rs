//! Pages of a file in a pipe: after a command has ended, a change of the file that it read does not
//! change its output, through any number of commands.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};

use super::support::Outcome;
use super::support::run::haul;
use super::support::scratch::Scratch;
use super::support::shell::noise;

#[test]
fn a_file_that_changes_after_its_reader_has_ended_does_not_change_the_pipe() -> Outcome {
    for stages in [1, 2, 3] {
        let scratch = Scratch::new()?;
        // More than one pipe holds, and at most what the pipes of all stages hold.
        let bytes = noise(match stages {
            1 => 1 << 20,
            stages => (stages << 20) - (1 << 19),
        });
        let file = scratch.write("a", &bytes)?;
        let mut children = Vec::new();
        let mut input = Stdio::null();
        let mut outlet = None;
        for stage in 0..stages {
            let (reader, writer) = std::io::pipe()?;
            let mut command = Command::new(haul());
            command.arg("cat").stdin(input).stdout(writer);
            if stage == 0 {
                command.arg(&file);
            }
            children.push(command.spawn()?);
            // The command keeps our end of its output until it is dropped.
            drop(command);
            input = reader.try_clone()?.into();
            outlet = Some(reader);
        }
        drop(input);
        let mut children = children.into_iter();
        let first = children.next().ok_or("no command")?.wait()?;
        assert!(first.success(), "{stages}");
        fs::File::options().write(true).open(&file)?.write_all_at(&vec![0; bytes.len()], 0)?;
        let mut arrived = Vec::new();
        outlet.ok_or("no pipe")?.read_to_end(&mut arrived)?;
        let changed = arrived.iter().zip(&bytes).filter(|(one, other)| one != other).count();
        assert_eq!((arrived.len(), changed), (bytes.len(), 0), "{stages} commands");
        for mut child in children {
            assert!(child.wait()?.success());
        }
    }
    Ok(())
}
