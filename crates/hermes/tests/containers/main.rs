//! Commands in containers and on other machines through `hermes exec`, `hermes tools call` and
//! `hermes sandbox`: the real binary, against Docker, Podman, an SSH server, and an engine that
//! notes its calls and fails on demand.
//!
//! `// check N` names the acceptance check of the chapter on containers that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at files and processes from outside"
)]

mod checks;
mod place;
mod recorder;
mod talk;

/// The same checks on every engine there is.
macro_rules! on_every_engine {
    ($($group:ident: $($check:ident),+ $(,)?;)+) => {
        mod docker_engine {
            $($(
                #[test]
                fn $check() {
                    crate::checks::$group::$check(hermes_testkit::RealEngine::Docker);
                }
            )+)+
        }
        mod podman_engine {
            $($(
                #[test]
                fn $check() {
                    crate::checks::$group::$check(hermes_testkit::RealEngine::Podman);
                }
            )+)+
        }
    };
}

on_every_engine! {
    life:
        the_walls_stand_as_designed,
        a_second_process_finds_the_container_of_the_first,
        a_stopped_container_is_started_again,
        a_paused_container_goes_on,
        eight_processes_at_once_share_one_container,
        a_container_that_was_removed_between_two_commands_is_made_anew,
        homes_do_not_share_containers;
    leaving:
        an_own_container_goes_with_a_normal_exit,
        an_own_container_goes_with_a_signal,
        an_own_container_of_a_dead_process_goes_with_the_next_start,
        a_shared_container_stays_whatever_becomes_of_the_process;
    killing:
        a_timeout_reaches_every_process,
        an_interrupt_reaches_every_process,
        a_command_does_not_outlive_its_process,
        a_command_that_uses_up_all_processes_is_still_killed;
}
