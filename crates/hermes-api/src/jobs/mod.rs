//! Scheduled jobs as resources: the same jobs that `hermes cron` shows, under the same lock.

mod endpoint;
mod request;

pub(crate) use endpoint::{create, delete, list, pause, resume, run, show, update};
pub(crate) use request::{MOST_NAME, MOST_PROMPT};
