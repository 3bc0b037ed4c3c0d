//! `cp`: a tree, some of its entries, or one file, onto an earlier state, twice.

use super::{Places, Script, shape};
use crate::soak::earlier::{Earlier, with_bytes_of_their_own};
use crate::soak::promise::Promise;
use crate::soak::stage::{Cell, Prepared};
use crate::soak::step::{After, Call, Step, below};
use crate::soak::tree;
use haul_manifest::Numbers;
use haul_manifest::{Aspect, Aspects, Item, ItemKind, RawText};
use std::ffi::OsString;
use std::path::PathBuf;

/// What is copied of an entry, and how.
const MODES: [&[&str]; 13] = [
    &["-a"],
    &["-a"],
    &["-a"],
    &["-r"],
    &["-r"],
    &["-rp"],
    &["-dR"],
    &["-rL"],
    &["-rH"],
    &["-rl"],
    &["-R", "--preserve=mode,timestamps"],
    &["-a", "--no-preserve=ownership"],
    &["-rP", "--preserve=links,xattr"],
];

const OPTIONS: [&[&str]; 13] = [
    &["-u"],
    &["-b"],
    &["--backup=numbered"],
    &["-f"],
    &["-n"],
    &["--remove-destination"],
    &["--sparse=always"],
    &["--sparse=never"],
    &["--reflink=auto"],
    &["--reflink=never"],
    &["--attributes-only"],
    &["-x"],
    &["-v"],
];

/// Options of haul that change how a file is written, and nothing of the result.
const OWN: [&[&str]; 10] = [
    &["--jobs=1"],
    &["--jobs=4"],
    &["--cache=direct"],
    &["--cache=drop"],
    &["--io-size=4K"],
    &["--fsync"],
    &["--limit-memory=2M"],
    &["--retry-changed=2"],
    &["--stats"],
    // Rules of directories that have none.
    &["--filter=: .no-such-rules"],
];

/// Options by which a file is replaced and not overwritten: other names of it keep the old contents.
const PUBLISHING: [&[&str]; 5] =
    [&["--atomic"], &["--durable"], &["--verify"], &["--resume"], &["--resume", "--verify"]];

/// The options of one command.
struct Choice {
    words: Vec<&'static str>,
    own: Vec<&'static str>,
    publishes: bool,
}

impl Choice {
    fn draw(numbers: &mut Numbers) -> Self {
        let mut words = numbers.pick(&MODES).to_vec();
        let options = numbers.some(8, &OPTIONS).into_iter().copied().flatten();
        words.extend(options);
        if words.contains(&"-rl") {
            // A link has no data to leave out, and across file systems there is nothing to put in the
            // place of a target that GNU cp removes first.
            words.retain(|word| !["--attributes-only", "--remove-destination"].contains(word));
        }
        if words.contains(&"--attributes-only") {
            // GNU cp -f puts a symbolic link in the place of a file, though that loses contents.
            words.retain(|word| *word != "-f");
        }
        let copies_data = !words.contains(&"-rl") && !words.contains(&"--attributes-only");
        let mut own: Vec<_> =
            numbers.some(15, &OWN).into_iter().copied().flatten().copied().collect();
        let publishes = numbers.chance(40);
        if publishes {
            own.extend(*numbers.pick(if copies_data { &PUBLISHING } else { &PUBLISHING[..2] }));
        }
        Self { words, own, publishes }
    }

    fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(word))
    }

    /// What is the same in source and target after exit status 0; `None` if some entries are not copied.
    fn aspects(&self) -> Option<Aspects> {
        if self.has(&["-u", "-n", "--attributes-only", "-rL", "-rH", "-rl"]) {
            return None;
        }
        let preserves_all = self.has(&["-a"]) && !self.has(&["--no-preserve=ownership"]);
        // A backup or a replaced file has names of its own, so the links of the target differ.
        let aspects = if preserves_all { Aspects::preserved() } else { Aspects::contents_only() };
        Some(if self.backs_up() {
            aspects.without(Aspect::Links).without(Aspect::Mtime)
        } else {
            aspects
        })
    }

    fn keeps_links(&self) -> bool {
        self.has(&["-a", "-dR", "--preserve=links,xattr"])
    }

    fn backs_up(&self) -> bool {
        self.has(&["-b", "--backup=numbered"])
    }

    fn call(&self) -> Call {
        Call::new("cp").args(&self.words).own(&self.own)
    }
}

pub(super) fn draw(numbers: &mut Numbers, places: &Places) -> Script {
    let shape = shape(numbers);
    let mut items = tree::draw(numbers, &shape);
    let earlier = Earlier::draw(numbers);
    let choice = Choice::draw(numbers);
    simplify(&mut items, &choice);
    let mut before = earlier.items(numbers, &items);
    if let Some(items) = &mut before {
        adapt(items, &choice);
    }
    // With a target in which several names lead to one file, the result of GNU cp depends on the order in
    // which it reads the source, and loses all but one file: only the promises count.
    let is_shared = numbers.chance(15);
    if !is_shared && let Some(items_before) = &mut before {
        separate(items_before, &items);
    }
    let (near, far) = (format!("{}/src", places.near), format!("{}/dst", places.far));
    let mut steps = Vec::new();
    let mut made_parents = false;
    for _ in 0..2 {
        let again = numbers.chance(70);
        let mut step = operands(numbers, &choice, &items, (&near, &far));
        made_parents |= step.calls[0].has(&["--parents"]);
        if made_parents {
            // GNU cp gives a parent its time before the next operand changes it.
            step = step.without(Aspect::Mtime);
        }
        if let Some(aspects) = choice.aspects()
            && choice.has(&["-a"])
            && earlier.is_fresh()
            && step.calls[0].has(&["-T"])
        {
            let from = (Cell::Original, PathBuf::from(&near));
            step = step.promise(Promise::Copied { from, to: far.clone().into(), aspects });
        } else if choice.aspects().is_some() && step.calls[0].has(&["-T"]) {
            let from = (Cell::Original, PathBuf::from(&near));
            step = step.promise(Promise::Arrived { from, to: far.clone().into() });
        }
        if !earlier.is_fresh() || !steps.is_empty() {
            step = onto_existing(step, &choice, &items, steps.first());
        }
        if is_shared && !earlier.is_fresh() {
            step = step.after(After::Promises);
        }
        steps.push(step);
        if !again {
            break;
        }
    }
    let mut prepared = vec![Prepared::tree(&near, items)];
    prepared.extend(before.map(|items| Prepared::tree(&far, items)));
    Script { prepared, steps }
}

/// Takes from the source what GNU cp treats in another way, or in an order that its directories decide.
fn simplify(items: &mut Vec<Item>, choice: &Choice) {
    if choice.has(&["-u", "--attributes-only"]) {
        // GNU cp links further names of a file that it has skipped, also without --preserve=links. With
        // --attributes-only all names get the contents of the one that comes first.
        items.retain(|item| !matches!(item.kind, ItemKind::HardLink(_)));
    }
    if choice.has(&["-u"]) && choice.has(&["-rL", "-rH"]) {
        // There a symbolic link is a further name, too.
        items.retain(|item| !matches!(item.kind, ItemKind::Symlink(_)));
    }
}

/// Leaves out of the comparison what GNU cp does in another way where names exist, or in an order that its
/// directories decide. `first` is the first step, if this is the second.
fn onto_existing(step: Step, choice: &Choice, items: &[Item], first: Option<&Step>) -> Step {
    let mut step = step;
    let has_links = items.iter().any(|item| matches!(item.kind, ItemKind::HardLink(_)));
    let is_another = first.is_some_and(|first| first.calls[0].words != step.calls[0].words);
    let mut left: Vec<Aspect> = Vec::new();
    if choice.publishes {
        // A directory in which a file is replaced gets another time.
        left.push(Aspect::Mtime);
    }
    if has_links && choice.keeps_links() {
        // All names get what the existing file of the first one has, and is not preserved; the other names are
        // replaced, which changes the times of their directories.
        left.extend([Aspect::Xattrs, Aspect::Acl, Aspect::Mtime]);
        if !choice.has(&["-a"]) || choice.has(&["--no-preserve=ownership"]) {
            left.extend([Aspect::Mode, Aspect::Owner, Aspect::Group]);
        }
    }
    if is_another {
        // What another entry of the source has left: see `adapt`.
        left.push(Aspect::Mode);
        left.extend(
            choice.publishes.then_some([Aspect::Xattrs, Aspect::Acl]).into_iter().flatten(),
        );
    }
    for aspect in left {
        step = step.without(aspect);
    }
    let resumes = choice.own.contains(&"--resume");
    if resumes && first.is_some() && !is_another && !step.calls[0].has(&["-T"]) {
        // To haul this is the same copy, though the target was none before, and is a directory now.
        step = step.after(After::Promises);
    }
    let may_meet = |item: &Item| item.name.as_bytes().ends_with(b"~");
    if choice.backs_up() && items.iter().any(may_meet) {
        // Whether an entry meets the backup of another one, the order of a directory decides.
        step = step.after(After::Promises);
    }
    step
}

/// Takes from the earlier state of a target what the options treat in another way than GNU cp.
fn adapt(items: &mut [Item], choice: &Choice) {
    if choice.has(&["-u"]) {
        with_bytes_of_their_own(items);
    }
    for item in items.iter_mut() {
        // GNU cp leaves setuid, setgid and sticky bits of what exists, whatever the source has.
        item.mode &= 0o777;
        if choice.publishes {
            // A file that replaces another one has only the attributes that are preserved from SOURCE.
            item.xattrs.clear();
        }
    }
}

/// Removes further names of files, and links that lead to files where the source has no link.
fn separate(items: &mut Vec<Item>, source: &[Item]) {
    const DANGLING: [&[u8]; 3] = [b"missing", b"missing/entry", b"/nonexistent/haul"];
    let is_link = |item: &Item| matches!(item.kind, ItemKind::Symlink(_));
    let links: Vec<RawText> = source
        .iter()
        .zip(tree::paths(source))
        .filter(|(item, _)| is_link(item))
        .map(|(_, path)| path)
        .collect();
    let mut paths = tree::paths(items).into_iter();
    items.retain(|item| {
        let is_in_source = paths.next().is_some_and(|path| links.contains(&path));
        match &item.kind {
            ItemKind::HardLink(_) => false,
            ItemKind::Symlink(text) => is_in_source || DANGLING.contains(&text.as_bytes()),
            _ => true,
        }
    });
}

/// Draws what is copied to where: the tree onto the target, into it, or its entries into it.
fn operands(
    numbers: &mut Numbers,
    choice: &Choice,
    items: &[Item],
    (near, far): (&str, &str),
) -> Step {
    let call = choice.call();
    let mut top: Vec<OsString> = items
        .iter()
        .filter(|item| item.depth == 1)
        .map(|item| below(near, item.name.as_bytes()))
        .collect();
    // A slash at the end asks for a directory, through a link as well.
    top.iter_mut().filter(|_| numbers.chance(6)).for_each(|operand| operand.push("/"));
    let call = match numbers.below(10) {
        0..6 => call.args(["-T", near, far]),
        6 => call.args([near, far]),
        7 if !top.is_empty() => call.args(["-t", far]).args(top),
        8 if !top.is_empty() => call.arg("--parents").args(top).arg(far),
        9 if !top.is_empty() => call.arg(numbers.pick(&top)).arg(far),
        _ => call.arg(format!("{near}/.")).arg(far),
    };
    let has_parents = call.has(&["--parents"]);
    let step = Step::new(vec![call]);
    // With --parents the names of the cells would be copied, too.
    if !has_parents && numbers.chance(25) { step.absolute() } else { step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(words: &[&'static str]) -> Choice {
        Choice { words: words.to_vec(), own: Vec::new(), publishes: false }
    }

    #[test]
    fn a_separated_target_has_one_name_for_each_file() {
        let item = |name: &str, kind| Item::new(1, name, kind);
        let link = |text: &str| ItemKind::Symlink(text.into());
        let source = [item("a", ItemKind::Fifo), item("l", link("a"))];
        let mut target = vec![
            item("a", link("l")),
            item("b", ItemKind::HardLink("a".into())),
            item("d", link("missing")),
            item("l", link("x")),
        ];
        separate(&mut target, &source);
        let names: Vec<_> = target.iter().map(|item| item.name.as_bytes()).collect();
        assert_eq!(names, [b"d", b"l"]);
    }

    #[test]
    fn what_the_order_of_names_decides_is_not_compared() {
        let link = Item::new(1, "b", ItemKind::HardLink("a".into()));
        let items = [Item::new(1, "a", ItemKind::Fifo), link];
        let compared = |words: &[&'static str], name: &str| {
            let mut items = items.to_vec();
            items.push(Item::new(1, name, ItemKind::Fifo));
            let step = Step::new(vec![choice(words).call()]);
            onto_existing(step, &choice(words), &items, None).after
        };
        let has = |after, aspect| matches!(after, After::Compare(it) if it.contains(aspect));
        assert!(has(compared(&["-r"], "c"), Aspect::Owner));
        assert!(has(compared(&["-a"], "c"), Aspect::Owner));
        assert!(!has(compared(&["-a"], "c"), Aspect::Xattrs));
        assert!(!has(compared(&["-dR"], "c"), Aspect::Owner));
        assert_eq!(compared(&["-a", "-b"], "a~"), After::Promises);
    }

    #[test]
    fn only_what_copies_everything_promises_it() {
        assert_eq!(choice(&["-a"]).aspects(), Some(Aspects::preserved()));
        assert_eq!(choice(&["-r"]).aspects(), Some(Aspects::contents_only()));
        assert_eq!(choice(&["-a", "-u"]).aspects(), None);
        let backup = choice(&["-a", "-b"]).aspects().unwrap();
        assert!(backup.contains(Aspect::Bytes) && !backup.contains(Aspect::Links));
    }
}
