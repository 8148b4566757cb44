//! The endpoints of the API, one file per group. What a group reads and changes belongs to another
//! crate; here are only its paths and shapes.

pub(crate) mod actions;
pub(crate) mod analytics;
pub(crate) mod appearance;
pub(crate) mod config;
pub(crate) mod cron;
pub(crate) mod drain;
pub(crate) mod env;
mod errors;
pub(crate) mod logins;
pub(crate) mod logs;
pub(crate) mod model;
pub(crate) mod profiles;
pub(crate) mod program;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod status;
pub(crate) mod system;
pub(crate) mod tools;
