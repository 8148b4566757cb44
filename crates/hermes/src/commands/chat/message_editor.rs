//! A message in the person's own editor.

use hermes_proc::ChildSpec;

use crate::commands::config::editor;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Largest text that is taken back from an editor.
const MAX_EDITED: u64 = 16 * 1024 * 1024;

/// The text after the person has changed it in their editor.
pub(super) fn edited(text: &str, context: &Context) -> Result<String> {
    let (program, mut args) = editor(context)?;
    let name = format!("hermes-message-{}.md", hermes_fs::random_hex(8));
    let file = context.temp_dir().join(name);
    hermes_fs::write_atomic(&file, text.as_bytes(), 0o600)?;
    args.push(file.clone().into_os_string());
    let child = ChildSpec::new(&program, args, context.environment().helper_plan());
    let usual = hermes_chat::usual_terminal();
    let status = child.run_interactive().map_err(|error| {
        CommandError::environment(error.to_string()).hint("set EDITOR to a program that exists")
    });
    drop(usual);
    let read = hermes_fs::read_text_capped(&file, MAX_EDITED);
    hermes_fs::remove_file(&file)?;
    if !status?.success() {
        return Err(CommandError::user(format!(
            "the editor {} failed; the message is unchanged",
            program.display()
        )));
    }
    Ok(read?.trim_end().to_owned())
}
