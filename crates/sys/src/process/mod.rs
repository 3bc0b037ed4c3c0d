//! Calls about this process: its limits, its mask, its identity.

mod accounts;
mod at_start;
mod heap;
mod identity;
mod ignore;
mod info;
mod input_or_gone;
mod kernel;
mod landlock;
mod local_time;
mod poll;
mod random;
mod rlimit;
mod stop;
mod thread_usage;
mod umask;
mod unshare;
mod wait4;

pub use accounts::{group_id, group_name, user_id, user_name};
pub use at_start::{Standard, inherit_broken_pipe, was_closed};
pub use heap::share_one_heap;
pub use identity::{Identity, identity};
pub use ignore::{Ignorable, ignore};
pub use info::{NOBODY_ASKS, hear_asked, hear_interrupt};
pub use input_or_gone::{Happened, input_or_gone};
pub use kernel::kernel_release;
pub use landlock::landlock_version;
pub use local_time::{LocalTime, Zone, local_time};
pub use poll::{Ready, wait_until};
pub use random::random;
pub use rlimit::{file_size_limit, nofile_limit, nofile_limits, process_limit, raise_nofile_limit};
pub use stop::{Sender, die_by, hear_stop, stop_sender, stop_signal};
pub use thread_usage::{ThreadUsage, thread_usage};
pub use umask::umask;
pub use unshare::{can_unshare_descriptors, unshare_mounts};
pub use wait4::{ChildUsage, wait4};
