//! Carrying out repairs.

use hermes_config::settings::{SetRequest, migrate, remove_root_key, set};
use hermes_home::Aliases;

use super::row::{Fix, Row};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Applies every repair the rows offer; says what was done, and what could not be.
pub(crate) fn apply_fixes(context: &Context, rows: &[Row]) -> Vec<String> {
    let mut fixes: Vec<&Fix> = Vec::new();
    for fix in rows.iter().filter_map(|row| row.fix.as_ref()) {
        if !fixes.contains(&fix) {
            fixes.push(fix);
        }
    }
    fixes
        .into_iter()
        .map(|fix| match apply(context, fix) {
            Ok(done) => done,
            Err(_) => format!(
                "could not {}; see the row above for the reason",
                describe(context, fix)
            ),
        })
        .collect()
}

fn describe(context: &Context, fix: &Fix) -> String {
    match fix {
        Fix::EnsureHome => format!(
            "create what is missing in {}",
            context.display(&context.location.home)
        ),
        Fix::SetMode(path, mode) => {
            format!("set the mode of {} to {mode:04o}", context.display(path))
        }
        Fix::MigrateConfig => "migrate config.yaml".to_owned(),
        Fix::MoveVariables(names) => format!("move {} to .env", names.join(", ")),
        Fix::RemoveAlias(name) => format!("remove the alias {name}"),
        Fix::MakeLinks(home) => format!("create the links for {}", context.display(home)),
    }
}

fn apply(context: &Context, fix: &Fix) -> Result<String> {
    match fix {
        Fix::EnsureHome => context.ensure_home()?,
        Fix::SetMode(path, mode) => hermes_fs::set_mode(path, *mode)?,
        Fix::MigrateConfig => {
            context.refuse_if_managed("config.yaml")?;
            migrate(&context.sources_to_write(), false)?;
        }
        Fix::MoveVariables(names) => {
            context.refuse_if_managed("config.yaml")?;
            move_variables(context, names)?;
        }
        Fix::RemoveAlias(name) => {
            Aliases::of(&context.location).remove(name)?;
        }
        Fix::MakeLinks(home) => {
            let failed = context.in_home(home).environment().make_links();
            if !failed.is_empty() {
                return Err(CommandError::user(failed.join("; ")));
            }
        }
    }
    Ok(describe(context, fix))
}

/// First written to `.env`, then taken out of `config.yaml`: a crash between leaves both.
fn move_variables(context: &Context, names: &[String]) -> Result<()> {
    let sources = context.sources_to_write();
    for name in names {
        if let Some(value) = context.config().secret(name) {
            if context.config().dotenv().get(name).is_none() {
                let request = SetRequest {
                    key: name,
                    value: value.expose(),
                    force: false,
                };
                set(&sources, &request)?;
            }
            remove_root_key(&sources, name)?;
        }
    }
    Ok(())
}
