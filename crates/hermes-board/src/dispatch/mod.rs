//! Carrying plans out: conditional writes that may lose a race, workers that are started and ended.
//!
//! [`Tick`] is one look at one board. Each of its steps does one thing to the world, so that what
//! happens when a dispatcher dies between any two of them can be tried, and is (see `simulate`).
//! What a dispatcher can do besides writing to the board stands behind the trait [`Workshop`].

mod apply;
mod checks;
mod local;
mod once;
mod rounds;
mod settings;
mod take_back;
mod tick;
mod whereabouts;
mod workshop;

pub use checks::{CheckSetup, Finish, complete};
pub use local::{
    AfterLoss, Children, LocalWorkshop, LogRotation, ToolsetsOf, WORKER_TIMING, WorkerSetup,
    worker_program, write_exit_record,
};
pub use once::{Dispatcher, Pass};
pub use rounds::{BoardRound, Looked, Rounds};
pub use settings::{DispatchFlags, DispatchSettings};
pub use take_back::{TakenBack, take_back};
pub use tick::{Step, Tick};
pub use whereabouts::{Kin, Processes, worker_fact};
pub use workshop::{NewWorker, Order, Workshop};
