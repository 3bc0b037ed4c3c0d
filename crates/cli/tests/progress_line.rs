//! The line of progress on a terminal, which `script` provides: one row for each end of a pipe, and
//! nothing that stays.

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::{Outcome, has};

/// Runs a line of shell on a terminal of 60 columns, which can read what the terminal got in `log`;
/// returns what each row showed at every moment. `None` where there is no script(1).
fn on_a_terminal(scratch: &Scratch, line: &str) -> Outcome<Option<Vec<Vec<String>>>> {
    if !has("script")? {
        return Ok(None);
    }
    let line = line.replace("haul ", &format!("'{}' ", haul().display()));
    let line = format!("stty cols 60; {line}");
    let call = Call::of("script").words(["-qfec", &line, "log"]).env("TERM", "xterm");
    let done = call.env("SHELL", "/bin/sh").in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    Ok(Some(moments(&done.text())))
}

/// Replays what a terminal got: the subset of console_codes(4) that haul uses.
fn moments(told: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut moments = Vec::new();
    let mut letters = told.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                rows.resize(rows.len().max(row + 1), Vec::new());
            }
            '\x1b' => {
                assert_eq!(letters.next(), Some('['), "{told:?}");
                match letters.next() {
                    Some('K') => rows[row].truncate(column),
                    Some('1') if letters.next() == Some('A') => row -= 1,
                    other => panic!("{other:?} in {told:?}"),
                }
                let text = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
                moments.push(rows.iter().map(text).collect());
            }
            letter => {
                let shown = &mut rows[row];
                shown.resize(shown.len().max(column + 1), ' ');
                shown[column] = letter;
                column += 1;
            }
        }
    }
    moments
}

#[test]
fn two_ends_of_a_pipe_have_a_row_each() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(6 << 20))?;
    // What is between them waits until both have drawn. The log begins with this line itself, so no
    // pattern may match its own text.
    let line = "haul read a | \
                (until grep -q 'rea[d]:' log && grep -q 'writ[e]:' log; do sleep .1; done; cat) | \
                haul write b; cmp a b";
    let Some(moments) = on_a_terminal(&scratch, line)? else { return Ok(()) };
    let starts = |row: Option<&String>, word| row.is_some_and(|row| row.starts_with(word));
    let has_both = |rows: &Vec<String>| {
        ["read: ", "write: "].iter().all(|word| (0..2).any(|row| starts(rows.get(row), word)))
    };
    assert!(moments.iter().any(has_both), "{moments:?}");
    for rows in &moments {
        assert!(rows.iter().all(|row| row.chars().count() <= 57), "{rows:?}");
    }
    let last = moments.last().map(|rows| rows.concat());
    assert_eq!(last.as_deref(), Some(""), "something stays on the terminal");
    Ok(())
}

#[test]
fn nothing_stays_on_the_terminal_after_a_signal() -> Outcome {
    for command in ["haul read a >pipe", "haul cp --bandwidth=4K a b"] {
        let scratch = Scratch::new()?;
        scratch.write("a", noise(6 << 20))?;
        let line = "mkfifo pipe; sleep 1000 <>pipe & holds=$!; exec 2>&1; \
                    COMMAND & until grep -q 'Mi[B]' log; do sleep .1; done; \
                    kill $!; wait $!; code=$?; kill $holds; [ $code = 143 ]";
        let line = line.replace("COMMAND", command);
        let Some(moments) = on_a_terminal(&scratch, &line)? else { return Ok(()) };
        let has_line = |row: &String| row.contains("MiB");
        assert!(moments.iter().any(|rows| rows.iter().any(has_line)), "{command}: {moments:?}");
        let last = moments.last().cloned().unwrap_or_default();
        assert!(!last.iter().any(has_line), "{command}: {last:?}");
    }
    Ok(())
}
