//! A pseudo-terminal: what a program that wants a person at the other end is started on.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    /// Our end: what is written here is typed, what is read here was shown.
    pub controller: File,
    pub terminal: OwnedFd,
}

impl Pty {
    /// Opens a terminal of this size.
    pub fn open(rows: u16, columns: u16) -> io::Result<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let name = ptsname(&controller, Vec::new())?;
        let terminal = rustix::fs::open(
            name.as_c_str(),
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        resize_terminal(&terminal, rows, columns)?;
        Ok(Self {
            controller: File::from(controller),
            terminal,
        })
    }
}

/// Gives the terminal behind one of its ends another size, and tells whoever runs on it.
pub fn resize_terminal(end: &impl AsFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(end, size)?)
}
