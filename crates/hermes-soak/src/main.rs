//! `scripts/soak`: load on a gateway, in full.
#![expect(
    clippy::print_stdout,
    reason = "a chore of the project that talks to whoever runs it"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use hermes_soak::{Trend, idle_sessions, kills, mixed, storm, streams, watchers};

/// Most growth per minute of memory, descriptors and threads, as a share of their mean.
const MOST_GROWTH: f64 = 0.005;
/// How much more than at the start is still the same.
const SAME: f64 = 1.10;
/// Most memory of 200 streams, and of idle sessions.
const MOST_STREAM_MEGABYTES: f64 = 256.0;
const MOST_IDLE_MEGABYTES: f64 = 64.0;
/// How long a dashboard may take to end.
const MOST_END: Duration = Duration::from_secs(2);

/// Loads a gateway or a dashboard on loopback and looks at the process. Without a choice: streams, idle
/// sessions, kills, five minutes of watchers and twenty of everything
#[derive(Debug, Parser)]
#[command(name = "soak")]
struct Args {
    /// The program to load
    #[arg(long, value_name = "PATH")]
    program: PathBuf,
    /// Only a mixture of everything, for so many minutes
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Only kills under load, so many
    #[arg(long, value_name = "N")]
    kills: Option<usize>,
    /// Only streaming chats, 200 at the same time, for so many seconds
    #[arg(long, value_name = "SECONDS")]
    streams: Option<u64>,
    /// Only idle sessions of 200 KB, so many
    #[arg(long, value_name = "N")]
    idle: Option<usize>,
    /// Only a board of the dashboard that 200 clients watch, for so many minutes
    #[arg(long, value_name = "N")]
    watch: Option<u64>,
    /// Only a board of four hosts in network namespaces, with so many cards, while links are cut and
    /// workers, dispatchers and the database are killed; needs root
    #[arg(long, value_name = "CARDS")]
    storm: Option<usize>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let everything = args.minutes.is_none()
        && args.kills.is_none()
        && args.streams.is_none()
        && args.idle.is_none()
        && args.watch.is_none()
        && args.storm.is_none();
    let mut misses = Vec::new();
    if let Some(seconds) = args.streams.or(everything.then_some(60)) {
        run_streams(&args.program, seconds, &mut misses);
    }
    if let Some(count) = args.idle.or(everything.then_some(1_000)) {
        run_idle(&args.program, count, &mut misses);
    }
    if let Some(count) = args.kills.or(everything.then_some(50)) {
        run_kills(&args.program, count, &mut misses);
    }
    if let Some(minutes) = args.watch.or(everything.then_some(5)) {
        run_watchers(&args.program, minutes, &mut misses);
    }
    if let Some(minutes) = args.minutes.or(everything.then_some(20)) {
        run_mixed(&args.program, minutes, &mut misses);
    }
    if let Some(cards) = args.storm {
        run_storm(&args.program, cards, &mut misses);
    }
    for miss in &misses {
        println!("MISSED: {miss}");
    }
    if misses.is_empty() {
        println!("Everything holds.");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_streams(program: &std::path::Path, seconds: u64, misses: &mut Vec<String>) {
    println!("== 200 streaming chats for {seconds} s, and a minute of rest");
    let minute = Duration::from_mins(1);
    let report = streams(program, 200, Duration::from_secs(seconds), minute);
    println!("chats {}, failures {}", report.chats, report.failures);
    println!(
        "start {}\npeak  {}\nend   {}",
        report.start, report.peak, report.end
    );
    misses.extend(report.errors.iter().map(|error| format!("a chat: {error}")));
    let (start, end) = (report.start.megabytes(), report.end.megabytes());
    if end > start * SAME {
        misses.push(format!(
            "{end:.1} MB a minute later, {start:.1} MB at the start"
        ));
    }
    if report.peak.megabytes() > MOST_STREAM_MEGABYTES {
        misses.push(format!("{:.1} MB under load", report.peak.megabytes()));
    }
}

fn run_idle(program: &std::path::Path, count: usize, misses: &mut Vec<String>) {
    println!("== {count} idle sessions of 200 KB");
    let report = idle_sessions(program, count, 200 << 10, Duration::from_secs(32));
    println!(
        "start {}\nend   {} with {} sessions",
        report.start, report.end, report.sessions
    );
    if report.sessions != count {
        misses.push(format!("{} sessions of {count}", report.sessions));
    }
    if report.end.megabytes() > MOST_IDLE_MEGABYTES {
        misses.push(format!(
            "{:.1} MB for idle sessions",
            report.end.megabytes()
        ));
    }
}

fn run_kills(program: &std::path::Path, count: usize, misses: &mut Vec<String>) {
    println!("== {count} kills under load");
    let report = kills(program, count);
    println!(
        "runs {} {:?}, chats {} and {} broken off, cards {}",
        report.runs, report.ends, report.chats, report.broken_chats, report.cards
    );
    misses.extend(report.faults);
}

fn run_storm(program: &std::path::Path, cards: usize, misses: &mut Vec<String>) {
    println!("== {cards} cards on four hosts");
    let report = storm(program, cards);
    println!(
        "{} attempts in {:.0?}, at most {} at once; killed: {} workers, {} dispatchers, {} times the \
         database; {} links cut",
        report.attempts,
        report.took,
        report.most_at_once,
        report.workers_killed,
        report.dispatchers_killed,
        report.databases_killed,
        report.links_cut
    );
    misses.extend(report.faults);
}

fn run_watchers(program: &std::path::Path, minutes: u64, misses: &mut Vec<String>) {
    println!("== 200 clients watch a board for {minutes} minutes");
    let time = Duration::from_secs(minutes * 60);
    let report = watchers(program, 200, time, |at, vitals| {
        println!("{:5.1} min  {vitals}", at.as_secs_f64() / 60.0);
    });
    let Trend { mean, per_minute } = report.memory;
    println!("start {}\nend   {}", report.start, report.end);
    println!("memory (MB): mean {mean:.1}, slope {per_minute:+.4} a minute");
    println!(
        "{} changes; for {} of them {} reads with one client, {} with all",
        report.changes, report.counted, report.reads_for_one, report.reads_for_all
    );
    println!("ended after {:?}", report.ended_after);
    misses.extend(
        report
            .faults
            .iter()
            .map(|fault| format!("a client: {fault}")),
    );
    if report.memory.share() > MOST_GROWTH {
        let share = report.memory.share() * 100.0;
        misses.push(format!("memory grows by {share:.2} % a minute"));
    }
    if !report.asks_once_a_change() {
        misses.push("the board is read for every client".to_owned());
    }
    if report.ended_after > MOST_END {
        misses.push(format!("the end took {:?}", report.ended_after));
    }
}

fn run_mixed(program: &std::path::Path, minutes: u64, misses: &mut Vec<String>) {
    println!("== {minutes} minutes of everything");
    let report = mixed(program, Duration::from_secs(minutes * 60), |at, vitals| {
        println!("{:5.1} min  {vitals}", at.as_secs_f64() / 60.0);
    });
    for (name, count) in &report.done {
        println!("{name}: {count}");
    }
    misses.extend(report.faults);
    let trends = [
        ("memory (MB)", report.memory),
        ("descriptors", report.descriptors),
        ("threads", report.threads),
    ];
    for (name, trend) in trends {
        let Trend { mean, per_minute } = trend;
        println!("{name}: mean {mean:.1}, slope {per_minute:+.4} a minute");
        if trend.share() > MOST_GROWTH {
            let share = trend.share() * 100.0;
            misses.push(format!("{name} grows by {share:.2} % a minute"));
        }
    }
}
