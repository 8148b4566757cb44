//! Dispatching: plans are applied as conditional writes, workers are started and terminated.
//!
//! [`Tick`] is one tick of one board. Each of its steps has one effect, so that what happens when a
//! dispatcher dies between any two of them can be simulated, which `hermes-board-sim` does. Whatever
//! a dispatcher does besides writing to the board is behind the trait [`WorkerHost`].

mod board_loop;
mod dispatcher;
mod handover;
mod heartbeat;
pub(crate) mod local;
mod log_teller;
mod reclaim;
mod sweeper;
mod tick;
mod worker_fact;
mod worker_host;

pub use board_loop::{BoardLoop, BoardTick, TickOutcome};
pub use dispatcher::Dispatcher;
pub use local::{
    AfterLoss, Children, LocalWorkerHost, LogRotation, Preflight, WORKER_TIMING, WorkerNeeds,
    WorkerProfile, WorkerProfileOf, WorkerSetup, worker_program, write_exit_record,
};
pub use reclaim::{Reclaimed, reclaim};
pub use tick::{Step, Tick};
pub use worker_fact::{AttemptProcesses, JudgingHost, Processes, worker_fact};
pub use worker_host::{SpawnedWorker, WorkerHost, WorkerSpawnRequest};
