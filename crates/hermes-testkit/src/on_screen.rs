//! A program on a pseudo-terminal with a screen: what a person would see is awaited and compared.
//!
//! The terminal answers nothing: a program that asks it something waits in vain.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::ProgramOutput;

/// Long enough for a busy machine; an event that is late by this much will not come.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Lines that the terminal keeps.
const SCROLLBACK: usize = 50_000;

/// A program at a screen; it is ended when this is dropped.
pub struct OnScreen {
    child: Child,
    call: String,
    /// `None` after the terminal has gone.
    keyboard: Option<File>,
    model: Arc<Model>,
}

struct Model {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// Whether an update that is to be shown as a whole has only begun.
    in_update: bool,
    over: bool,
}

impl OnScreen {
    /// `command` leads a session of its own and has all three streams at the terminal.
    pub(crate) fn new(mut command: Command, call: String, rows: u16, columns: u16) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        tcsetwinsize(&terminal, size(rows, columns)).unwrap();
        let stream = || OwnedFd::try_clone(&terminal).unwrap();
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{call}: {error}"));
        drop(command);
        drop(terminal);
        let keyboard = File::from(controller);
        let (rows, columns) = (rows.try_into().unwrap(), columns.try_into().unwrap());
        let model = Arc::new(Model {
            state: Mutex::new(State {
                parser: vt100::Parser::new(rows, columns, SCROLLBACK),
                bytes: Vec::new(),
                in_update: false,
                over: false,
            }),
            changed: Condvar::new(),
        });
        let (mut reader, there) = (keyboard.try_clone().unwrap(), Arc::clone(&model));
        std::thread::spawn(move || there.follow(&mut reader));
        Self {
            child,
            call,
            keyboard: Some(keyboard),
            model,
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until this is not on the screen any more.
    #[track_caller]
    pub fn wait_without(&self, text: &str) {
        self.wait_until(text, |screen| !screen.contains(text));
    }

    /// Waits until the screen is as the condition wants it; `what` names that.
    #[track_caller]
    pub fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        let mut state = self.model.state.lock().unwrap();
        loop {
            let screen = state.parser.screen().contents();
            if !state.in_update && condition(&screen) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let (call, over) = (&self.call, state.over);
            assert!(
                !over && !left.is_zero(),
                "`{call}` never shows {what:?} (ended: {over}):\n{screen}"
            );
            state = self.model.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Types these keys; `\r` is the one called Enter, `\u{3}` is Ctrl-C.
    pub fn press(&mut self, keys: &str) {
        let mut keyboard = self.keyboard.as_ref().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Pastes a text, as terminals with marks for that do.
    pub fn paste(&mut self, text: &str) {
        self.press(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let (own_rows, own_columns) = (rows.try_into().unwrap(), columns.try_into().unwrap());
        let mut state = self.model.state.lock().unwrap();
        state.parser.screen_mut().set_size(own_rows, own_columns);
        drop(state);
        let keyboard = self.keyboard.as_ref().unwrap();
        tcsetwinsize(keyboard, size(rows, columns)).unwrap();
    }

    /// How the terminal treats input and output, as text to compare.
    pub fn modes(&self) -> String {
        let modes = rustix::termios::tcgetattr(self.keyboard.as_ref().unwrap()).unwrap();
        format!(
            "{:?} {:?} {:?} {:?}",
            modes.input_modes, modes.output_modes, modes.local_modes, modes.control_modes
        )
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Takes the terminal away, as a closed window does.
    pub fn hang_up(&mut self) {
        drop(self.keyboard.take());
        let group = i32::try_from(self.child.id()).unwrap();
        let group = rustix::process::Pid::from_raw(group).unwrap();
        // The reader of the screen keeps the terminal open; a closed window sends the signal.
        rustix::process::kill_process(group, rustix::process::Signal::HUP).unwrap();
    }

    /// The rows of the screen, without blanks at their ends.
    pub fn rows(&self) -> Vec<String> {
        let state = self.model.state.lock().unwrap();
        rows_of(state.parser.screen())
    }

    /// Where the cursor is: row and column.
    pub fn cursor(&self) -> (u16, u16) {
        let state = self.model.state.lock().unwrap();
        state.parser.screen().cursor_position()
    }

    /// What has scrolled away and what is on the screen, in one.
    pub fn all_rows(&self) -> Vec<String> {
        let mut state = self.model.state.lock().unwrap();
        let height = usize::from(state.parser.screen().size().0.get());
        let screen = state.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let mut all = Vec::new();
        let mut back = above;
        while back > 0 {
            screen.set_scrollback(back);
            all.extend(rows_of(screen).into_iter().take(height.min(back)));
            back = back.saturating_sub(height);
        }
        screen.set_scrollback(0);
        all.extend(rows_of(screen));
        all
    }

    /// All bytes the program has written.
    pub fn bytes(&self) -> Vec<u8> {
        self.model.state.lock().unwrap().bytes.clone()
    }

    /// The screen itself, with its colours.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.model.state.lock().unwrap().parser.screen())
    }

    /// Waits for the end of the program; what is on its screen counts as its standard output.
    pub fn wait(mut self) -> ProgramOutput {
        let status = self.child.wait().unwrap();
        let state = self.model.state.lock().unwrap();
        // What is in the terminal when the program ends is still to be read, unless something it
        // left behind holds the terminal.
        let waited = self
            .model
            .changed
            .wait_timeout_while(state, Duration::from_secs(2), |state| !state.over)
            .unwrap();
        let stdout = waited.0.parser.screen().contents();
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

impl Drop for OnScreen {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Model {
    fn follow(&self, terminal: &mut File) {
        let mut bytes = [0; 8 * 1024];
        // A terminal says EIO when the last program on it has gone.
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            let mut state = self.state.lock().unwrap();
            let read = &bytes[..count];
            state.parser.process(read);
            // A mark may have come in two pieces.
            let from = state.bytes.len().saturating_sub(8);
            state.bytes.extend_from_slice(read);
            let tail = &state.bytes[from..];
            let last = |mark: &[u8]| tail.windows(mark.len()).rposition(|window| window == mark);
            let (begun, ended) = (last(b"\x1b[?2026h"), last(b"\x1b[?2026l"));
            if begun != ended {
                state.in_update = begun > ended;
            }
            self.changed.notify_all();
        }
        self.state.lock().unwrap().over = true;
        self.changed.notify_all();
    }
}

fn rows_of(screen: &vt100::Screen) -> Vec<String> {
    let rows = screen.rows(0, screen.size().1.get());
    rows.map(|row| row.trim_end().to_owned()).collect()
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
