//! Measures what a verdict about a command costs: `cargo run --release -p hermes-policy --example verdict_cost`.
//!
//! With the name of a row it decides about that command only, again and again, or as often as the
//! second word says: for a profiler, and for one that counts instructions.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "prints measurements"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_policy::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    SessionApprovals,
};
use hermes_secret::Redactor;

/// How often each command is timed. The row shows the fastest: what is slower is other work of the
/// machine, not the verdict's.
const ROUNDS: usize = 50;

fn main() {
    let paths = KnownPaths {
        homes: KnownHomes::new(["/home/u"], ["/home/u/.hermes"]),
        temp_dirs: vec!["/tmp".to_owned()],
    };
    let settings = ApprovalSettings {
        deny: vec!["sudo *".to_owned(), "*secret*".to_owned()],
        ..ApprovalSettings::default()
    };
    let policy = CommandPolicy::new(settings, paths, Arc::new(Redactor::default()));
    let session = SessionApprovals::default();
    let wanted = std::env::args().nth(1);
    let times = std::env::args().nth(2).and_then(|times| times.parse().ok());
    for (name, command) in &commands() {
        let check = || {
            policy.check(&CheckRequest {
                text: command,
                shell: &hermes_shell::UnknownShell,
                isolated: false,
                sandboxed: false,
                yolo: false,
                sudo_password_set: false,
                interaction: Interaction::NonInteractive,
                session: &session,
            })
        };
        match wanted.as_deref() {
            None => {
                let micros = measure(command, check).as_secs_f64() * 1e6;
                println!("{name:24} {micros:10.1} µs");
            }
            Some(wanted) if wanted == *name => {
                for _ in 0..times.unwrap_or(u64::MAX) {
                    std::hint::black_box(check());
                }
            }
            Some(_) => {}
        }
    }
}

/// What one verdict takes.
fn measure<T>(command: &str, check: impl Fn() -> T) -> Duration {
    let (calls, rounds) = if command.len() > 10_000 {
        (1, 5)
    } else {
        (25, ROUNDS)
    };
    (0..rounds)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                std::hint::black_box(check());
            }
            started.elapsed() / calls
        })
        .min()
        .unwrap_or_default()
}

/// What agents type all day, then longer texts, then texts made to be expensive.
fn commands() -> Vec<(&'static str, String)> {
    let line = "        if value is None or not value.strip():  # `skip` what \"is\" empty\n";
    vec![
        ("ls -la", "ls -la".to_owned()),
        ("git and pipe", "git status && git diff --stat | head -50".to_owned()),
        (
            "build line",
            "cd /home/u/work && FOO=1 cargo test -p x 2>&1 | grep -E 'test result|FAILED' | tail -20"
                .to_owned(),
        ),
        (
            "loop",
            "for f in $(find . -name '*.rs'); do wc -l \"$f\" >> out.txt; done; sort -n out.txt | tail"
                .to_owned(),
        ),
        ("nested shell", "bash -c 'cd x && make -j4 && ./run --fast'".to_owned()),
        (
            "long: 300-char pipeline",
            "cd /home/u/work/service && git log --since='2 weeks ago' --pretty=format:'%h %an %s' --no-merges -- src tests | grep -viE 'wip|fixup|merge branch' | sed -e 's/^[0-9a-f]* //' -e 's/(#[0-9]*)$//' | awk '{count[$1 \" \" $2]++} END {for (who in count) print count[who], who}' | sort -rn | head -20 > out/authors.txt 2>&1"
                .to_owned(),
        ),
        (
            "long: 40-line heredoc",
            format!("cat > src/app/checks.py <<'EOF'\n{}EOF\npython3 -m pytest -q tests\n", line.repeat(40)),
        ),
        (
            "100 kB here-document",
            format!("cat > f <<'E'\n{}E\n", "some line of text\n".repeat(5_500)),
        ),
        ("100 kB of commands", "echo some words here; ".repeat(4_500)),
        ("100 kB unparsable", "x=([".repeat(25_000)),
    ]
}
