//! What an agent is asked to do in a run: the job, with what was found out before.

use serde::{Deserialize, Serialize};

use crate::home::CronHome;
use crate::job::Job;
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
    pub toolsets: Vec<String>,
    pub workdir: Option<String>,
}

/// What the agent is asked. `script` is what the script before it printed, or why it failed.
pub(crate) fn prompt_of(
    home: &CronHome,
    job: &Job,
    script: Option<&Result<String, String>>,
) -> String {
    let mut parts = vec![INSTRUCTION.to_owned()];
    for id in job.context_from() {
        match latest_output(home, &id) {
            Ok(Some(output)) => parts.push(block(
                &format!("The last output of job {id}"),
                shortened(output.trim()),
            )),
            Ok(None) => {}
            Err(error) => tracing::warn!(job = job.id(), "could not read an output: {error}"),
        }
    }
    match script {
        Some(Ok(output)) => {
            parts.push(block("What the script of this job printed", output.clone()))
        }
        Some(Err(error)) => parts.push(block(
            "The script of this job failed; say so in your answer",
            error.clone(),
        )),
        None => {}
    }
    let task = job.prompt().trim();
    if !task.is_empty() {
        parts.push(task.to_owned());
    }
    parts.join("\n\n")
}

fn block(title: &str, text: String) -> String {
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
