//! Commands that run on a remote host, with real shells at the other end: bash and busybox as children of
//! this machine, and bash in a container.
//!
//! Most tests are the same for every host. Those that need the container engine are in modules whose
//! names begin with `docker_`.

/// Runs each test with bash on this machine and with bash in a container.
macro_rules! on_each_host {
    ($($name:ident),* $(,)?) => {
        mod bash_host {
            $(#[test] fn $name() { super::$name(&crate::remote::hosts::bash()); })*
        }
        mod docker_host {
            $(#[test] fn $name() { super::$name(&crate::remote::hosts::docker()); })*
        }
    };
}

mod background;
mod commands;
mod hosts;
mod killing;
mod trouble;
