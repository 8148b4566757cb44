//! A gateway that is killed under load and started again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::{Api, read_chat};
use crate::gateway::{GatewayHome, ServedGateway};
use crate::model::Question;
use crate::runs;

/// Clients of each kind at the same time.
const CLIENTS: usize = 6;
/// How many milliseconds a gateway lives: at least, and how many more at most.
const SHORTEST_LIFE: u64 = 300;
const LIFE_SPREAD: u64 = 1_200;
/// How long what was interrupted may take to come to an end.
const LONGEST_END: Duration = Duration::from_mins(2);

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct KillReport {
    /// Kills.
    pub kills: usize,
    /// Runs that were acknowledged.
    pub runs: usize,
    /// How they ended, by status.
    pub ends: BTreeMap<String, usize>,
    /// Chats that were answered whole.
    pub chats: usize,
    /// Chats that broke off with the gateway, as their clients saw.
    pub broken_chats: usize,
    /// Cards that were created, all of them done in the end.
    pub cards: usize,
    /// What must not be, one line each.
    pub faults: Vec<String>,
}

/// A run that was acknowledged.
#[derive(Debug)]
struct Acknowledged {
    id: String,
    question: Question,
    /// Kills before it was begun.
    born: usize,
    /// Kills until it was seen to be over, and what was said of it then: the server forgets old ones.
    over: Option<(usize, Value)>,
}

/// Everything the clients share.
#[derive(Default)]
struct Ledger {
    runs: Mutex<Vec<Acknowledged>>,
    chats: AtomicUsize,
    broken: Mutex<Vec<(usize, Question)>>,
    cards: Mutex<Vec<String>>,
    faults: Mutex<Vec<String>>,
    next: AtomicUsize,
}

impl Ledger {
    fn question(&self, calls: bool) -> Question {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Question {
            pieces: 6,
            pause: 40,
            calls,
            ..Question::new(format!("k{number}"))
        }
    }

    fn fault(&self, text: String) {
        self.faults.lock().unwrap().push(text);
    }
}

/// Kills the gateway so many times under load, and starts it again each time.
pub fn kills(program: &Path, count: usize) -> KillReport {
    let mut gateway = ServedGateway::start(program);
    gateway.complete_cards(program);
    let ledger = Ledger::default();
    let mut random = 14_u64;
    for kill in 0..count {
        // The same lives every time.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let life = Duration::from_millis(SHORTEST_LIFE + (random >> 33) % LIFE_SPREAD);
        live(&mut gateway, &ledger, kill, life);
        gateway.restart();
        recognise(&gateway, &ledger, kill + 1);
    }
    settle(&gateway, &ledger, count);
    report(&gateway, ledger, count)
}

/// One life of the gateway, with all clients; ends with SIGKILL.
fn live(gateway: &mut ServedGateway, ledger: &Ledger, kill: usize, life: Duration) {
    let is_over = AtomicBool::new(false);
    let api = gateway.api();
    let (home, pid) = (&gateway.home, gateway.pid());
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (api, is_over) = (&api, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    begin_run(api, ledger, kill, client.is_multiple_of(2));
                }
            });
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    chat(api, ledger, kill);
                }
            });
        }
        scope.spawn(|| create_card(home, ledger));
        std::thread::sleep(life);
        kill_now(pid);
        is_over.store(true, Ordering::SeqCst);
    });
    gateway.kill();
}

fn kill_now(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn begin_run(api: &Api, ledger: &Ledger, kill: usize, calls: bool) {
    let question = ledger.question(calls);
    // One that was not acknowledged may exist or not.
    if let Ok(id) = runs::begin(api, &question) {
        let mut runs = ledger.runs.lock().unwrap();
        runs.push(Acknowledged {
            id,
            question,
            born: kill,
            over: None,
        });
        drop(runs);
    }
    // Not as fast as it can: every run goes on by itself.
    std::thread::sleep(Duration::from_millis(60));
}

fn chat(api: &Api, ledger: &Ledger, kill: usize) {
    let question = ledger.question(false);
    let read = api.chat(&question.text());
    match read.map_err(|error| error.to_string()).and_then(read_chat) {
        Ok(text) if text == question.answer() => {
            ledger.chats.fetch_add(1, Ordering::Relaxed);
        }
        Ok(text) => ledger.fault(format!("{} was answered with {text}", question.mark)),
        Err(_) => {
            ledger.broken.lock().unwrap().push((kill, question));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn create_card(home: &GatewayHome, ledger: &Ledger) {
    let number = ledger.next.fetch_add(1, Ordering::Relaxed);
    match home.create_card(&format!("card {number}")) {
        Ok(id) => ledger.cards.lock().unwrap().push(id),
        Err(fault) => ledger.fault(fault),
    }
}

/// Every run that was acknowledged is known after a restart.
fn recognise(gateway: &ServedGateway, ledger: &Ledger, kills: usize) {
    let api = gateway.api();
    let mut runs = ledger.runs.lock().unwrap();
    for run in runs.iter_mut().filter(|run| run.over.is_none()) {
        match runs::status(&api, &run.id) {
            Ok(status) if runs::is_over(&status) => run.over = Some((kills, status)),
            Ok(_) => {}
            Err(error) => {
                run.over = Some((kills, Value::Null));
                ledger.fault(format!("an acknowledged run is not known: {error}"));
            }
        }
    }
}

/// Waits until everything has come to an end.
fn settle(gateway: &ServedGateway, ledger: &Ledger, kills: usize) {
    let until = Instant::now() + LONGEST_END;
    loop {
        recognise(gateway, ledger, kills);
        let runs = ledger.runs.lock().unwrap();
        let open = runs.iter().filter(|run| run.over.is_none()).count();
        drop(runs);
        let undone = undone_cards(gateway, ledger);
        if open == 0 && undone.is_empty() {
            return;
        }
        if Instant::now() > until {
            ledger.fault(format!("{open} runs and the cards {undone:?} have no end"));
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Cards that were created and are not there, or not once, or not done.
fn undone_cards(gateway: &ServedGateway, ledger: &Ledger) -> Vec<String> {
    let cards = gateway.home.cards();
    let created = ledger.cards.lock().unwrap();
    let undone = created.iter().filter(|created| {
        let same: Vec<_> = cards.iter().filter(|(id, _)| id == *created).collect();
        !matches!(same.as_slice(), [(_, status)] if status == "done")
    });
    undone.cloned().collect()
}

fn report(gateway: &ServedGateway, ledger: Ledger, kills: usize) -> KillReport {
    let api = gateway.api();
    let runs = ledger.runs.into_inner().unwrap();
    let mut faults = ledger.faults.into_inner().unwrap();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for run in &runs {
        let asked = gateway.model.asked(&run.question.mark);
        let last = (kills, Value::Null);
        let (over, status) = run.over.as_ref().unwrap_or(&last);
        let endured = over - run.born;
        if asked > 1 + endured {
            faults.push(format!(
                "{}: asked {asked} times in {endured} kills",
                run.id
            ));
        }
        // One that was never known, or has no end, is a fault already.
        let end = status["status"].as_str().unwrap_or("unknown").to_owned();
        if end == "completed" && status["output"] != run.question.answer() {
            faults.push(format!("{} has another answer: {status}", run.id));
        }
        if end == "completed" && asked == 0 {
            faults.push(format!("{} was answered by nobody: {status}", run.id));
        }
        if end == "failed" && status["error"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("{} failed without a reason: {status}", run.id));
        }
        *ends.entry(end).or_default() += 1;
        match doubled(&api, status, &run.question) {
            Ok(fault) => faults.extend(fault),
            Err(error) => faults.push(format!("{}: its session cannot be read: {error}", run.id)),
        }
    }
    let broken = ledger.broken.into_inner().unwrap();
    for (_, question) in &broken {
        let asked = gateway.model.asked(&question.mark);
        if asked > 2 {
            faults.push(format!("chat {}: asked {asked} times", question.mark));
        }
    }
    let board = gateway.home.hermes(&["kanban", "init"]).run();
    if board.code != Some(0) {
        faults.push(format!("the board is not whole: {board}"));
    }
    KillReport {
        kills,
        runs: runs.len(),
        ends,
        chats: ledger.chats.into_inner(),
        broken_chats: broken.len(),
        cards: ledger.cards.into_inner().unwrap().len(),
        faults,
    }
}

/// What a run said is in its session once, and so is the answer; gives what is there more often.
fn doubled(api: &Api, status: &Value, question: &Question) -> Result<Option<String>, String> {
    let Some(session) = status["session_id"].as_str() else {
        return Ok(None);
    };
    let path = format!("/api/sessions/{session}/messages");
    let reply = api.call("GET", &path, None);
    let reply = reply.map_err(|error| error.to_string())?;
    let messages = match reply.status {
        200 => reply.json()["data"].as_array().cloned().unwrap_or_default(),
        // A run that ended before it began has none.
        404 => return Ok(None),
        other => return Err(format!("{other}: {}", reply.body)),
    };
    let count = |role: &str, text: &str| {
        let same = messages.iter().filter(|message| {
            let content = message["content"].as_str().unwrap_or_default();
            message["role"] == role && content == text
        });
        same.count()
    };
    let said = count("user", &question.text());
    let answered = count("assistant", &question.answer());
    let is_doubled = said > 1 || answered > 1;
    let fault = format!("{session}: said {said} times, answered {answered} times");
    Ok(is_doubled.then_some(fault))
}
