//! Makes a selection from options: everything that can be refused is refused here, before a walk begins.

use std::ffi::CString;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use haul_sys::fs::split_at_last_slash;

use crate::files::Files;
use crate::limits::Limits;
use crate::list::{Entry, RuleList};
use crate::listed::Listed;
use crate::parse::{Flags, Flaw, Kind, Parsed, Prefixes, Refusal, Side, parse};
use crate::pattern::{Anchor, Pattern};
use crate::rule::Rule;

/// Number of merge files that may be read in each other.
const DEPTH: usize = 16;

/// Names that CVS ignores, as rsync(1) lists them for `--cvs-exclude`.
const CVS: &[u8] = b"RCS SCCS CVS CVS.adm RCSLOG cvslog.* tags TAGS .make.state .nse_depinfo *~ #* .#* ,* _$* *$ \
    *.old *.bak *.BAK *.orig *.rej .del-* *.a *.olb *.o *.obj *.so *.exe *.Z *.elc *.ln core .svn/ .git/ .hg/ .bzr/";

/// What a command does with the selected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It reads them: rules about the sender apply.
    Read,
    /// It copies them and then removes them. Per-directory merge files stay, so that a second run has the same
    /// rules.
    Move,
    /// It removes them: rules about the receiver apply, and per-directory merge files stay.
    Remove,
    /// It copies them into a tree from which it removes others: rules about the sender apply, and the user's rules
    /// about the receiver are for [`Purpose::Protect`].
    Send,
    /// It keeps them when it removes others: rules about the receiver apply. Limits and lists do not.
    Protect,
    /// The same, where what is left out is removed, too: only rules apply that name the receiver.
    ProtectExplicitly,
}

impl Purpose {
    pub(crate) const fn side(self) -> Side {
        match self {
            Purpose::Read | Purpose::Move | Purpose::Send => Side::Sender,
            Purpose::Remove | Purpose::Protect | Purpose::ProtectExplicitly => Side::Receiver,
        }
    }

    /// Returns whether the command has another selection for the other side.
    const fn is_one_of_two(self) -> bool {
        matches!(self, Purpose::Send | Purpose::Protect | Purpose::ProtectExplicitly)
    }

    pub(crate) const fn keeps_merge_files(self) -> bool {
        matches!(self, Purpose::Move | Purpose::Remove)
    }
}

/// What reading rules depends on.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) purpose: Purpose,
    /// Byte that ends a line of a file.
    pub(crate) separator: u8,
    /// Path of the current directory.
    pub(crate) here: Vec<u8>,
    /// Words that the user lets CVS ignore.
    pub(crate) cvs: Vec<Vec<u8>>,
    /// Files that the options name.
    pub(crate) files: Files,
}

impl Context {
    /// Returns the text of a file.
    fn text_of(&self, path: &[u8]) -> Result<Arc<[u8]>, BuildError> {
        self.files.read(path).map_err(|error| BuildError::File(path.to_vec(), error))
    }
}

/// A kind of per-directory merge files.
#[derive(Clone, Debug)]
pub(crate) struct MergeKind {
    /// Name of the file in each directory; empty if the rule was cleared.
    pub(crate) name: CString,
    pub(crate) flags: Flags,
    /// Directory from which the directories above a tree are read, too.
    pub(crate) from: Option<Box<[u8]>>,
}

/// Where rules are read.
#[derive(Clone)]
pub(crate) struct Origin<'a> {
    pub(crate) anchor: Anchor<'a>,
    /// The option or the file, for explanations.
    pub(crate) name: Arc<[u8]>,
    pub(crate) prefixes: Prefixes,
    /// Whether the rules are in a per-directory merge file.
    pub(crate) is_per_directory: bool,
    pub(crate) depth: usize,
}

/// Rules that are being read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) entries: Vec<Entry>,
    /// All kinds of merge files, by their numbers.
    pub(crate) merges: Vec<MergeKind>,
    /// Whether the rules end what is inherited.
    pub(crate) clears: bool,
}

/// Reason for which an option is refused.
#[derive(Debug)]
pub enum BuildError {
    /// A rule is refused.
    Rule(Flaw),
    /// A file cannot be read.
    File(Vec<u8>, std::io::Error),
    /// A listed name leads out of the tree.
    Outside(Vec<u8>),
    /// A list has no name.
    Nothing(Vec<u8>),
    /// Two options are to read standard input.
    Twice,
}

impl From<Flaw> for BuildError {
    fn from(flaw: Flaw) -> BuildError {
        BuildError::Rule(flaw)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Rule(Flaw { rule, origin, refusal }) => {
                let (rule, origin) = (rule.escape_ascii(), origin.escape_ascii());
                write!(f, "the rule '{rule}' of {origin} is not valid: {refusal}")
            }
            BuildError::File(path, error) => {
                write!(f, "cannot read '{}': {error}", path.escape_ascii())
            }
            BuildError::Outside(name) => {
                write!(f, "the listed name '{}' leads out of the tree", name.escape_ascii())
            }
            BuildError::Nothing(path) => {
                write!(f, "the list '{}' has no name, so it selects nothing", path.escape_ascii())
            }
            BuildError::Twice => f.write_str("only one option can read standard input, as '-'"),
        }
    }
}

/// Collects the options of a selection.
#[derive(Debug)]
pub struct Builder {
    context: Context,
    draft: Draft,
    limits: Limits,
    listed: Option<Listed>,
    /// Hash of everything that was given.
    words: DefaultHasher,
    has_read_input: bool,
}

/// What is selected in the operands of a command.
#[derive(Debug)]
pub struct Selection {
    pub(crate) context: Context,
    pub(crate) rules: RuleList,
    pub(crate) merges: Vec<MergeKind>,
    pub(crate) limits: Limits,
    pub(crate) listed: Option<Listed>,
    fingerprint: u64,
}

impl Builder {
    /// Creates a builder that selects everything. `here` is the path of the current directory.
    #[must_use]
    pub fn new(purpose: Purpose, here: Vec<u8>) -> Builder {
        let files = Files::default();
        let context = Context { purpose, separator: b'\n', here, cvs: Vec::new(), files };
        let (draft, limits) = (Draft::default(), Limits::default());
        Builder {
            context,
            draft,
            limits,
            listed: None,
            words: DefaultHasher::new(),
            has_read_input: false,
        }
    }

    /// Lets the builder take the texts of files from those that another one has read, and the other way round: a pipe
    /// can be read once.
    #[must_use]
    pub fn sharing(mut self, files: &Files) -> Builder {
        self.context.files = files.clone();
        self
    }

    /// Lets NULs end the names in all files that are read from now on, instead of newlines.
    pub fn separate_by_nul(&mut self) {
        self.context.separator = 0;
    }

    /// Sets the words that the user's own configuration lets CVS ignore.
    pub fn ignore_for_cvs(&mut self, words: Vec<Vec<u8>>) {
        self.context.cvs = words;
    }

    /// Sets the limits of sizes and times.
    pub fn limit(&mut self, limits: Limits) {
        let time = |time: Option<haul_sys::fs::Time>| time.map(|it| (it.seconds, it.nanoseconds));
        (limits.least_bytes, limits.most_bytes).hash(&mut self.words);
        (time(limits.newer_than), time(limits.older_than)).hash(&mut self.words);
        self.limits = limits;
    }

    /// Adds the pattern of an option such as `--exclude`, which is named for explanations.
    pub fn pattern(
        &mut self,
        option: &str,
        includes: bool,
        pattern: &[u8],
    ) -> Result<(), BuildError> {
        let flags = Flags { includes, ..Flags::default() };
        self.add(option, (&flags, Prefixes::Patterns), pattern)
    }

    /// Adds a rule of `--filter`.
    pub fn rule(&mut self, rule: &[u8]) -> Result<(), BuildError> {
        self.add("--filter", (&Flags::default(), Prefixes::Rules), rule)
    }

    /// Adds the patterns of a file; `-` is standard input.
    pub fn patterns_of(&mut self, includes: bool, path: &[u8]) -> Result<(), BuildError> {
        let text = self.read(path)?;
        (1, includes, self.context.separator, &text).hash(&mut self.words);
        let flags = Flags { includes, ..Flags::default() };
        let origin = origin(path, Prefixes::Patterns);
        self.draft.add_file(&self.context, &origin, &flags, &text)
    }

    /// Reads a file; standard input only once.
    fn read(&mut self, path: &[u8]) -> Result<Arc<[u8]>, BuildError> {
        if path == b"-" && std::mem::replace(&mut self.has_read_input, true) {
            return Err(BuildError::Twice);
        }
        self.context.text_of(path)
    }

    /// Selects only the names that a file lists, and what is below them; `-` is standard input.
    pub fn list(&mut self, path: &[u8]) -> Result<(), BuildError> {
        let text = self.read(path)?;
        (2, self.context.separator, &text).hash(&mut self.words);
        let listed = Listed::read(&text, self.context.separator).map_err(BuildError::Outside)?;
        if listed.is_empty() {
            return Err(BuildError::Nothing(path.to_vec()));
        }
        self.listed = Some(listed);
        Ok(())
    }

    fn add(
        &mut self,
        option: &str,
        (flags, prefixes): (&Flags, Prefixes),
        rule: &[u8],
    ) -> Result<(), BuildError> {
        (0, flags.includes, matches!(prefixes, Prefixes::Rules), rule).hash(&mut self.words);
        self.context.cvs.hash(&mut self.words);
        self.draft.add(&self.context, &origin(option.as_bytes(), prefixes), flags, rule)
    }

    /// Returns the selection.
    #[must_use]
    pub fn finish(self) -> Selection {
        let Builder { mut context, draft, mut limits, mut listed, words, .. } = self;
        if matches!(context.purpose, Purpose::Protect | Purpose::ProtectExplicitly) {
            (limits, listed) = (Limits::default(), None);
        }
        // A walk reads none of them.
        context.files = Files::default();
        let rules = RuleList::new(draft.entries);
        let fingerprint = words.finish();
        Selection { context, rules, merges: draft.merges, limits, listed, fingerprint }
    }
}

impl Selection {
    /// Returns a number that differs between selections that were given in other words.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns whether only listed names are selected.
    #[must_use]
    pub const fn has_list(&self) -> bool {
        self.listed.is_some()
    }

    /// Returns whether sizes or times are limited.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        !self.limits.are_none()
    }

    /// Records that no listed name is missing, because an operand has failed in which they may be.
    pub fn meet_all(&self) {
        if let Some(listed) = &self.listed {
            listed.meet_all(&listed.root());
        }
    }

    /// Returns the listed names that no walk has met.
    pub fn missing(&self) -> impl Iterator<Item = &[u8]> {
        self.listed.iter().flat_map(Listed::missing)
    }
}

fn origin(name: &[u8], prefixes: Prefixes) -> Origin<'static> {
    let anchor = Anchor::Root;
    Origin { anchor, name: name.into(), prefixes, is_per_directory: false, depth: 0 }
}

/// Kinds of merge files at most: each costs a call for each directory, and a tree may contain rules that add more.
const KINDS_MAX: usize = 64;

impl Draft {
    /// Adds the rules of a file.
    pub(crate) fn add_file(
        &mut self,
        context: &Context,
        origin: &Origin<'_>,
        template: &Flags,
        text: &[u8],
    ) -> Result<(), BuildError> {
        let ends = |byte: &u8| match context.separator {
            b'\n' => matches!(byte, b'\n' | b'\r'),
            separator => *byte == separator,
        };
        let ends = |byte: &u8| {
            ends(byte) || template.has_words && (byte.is_ascii_whitespace() || *byte == 0x0b)
        };
        for line in text.split(ends) {
            let is_comment = !template.has_words && matches!(line.first(), Some(b'#' | b';'));
            if !line.is_empty() && !is_comment {
                self.add(context, origin, template, line)?;
            }
        }
        Ok(())
    }

    /// Adds the rules of a line, or of a text of words.
    pub(crate) fn add(
        &mut self,
        context: &Context,
        origin: &Origin<'_>,
        template: &Flags,
        line: &[u8],
    ) -> Result<(), BuildError> {
        let flaw = |refusal| Flaw { rule: line.to_vec(), origin: origin.name.to_vec(), refusal };
        let mut rest = line;
        while let Some((parsed, after)) = parse(rest, template, origin.prefixes).map_err(flaw)? {
            rest = after;
            if is_for_others(context, origin, &parsed).map_err(flaw)? {
                continue;
            }
            match parsed.kind {
                Kind::Clear => self.clear(),
                Kind::Pattern => self.push_rule(&parsed, origin),
                Kind::PerDirectory => {
                    if self.merges.len() >= KINDS_MAX {
                        return Err(flaw(Refusal::TooMany).into());
                    }
                    self.push_merge(context, &parsed, origin);
                }
                Kind::Cvs => {
                    let flags = Flags { includes: parsed.flags.includes, ..CVS_WORDS };
                    let words = context.cvs.iter().map(Vec::as_slice);
                    for text in std::iter::once(CVS).chain(words) {
                        let own = Origin { name: b"-C"[..].into(), ..origin.clone() };
                        self.add(context, &own, &flags, text)?;
                    }
                }
                Kind::Merge if origin.is_per_directory => {
                    return Err(flaw(Refusal::MergeInside).into());
                }
                Kind::Merge if origin.depth == DEPTH => return Err(flaw(Refusal::TooDeep).into()),
                Kind::Merge => {
                    let path = file_of(&parsed);
                    self.exclude_itself(&parsed, origin);
                    let (depth, prefixes) = (origin.depth + 1, Prefixes::Rules);
                    let own = Origin { name: path.into(), depth, prefixes, ..origin.clone() };
                    self.add_file(context, &own, &parsed.flags, &context.text_of(path)?)?;
                }
            }
        }
        Ok(())
    }

    /// Forgets the rules so far, and the kinds of merge files among them.
    fn clear(&mut self) {
        for entry in self.entries.drain(..) {
            if let Entry::Merge(number) = entry {
                self.merges[number].name = CString::default();
            }
        }
        self.clears = true;
    }

    fn push_rule(&mut self, parsed: &Parsed<'_>, origin: &Origin<'_>) {
        let Parsed { flags, pattern, .. } = *parsed;
        let mut text = vec![if flags.includes { b'+' } else { b'-' }];
        text.extend(flags.is_absolute.then_some(b'/'));
        text.extend(flags.is_negated.then_some(b'!'));
        text.push(b' ');
        text.extend_from_slice(pattern);
        self.entries.push(Entry::Rule(Rule {
            pattern: Pattern::new(pattern, origin.anchor, flags.is_absolute),
            includes: flags.includes,
            is_negated: flags.is_negated,
            text: text.into(),
            origin: Arc::clone(&origin.name),
        }));
    }

    /// Adds a kind of per-directory merge files, unless files of that name are read already.
    fn push_merge(&mut self, context: &Context, parsed: &Parsed<'_>, origin: &Origin<'_>) {
        let path = file_of(parsed);
        self.exclude_itself(parsed, origin);
        let (directory, name) = split_at_last_slash(path);
        if self.merges.iter().any(|merge| merge.name.as_bytes() == name) {
            return;
        }
        let from = (!directory.is_empty()).then(|| clean(&context.here, directory).into());
        // A rule contains no NUL: it was an argument, or NULs separate the rules.
        let Ok(name) = CString::new(name) else { return };
        let flags = Flags { excludes_itself: false, ..parsed.flags };
        self.merges.push(MergeKind { name, flags, from });
        self.entries.push(Entry::Merge(self.merges.len() - 1));
    }

    fn exclude_itself(&mut self, parsed: &Parsed<'_>, origin: &Origin<'_>) {
        if parsed.flags.excludes_itself {
            let (_, name) = split_at_last_slash(file_of(parsed));
            let own = Parsed { kind: Kind::Pattern, flags: Flags::default(), pattern: name };
            self.push_rule(&own, origin);
        }
    }
}

/// Flags of the patterns that CVS ignores.
const CVS_WORDS: Flags = Flags {
    includes: false,
    is_absolute: false,
    is_negated: false,
    is_perishable: false,
    sender: false,
    receiver: false,
    has_patterns: true,
    has_words: true,
    is_local: true,
    is_cvs: true,
    excludes_itself: false,
};

/// Returns whether a rule is about something that the command does not do. The user's own rules are refused
/// then; those of a directory are there for other commands, too.
fn is_for_others(
    context: &Context,
    origin: &Origin<'_>,
    Parsed { kind, flags, .. }: &Parsed<'_>,
) -> Result<bool, Refusal> {
    let side = context.purpose.side();
    let is_pattern = matches!(kind, Kind::Pattern | Kind::Cvs);
    if context.purpose == Purpose::ProtectExplicitly && is_pattern && !flags.receiver {
        return Ok(true);
    }
    if flags.is_for_other_side(side) {
        return match side {
            _ if origin.is_per_directory || context.purpose.is_one_of_two() => Ok(true),
            Side::Sender => Err(Refusal::RemovesNothing),
            Side::Receiver => Err(Refusal::CopiesNothing),
        };
    }
    if flags.is_perishable && context.purpose == Purpose::Remove {
        return Err(Refusal::Perishable);
    }
    Ok(false)
}

/// Returns the file of a merge rule.
fn file_of<'a>(parsed: &Parsed<'a>) -> &'a [u8] {
    if parsed.pattern.is_empty() { b".cvsignore" } else { parsed.pattern }
}

/// Returns the absolute path of a path, without `.` and, by its text alone, without `..`. The root directory
/// is empty.
pub(crate) fn clean(here: &[u8], path: &[u8]) -> Vec<u8> {
    let base: &[u8] = if path.starts_with(b"/") { b"" } else { here };
    let mut components: Vec<&[u8]> = Vec::new();
    for component in base.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match component {
            b"" | b"." => {}
            b".." => {
                components.pop();
            }
            component => components.push(component),
        }
    }
    components.into_iter().flat_map(|part| [b"/", part].concat()).collect()
}
