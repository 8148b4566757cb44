//! Raw mode, and the way back from it however the program ends.
//!
//! While the mode is on, Ctrl-C and Ctrl-Z are keys, pastes come between marks, and keys with
//! modifiers are told apart where the terminal can. Terminals that do not know a sequence ignore it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};

/// Bracketed paste, and the first level of the keyboard protocol of kitty.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u";
/// The same backwards, the cursor visible, colours as they were, no update half done.
const LEAVE: &[u8] = b"\x1b[<u\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?2026l";
/// Leaves the alternate screen.
const LEAVE_ALTERNATE: &[u8] = b"\x1b[?1049l";

/// Columns and rows assumed where the terminal tells none.
const USUAL: Size = Size {
    columns: 80,
    rows: 24,
};

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// The present size, as the kernel knows it.
pub(crate) fn size() -> Size {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
            columns: size.ws_col,
            rows: size.ws_row,
        },
        Ok(_) | Err(_) => USUAL,
    }
}

/// The keyboard protocol off and on again: with it, Ctrl-C is not the character that interrupts.
const PLAIN_KEYS: &[u8] = b"\x1b[<u\x1b[?25h";
const TOLD_APART_KEYS: &[u8] = b"\x1b[>1u";
/// Marks around pastes off and on again.
const UNMARKED: &[u8] = b"\x1b[?2004l";
const MARKED: &[u8] = b"\x1b[?2004h";

/// What the terminal was like, while it is in raw mode. Kept for the whole process, because a signal
/// or a bug may end it in any thread.
static BEFORE: Mutex<Option<Saved>> = Mutex::new(None);

struct Saved {
    modes: Termios,
    is_alternate: bool,
}

/// Raw mode; ends when this is dropped.
#[derive(Debug)]
pub(crate) struct RawMode(());

impl RawMode {
    /// Switches the terminal to raw mode.
    pub(crate) fn enter() -> std::io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.input_modes.remove(
            InputModes::BRKINT
                | InputModes::ICRNL
                | InputModes::INLCR
                | InputModes::IGNCR
                | InputModes::INPCK
                | InputModes::ISTRIP
                | InputModes::IXON,
        );
        raw.local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG);
        // Output processing stays on: what others print meanwhile keeps its line ends.
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        *lock() = Some(Saved {
            modes: before,
            is_alternate: false,
        });
        write_all(ENTER)?;
        Ok(Self(()))
    }

    /// Lets a command of this program have the terminal: it prints, Ctrl-C interrupts it, and what is
    /// typed meanwhile is neither shown nor lost.
    pub(crate) fn lend(&self) -> std::io::Result<()> {
        write_all(PLAIN_KEYS)?;
        self.set_interruptible(true)?;
        IS_LENT.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Takes the terminal back; gives what was typed and put aside meanwhile.
    pub(crate) fn reclaim(&self) -> std::io::Result<Vec<u8>> {
        IS_LENT.store(false, Ordering::SeqCst);
        self.set_interruptible(false)?;
        write_all(TOLD_APART_KEYS)?;
        Ok(std::mem::take(&mut *lock_aside()))
    }

    #[expect(clippy::unused_self, reason = "only who is in raw mode changes it")]
    fn set_interruptible(&self, is_interruptible: bool) -> std::io::Result<()> {
        let mut modes = tcgetattr(stdin())?;
        modes.local_modes.set(LocalModes::ISIG, is_interruptible);
        Ok(tcsetattr(stdin(), OptionalActions::Now, &modes)?)
    }

    /// Takes note of whether the alternate screen is shown.
    #[expect(
        clippy::unused_self,
        reason = "only who is in raw mode shows that screen"
    )]
    pub(crate) fn note_alternate(&self, is_alternate: bool) {
        if let Some(saved) = lock().as_mut() {
            saved.is_alternate = is_alternate;
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Gives the terminal back as it was found, if this process has changed it. For those who end the
/// program without unwinding.
pub fn restore_terminal() {
    let Some(saved) = lock().take() else {
        return;
    };
    // A terminal that is gone needs nothing.
    if saved.is_alternate {
        drop(write_all(LEAVE_ALTERNATE));
    }
    drop(write_all(LEAVE));
    let _: Result<(), Errno> = tcsetattr(stdin(), OptionalActions::Now, &saved.modes);
}

/// Whether this process has changed the terminal, or has given it back only to pause.
pub fn has_terminal() -> bool {
    IS_PAUSING.load(Ordering::SeqCst) || lock().is_some()
}

/// Whether a command of this program has the terminal.
static IS_LENT: AtomicBool = AtomicBool::new(false);
/// What was typed before a question was asked: no answer to it, but not to be lost either.
static ASIDE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn lock_aside() -> std::sync::MutexGuard<'static, Vec<u8>> {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal as others expect it, while a command that has borrowed it asks a question or starts a
/// program; borrowed again when this is dropped.
#[derive(Debug)]
pub struct UsualTerminal(Option<Termios>);

/// Without effect unless a command has borrowed the terminal.
pub fn usual_terminal() -> UsualTerminal {
    let before = lock().as_ref().map(|saved| saved.modes.clone());
    let lent = IS_LENT.load(Ordering::SeqCst);
    let Some(before) = before.filter(|_| lent) else {
        return UsualTerminal(None);
    };
    let Ok(now) = tcgetattr(stdin()) else {
        return UsualTerminal(None);
    };
    put_typed_aside();
    // A terminal that is gone is noticed when the answer is awaited.
    drop(write_all(UNMARKED));
    let _: Result<(), Errno> = tcsetattr(stdin(), OptionalActions::Now, &before);
    UsualTerminal(Some(now))
}

impl Drop for UsualTerminal {
    fn drop(&mut self) {
        if let Some(modes) = &self.0 {
            // A terminal that is gone needs nothing.
            let _: Result<(), Errno> = tcsetattr(stdin(), OptionalActions::Now, modes);
            drop(write_all(MARKED));
        }
    }
}

fn put_typed_aside() {
    let keyboard = stdin();
    loop {
        let mut set = hermes_proc::PollSet::new();
        set.readable([&keyboard]);
        let mut bytes = [0; 4096];
        let count = match set.wait(Some(std::time::Duration::ZERO)) {
            Ok(true) => rustix::io::read(keyboard, &mut bytes).unwrap_or(0),
            Ok(false) | Err(_) => 0,
        };
        if count == 0 {
            return;
        }
        lock_aside().extend_from_slice(bytes.get(..count).unwrap_or_default());
    }
}

static IS_PAUSING: AtomicBool = AtomicBool::new(false);

/// The program pauses by itself: nobody else has to see to it.
#[derive(Debug)]
pub(crate) struct Pausing(());

impl Pausing {
    /// From before the terminal is given back until it is taken again.
    pub(crate) fn begin() -> Self {
        IS_PAUSING.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Pausing {
    fn drop(&mut self) {
        IS_PAUSING.store(false, Ordering::SeqCst);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Saved>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes to the terminal, all of it.
pub(crate) fn write_all(bytes: &[u8]) -> std::io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(stdout(), rest) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room()?,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Waits until a terminal that is shared with a program of the other kind takes more.
fn wait_for_room() -> std::io::Result<()> {
    let out = stdout();
    let mut set = hermes_proc::PollSet::new();
    set.writable([&out]);
    set.wait(None).map(drop)
}
