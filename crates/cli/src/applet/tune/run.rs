//! `haul tune`: a short benchmark, whose result `haul cp` then applies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haul_bench::{
    Choice, GroundSpec, Profile, Scale, Scenario, TUNE_SCENARIOS, TuneOptions, Work, tune,
    tune_session, write_profile,
};
use haul_sys::process::stop_signal;

use super::options::{OPTIONS, Settings, help};
use crate::applet::bench::{Refusal, fresh, scenario, usual_ground};
use crate::applet::bench::{announce, end, session, tools_with_this_haul};
use crate::ending::{self, CommandError, usage};
use crate::escape::{quote, quote_word};
use crate::getopt::parse;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::sizes::plural;
use crate::{profile, sizes};

const PROGRAM: &str = "haul tune";

/// The exit status for an invalid command line.
const USAGE: u8 = 2;

/// Runs `tune` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments) {
        Ok(Wanted::Print(text)) => ending::print_and_end(&output, &text),
        Ok(Wanted::Tune(settings)) => measure(&output, &settings),
        Err(error) => {
            ending::refused(&output, &error);
            ExitCode::from(USAGE)
        }
    }
}

enum Wanted {
    Print(String),
    Tune(Settings),
}

fn read(arguments: &[OsString]) -> Result<Wanted, CommandError> {
    let mut settings = Settings::new();
    let operands = match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help)? {
        Asked::Print(text) => return Ok(Wanted::Print(text)),
        Asked::Work(operands) => operands,
    };
    match operands.as_slice() {
        [] => {}
        [path] => settings.path = PathBuf::from(path),
        [_, extra, ..] => {
            return usage(format!("extra operand {}", quote(extra.as_encoded_bytes())));
        }
    }
    Ok(Wanted::Tune(settings))
}

fn refuse(output: &Output, text: &str, hint: &str) -> ExitCode {
    output.error(text);
    output.error(&format!("hint: {hint}"));
    ExitCode::from(USAGE)
}

fn measure(output: &Output, settings: &Settings) -> ExitCode {
    let folder = profile::folder();
    if folder.is_none() && !settings.print {
        return refuse(
            output,
            "there is no place for profiles: neither XDG_CONFIG_HOME nor HOME is an absolute path",
            "set one of them, or use --print",
        );
    }
    let mut remarks = Vec::new();
    let ground = match ground(settings, &mut remarks) {
        Ok(ground) => ground,
        Err(Refusal { text, hint }) => return refuse(output, &text, hint),
    };
    let scenarios = match scenarios(settings) {
        Ok(scenarios) => scenarios,
        Err(Refusal { text, hint }) => return refuse(output, &text, hint),
    };
    let mut found = tools_with_this_haul().into_iter();
    let Some(haul) = found.find(|program| program.program == "haul") else {
        return refuse(output, "this haul cannot be found", "put it into a folder of PATH");
    };
    let tuning = TuneOptions {
        ground,
        haul,
        scenarios,
        rounds: settings.rounds,
        seed: settings.seed,
        budget: settings.budget,
        work: settings.path.clone(),
    };
    let done = tune_session(&tuning)
        .and_then(|planned| announce(output, &planned, &remarks))
        .and_then(|()| session(PROGRAM, |services| tune(&tuning, services)))
        .and_then(|(results, profiles)| {
            let whole = results.cases.iter().all(|case| case.trouble.is_none());
            if results.interrupted || stop_signal().is_some() || !whole {
                output.error("no profile is written, since not everything could be measured");
                return Ok(false);
            }
            let chosen = profiles.iter().map(|profile| profile.choices.len()).sum();
            if chosen < tuning.scenarios.len() && settings.budget.is_some() {
                output.error(&time_is_over(chosen, tuning.scenarios.len()));
            }
            deliver(output, settings, folder.as_deref(), &profiles)
        });
    end(output, done)
}

fn scenarios(settings: &Settings) -> Result<Vec<Scenario>, Refusal> {
    let asked: Vec<&str> = if settings.scenarios.is_empty() {
        TUNE_SCENARIOS.to_vec()
    } else {
        settings.scenarios.iter().map(String::as_str).collect()
    };
    let read = |text| scenario(text, Scale::Quick, settings.seed);
    let scenarios: Vec<Scenario> = asked.into_iter().map(read).collect::<Result<_, _>>()?;
    match scenarios.iter().find(|scenario| scenario.work == Work::Delete) {
        Some(scenario) => Err(Refusal {
            text: format!("scenario {} copies nothing", quote_word(scenario.name.as_bytes())),
            hint: "a profile is about copying; haul bench --list shows the scenarios",
        }),
        None => Ok(scenarios),
    }
}

fn ground(settings: &Settings, remarks: &mut Vec<String>) -> Result<GroundSpec, Refusal> {
    let is_root = haul_sys::process::identity().uid == 0;
    let path = &settings.path;
    if !path.is_dir() {
        return Err(Refusal {
            text: format!("{} is no folder", quote(path.as_os_str().as_encoded_bytes())),
            hint: "name a folder on the file system that is to be tuned for",
        });
    }
    match &settings.file_systems {
        Some(name) => fresh(name, Some(path), is_root),
        None => Ok(usual_ground(path, is_root, remarks)),
    }
}

fn deliver(
    output: &Output,
    settings: &Settings,
    folder: Option<&Path>,
    profiles: &[Profile],
) -> haul_bench::Result<bool> {
    for profile in profiles {
        if settings.print {
            output.line(profile.to_toml().trim_end());
            continue;
        }
        output.line(&format!(
            "{} to {}, {}:",
            profile.source.file_system, profile.target.file_system, profile.place
        ));
        for choice in &profile.choices {
            output.line(&format!("  {}", choice_line(choice)));
        }
        if let Some(folder) = folder {
            let path = write_profile(folder, profile)?;
            output.line(&format!("The profile is {}.", quote(path.as_os_str().as_encoded_bytes())));
        }
    }
    if profiles.is_empty() && settings.budget.is_none() {
        output.error("nothing was learned: haul itself failed in every scenario");
    }
    Ok(!profiles.is_empty())
}

/// Returns what a session says that measured only some scenarios: each of them takes five rounds.
fn time_is_over(measured: usize, scenarios: usize) -> String {
    match measured {
        0 => "the time was over before any kind of files was measured five times; no profile is \
              written; give more --minutes"
            .to_owned(),
        _ => format!("the time was over: {measured} of {scenarios} kinds of files were measured"),
    }
}

/// Prints the result for one kind of files.
fn choice_line(choice: &Choice) -> String {
    let files = format!("files of {}", sizes::bytes(choice.file_bytes));
    let own = haul_bench::units::seconds(choice.own_time_s);
    let mut found = Vec::new();
    let share = |ratio: &Option<haul_bench::stats::Ratio>| {
        ratio.as_ref().map_or_else(String::new, |ratio| {
            format!(" ({} of that)", haul_bench::units::ratio(ratio.median))
        })
    };
    if let Some(method) = &choice.method {
        found.push(format!("{method} first{}", share(&choice.method_ratio)));
    }
    if let Some(jobs) = choice.jobs {
        found.push(format!("{}{}", plural(jobs, "job", "jobs"), share(&choice.jobs_ratio)));
    }
    if found.is_empty() {
        found.push("nothing was shown to be better".to_owned());
    }
    format!("{files}: {own} by itself; {}", found.join(", "))
}
