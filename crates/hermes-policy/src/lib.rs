//! Which commands may run, and which files may be read, written, attached or carried along.
//!
//! Rules over text, paths and settings: nothing here starts a process or reads the environment. Files
//! are touched in two cases only: a permanent approval is written to `config.yaml`, and symbolic links
//! are followed before a path is checked. This is defence in depth, not a boundary.

mod approval;
mod command;
mod files;
pub mod injection;
mod private_places;
mod sandbox;
mod workspace;

pub use approval::{
    Answer, ApprovalMode, ApprovalRequest, ApprovalSettings, ApprovedBy, Approver, Assessment,
    CheckRequest, CommandPolicy, CommandScanner, Interaction, PermanentApprovals, RiskAssessor,
    SCANNED, SessionApprovals, Status, Unattended, Verdict,
};
pub use command::{KnownHomes, KnownPaths, SudoRewrite, with_password_from_stdin};
pub use files::{
    PrivateHomes, ReadGuard, WriteContext, WriteRefusal, check_write, check_write_by_text,
    parse_safe_roots,
};
pub use private_places::refuses_carrying;
pub use sandbox::{
    Looked, SandboxFacts, SandboxMode, SandboxPolicy, SandboxSettings, Writable, WriteReason,
};
pub use workspace::{ProtectedHomes, covered_home, listed_directory, workspace_refusal};
