//! `text_to_speech`: speech from text, made on this machine by an add-on that is installed when it is
//! first needed.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_addons::{AddonError, Addons, FirstUse, Invocation, WorkerHost, Workers};
use hermes_proc::Wake;
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolSpec};

/// Longest text that is spoken, in characters.
const MAX_TEXT: usize = 20_000;
/// The provider that needs no account, and its add-on.
const PROVIDER: &str = "espeak";
const FEATURE: &str = "tts.espeak";

const SPEC: ToolSpec = ToolSpec {
    name: "text_to_speech",
    toolset: "tts",
    description: "Turns text into speech and saves it as an audio file (WAV). Answers with the path of \
     the file. Use it when the user asks to hear something, or for an audio file of a text. Write the \
     text as it is to be spoken, without markup.",
    arguments: &[Argument::required(
        "text",
        ArgKind::Text,
        "What is to be said.",
    )],
    ..ToolSpec::DEFAULT
};

/// Add-ons as the tools of one profile use them.
#[derive(Clone)]
pub struct AddonAccess {
    pub addons: Addons,
    /// Those of this process.
    pub workers: Arc<Workers>,
    pub host: Arc<dyn WorkerHost>,
    /// How an install is started.
    pub first_use: Arc<dyn Fn() -> FirstUse + Send + Sync>,
}

impl AddonAccess {
    /// Calls an add-on, which is installed first if it is missing.
    pub fn call(&self, call: &Invocation<'_>, interrupt: &Wake) -> Result<Value, AddonError> {
        let first_use = (self.first_use)();
        self.addons
            .ensure(call.feature, &self.workers, &first_use, interrupt)?;
        self.workers
            .call(&self.addons, &*self.host, call, interrupt)
    }
}

/// An add-on that could not be used, as the result of a tool.
fn unavailable(error: &AddonError) -> Value {
    let mut text = format!("{error}.");
    if let Some(installer) = &error.installer
        && !installer.tail.is_empty()
    {
        text.push_str(&format!(" The installer said:\n{}\n", installer.tail));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!(" The user can fix it: {hint}."));
    }
    json!({"success": false, "error": text, "code": error.code, "feature": error.feature})
}

/// The tool.
pub struct TextToSpeechTool {
    pub access: AddonAccess,
    /// `tts.provider` of the settings.
    pub provider: String,
    /// Where files are kept.
    pub directory: PathBuf,
}

impl Tool for TextToSpeechTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if let Some(reason) = self.unavailable(context) {
            return error(reason);
        }
        let text = args["text"].as_str().unwrap_or_default();
        if text.trim().is_empty() {
            return error("The text is empty.");
        }
        let length = text.chars().count();
        if length > MAX_TEXT {
            return error(format!(
                "The text has {length} characters; at most {MAX_TEXT} can be spoken at once."
            ));
        }
        let time = hermes_time::now().strftime("%Y%m%d_%H%M%S").to_string();
        let name = format!("tts_{time}_{}", hermes_fs::random_hex(6));
        let call = Invocation {
            feature: FEATURE,
            role: "tts",
            operation: "synthesize",
            arguments: &json!({"text": text, "name": name}),
        };
        let answer = match self.access.call(&call, &context.interrupt) {
            Ok(answer) => answer,
            Err(error) => return unavailable(&error),
        };
        let made = answer["path"].as_str().map(PathBuf::from);
        let path = self.directory.join(format!("{name}.wav"));
        let kept = made.map(|made| {
            hermes_fs::create_dir_all(&self.directory, 0o700)
                .and_then(|()| hermes_fs::rename(&made, &path))
        });
        match kept {
            Some(Ok(())) => json!({
                "success": true,
                "file_path": path,
                "media_tag": format!("MEDIA:{}", path.display()),
                "provider": PROVIDER,
                "seconds": answer["seconds"],
            }),
            Some(Err(problem)) => error(format!("The speech could not be kept: {problem}.")),
            None => error("The add-on did not say where the speech is."),
        }
    }

    fn unavailable(&self, _context: &CallContext) -> Option<String> {
        match self.provider.as_str() {
            PROVIDER => None,
            "" => Some(format!(
                "No speech synthesis is chosen. To have it made on this machine, set tts.provider \
                 to {PROVIDER}."
            )),
            other => Some(format!(
                "This version of Hermes cannot use tts.provider '{other}'. To have speech made on \
                 this machine, set it to {PROVIDER}."
            )),
        }
    }
}
