//! Who asks the service manager for something.

use hermes_proc::SpawnClass;
use hermes_supervise::Caller;

use crate::context::Context;

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
