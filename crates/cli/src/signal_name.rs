//! Names of signals, for messages about commands that one ended.

/// Returns the name of a signal without its `SIG`, or its number.
pub(crate) fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR", "SYS",
    ];
    let known = usize::try_from(signal - 1).ok().and_then(|index| NAMES.get(index));
    known.map_or_else(|| signal.to_string(), |name| (*name).to_owned())
}
