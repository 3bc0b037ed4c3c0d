//! Which shard of a copy a run is: two numbers, or what Slurm says.

use std::ffi::OsStr;

use haul_engine::request::Shard;

use crate::escape::quote_word;
use crate::getopt::Usage;

/// Word for the numbers that Slurm gives a task.
pub(crate) const SLURM: &str = "slurm";

/// Function that reads a variable of the environment.
pub(crate) type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Reads the value of `--shard`.
pub(crate) fn shard(word: &OsStr, variables: &Variables<'_>) -> Result<Shard, Usage> {
    if word == SLURM {
        return of_slurm(variables).map_err(|why| Usage(format!("--shard={SLURM}: {why}")));
    }
    let text = word.to_str().unwrap_or_default();
    let numbers = text.split_once('/').and_then(|(number, count)| {
        Some(Shard { number: decimal(number)?, count: decimal(count)? })
    });
    numbers.filter(is_valid).ok_or_else(|| {
        Usage(format!(
            "invalid --shard {}: give I/N, with I from 1 to N and N up to {}, or '{SLURM}'",
            quote_word(word.as_encoded_bytes()),
            Shard::MOST
        ))
    })
}

const fn is_valid(shard: &Shard) -> bool {
    1 <= shard.number && shard.number <= shard.count && shard.count <= Shard::MOST
}

/// Reads a number that consists of digits only.
fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Returns the shard of a task of a job array, or else of a task of a job step.
fn of_slurm(variables: &Variables<'_>) -> Result<Shard, String> {
    let shard = if variables("SLURM_ARRAY_TASK_ID").is_some() {
        of_array(variables)?
    } else if variables("SLURM_PROCID").is_some() {
        let number = of("SLURM_PROCID", variables)?.saturating_add(1);
        Shard { number, count: of("SLURM_NTASKS", variables)? }
    } else {
        return Err("neither SLURM_ARRAY_TASK_ID nor SLURM_PROCID is set; start the command in a \
                    job array or with srun, or give --shard=I/N"
            .to_owned());
    };
    if is_valid(&shard) {
        return Ok(shard);
    }
    Err(format!(
        "it would be shard {} of {}, which does not exist; give --shard=I/N",
        shard.number, shard.count
    ))
}

/// Returns the shard of a task of a job array whose indices have no gaps.
fn of_array(variables: &Variables<'_>) -> Result<Shard, String> {
    let id = of("SLURM_ARRAY_TASK_ID", variables)?;
    let first = of("SLURM_ARRAY_TASK_MIN", variables)?;
    let last = of("SLURM_ARRAY_TASK_MAX", variables)?;
    let count = of("SLURM_ARRAY_TASK_COUNT", variables)?;
    if last.checked_sub(first).and_then(|more| more.checked_add(1)) != Some(count) {
        return Err(format!(
            "the indices of the job array are {count} of {first} to {last}; give the array all of \
             them, with a step of 1, or give --shard=I/N"
        ));
    }
    let number = id.checked_sub(first).and_then(|before| before.checked_add(1));
    Ok(Shard { number: number.unwrap_or(0), count })
}

/// Returns the number that a variable has.
fn of(name: &str, variables: &Variables<'_>) -> Result<u64, String> {
    let Some(text) = variables(name) else {
        return Err(format!("{name} is not set; give --shard=I/N"));
    };
    decimal(&text).ok_or_else(|| {
        format!("{name} is {}, which is no number; give --shard=I/N", quote_word(text.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str, set: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let variables = |name: &str| {
            set.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
        };
        match shard(OsStr::new(word), &variables) {
            Ok(Shard { number, count }) => Ok((number, count)),
            Err(Usage(text)) => Err(text),
        }
    }

    #[test]
    fn numbers_are_read_and_nothing_else() {
        assert_eq!(read("1/1", &[]), Ok((1, 1)));
        assert_eq!(read("16/16", &[]), Ok((16, 16)));
        assert_eq!(read("2/10000", &[]), Ok((2, 10000)));
        let wrong = [
            "",
            "/",
            "1",
            "1/",
            "/1",
            "0/2",
            "3/2",
            "1/0",
            "0/0",
            "+1/2",
            "-1/2",
            "1/2/3",
            "1/10001",
            "a/b",
            " 1/2",
            "1/18446744073709551616",
            "SLURM",
        ];
        for word in wrong {
            let text = read(word, &[]).expect_err(word);
            assert!(text.starts_with("invalid --shard ") && text.contains("give I/N"), "{text}");
        }
    }

    const ARRAY: [(&str, &str); 4] = [
        ("SLURM_ARRAY_TASK_ID", "7"),
        ("SLURM_ARRAY_TASK_MIN", "5"),
        ("SLURM_ARRAY_TASK_MAX", "8"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];

    #[test]
    fn a_task_of_an_array_is_a_shard() {
        assert_eq!(read("slurm", &ARRAY), Ok((3, 4)));
        // The variables of a step are set there, too.
        let both: Vec<_> =
            ARRAY.into_iter().chain([("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]).collect();
        assert_eq!(read("slurm", &both), Ok((3, 4)));
        for (missing, _) in &ARRAY[1..] {
            let set: Vec<_> = ARRAY.into_iter().filter(|(name, _)| name != missing).collect();
            let text = read("slurm", &set).expect_err(missing);
            assert!(text.contains(&format!("{missing} is not set")), "{text}");
        }
    }

    #[test]
    fn an_array_with_gaps_is_refused() {
        let with = |name: &str, value: &'static str| -> Vec<_> {
            ARRAY.into_iter().map(|(of, old)| (of, if of == name { value } else { old })).collect()
        };
        let text = read("slurm", &with("SLURM_ARRAY_TASK_MAX", "11")).expect_err("gaps");
        assert!(text.contains("4 of 5 to 11") && text.contains("a step of 1"), "{text}");
        let text = read("slurm", &with("SLURM_ARRAY_TASK_ID", "9")).expect_err("behind the end");
        assert!(text.contains("shard 5 of 4"), "{text}");
        let text = read("slurm", &with("SLURM_ARRAY_TASK_ID", "4")).expect_err("before the begin");
        assert!(text.contains("does not exist"), "{text}");
        let text = read("slurm", &with("SLURM_ARRAY_TASK_ID", "x")).expect_err("no number");
        assert!(text.contains("which is no number"), "{text}");
    }

    #[test]
    fn a_task_of_a_step_is_a_shard() {
        let step = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "3")];
        assert_eq!(read("slurm", &step), Ok((1, 3)));
        let text = read("slurm", &step[..1]).expect_err("no number of tasks");
        assert!(text.contains("SLURM_NTASKS is not set"), "{text}");
        let text = read("slurm", &step[1..]).expect_err("no task");
        assert!(text.contains("neither SLURM_ARRAY_TASK_ID nor SLURM_PROCID"), "{text}");
        let text = read("slurm", &[("SLURM_PROCID", "3"), step[1]]).expect_err("behind the end");
        assert!(text.contains("shard 4 of 3"), "{text}");
    }
}
