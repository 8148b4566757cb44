//! Measures what a verdict about a command costs: `cargo run --release -p hermes-policy --example verdict_cost`.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "prints measurements"
)]

use std::sync::Arc;
use std::time::Instant;

use hermes_policy::{
    ApprovalSettings, CheckRequest, CommandPolicy, Interaction, KnownHomes, KnownPaths,
    SessionApprovals, UnknownShell,
};
use hermes_secret::Redactor;

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
    let commands = [
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
            "100 kB here-document",
            format!("cat > f <<'E'\n{}E\n", "some line of text\n".repeat(5_500)),
        ),
        ("100 kB of commands", "echo some words here; ".repeat(4_500)),
        ("100 kB unparsable", "x=([".repeat(25_000)),
    ];
    for (name, command) in &commands {
        let rounds = if command.len() > 1000 { 5 } else { 2_000 };
        let started = Instant::now();
        for _ in 0..rounds {
            let verdict = policy.check(&CheckRequest {
                text: command,
                shell: &UnknownShell,
                isolated: false,
                sandboxed: false,
                yolo: false,
                sudo_password_set: false,
                interaction: Interaction::NonInteractive,
                session: &session,
            });
            std::hint::black_box(verdict);
        }
        let micros = started.elapsed().as_micros() as f64 / f64::from(rounds);
        println!("{name:24} {micros:10.1} µs");
    }
}
