//! The manager: random trees, ranks, delays, orders and losses; and single steps.

use haul_engine::peers::Occupies;
use haul_mpi::{Command, Event, Manager, Progress, ROOT};

use crate::model::{Model, Numbers, tree};

/// Returns which nodes stay: those that cannot be removed, and all above them.
fn stays(children: &[Vec<usize>], stubborn: &[bool]) -> Vec<bool> {
    let mut stays = stubborn.to_vec();
    // Children have higher numbers than their parents.
    for node in (0..children.len()).rev() {
        stays[node] |= children[node].iter().any(|child| stays[*child]);
    }
    stays
}

/// Runs a model from a seed, and checks what must hold however messages arrive.
fn check(seed: u64, loss: usize, keeps_order: bool) -> (usize, usize) {
    let mut numbers = Numbers::new(seed);
    let nodes = 1 + numbers.below(120);
    let count = 1 + numbers.below(8);
    let children = tree(&mut numbers, nodes);
    let stubborn: Vec<bool> = (0..nodes).map(|_| numbers.below(40) == 0).collect();
    let stays = stays(&children, &stubborn);
    let mut model = Model::new(&mut numbers, &children, &stubborn, count);
    model.run(loss, keeps_order);
    let (manager, record) = (&model.manager, &model.record);
    assert_eq!(manager.progress(), Progress::Over, "seed {seed}");
    for node in 0..nodes {
        let begun = record.begun.get(&node).copied().unwrap_or(0);
        let completed = record.completed.get(&node).copied().unwrap_or(0);
        assert!(begun >= 1, "seed {seed}: node {node} was never begun");
        assert!(completed >= 1, "seed {seed}: node {node} was never completed");
        if record.lost == 0 {
            assert_eq!((begun, completed), (1, 1), "seed {seed}: node {node} was done again");
        }
    }
    for (node, kept) in &record.kept {
        assert_eq!(*kept, stays[*node], "seed {seed}: what stays of node {node}");
    }
    assert_eq!(record.completed[&0], 1, "seed {seed}: the operands were completed twice");
    assert!(record.released.values().all(|times| *times == 1), "seed {seed}: released twice");
    // For each rank four units, or one for each rank that can use it, and for each loss what the rank had.
    let bound = count.max(4) * count + record.lost * nodes;
    assert!(record.most_waiting <= bound, "seed {seed}: {} units waited", record.most_waiting);
    (record.given, record.lost)
}

#[test]
fn everything_is_done_once_however_messages_arrive() {
    let given: usize = (0..1500).map(|seed| check(seed, 0, false).0).sum();
    assert!(given > 1500, "the ranks hardly shared: {given} units");
}

#[test]
fn everything_is_done_once_when_messages_keep_their_order() {
    let given: usize = (0..500).map(|seed| check(seed, 0, true).0).sum();
    assert!(given > 500, "the ranks hardly shared: {given} units");
}

#[test]
fn everything_is_done_although_ranks_are_lost() {
    let lost: usize = (0..1500).map(|seed| check(seed, 60, false).1).sum();
    assert!(lost > 1500, "hardly any rank was lost: {lost}");
}

fn done(rank: usize, lease: u64) -> Event {
    Event::Done { rank, lease, answer: Vec::new() }
}

fn offer(rank: usize, ticket: u64, within: u64) -> Event {
    Event::Offer { rank, ticket, within, to: None, occupies: Occupies::Worker, bytes: vec![7] }
}

fn status(rank: usize, sequence: u64, idle: u64, received: u64) -> Event {
    Event::Status { rank, sequence, idle, usable: idle, received }
}

#[test]
fn a_rank_is_asked_only_while_another_one_is_idle() {
    let mut manager = Manager::new(2);
    let asked = manager.handle(status(1, 1, 1, 0));
    assert_eq!(asked, [Command::Ask { to: 0, sequence: 1, limit: 4 }]);
    assert_eq!(manager.handle(status(1, 2, 1, 0)), []);
    let over = manager.handle(status(1, 3, 0, 0));
    assert_eq!(over, [Command::Ask { to: 0, sequence: 2, limit: 0 }]);
}

#[test]
fn ranks_are_asked_for_what_others_can_use_up_to_a_limit() {
    for (idle, limit) in [(20, 20), (1000, 32)] {
        let mut manager = Manager::new(3);
        let asked = manager.handle(status(1, 1, idle, 0));
        assert_eq!(asked, [Command::Ask { to: 0, sequence: 1, limit }]);
    }
    // Two ranks that have work share what the third one can use.
    let mut manager = Manager::new(3);
    manager.handle(status(1, 1, 1, 0));
    manager.handle(offer(0, 1, ROOT));
    let asked = manager.handle(status(2, 1, 20, 0));
    let limits = [(0, 3, 11), (1, 1, 10)];
    let expected = limits.map(|(to, sequence, limit)| Command::Ask { to, sequence, limit });
    assert_eq!(asked, expected);
}

#[test]
fn a_part_of_a_file_is_enough_for_a_rank_until_it_has_begun_it() {
    let mut manager = Manager::new(3);
    manager.handle(status(1, 1, 8, 0));
    let part = |ticket| Event::Offer {
        rank: 0,
        ticket,
        within: ROOT,
        to: None,
        occupies: Occupies::Process,
        bytes: vec![7],
    };
    let given = |commands: Vec<Command>| {
        let to = |command: &Command| match command {
            Command::Give { to, .. } => Some(*to),
            _ => None,
        };
        commands.iter().filter_map(to).collect::<Vec<_>>()
    };
    assert_eq!(given(manager.handle(part(1))), [1]);
    let on_its_way = given(manager.handle(part(2)));
    assert!(on_its_way.is_empty(), "the first part is on its way to eight workers");
    assert_eq!(given(manager.handle(status(2, 1, 8, 0))), [2]);
    // The first part has arrived, and one worker has found no room in it.
    assert!(given(manager.handle(part(3))).is_empty());
    assert_eq!(given(manager.handle(status(1, 2, 1, 1))), [1]);
}

#[test]
fn an_old_report_does_not_replace_a_newer_one() {
    let mut manager = Manager::new(2);
    assert_eq!(manager.handle(status(1, 2, 0, 0)), []);
    assert_eq!(manager.handle(status(1, 1, 1, 0)), [], "the rank has work meanwhile");
}

#[test]
fn a_unit_goes_to_an_idle_rank_and_is_released_once() {
    let mut manager = Manager::new(2);
    manager.handle(status(1, 1, 1, 0));
    let commands = manager.handle(offer(0, 9, ROOT));
    let [Command::Give { to: 1, lease, .. }, ..] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(manager.handle(done(0, lease)), [], "another rank has the lease");
    assert_eq!(manager.handle(done(0, ROOT)), [], "the unit is out");
    assert_eq!(manager.progress(), Progress::Running);
    let released = manager.handle(done(1, lease));
    assert!(
        released.contains(&Command::Release { to: 0, ticket: 9, answer: Vec::new() }),
        "{released:?}"
    );
    assert_eq!(manager.handle(done(1, lease)), []);
    manager.handle(done(0, ROOT));
    assert_eq!(manager.progress(), Progress::Over);
}

#[test]
fn a_unit_of_a_lost_rank_waits_for_the_units_found_in_it() {
    let mut manager = Manager::new(3);
    manager.handle(status(1, 1, 1, 0));
    let given = manager.handle(offer(0, 1, ROOT));
    let [Command::Give { to: 1, lease: outer, .. }, ..] = given[..] else { panic!("{given:?}") };
    manager.handle(status(1, 2, 0, 1));
    manager.handle(status(2, 1, 1, 0));
    let given = manager.handle(offer(1, 1, outer));
    let [Command::Give { to: 2, lease: inner, .. }, ..] = given[..] else { panic!("{given:?}") };
    manager.handle(Event::Lost { rank: 1 });
    assert_eq!(manager.waiting(), 0, "rank 2 still works in the unit");
    manager.handle(status(2, 2, 1, 1));
    let again = manager.handle(done(2, inner));
    assert!(
        again.iter().any(|command| matches!(command, Command::Give { to: 2, .. })),
        "{again:?}"
    );
    assert_eq!(manager.handle(done(1, outer)), [], "the old lease");
}

#[test]
fn without_rank_0_the_copy_is_over() {
    let mut manager = Manager::new(2);
    assert_eq!(manager.handle(Event::Lost { rank: 0 }), []);
    assert_eq!(manager.progress(), Progress::Stopped);
}
