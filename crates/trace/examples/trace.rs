//! `haul trace` without its command line, to try the library by hand:
//! `trace [--ptrace] [--ebpf] [--files] [--short] [--json] [--svg] [--by=command] [-p PID SECONDS] COMMAND…`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::time::Duration;

use haul_trace::render::{
    Detail, Labels, PictureOptions, TextOptions, comparison, json, picture, text,
};
use haul_trace::{Backend, Command, Files, Grouping, Trace, TraceError, TraceOptions, Until};

fn main() -> Result<(), TraceError> {
    let mut options = TraceOptions::default();
    let mut show = TextOptions::default();
    let (mut pid, mut form, mut versus) = (None, "text".to_owned(), None);
    let mut arguments = std::env::args().skip(1).peekable();
    while let Some(argument) = arguments.next_if(|argument| argument.starts_with('-')) {
        match argument.as_str() {
            "--ptrace" => options.backend = Backend::Ptrace,
            "--ebpf" => options.backend = Backend::Ebpf,
            "--files" => options.files = Files::Observed,
            "--command-only" => options.until = Until::CommandEnds,
            "--json" | "--svg" | "--none" => form = argument.trim_start_matches('-').to_owned(),
            "--short" => show.detail = Detail::Short,
            "--by=command" => show.grouping = Grouping::Command,
            "--by=thread" => show.grouping = Grouping::Thread,
            "--by=total" => show.grouping = Grouping::Total,
            "-p" => pid = arguments.next().and_then(|pid| pid.parse().ok()),
            "--for" => {
                options.duration =
                    arguments.next().and_then(|s| s.parse().ok()).map(Duration::from_secs_f64);
            }
            "--vs" => versus = arguments.next(),
            "--filter" => {
                let names = arguments.next().unwrap_or_default();
                options.filter = names.split(',').map(str::to_owned).collect();
            }
            _ => eprintln!("unknown option {argument}"),
        }
    }
    let report = match (pid, arguments.next()) {
        (Some(pid), _) => Trace::attach(pid, &options)?,
        (None, Some(program)) => Trace::run(&Command::new(program).arguments(arguments), &options)?,
        (None, None) => return Ok(()),
    };
    if let Some(other) = versus {
        let other = Command::new("sh").argument("-c").argument(format!("exec {other}"));
        let other = Trace::run(&other, &options)?;
        eprint!("{}", comparison(&report, &other, &Labels::default(), show.detail));
        return Ok(());
    }
    match form.as_str() {
        "json" => println!("{}", json(&report, show.grouping)),
        "svg" => {
            let TextOptions { detail, grouping, .. } = show;
            print!("{}", picture(&[&report], &PictureOptions { detail, grouping }));
        }
        "none" => {}
        _ => eprint!("{}", text(&report, &show)),
    }
    Ok(())
}
