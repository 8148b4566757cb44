//! Running a claimed job: script or agent, then the output file, the delivery and the record.

use std::path::PathBuf;

use hermes_proc::{ChildSpec, EnvPlan, EnvRequest, Group, SpawnClass, Wake};
use jiff::Timestamp;
use serde_json::Value;

use crate::claim::{ClaimedRun, TickOutcome};
use crate::deliver::{deliver, wrapped};
use crate::error::Result;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::model_snapshot::ModelSnapshot;
use crate::output::{Ending, is_silence, save, wakes};
use crate::process::{Ended, Limit, Output, Supervised, mark, supervise};
use crate::prompt::{AgentRequest, AssembledPrompt, prompt_of};
use crate::script::run_script;
use crate::setup::RunSetup;
use crate::store::finish_job;

/// Arguments that make this program the agent of a run.
const AGENT_ARGUMENTS: [&str; 2] = ["internal", "cron-agent"];
/// Most of an agent's output that is kept: its last line is the result.
const MOST_OUTPUT: usize = 8 * 1024 * 1024;
/// What of standard error is shown where an agent gave no result.
const SHOWN_ERROR: usize = 2_000;

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// Why it failed.
    pub error: Option<String>,
    /// Why its result could not be delivered.
    pub delivery_error: Option<String>,
    /// What was or would have been delivered; `None` if there was nothing to tell.
    pub text: Option<String>,
    /// The output file.
    pub output: Option<PathBuf>,
}

/// Runs jobs.
pub struct Runner<'a> {
    pub setup: &'a RunSetup,
    pub ledger: &'a Ledger,
}

/// What a run has to tell.
enum Answer {
    Text(String),
    /// Nothing, and why.
    Nothing(String),
}

impl Runner<'_> {
    /// Runs a claimed job to its end and records what came of it. An attempt that is not ours any
    /// more is left alone.
    pub fn run(&self, run: &ClaimedRun, cancel: &Wake) -> Result<Option<RunReport>> {
        if !self.ledger.begin(&run.execution, Timestamp::now())? {
            return Ok(None);
        }
        let job = &run.job;
        tracing::info!(job = job.id(), name = job.name(), "a scheduled job begins");
        let worked = hermes_telemetry::contained(|| self.perform(run, cancel));
        let worked = worked.unwrap_or_else(|_| {
            Err("the run failed because of a bug; the log has the details".to_owned())
        });
        let (ending, text, error) = match worked {
            Ok(Answer::Text(text)) if is_silence(&text) => (Ending::Silent, text, None),
            Ok(Answer::Text(text)) => (Ending::Done, text, None),
            Ok(Answer::Nothing(why)) => (Ending::Silent, why, None),
            Err(error) => (Ending::Failed, error.clone(), Some(error)),
        };
        let now = Timestamp::now();
        let settings = &self.setup.settings;
        let saved = save(
            &self.setup.home,
            job,
            ending,
            &text,
            now,
            &settings.zone,
            settings.output_retention,
        );
        let mut problems = Vec::new();
        let output = match saved {
            Ok(path) => Some(path),
            Err(error) => {
                tracing::error!(job = job.id(), "could not keep an output: {error}");
                problems.push(format!("the output could not be kept: {error}"));
                None
            }
        };
        if ending != Ending::Silent {
            problems.extend(self.tell(job, &text, error.is_some()));
        }
        let delivery_error = (!problems.is_empty()).then(|| problems.join("; "));
        finish_job(
            &self.setup.home,
            job.id(),
            error.as_deref(),
            delivery_error.as_deref(),
            now,
            &settings.zone,
        )?;
        self.ledger
            .finish(&run.execution, error.as_deref(), Timestamp::now())?;
        match &error {
            Some(error) => tracing::warn!(job = job.id(), "a scheduled job failed: {error}"),
            None => tracing::info!(job = job.id(), "a scheduled job has ended"),
        }
        Ok(Some(RunReport {
            error,
            delivery_error,
            text: (ending != Ending::Silent).then_some(text),
            output,
        }))
    }

    /// Tells the targets of a job that its run will not happen, or was interrupted.
    pub fn tell_given_up(&self, job: &Job, reason: &str) {
        tracing::warn!(job = job.id(), name = job.name(), "{reason}");
        if let Some(problem) = self.tell(job, reason, true) {
            tracing::warn!(job = job.id(), "could not tell about it: {problem}");
        }
    }

    fn tell(&self, job: &Job, text: &str, failed: bool) -> Option<String> {
        let text = if failed {
            format!("The job failed.\n\n{text}")
        } else {
            text.to_owned()
        };
        let text = if self.setup.settings.wrap_response {
            wrapped(job, &text)
        } else {
            text
        };
        deliver(job, &text, failed, &*self.setup.post)
    }

    fn perform(&self, run: &ClaimedRun, cancel: &Wake) -> std::result::Result<Answer, String> {
        let job = &run.job;
        let script = job
            .script()
            .map(|_| run_script(self.setup, job, &run.execution, cancel));
        if job.is_script_only() {
            let output = script.ok_or("the job has neither an agent nor a script")??;
            return Ok(told(output));
        }
        if let Some(Ok(output)) = &script {
            if output.is_empty() {
                return Ok(Answer::Nothing(
                    "The script printed nothing, so no agent was started.".to_owned(),
                ));
            }
            if !wakes(output) {
                return Ok(Answer::Nothing(
                    "The script said that no agent is needed.".to_owned(),
                ));
            }
        }
        let prompt = prompt_of(&self.setup.home, job, script.as_ref());
        let answer = self.ask_agent(run, prompt, cancel)?;
        if answer.trim().is_empty() {
            return Err("the agent ended without an answer".to_owned());
        }
        Ok(Answer::Text(answer))
    }

    /// The answer of an agent, which works in a process of its own.
    fn ask_agent(
        &self,
        run: &ClaimedRun,
        prompt: AssembledPrompt,
        cancel: &Wake,
    ) -> std::result::Result<String, String> {
        let job = &run.job;
        let setup = self.setup;
        let now = Timestamp::now().to_zoned(setup.settings.zone.clone());
        let request = AgentRequest {
            job_id: job.id().to_owned(),
            job_name: job.name(),
            session_id: format!("cron_{}_{}", job.id(), now.strftime("%Y%m%d_%H%M%S")),
            prompt: prompt.text,
            foreign_texts: prompt.foreign,
            skills: job.skills(),
            model: job.model().map(str::to_owned),
            provider: job.provider().map(str::to_owned),
            base_url: job.base_url().map(str::to_owned),
            made_with: ModelSnapshot::of_job(job),
            toolsets: job.toolsets(),
            workdir: job.workdir().map(str::to_owned),
        };
        let input = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
        let policy = setup.policy_of(job)?;
        let mut env = EnvRequest::new(SpawnClass::Hermes, &setup.base, &policy);
        env.exec_id = Some(mark(&run.execution));
        let env = EnvPlan::build(&env);
        let directory = job.workdir().map(PathBuf::from);
        let directory = directory.filter(|directory| directory.is_dir());
        let spec = ChildSpec {
            cwd: Some(directory.unwrap_or_else(|| policy.hermes_home.clone())),
            group: Group::Session,
            ends_with_thread: true,
            ..ChildSpec::new(&setup.program, AGENT_ARGUMENTS, env)
        };
        let silence = setup.settings.agent_silence;
        let how = Supervised {
            cancel,
            limit: Limit::Silence(silence),
            most_output: MOST_OUTPUT,
        };
        let mut events = EventReader::default();
        let done = supervise(spec, input, how, &mut |output| events.read(output))?;
        match done.ended {
            Ended::Exited(status) => match EventReader::result(&done.stdout) {
                Some(result) => result,
                None => {
                    let said = String::from_utf8_lossy(&done.stderr);
                    let said = setup.redactor.redact(said.trim()).into_owned();
                    let said = tail(&said, SHOWN_ERROR);
                    Err(format!("the agent gave no result ({status}): {said}"))
                }
            },
            Ended::TimedOut => Err(format!(
                "the agent was ended after {} s without a sign of life (HERMES_CRON_TIMEOUT)",
                silence.unwrap_or_default().as_secs()
            )),
            Ended::Cancelled => {
                Err("the scheduler was stopped before the agent had ended".to_owned())
            }
        }
    }
}

/// Runs what a tick has claimed, all at once, and tells about what it gave up. The reports are in the
/// order of the runs.
pub fn run_claimed(
    setup: &RunSetup,
    ledger: &Ledger,
    outcome: &TickOutcome,
    cancel: &Wake,
) -> Vec<Result<Option<RunReport>>> {
    outcome.end_leftovers();
    for (job, reason) in &outcome.given_up {
        Runner { setup, ledger }.tell_given_up(job, reason);
    }
    let run = |run: &ClaimedRun| {
        let ledger = Ledger::open(&setup.home, &setup.settings.zone)?;
        let runner = Runner {
            setup,
            ledger: &ledger,
        };
        runner.run(run, cancel)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = outcome
            .runs
            .iter()
            .map(|one| scope.spawn(move || run(one)))
            .collect();
        // A thread cannot panic: what it does is contained.
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Ok(None)))
            .collect()
    })
}

/// What the output of a script has to tell.
fn told(output: String) -> Answer {
    if output.is_empty() {
        Answer::Nothing("The script printed nothing.".to_owned())
    } else if wakes(&output) {
        Answer::Text(output)
    } else {
        Answer::Nothing("The script said that there is nothing to report.".to_owned())
    }
}

fn tail(text: &str, most: usize) -> &str {
    let count = text.chars().count();
    let at = text.char_indices().nth(count.saturating_sub(most));
    at.and_then(|(at, _)| text.get(at..)).unwrap_or(text)
}

/// Reads the events of an agent: while a tool works, silence is that tool's affair.
#[derive(Debug, Default)]
struct EventReader {
    line: Vec<u8>,
    calls: usize,
}

impl EventReader {
    fn read(&mut self, output: Output<'_>) {
        for byte in output.bytes {
            if *byte != b'\n' {
                // Only the beginning is looked at.
                if self.line.len() < 64 {
                    self.line.push(*byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line).replace(' ', "");
            if line.starts_with("{\"type\":\"tool_call\"") {
                self.calls += 1;
            } else if line.starts_with("{\"type\":\"tool_result\"") {
                self.calls = self.calls.saturating_sub(1);
            }
        }
        output.watcher.is_patient = self.calls > 0;
    }

    /// What came of the turn: the last line.
    fn result(stdout: &[u8]) -> Option<std::result::Result<String, String>> {
        let text = String::from_utf8_lossy(stdout);
        let line = text.lines().rfind(|line| !line.trim().is_empty())?;
        let event: Value = serde_json::from_str(line).ok()?;
        if event.get("type")?.as_str()? != "result" {
            return None;
        }
        let answer = event.get("answer").and_then(Value::as_str);
        let answer = answer.unwrap_or_default().to_owned();
        let failure = event.pointer("/failure/message").and_then(Value::as_str);
        match event.get("outcome")?.as_str()? {
            "completed" => Some(Ok(answer)),
            outcome => {
                let reason =
                    failure.map_or_else(|| format!("the turn was {outcome}"), str::to_owned);
                Some(Err(if answer.trim().is_empty() {
                    reason
                } else {
                    format!("{reason}\n\nIts last message:\n{answer}")
                }))
            }
        }
    }
}
