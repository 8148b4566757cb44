//! What looks after gateways on this machine, as commands and checks ask it.

use hermes_home::ProfileName;
use hermes_proc::SpawnClass;
use hermes_supervise::{Caller, S6};

use crate::context::Context;

/// The slot of the profile in use, where s6 looks after the machine.
pub(crate) fn own_slot(context: &Context) -> Option<S6> {
    slot_of_profile(context, &context.location.profile_name()?)
}

/// The slot of a profile, where s6 looks after the machine.
pub(crate) fn slot_of_profile(context: &Context, profile: &ProfileName) -> Option<S6> {
    // Before anything that costs more: most machines have another manager.
    if !hermes_supervise::is_s6(&context.system.file_system_root) {
        return None;
    }
    let program = &context.program.path;
    Some(S6::new(
        &caller(context),
        &context.location,
        profile,
        &context.env,
        program,
    ))
}

/// Who asks a manager, and on which machine.
pub(crate) fn caller(context: &Context) -> Caller {
    let environment = context.environment();
    let plan = hermes_proc::EnvPlan::build(&environment.request(SpawnClass::Helper));
    let home = environment.policy().child_home.real_home().to_owned();
    let mut variables: Vec<_> = plan.into_variables().into_iter().collect();
    variables.push(("HOME".into(), home.clone().into()));
    Caller {
        variables,
        uid: context.system.uid,
        home,
        file_system_root: context.system.file_system_root.clone(),
        is_container: hermes_home::is_container(&context.env, &context.system),
    }
}
