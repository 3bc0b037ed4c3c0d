//! `faultfs`: passes a directory through to a mount point, with delays and faults, until it is
//! unmounted or killed.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program prints its output and errors"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use haul_faultfs::{
    Case, Clock, Config, Mode, Mounted, Offload, Operation, Renames, RequestStats, Rule, Striping,
};

const HELP: &str = "\
Usage: faultfs [OPTION]... SOURCE POINT
Mount the directory SOURCE at the empty directory POINT, with delays and faults, until unmounted.
Prints 'ready' when mounted, and request counts when unmounted. If it is killed, the kernel
unmounts it.

      --data MS        delay each read, write and range copy by MS milliseconds
      --metadata MS    delay every other request by MS milliseconds
      --direct         bypass the page cache: each request arrives as it was issued
      --offload        support copy_file_range
      --ignore-case    let names that differ only in case be one name
      --plain-renames  refuse renames with flags, such as RENAME_NOREPLACE
      --lustre         give files a striping (the attribute lustre.lov), as Lustre does
      --in-flight N    allow N requests in flight (128)
      --clock SECONDS  set the server's clock SECONDS ahead (negative: behind); with
                       'modification', report the modification time as change time
      --remembered MS  let the kernel cache names and attributes for MS (1000)
      --rule RULE      inject OPERATION[:NAME][@WHEN]=EFFECT; may be repeated, e.g.
                       write@3=ENOSPC, read:*.db@offset=1M=EIO, write@after=8M=ENOSPC,
                       write@in=1M-2M=EIO, read@2+=short:4095, read=flip, fsync=lose,
                       lseek=hole, getattr:a=size:10, xattr@2+=grow:300, open=wait:100
";

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)) {
        Ok(Some((config, source, point))) => serve(&config, &source, &point),
        Ok(None) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("faultfs: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve(config: &Config, source: &Path, point: &Path) -> ExitCode {
    let ended = Mounted::new(source, point, config).and_then(|mut mounted| {
        println!("ready");
        let ended = mounted.wait();
        for (operation, name) in Operation::all() {
            let seen = mounted.seen(operation);
            if seen.requests > 0 {
                let RequestStats { requests, bytes, largest, in_flight } = seen;
                println!("{name} {requests} bytes={bytes} largest={largest} in-flight={in_flight}");
            }
        }
        ended
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("faultfs: {}: {error}", point.display());
            ExitCode::FAILURE
        }
    }
}

fn arguments(
    words: impl Iterator<Item = String>,
) -> Result<Option<(Config, PathBuf, PathBuf)>, String> {
    let mut config = Config::default();
    let mut places = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" => return Ok(None),
            "--data" => config.data_delay = milliseconds(&value()?)?,
            "--metadata" => config.metadata_delay = milliseconds(&value()?)?,
            "--remembered" => config.remembered = milliseconds(&value()?)?,
            "--clock" => config.clock = clock(&value()?)?,
            "--direct" => config.mode = Mode::Direct,
            "--offload" => config.offload = Offload::Yes,
            "--ignore-case" => config.case = Case::Ignored,
            "--plain-renames" => config.renames = Renames::Plain,
            "--lustre" => config.striping = Striping::Lustre,
            "--in-flight" => {
                let value = value()?;
                config.in_flight = value.parse().map_err(|_| format!("not a number: {value}"))?;
            }
            "--rule" => {
                let rule = value()?.parse::<Rule>().map_err(|error| error.to_string())?;
                config.rules.push(rule);
            }
            option if option.starts_with('-') => return Err(format!("no such option: {option}")),
            _ => places.push(PathBuf::from(word)),
        }
    }
    match <[PathBuf; 2]>::try_from(places) {
        Ok([source, point]) => Ok(Some((config, source, point))),
        Err(_) => Err("needs SOURCE and POINT; see --help".to_owned()),
    }
}

fn clock(text: &str) -> Result<Clock, String> {
    if text == "modification" {
        return Ok(Clock::ChangeIsModification);
    }
    text.parse().map(Clock::Off).map_err(|_| format!("not a number of seconds: {text}"))
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().map(|ms| ms / 1000.0);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("not a time in milliseconds: {text}"))
}
