//! Commands that run elsewhere, with real shells at the other end: bash and busybox as children of
//! this machine, and bash in a container.
//!
//! Most tests are the same for every place. Those that need the container engine are in modules whose
//! names begin with `docker_`.

/// Runs each test with bash on this machine and with bash in a container.
macro_rules! in_each_place {
    ($($name:ident),* $(,)?) => {
        mod bash_place {
            $(#[test] fn $name() { super::$name(&crate::remote::places::bash()); })*
        }
        mod docker_place {
            $(#[test] fn $name() { super::$name(&crate::remote::places::docker()); })*
        }
    };
}

mod background;
mod commands;
mod killing;
mod places;
mod trouble;
