//! `cargo xtask simulate [--seed S] [--steps N]`: dispatchers and workers against a hostile world.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for developers"
)]

use std::process::ExitCode;
use std::time::Instant;

use hermes_board_sim::{Request, simulate};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(request) = parse(&words) else {
        eprintln!("usage: simulate [--seed S] [--steps N]");
        return ExitCode::from(2);
    };
    let began = Instant::now();
    let outcome = simulate(&request);
    if let Some(failure) = &outcome.failure {
        eprintln!(
            "after {} steps in {} stories\n{failure}\n\nagain: cargo xtask simulate --seed {} --steps 1",
            outcome.steps, outcome.stories, failure.seed
        );
        return ExitCode::FAILURE;
    }
    println!(
        "simulate: {} steps in {} stories, {} cards completed, nothing violated, {:.1} s",
        outcome.steps,
        outcome.stories,
        outcome.completed,
        began.elapsed().as_secs_f64()
    );
    let deeds: Vec<String> = outcome
        .deeds
        .iter()
        .map(|(deed, count)| format!("{deed} {count}"))
        .collect();
    println!("  {}", deeds.join(", "));
    ExitCode::SUCCESS
}

fn parse(words: &[String]) -> Option<Request> {
    let mut request = Request {
        seed: 1,
        steps: 1_000_000,
        flaw: None,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return None;
        };
        let value = value.replace('_', "").parse().ok()?;
        match name.as_str() {
            "--seed" => request.seed = value,
            "--steps" => request.steps = value,
            _ => return None,
        }
    }
    Some(request)
}
