//! Seeing how a child ended without letting its number go.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::{Ended, SessionChild};

impl SessionChild {
    /// How it ended, if it has. Its pid stays its own until it is reaped.
    pub fn peek(&self) -> Option<Ended> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw)?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is nothing to see.
        let status = waitid(WaitId::Pid(pid), options).ok()??;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Ended::Exited(code)),
            (None, Some(signal)) => Some(Ended::Signalled(signal)),
            (None, None) => None,
        }
    }
}
