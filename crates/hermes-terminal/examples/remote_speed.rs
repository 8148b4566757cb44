//! How long a trivial command takes on a remote host, through a channel that stays open.
//!
//! `cargo run --release -p hermes-terminal --example remote_speed -- /usr/bin/docker exec -i NAME`
//! prints the median and the ninetieth percentile of a few hundred calls of `true`, beside the same
//! with one client per command. With an ssh client in place of docker the arguments are quoted.
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
    Launch, RemoteBackend, RemoteSettings, ScriptRequest, ScriptRunner, SessionVariable, Transport,
    TransportError, Trouble,
};

struct Client {
    words: Vec<String>,
}

impl Transport for Client {
    fn ensure(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError> {
        let (program, first) = self.words.split_first().unwrap();
        let is_ssh = program.ends_with("ssh");
        let quoted = |word: &&str| {
            if is_ssh {
                format!("'{}'", word.replace('\'', "'\\''"))
            } else {
                (*word).to_owned()
            }
        };
        let argv = argv.iter().map(quoted);
        Ok(Launch {
            program: program.into(),
            args: first.iter().cloned().chain(argv).map(Into::into).collect(),
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
        self.words.join(" ")
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    for (persistent_shell, rounds) in [(true, 300), (false, 30)] {
        let settings = RemoteSettings {
            persistent_shell,
            ..RemoteSettings::default()
        };
        let transport = Arc::new(Client {
            words: words.clone(),
        });
        let remote = RemoteBackend::new(transport, settings);
        let request = ScriptRequest {
            script: "true",
            input: b"",
            directory: None,
            limit: Duration::from_secs(20),
            most_output: 1000,
            interrupt: None,
        };
        remote.run_script(&request).unwrap();
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let begun = Instant::now();
                assert_eq!(remote.run_script(&request).unwrap().exit_code, 0);
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
