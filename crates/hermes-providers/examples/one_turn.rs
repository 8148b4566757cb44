//! What a question costs beside the model: `one_turn HOME [TURNS]` asks the provider that the home's
//! settings name and prints times and the peak of memory.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement by hand"
)]

use std::time::Instant;

use hermes_config::{Config, Environment, Sources};
use hermes_proc::Wake;
use hermes_providers::{Message, ModelOverrides, ModelRequest, open};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let home = std::path::PathBuf::from(arguments.next().unwrap());
    let turns = arguments.next().map_or(1, |text| text.parse().unwrap());
    let started = Instant::now();
    let env = Environment::from_process();
    let config = Config::load_read_only(&Sources::new(&env, &home));
    let provider = open(&config, &ModelOverrides::default()).unwrap();
    let interrupt = Wake::new().unwrap();
    println!("open: {:?}", started.elapsed());
    for _ in 0..turns {
        let asked = Instant::now();
        let request = ModelRequest::new("You are brief.", vec![Message::user("hi")]);
        match provider.complete(&request, &mut |_| {}, &interrupt) {
            Ok(response) => println!("{:?}: {}", asked.elapsed(), response.text),
            Err(error) => println!("{:?}: {error} ({:?})", asked.elapsed(), error.hint()),
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
        println!("{line}");
    }
}
