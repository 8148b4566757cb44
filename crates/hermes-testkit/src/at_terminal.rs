//! A program on a pseudo-terminal: what it shows is awaited, what a person would type is typed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::ProgramOutput;

/// Long enough for a busy machine; an event that is late by this much will not come.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);

/// A program at a terminal of its own; it is ended when this is dropped.
#[derive(Debug)]
pub struct AtTerminal {
    child: Child,
    call: String,
    keyboard: File,
    screen: Arc<TerminalScreen>,
}

#[derive(Debug, Default)]
struct TerminalScreen {
    shown: Mutex<ShownText>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ShownText {
    text: String,
    /// How much of it has been awaited.
    seen: usize,
    /// The last program on the terminal has gone.
    over: bool,
}

impl AtTerminal {
    /// `command` leads a session of its own and has all three streams at the terminal.
    pub(crate) fn new(mut command: Command, call: String) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let stream = || OwnedFd::try_clone(&terminal).unwrap();
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{call}: {error}"));
        drop(command);
        drop(terminal);
        let keyboard = File::from(controller);
        let screen = Arc::<TerminalScreen>::default();
        let (mut reader, there) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || there.show(&mut reader));
        Self {
            child,
            call,
            keyboard,
            screen,
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this is shown, behind what was awaited before.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        let mut shown = self.screen.shown.lock().unwrap();
        loop {
            let found = shown.text.get(shown.seen..).unwrap_or_default().find(text);
            if let Some(place) = found {
                shown.seen += place + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let (call, screen) = (&self.call, &shown.text);
            assert!(
                !shown.over && !left.is_zero(),
                "`{call}` never shows {text:?}: {screen}"
            );
            shown = self.screen.changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Types these keys; `\r` is the one called Enter, `\u{3}` is Ctrl-C, `\u{4}` Ctrl-D.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// All that was shown, with plain line ends.
    pub fn shown(&self) -> String {
        self.screen.shown.lock().unwrap().text.replace('\r', "")
    }

    /// Waits for the end of the program; what it showed counts as its standard output.
    pub fn wait(mut self) -> ProgramOutput {
        let status = self.child.wait().unwrap();
        let shown = self.screen.shown.lock().unwrap();
        // What is in the terminal when the program ends is still to be read, unless something it
        // left behind holds the terminal.
        let waited = self
            .screen
            .changed
            .wait_timeout_while(shown, Duration::from_secs(2), |shown| !shown.over)
            .unwrap();
        let stdout = waited.0.text.replace('\r', "");
        drop(waited);
        ProgramOutput {
            call: self.call.clone(),
            code: status.code(),
            signal: status.signal(),
            stdout,
            stderr: String::new(),
        }
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl TerminalScreen {
    fn show(&self, terminal: &mut File) {
        let mut bytes = [0; 4096];
        // A terminal says EIO when the last program on it has gone.
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            let mut shown = self.shown.lock().unwrap();
            shown
                .text
                .push_str(&String::from_utf8_lossy(&bytes[..count]));
            self.changed.notify_all();
        }
        self.shown.lock().unwrap().over = true;
        self.changed.notify_all();
    }
}
