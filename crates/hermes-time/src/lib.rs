//! Local time, durations and schedules: which zone the machine is in, and how people write spans and
//! moments.

mod cron_pattern;
mod duration;
mod schedule;
mod zone;

pub use cron_pattern::CronPattern;
pub use duration::{ago, parse_seconds};
pub use schedule::{Schedule, ScheduleError, WrittenSchedule};
pub use zone::{local, local_seconds, named, now};
