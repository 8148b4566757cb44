//! How long a trivial command takes in a container, through a channel that stays open.
//!
//! `cargo run --release -p hermes-terminal --example remote_speed -- CONTAINER` prints the median and
//! the ninetieth percentile of a few hundred calls of `true`, beside the same with one client per
//! command.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool for people who measure"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_terminal::remote::{
    InternalRun, Launch, RemoteSettings, RemoteTerminal, SessionVariable, Transport,
    TransportError, Trouble,
};

struct Docker {
    container: String,
}

impl Transport for Docker {
    fn ensure(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError> {
        let mut args = vec!["exec", "-i", &self.container];
        args.extend(argv);
        Ok(Launch {
            program: "/usr/bin/docker".into(),
            args: args.into_iter().map(Into::into).collect(),
            variables: vec![
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), "/".into()),
            ],
        })
    }

    fn diagnose(&self, _: Option<i32>, stderr: &str) -> Trouble {
        Trouble::Final(TransportError {
            message: stderr.to_owned(),
            hint: None,
            is_missing_part: true,
        })
    }

    fn before_command(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn session_variables(&self) -> Vec<SessionVariable> {
        Vec::new()
    }

    fn start_directory(&self) -> PathBuf {
        "~".into()
    }

    fn describe(&self) -> String {
        format!("container {}", self.container)
    }
}

fn main() {
    let container = std::env::args().nth(1).unwrap();
    for (persistent_shell, rounds) in [(true, 300), (false, 30)] {
        let settings = RemoteSettings {
            persistent_shell,
            ..RemoteSettings::default()
        };
        let transport = Arc::new(Docker {
            container: container.clone(),
        });
        let remote = RemoteTerminal::new(transport, settings);
        let run = InternalRun {
            script: "true",
            input: b"",
            directory: None,
            limit: Duration::from_secs(20),
            most_bytes: 1000,
            interrupt: None,
        };
        remote.run_internal(run).unwrap();
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(remote.run_internal(run).unwrap().exit_code, 0);
                begun.elapsed()
            })
            .collect();
        times.sort();
        println!(
            "persistent {persistent_shell}: median {:?}, p90 {:?}",
            times[rounds / 2],
            times[rounds * 9 / 10]
        );
    }
}
