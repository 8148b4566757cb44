//! The flags that `cron create` and `cron edit` share.

use hermes_cron::Ends;

#[derive(Debug, clap::Args)]
pub(crate) struct JobOptions {
    /// Name of the job
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Where results go besides the output file: local (nowhere), board, board:SLUG or
    /// board:CARD; several with commas
    #[arg(long, value_name = "TARGET")]
    pub(super) deliver: Option<String>,
    /// Number of runs after which the job ends; 0 for never
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    repeat: Option<i64>,
    /// Skill that the agent begins with; can be repeated
    #[arg(long = "skill", value_name = "NAME")]
    pub(super) skills: Vec<String>,
    /// Script of the directory `scripts` that runs before the agent; its output precedes the prompt
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<String>,
    /// Run the script alone; its output is the result
    #[arg(long)]
    pub(super) no_agent: bool,
    /// Absolute path of the directory to work in
    #[arg(long, value_name = "DIR")]
    pub(super) workdir: Option<String>,
    /// Model instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Provider instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// Address of the model server instead of the configured one
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Profile to run with instead of this one
    #[arg(long = "run-as", value_name = "NAME")]
    pub(super) run_as: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl JobOptions {
    /// When the job ends, if that was said.
    pub(super) fn ends(&self) -> Option<Ends> {
        self.repeat.map(Ends::from_count)
    }
}
