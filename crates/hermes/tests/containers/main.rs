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
mod docker_host_user;
mod docker_kill_points;
mod engine_absent;
mod engine_secrets;
mod engine_trouble;
mod engine_values;
mod fake_place;
mod place;
mod recorder;
mod ssh_machines;
mod ssh_place;
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
        a_command_that_uses_up_all_processes_is_still_killed,
        a_daemon_dies_with_its_command,
        a_daemon_dies_with_its_background_process,
        a_daemon_dies_with_a_hermes_that_is_killed;
    settings:
        a_network_that_is_turned_off_is_off,
        a_network_in_the_extra_arguments_against_the_setting_is_refused,
        limits_are_changed_in_the_live_container,
        a_volume_that_is_taken_away_is_gone,
        another_image_is_said_once_and_the_container_stays,
        it_does_not_matter_which_tool_comes_first,
        volumes_that_cannot_be_are_told_and_left_out,
        a_volume_below_the_workspace_leaves_the_workspace,
        an_image_without_bash_runs_commands_with_sh,
        an_image_with_an_init_of_its_own_gets_none_from_us;
    background:
        a_background_process_is_where_it_should_be_until_it_is_killed,
        a_background_process_ends_by_itself_with_its_code,
        a_kill_reaches_one_background_process_and_all_it_started,
        an_idle_process_lets_go_and_the_container_stays,
        what_runs_is_not_idle,
        an_idle_container_of_one_process_is_removed;
    siblings:
        a_sibling_that_ends_is_not_noticed,
        a_sibling_that_looks_around_and_tidies_up_is_not_noticed,
        a_reset_is_the_one_thing_a_sibling_notices,
        a_reset_asks_when_something_runs;
    trouble:
        an_image_that_cannot_be_had_leaves_nothing,
        an_image_whose_containers_end_at_once_is_told_with_its_last_words,
        settings_the_engine_refuses_are_named,
        a_container_that_ends_in_mid_command_is_told,
        a_container_that_is_paused_in_mid_command_runs_into_the_limit,
        a_full_disk_inside_is_told_and_survived,
        a_sandbox_directory_that_cannot_be_is_named;
    reaper:
        only_what_ended_long_ago_in_this_profile_goes,
        a_sandbox_that_stopped_long_ago_is_used_again,
        a_sweep_that_fails_or_hangs_is_in_nobodys_way,
        the_sweep_can_be_turned_off_and_has_a_floor,
        a_single_command_sweeps_to_the_end,
        what_was_never_started_goes_in_time;
    managing:
        a_list_says_everything_about_a_sandbox,
        a_command_can_be_run_in_the_sandbox_of_a_task,
        stop_reset_and_rm_do_what_they_say,
        prune_takes_what_nobody_uses,
        forwarded_values_are_for_sessions_only;
}

/// The same checks in every place there is.
macro_rules! everywhere {
    ($($check:ident),+ $(,)?) => {
        mod docker_commands {
            $(
                #[test]
                fn $check() {
                    let place = crate::place::Place::on(hermes_testkit::RealEngine::Docker);
                    crate::checks::commands::$check(&place);
                }
            )+
        }
        mod podman_commands {
            $(
                #[test]
                fn $check() {
                    let place = crate::place::Place::on(hermes_testkit::RealEngine::Podman);
                    crate::checks::commands::$check(&place);
                }
            )+
        }
        mod ssh_commands {
            $(
                #[test]
                fn $check() {
                    let place = crate::ssh_place::SshPlace::new();
                    crate::checks::commands::$check(&place);
                }
            )+
        }
    };
}

everywhere! {
    a_command_is_run_once_whatever_it_says,
    output_and_errors_come_in_the_order_they_were_written,
    an_exit_keeps_directory_and_variables,
    functions_and_aliases_last_and_nothing_is_added,
    a_directory_that_is_gone_is_left_for_the_nearest_one,
    commands_may_be_long,
    output_may_be_long_and_costs_little_memory,
    results_are_the_same_with_and_without_lasting_shells,
    late_output_never_appears_in_another_command,
    a_daemon_ends_with_the_command_that_started_it,
}
