//! `hermes addons call`.

use std::sync::Arc;

use hermes_addons::Invocation;
use hermes_runtime::{Nobody, Person, addon_access};
use serde_json::{Value, json};

use super::{addons, succeeded};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::signal_watch::interruptible;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The feature
    feature: String,
    /// What it is to do, as ROLE.OPERATION
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// The arguments as a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let Some((role, operation)) = args.operation.split_once('.') else {
        return Err(CommandError::usage(
            "an operation is a role and a name with a dot between, such as tts.synthesize",
        ));
    };
    let arguments: Value = match serde_json::from_str(&args.arguments) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return Err(CommandError::usage("the arguments are not a JSON object")),
        Err(error) => {
            let message = format!("the arguments are not JSON: {error}");
            return Err(CommandError::usage(message));
        }
    };
    let addons = addons(context)?;
    context.start_logging();
    let nobody: Arc<dyn Person> = Arc::new(Nobody);
    let access = addon_access(context, &Arc::new(context.redactor()), &nobody);
    let call = Invocation {
        feature: &args.feature,
        role,
        operation,
        arguments: &arguments,
    };
    let answer = interruptible(|interrupt| {
        access
            .workers
            .call(&addons, &*access.host, &call, interrupt)
    })?;
    let answer = succeeded(context, answer, true)?;
    context.json(&json!({ "result": answer }))
}
