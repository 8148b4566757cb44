//! The loop of the thread that owns the terminal.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_proc::{PollSet, TerminalSignals};
use rustix::io::Errno;
use rustix::stdio::stdin;

use super::pace::Pace;
use super::state::{App, Holder, Wish};
use super::view::SPIN;
use crate::draw::Region;
use crate::events::{Event, Exchange};
use crate::overlay::Alternate;
use crate::setup::{Facts, Job, Setup};
use crate::terminal::{Decoder, Input, Pausing, RawMode, Size, size, write_all};

/// How long a lone escape may be the beginning of something.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);
/// How often a countdown in a question is shown anew.
const COUNTDOWN: Duration = Duration::from_millis(250);

/// The terminal, and what is shown on it.
pub(crate) struct Screen {
    app: App,
    exchange: Arc<Exchange>,
    region: Region,
    signals: TerminalSignals,
    mode: Option<RawMode>,
    alternate: Option<Alternate>,
    decoder: Decoder,
    /// Keys that have not been dealt with yet.
    inputs: VecDeque<Input>,
    pace: Pace,
    is_dirty: bool,
    is_for_key: bool,
    last_spin: Instant,
}

impl Screen {
    /// Takes the terminal over.
    pub(crate) fn open(
        setup: Setup,
        exchange: Arc<Exchange>,
        facts: Facts,
    ) -> std::io::Result<Self> {
        let signals = TerminalSignals::listen()?;
        let mode = RawMode::enter()?;
        let region = Region::new(setup.look.reflows);
        Ok(Self {
            app: App::new(setup, Arc::clone(&exchange), facts, size()),
            exchange,
            region,
            signals,
            mode: Some(mode),
            alternate: None,
            decoder: Decoder::default(),
            inputs: VecDeque::new(),
            pace: Pace::default(),
            is_dirty: true,
            is_for_key: true,
            last_spin: Instant::now(),
        })
    }

    /// Shows and reads until the interface ends; then the terminal is as before.
    pub(crate) fn run(mut self) {
        if let Err(error) = self.rounds() {
            // The terminal is gone, or of no use: the conversation ends, and nothing of it is lost.
            tracing::debug!(%error, "the terminal cannot be used any more");
            self.mode = None;
            self.app.leave();
            self.wait_for_end();
        }
        // A terminal that has gone meanwhile needs nothing.
        if let Some(alternate) = self.alternate.take() {
            drop(alternate.leave());
        }
        if self.mode.is_some() {
            drop(write_all(&self.region.removed(self.app.size)));
        }
    }

    /// Without a terminal only the end is awaited.
    fn wait_for_end(&mut self) {
        while !self.app.is_over {
            let mut set = PollSet::new();
            set.readable([&self.exchange.arrived]);
            if set.wait(None).is_err() {
                return;
            }
            for event in self.exchange.take() {
                if let Event::Asked(question) = &event {
                    question.answer(None);
                }
                self.app.event(event);
            }
        }
    }

    fn rounds(&mut self) -> std::io::Result<()> {
        loop {
            // What was typed ahead may lead from one to the next.
            while self.app.wish.is_some() {
                self.wishes()?;
            }
            if self.app.is_over {
                return self.draw_last();
            }
            self.draw_if_due()?;
            let limit = self.limit();
            let is_ours = self.app.holder == Holder::Screen;
            let keyboard = is_ours.then(stdin);
            let interrupt = &self.app.setup.interrupt;
            let interrupt = (is_ours && self.app.turn.is_none()).then_some(&**interrupt);
            let mut set = PollSet::new();
            let keys = set.readable(keyboard.as_ref());
            let events = set.readable([&self.exchange.arrived]);
            let signals = set.readable([&self.signals]);
            let interrupted = set.readable(interrupt);
            let woken = set.wait(limit)?;
            let ready = [&keys, &events, &signals, &interrupted].map(|one| set.is_ready(one));
            let [has_keys, has_events, has_signals, is_interrupted] = ready;
            if has_keys {
                self.read_keys()?;
            } else if !woken && self.decoder.is_undecided() {
                let mut inputs = Vec::new();
                self.decoder.settle(&mut inputs);
                self.handle(inputs);
            }
            if has_events {
                for event in self.exchange.take() {
                    self.app.event(event);
                }
                self.is_dirty = true;
            }
            if has_signals {
                self.signal()?;
            }
            if is_interrupted {
                self.interrupted();
            }
        }
    }

    /// A signal has come while nothing runs.
    fn interrupted(&mut self) {
        if (self.app.setup.is_ending)() {
            self.app.leave();
            self.app.turn = None;
            self.app.holder = Holder::Job;
        } else {
            self.app.setup.interrupt.clear();
            self.app.ctrl_c();
            self.is_dirty = true;
        }
    }

    fn limit(&self) -> Option<Duration> {
        if self.app.holder == Holder::Job {
            return None;
        }
        let now = Instant::now();
        let frame = self.is_dirty.then(|| self.pace.wait(self.is_for_key, now));
        let escape = self.decoder.is_undecided().then_some(ESCAPE_WAIT);
        let spin = self.app.turn.is_some().then(|| {
            let due = self.last_spin + SPIN;
            due.saturating_duration_since(now)
        });
        let countdown = (!self.app.questions.is_empty()).then_some(COUNTDOWN);
        let count = self.app.count_holds(now).filter(|_| !self.is_dirty);
        let all = [frame, escape, spin, countdown, count];
        all.into_iter().flatten().min()
    }

    fn read_keys(&mut self) -> std::io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        let count = match rustix::io::read(stdin(), &mut bytes) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let mut inputs = Vec::new();
        self.decoder
            .feed(bytes.get(..count).unwrap_or_default(), &mut inputs);
        self.handle(inputs);
        Ok(())
    }

    fn handle(&mut self, inputs: Vec<Input>) {
        self.inputs.extend(inputs);
        // What follows waits for the end of the job that gets the terminal.
        while self.app.wish != Some(Wish::Lend)
            && let Some(input) = self.inputs.pop_front()
        {
            self.app.input(input);
            self.is_dirty = true;
            self.is_for_key = true;
        }
    }

    /// Takes what was typed while another had the terminal. There, Enter was a line feed.
    fn read_typed_ahead(&mut self, aside: &[u8], was_lent: bool) -> std::io::Result<()> {
        let mut inputs = Vec::new();
        self.decoder.feed(aside, &mut inputs);
        loop {
            let keyboard = stdin();
            let mut set = PollSet::new();
            set.readable([&keyboard]);
            let mut bytes = [0; 4 * 1024];
            let mut count = 0;
            if set.wait(Some(Duration::ZERO))? {
                // What cannot be read now is noticed when the next key is awaited.
                count = rustix::io::read(keyboard, &mut bytes).unwrap_or(0);
            }
            let typed = bytes.get_mut(..count).unwrap_or_default();
            if typed.is_empty() {
                break;
            }
            let feeds = typed.iter_mut().filter(|byte| **byte == b'\n' && !was_lent);
            for byte in feeds {
                *byte = b'\r';
            }
            self.decoder.feed(typed, &mut inputs);
        }
        self.handle(inputs);
        Ok(())
    }

    fn signal(&mut self) -> std::io::Result<()> {
        if self.signals.take() {
            return self.pause();
        }
        let now = size();
        if now != self.app.size {
            self.app.size = now;
            if let Some(turn) = &mut self.app.turn {
                turn.stream.set_width(usize::from(now.columns));
            }
            self.is_dirty = true;
        }
        Ok(())
    }

    fn wishes(&mut self) -> std::io::Result<()> {
        match self.app.wish.take() {
            None => Ok(()),
            Some(Wish::Clear) => {
                drop(self.region.removed(self.app.size));
                self.is_dirty = true;
                write_all(b"\x1b[2J\x1b[H")
            }
            Some(Wish::Ring) => write_all(b"\x07\x1b]9;Hermes: the turn is over\x1b\\"),
            Some(Wish::Pause) => TerminalSignals::request_pause(),
            Some(Wish::Lend) => self.lend(),
        }
    }

    fn pause(&mut self) -> std::io::Result<()> {
        let _pausing = Pausing::begin();
        if self.app.holder == Holder::Screen {
            self.hand_back()?;
            TerminalSignals::pause();
            return self.take_over();
        }
        // A command has the terminal, and goes on with it.
        self.mode = None;
        TerminalSignals::pause();
        self.borrow()
    }

    /// The terminal for a command of this program, without the region.
    fn borrow(&mut self) -> std::io::Result<()> {
        let mode = match self.mode.take() {
            Some(mode) => mode,
            None => RawMode::enter()?,
        };
        mode.lend()?;
        self.mode = Some(mode);
        Ok(())
    }

    /// The terminal as others expect it, with the cursor under the conversation.
    fn hand_back(&mut self) -> std::io::Result<()> {
        self.remove_region()?;
        self.mode = None;
        Ok(())
    }

    fn remove_region(&mut self) -> std::io::Result<()> {
        if let Some(alternate) = self.alternate.take() {
            alternate.leave()?;
        }
        let size = self.app.size;
        write_all(&self.region.removed(size))
    }

    fn take_over(&mut self) -> std::io::Result<()> {
        let was_lent = self.mode.is_some();
        let aside = match &self.mode {
            Some(mode) => mode.reclaim()?,
            None => {
                self.mode = Some(RawMode::enter()?);
                Vec::new()
            }
        };
        self.app.size = size();
        self.is_dirty = true;
        self.is_for_key = true;
        write_all(b"\r")?;
        self.read_typed_ahead(&aside, was_lent)
    }

    /// Lends the terminal to a job until it is done.
    fn lend(&mut self) -> std::io::Result<()> {
        self.begin_lent()?;
        while self.app.holder == Holder::Job && !self.app.is_over {
            let mut set = PollSet::new();
            let events = set.readable([&self.exchange.arrived]);
            // Who starts a program of its own leaves signals to it.
            let signals = set.readable(self.mode.is_some().then_some(&self.signals));
            set.wait(None)?;
            let [has_events, has_signals] = [&events, &signals].map(|one| set.is_ready(one));
            if has_signals && self.signals.take() {
                self.pause()?;
            }
            if has_events {
                for event in self.exchange.take() {
                    self.app.event(event);
                }
            }
            // What was sent stands above the output of the job that follows at once, too.
            if self.app.wish == Some(Wish::Lend) {
                self.app.wish = None;
                self.take_over()?;
                self.begin_lent()?;
            }
        }
        self.take_over()
    }

    /// Hands the terminal over to the job that waits for it.
    fn begin_lent(&mut self) -> std::io::Result<()> {
        // What the person has sent stands above the output of the job.
        self.draw()?;
        let Some(job) = self.app.lent_to.take() else {
            return Ok(());
        };
        if matches!(job, Job::Command(_)) {
            self.remove_region()?;
            self.borrow()?;
        } else {
            self.hand_back()?;
        }
        self.exchange.submit(job);
        Ok(())
    }

    fn draw_if_due(&mut self) -> std::io::Result<()> {
        if self.app.holder == Holder::Job {
            return Ok(());
        }
        let now = Instant::now();
        if self.app.turn.is_some() && now.duration_since(self.last_spin) >= SPIN {
            self.last_spin = now;
            self.is_dirty = true;
        }
        let is_recounted = self.app.count_holds(now).is_some_and(|left| left.is_zero());
        if !self.app.questions.is_empty() || is_recounted {
            self.is_dirty = true;
        }
        if self.is_dirty && self.pace.wait(self.is_for_key, now).is_zero() {
            self.draw()?;
        }
        Ok(())
    }

    fn draw(&mut self) -> std::io::Result<()> {
        self.is_dirty = false;
        self.is_for_key = false;
        self.pace.drawn(Instant::now());
        let size = self.app.size;
        if let Some(rows) = self.app.overlay_rows() {
            let mut alternate = match self.alternate.take() {
                Some(alternate) => alternate,
                None => {
                    self.note_alternate(true);
                    Alternate::enter()?
                }
            };
            alternate.draw(rows, size)?;
            self.alternate = Some(alternate);
            return Ok(());
        }
        if let Some(alternate) = self.alternate.take() {
            alternate.leave()?;
            self.note_alternate(false);
        }
        self.write_frame(size)
    }

    fn note_alternate(&self, is_shown: bool) {
        if let Some(mode) = &self.mode {
            mode.note_alternate(is_shown);
        }
    }

    fn write_frame(&mut self, size: Size) -> std::io::Result<()> {
        let frame = self.app.frame();
        write_all(&self.region.frame(&frame, size))
    }

    /// What is left to show, without the region.
    fn draw_last(&mut self) -> std::io::Result<()> {
        if let Some(alternate) = self.alternate.take() {
            alternate.leave()?;
        }
        let size = self.app.size;
        self.write_frame(size)
    }
}
