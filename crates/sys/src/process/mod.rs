//! Calls about this process: its limits, its mask, its identity.

mod accounts;
mod doze;
mod groups;
mod heap;
mod identity;
mod ignore;
mod info;
mod input_or_gone;
mod kernel;
mod kill;
mod landlock;
mod last_words;
mod local_time;
mod pidfd;
mod poll;
mod processors;
mod random;
mod relay;
mod rlimit;
mod signals;
mod stop;
mod stop_of_run;
mod terminal;
mod thread_usage;
mod umask;
mod unshare;
mod wait4;

pub use accounts::{group_id, group_name, user_id, user_name};
pub use doze::doze;
pub use groups::is_in_group;
pub use heap::share_one_heap;
pub use identity::{Identity, identity};
pub use ignore::{Ignorable, ignore};
pub use info::{NOBODY_ASKS, hear_asked, hear_interrupt};
pub use input_or_gone::{Happened, input_or_gone};
pub use kernel::{host_name, kernel_release};
pub use kill::kill;
pub use landlock::{landlock_version, restrict_writes};
pub use last_words::last_words;
pub use local_time::{LocalTime, Zone, local_time};
pub use pidfd::open_child;
pub use poll::{Ready, wait_until};
pub use processors::processors;
pub use random::random;
pub use relay::{collect_signals, has_arrived, sent_signals};
pub use rlimit::{
    address_space_limit, file_size_limit, nofile_limit, nofile_limits, process_limit,
    raise_nofile_limit,
};
pub use signals::{Awaited, signal_number};
pub use stop::{
    Sender, die_by, end_hearing, hear_stop, hear_stop_of_job, stop_sender, stop_signal,
};
pub use stop_of_run::{is_asked_to_stop, work_until};
pub use terminal::{is_in_foreground, terminal_columns, terminal_device};
pub use thread_usage::{ThreadUsage, thread_usage};
pub use umask::{set_umask, umask};
pub use unshare::{can_unshare_descriptors, unshare_directory, unshare_mounts};
pub use wait4::{ChildUsage, wait4};
