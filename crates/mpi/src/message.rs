//! Messages between ranks: events for the manager, its commands, and the end.

use haul_engine::monitor::Counts;
use haul_engine::peers::{Conclusion, Occupies};

use crate::manager::{Command, Event};
use crate::wire::{put, take};

/// Message between two ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// To the manager.
    Event(Event),
    /// From the manager.
    Command(Command),
    /// From the manager: the copy is over, or was stopped.
    End {
        /// Whether everything is done.
        is_complete: bool,
    },
    /// To rank 0: what a rank has counted so far.
    Counts(Vec<u64>),
    /// From rank 0: the run begins, with what the engine tells the other ranks.
    Begin(Vec<u8>),
    /// To rank 0: the rank has ended, and these are its last counts.
    Last {
        /// What it has done of a run that keeps a journal.
        conclusion: Conclusion,
        /// Its last counts.
        counts: Vec<u64>,
    },
    /// To rank 0: lines to print, as [`Relay`](crate::Relay) encodes them.
    Text(Vec<u8>),
    /// From rank 0: the last lines are printed.
    Printed,
    /// To rank 0: the name of the machine on which a rank runs.
    Host(Vec<u8>),
}

impl Message {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut numbers = |list: &[u64]| list.iter().for_each(|value| put(&mut bytes, *value));
        let mut tail = Vec::new();
        match self {
            Message::Event(Event::Status { rank, sequence, idle, usable, received }) => {
                numbers(&[0, rank as u64, sequence, idle, usable, received]);
            }
            Message::Event(Event::Offer { rank, ticket, within, to, occupies, bytes }) => {
                let to = to.map_or(u64::MAX, |to| to as u64);
                let occupies_all = u64::from(occupies == Occupies::Process);
                numbers(&[1, rank as u64, ticket, within, to, occupies_all]);
                tail = bytes;
            }
            Message::Event(Event::Done { rank, lease, answer }) => {
                numbers(&[2, rank as u64, lease]);
                tail = answer;
            }
            Message::Event(Event::Lost { rank }) => numbers(&[3, rank as u64]),
            Message::Event(Event::Stopped) => numbers(&[4]),
            Message::Command(Command::Give { to, lease, bytes }) => {
                numbers(&[5, to as u64, lease]);
                tail = bytes;
            }
            Message::Command(Command::Ask { to, sequence, limit }) => {
                numbers(&[6, to as u64, sequence, limit]);
            }
            Message::Command(Command::Release { to, ticket, answer }) => {
                numbers(&[7, to as u64, ticket]);
                tail = answer;
            }
            Message::End { is_complete } => numbers(&[8, u64::from(is_complete)]),
            Message::Counts(counts) => {
                numbers(&[9]);
                numbers(&counts);
            }
            Message::Last { conclusion, counts } => {
                let Conclusion { is_complete, found, records, has_joined } = conclusion;
                let (is_complete, has_joined) = (u64::from(is_complete), u64::from(has_joined));
                numbers(&[10, is_complete, found, records, has_joined]);
                numbers(&counts);
            }
            Message::Text(text) => {
                numbers(&[11]);
                tail = text;
            }
            Message::Printed => numbers(&[12]),
            Message::Begin(told) => {
                numbers(&[13]);
                tail = told;
            }
            Message::Host(name) => {
                numbers(&[14]);
                tail = name;
            }
        }
        bytes.append(&mut tail);
        bytes
    }

    /// Decodes a message; `None` if a program of another version sent it.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Message> {
        let mut rest = bytes;
        let kind = take(&mut rest)?;
        let mut number = || take(&mut rest);
        let message = match kind {
            0 => Message::Event(Event::Status {
                rank: rank(number()?)?,
                sequence: number()?,
                idle: number()?,
                usable: number()?,
                received: number()?,
            }),
            1 => {
                let (from, ticket, within, to) =
                    (rank(number()?)?, number()?, number()?, number()?);
                let to = if to == u64::MAX { None } else { Some(rank(to)?) };
                let occupies = if number()? == 1 { Occupies::Process } else { Occupies::Worker };
                let bytes = std::mem::take(&mut rest).to_vec();
                Message::Event(Event::Offer { rank: from, ticket, within, to, occupies, bytes })
            }
            2 => {
                let (rank, lease) = (rank(number()?)?, number()?);
                let answer = std::mem::take(&mut rest).to_vec();
                Message::Event(Event::Done { rank, lease, answer })
            }
            3 => Message::Event(Event::Lost { rank: rank(number()?)? }),
            4 => Message::Event(Event::Stopped),
            5 => {
                let (to, lease) = (rank(number()?)?, number()?);
                let bytes = std::mem::take(&mut rest).to_vec();
                Message::Command(Command::Give { to, lease, bytes })
            }
            6 => Message::Command(Command::Ask {
                to: rank(number()?)?,
                sequence: number()?,
                limit: number()?,
            }),
            7 => {
                let (to, ticket) = (rank(number()?)?, number()?);
                let answer = std::mem::take(&mut rest).to_vec();
                Message::Command(Command::Release { to, ticket, answer })
            }
            8 => Message::End { is_complete: number()? == 1 },
            9 => Message::Counts(all_numbers(&mut rest)?),
            10 => {
                let is_complete = number()? == 1;
                let (found, records, has_joined) = (number()?, number()?, number()? == 1);
                let conclusion = Conclusion { is_complete, found, records, has_joined };
                Message::Last { conclusion, counts: all_numbers(&mut rest)? }
            }
            11 => Message::Text(std::mem::take(&mut rest).to_vec()),
            12 => Message::Printed,
            13 => Message::Begin(std::mem::take(&mut rest).to_vec()),
            14 => Message::Host(std::mem::take(&mut rest).to_vec()),
            _ => return None,
        };
        rest.is_empty().then_some(message)
    }
}

/// Takes all numbers that are left.
fn all_numbers(rest: &mut &[u8]) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        numbers.push(take(rest)?);
    }
    Some(numbers)
}

fn rank(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

/// Returns counts as numbers. Residency in the page cache is not among them.
pub(crate) fn numbers_of(counts: &Counts) -> Vec<u64> {
    let mut counts = *counts;
    let mut numbers: Vec<u64> = fields(&mut counts).map(|field| *field).to_vec();
    numbers.extend(counts.methods);
    numbers
}

/// Returns counts from their numbers; `None` if there are too few or too many.
pub(crate) fn counts_of(numbers: &[u64]) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut methods = counts.methods;
    let mut all: Vec<&mut u64> = fields(&mut counts).into_iter().collect();
    all.extend(&mut methods);
    if all.len() != numbers.len() {
        return None;
    }
    all.into_iter().zip(numbers).for_each(|(count, number)| *count = *number);
    Some(Counts { methods, ..counts })
}

fn fields(counts: &mut Counts) -> [&mut u64; 10] {
    [
        &mut counts.files,
        &mut counts.directories,
        &mut counts.symlinks,
        &mut counts.hard_links,
        &mut counts.specials,
        &mut counts.skipped,
        &mut counts.bytes,
        &mut counts.failures,
        &mut counts.warnings,
        &mut counts.workers,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        let bytes = vec![1, 2, 3];
        let conclusion =
            Conclusion { is_complete: true, found: 7, records: u64::MAX, has_joined: false };
        let offer = |to, occupies| {
            let bytes = bytes.clone();
            Event::Offer { rank: 3, ticket: 4, within: 5, to, occupies, bytes }
        };
        let messages = [
            Message::Event(Event::Status { rank: 1, sequence: 2, idle: 3, usable: 4, received: 5 }),
            Message::Event(offer(None, Occupies::Process)),
            Message::Event(offer(Some(0), Occupies::Worker)),
            Message::Event(Event::Done { rank: 1, lease: u64::MAX, answer: vec![0, 255] }),
            Message::Event(Event::Lost { rank: 1 }),
            Message::Event(Event::Stopped),
            Message::Command(Command::Give { to: 1, lease: 2, bytes: Vec::new() }),
            Message::Command(Command::Ask { to: 1, sequence: 2, limit: 3 }),
            Message::Command(Command::Release { to: 1, ticket: 2, answer: Vec::new() }),
            Message::End { is_complete: true },
            Message::End { is_complete: false },
            Message::Counts(vec![1, 2]),
            Message::Last { conclusion, counts: vec![3] },
            Message::Begin(vec![1]),
            Message::Text(vec![1, 2, 3]),
            Message::Printed,
            Message::Host(b"node".to_vec()),
        ];
        for message in messages {
            assert_eq!(Message::decode(&message.clone().encode()), Some(message));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert_eq!(Message::decode(b""), None);
        assert_eq!(Message::decode(&99_u64.to_le_bytes()), None);
        let status =
            Message::Event(Event::Status { rank: 1, sequence: 2, idle: 3, usable: 3, received: 4 });
        let status = status.encode();
        assert_eq!(Message::decode(&status[..status.len() - 1]), None);
        assert_eq!(Message::decode(&[status, vec![0]].concat()), None);
    }

    #[test]
    fn counts_come_back_as_they_were_and_add_up() {
        let mut one = Counts { files: 1, bytes: 10, failures: 2, ..Counts::default() };
        one.methods[1] = 3;
        assert_eq!(counts_of(&numbers_of(&one)), Some(one));
        assert_eq!(counts_of(&[1]), None);
        let mut sum = Counts { files: 5, ..Counts::default() };
        sum.methods[1] = 7;
        sum.add(&one);
        assert_eq!((sum.files, sum.bytes, sum.failures, sum.methods[1]), (6, 10, 2, 10));
    }
}
