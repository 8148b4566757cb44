use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;

use super::*;
use crate::remote::exchange::{Conversation, Known, Over};
use crate::remote::request::{Directory, Execution, Marks, Nonces, Verb};
use crate::remote::transport::{Launch, SessionVariable, Trouble};
use crate::shell::ShellState;

/// This machine, as if it were another one.
struct Here;

impl Transport for Here {
    fn ensure(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError> {
        Ok(Launch {
            program: "/usr/bin/env".into(),
            args: argv.iter().map(Into::into).collect(),
            variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
        })
    }

    fn diagnose(&self, _: Option<i32>, stderr: &str) -> Trouble {
        Trouble::Final(TransportError::missing(stderr))
    }

    fn before_command(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn session_variables(&self) -> Vec<SessionVariable> {
        Vec::new()
    }

    fn start_directory(&self) -> std::path::PathBuf {
        "/".into()
    }

    fn describe(&self) -> String {
        "here".to_owned()
    }
}

const KINDS: [(ShellKind, bool); 2] = [(ShellKind::Bash, true), (ShellKind::Posix, false)];

fn opened(kind: (ShellKind, bool)) -> Channel {
    Channel::open(&Here, kind, Duration::from_secs(20), &[]).unwrap()
}

fn run(channel: &mut Channel, command: &str) -> Known {
    let state = ShellState::new("/".into());
    let execution = Execution {
        verb: Verb::Run,
        state: &state,
        directory: Directory::Nearest("/".as_ref()),
        command: command.as_bytes(),
        joins_errors: true,
        reports: true,
        input: b"",
        limit: Duration::from_secs(20),
        interrupts: &[],
        shutdown: None,
        revives: false,
    };
    let nonces = Nonces {
        of_loop: report_nonce(),
        of_shell: report_nonce(),
    };
    let request = execution.bytes(&channel.hello, &nonces, Marks::default());
    let mut conversation = Conversation::begin(&execution, &nonces, &request, channel);
    assert_eq!(conversation.follow(&mut |_| {}), Over::Ended);
    conversation.finish(&mut |_| {})
}

fn settle(channel: &mut Channel, known: &Known) {
    let pid = known.started.as_ref().unwrap().pid;
    channel.settle(pid, Duration::ZERO, known.left_nothing);
}

#[test]
fn a_loop_says_by_itself_that_nothing_is_left() {
    for kind in KINDS {
        let mut channel = opened(kind);
        let begun = Instant::now();
        // Other tests start processes too, of which the loop cannot know whose they are.
        loop {
            let known = run(&mut channel, "/bin/true; (exit 3)");
            assert_eq!(known.status, Some(3));
            settle(&mut channel, &known);
            if known.left_nothing {
                assert_eq!(channel.asked, None, "nothing has to be asked");
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "{kind:?}");
            assert!(channel.is_usable(), "{kind:?}");
        }
        assert!(channel.is_usable(), "{kind:?}");
        assert_eq!(run(&mut channel, "true").status, Some(0));
    }
}

#[test]
fn what_is_left_is_noticed() {
    for kind in KINDS {
        for left in [
            "sleep 3 &",
            "(sleep 3 &)",
            "sleep 3 >/dev/null 2>&1 &",
            "sh -c 'sleep 3 &'; /bin/true",
        ] {
            let mut channel = opened(kind);
            let known = run(&mut channel, "true");
            settle(&mut channel, &known);
            assert!(channel.is_usable(), "{kind:?}");
            let known = run(&mut channel, left);
            assert!(!known.left_nothing, "{kind:?} {left}");
            settle(&mut channel, &known);
            assert!(!channel.is_usable(), "{kind:?} {left}");
        }
    }
}

#[test]
fn an_old_word_is_not_believed() {
    let mut channel = opened((ShellKind::Bash, true));
    let known = run(&mut channel, "true");
    channel.settled = Instant::now().checked_sub(SHORT).unwrap();
    let pid = known.started.as_ref().unwrap().pid;
    channel.settle(pid, Duration::ZERO, true);
    assert!(
        channel.asked.is_some(),
        "numbers may have been given out again"
    );
    assert!(channel.is_usable());
}
