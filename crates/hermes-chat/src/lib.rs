//! The conversation at a terminal: what is typed, and how turns are shown.
//!
//! Finished lines go into the terminal's own scrollback and are never touched again; a small region
//! at the bottom is redrawn. One thread owns the terminal. The conversation runs in the thread of its
//! owner, which takes [`Job`]s from [`Chat`] and tells it what came of them.
//!
//! Text of models, tools and files reaches the terminal only through `hermes_text`.

mod app;
mod cells;
mod composer;
mod draw;
mod events;
mod look;
mod markdown;
mod overlay;
mod person;
mod question;
mod setup;
mod terminal;

use std::sync::Arc;
use std::thread::JoinHandle;

use hermes_proc::Wake;
use hermes_runtime::Person;

pub use events::ChatObserver;
pub use look::{
    BusyMode, ColourDepth, FooterField, Indicator, Look, Rgb, Skin, Theme, ToolProgress,
};
pub use overlay::{Choice, choose};
pub use setup::{
    CommandName, Facts, FindTyped, Job, PastMessage, PasteLimits, Setup, TurnEnd, Typed,
};
pub use terminal::{UsualTerminal, has_terminal, restore_terminal, usual_terminal};

use crate::app::Screen;
use crate::events::{Event, Exchange};
use crate::person::ScreenPerson;

/// A conversation at a terminal.
pub struct Chat {
    exchange: Arc<Exchange>,
    screen: Option<JoinHandle<()>>,
}

impl Chat {
    /// A conversation that is not shown yet; what it has to say is kept until then.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            exchange: Arc::new(Exchange::new()?),
            screen: None,
        })
    }

    /// The person at the terminal. Questions are withdrawn when `interrupt` is raised.
    pub fn person(&self, interrupt: &Arc<Wake>) -> Arc<dyn Person> {
        Arc::new(ScreenPerson {
            exchange: Arc::clone(&self.exchange),
            interrupt: Arc::clone(interrupt),
        })
    }

    /// Takes the terminal over and shows the conversation.
    pub fn start(&mut self, setup: Setup, facts: Facts) -> std::io::Result<()> {
        let screen = Screen::open(setup, Arc::clone(&self.exchange), facts)?;
        let thread = std::thread::Builder::new().name("screen".to_owned());
        self.screen = Some(thread.spawn(move || screen.run())?);
        Ok(())
    }

    /// Waits for what the person wants next.
    pub fn next_job(&self) -> Job {
        self.exchange.next_job()
    }

    /// Shows the events of a turn.
    pub fn observer(&self) -> ChatObserver {
        ChatObserver(Arc::clone(&self.exchange))
    }

    /// A turn is over.
    pub fn turn_ended(&self, end: TurnEnd) {
        self.exchange.send(Event::TurnEnded(end));
    }

    /// A job that had the terminal is done. `text` becomes the text being typed.
    pub fn job_done(&self, text: Option<String>) {
        self.exchange.send(Event::JobDone(text));
    }

    /// A job that had the terminal is done, and leads to a turn, with this message if it has one.
    pub fn job_takes_turn(&self, message: Option<String>) {
        self.exchange.send(Event::JobTurn(message));
    }

    /// Whether the person has sent a message that waits for the end of the turn.
    pub fn has_waiting_message(&self) -> bool {
        self.exchange.has_waiting_message()
    }

    /// What the status line shows has changed.
    pub fn set_facts(&self, facts: Facts) {
        self.exchange.send(Event::Facts(Box::new(facts)));
    }

    /// The conversation is shown in another way from now on.
    pub fn set_look(&self, look: Look) {
        self.exchange.send(Event::Look(Box::new(look)));
    }

    /// More commands that can be typed.
    pub fn add_commands(&self, commands: Vec<CommandName>) {
        self.exchange.send(Event::Commands(commands));
    }

    /// The messages of the conversation, for the transcript.
    pub fn set_past(&self, messages: Vec<PastMessage>) {
        self.exchange.send(Event::Past(messages));
    }

    /// Lets the person choose which of their messages to edit.
    pub fn offer_messages(&self, messages: Vec<String>) {
        self.exchange.send(Event::Messages(messages));
    }

    /// Shows a line of the program.
    pub fn notice(&self, text: impl Into<String>) {
        self.exchange.send(Event::Notice(text.into()));
    }

    /// Something that was not asked in this conversation has an answer. May be called from anywhere.
    pub fn aside(&self) -> impl Fn(String, String) + Send + Sync + 'static {
        let exchange = Arc::clone(&self.exchange);
        move |title, text| exchange.send(Event::Aside { title, text })
    }

    /// Gives the terminal back.
    pub fn end(&mut self) {
        self.exchange.send(Event::End);
        if let Some(screen) = self.screen.take() {
            // A bug in that thread has been reported where it happened.
            drop(screen.join());
        }
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.end();
    }
}
