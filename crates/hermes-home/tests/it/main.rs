//! `hermes-home` against real files and processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod alias;
mod archive;
mod backup;
mod create;
mod database;
mod delete;
mod distribution;
mod ensure;
mod gateway_probe;
mod list;
mod location;
mod select;
mod test_root;
// The hook that kills exists in debug builds only.
#[cfg(debug_assertions)]
mod crash;
#[cfg(debug_assertions)]
mod killed;
mod restore;
mod steps;
mod tree;

/// The environment a helper such as git gets.
fn helper_env(path: Option<&std::ffi::OsStr>) -> hermes_proc::EnvPlan {
    use hermes_proc::{EnvPlan, EnvPolicy, EnvRequest, SpawnClass};
    let base: Vec<_> = path
        .into_iter()
        .map(|path| ("PATH".into(), path.to_owned()))
        .collect();
    let policy = EnvPolicy {
        hermes_home: "/nonexistent/home".into(),
        hermes_program: "/nonexistent/hermes".into(),
        ..EnvPolicy::default()
    };
    EnvPlan::build(&EnvRequest::new(SpawnClass::Helper, &base, &policy))
}
