//! What an agent is asked to do in a run: the job, with what was found out before.

use serde::{Deserialize, Serialize};

use crate::home::CronHome;
use crate::job::Job;
use crate::model_snapshot::ModelSnapshot;
use crate::output::latest_output;

/// Most characters of another job's output.
const MOST_CONTEXT: usize = 8_000;

const INSTRUCTION: &str = "This is a run of a scheduled job; nobody is there to answer questions. \
    Your last message is the result and is delivered as it stands: do not send it yourself. If there \
    is nothing worth reporting, answer with [SILENT] and nothing else; then nothing is delivered.";

/// A run as the process of its agent gets it, over standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRequest {
    pub job_id: String,
    pub job_name: String,
    pub session_id: String,
    pub prompt: String,
    pub skills: Vec<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
    #[serde(default)]
    pub base_url: Option<String>,
    /// What was configured when the job was made, as far as the job goes by that.
    #[serde(default)]
    pub made_with: ModelSnapshot,
    pub toolsets: Vec<String>,
    pub workdir: Option<String>,
    /// The parts of the prompt that others have written.
    pub foreign_texts: Vec<String>,
}

/// What an agent is asked, and the parts of it that others have written.
pub(crate) struct AssembledPrompt {
    pub(crate) text: String,
    pub(crate) foreign: Vec<String>,
}

/// What the agent is asked. `script` is what the script before it printed, or why it failed.
pub(crate) fn prompt_of(
    home: &CronHome,
    job: &Job,
    script: Option<&Result<String, String>>,
) -> AssembledPrompt {
    let mut parts = vec![INSTRUCTION.to_owned()];
    let mut foreign = Vec::new();
    for id in job.context_from() {
        match latest_output(home, &id) {
            Ok(Some(output)) => {
                let output = shortened(output.trim());
                parts.push(block(&format!("The last output of job {id}"), &output));
                foreign.push(output);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(job = job.id(), "could not read an output: {error}"),
        }
    }
    if let Some(script) = script {
        let (title, output) = match script {
            Ok(output) => ("What the script of this job printed", output),
            Err(error) => (
                "The script of this job failed; say so in your answer",
                error,
            ),
        };
        parts.push(block(title, output));
        foreign.push(output.clone());
    }
    let task = job.prompt().trim();
    if !task.is_empty() {
        parts.push(task.to_owned());
        foreign.push(task.to_owned());
    }
    AssembledPrompt {
        text: parts.join("\n\n"),
        foreign,
    }
}

fn block(title: &str, text: &str) -> String {
    format!("## {title}\n\n```\n{text}\n```")
}

fn shortened(text: &str) -> String {
    let cut = hermes_text::cut(text, MOST_CONTEXT);
    if cut.len() < text.len() {
        format!("{cut}\n[the rest is left out]")
    } else {
        cut.to_owned()
    }
}
