//! A program in the background, read line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Long enough for a busy machine; an event that is late by this much will not come.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);

/// A program that has been started; it is ended when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    call: String,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Running {
    pub(crate) fn new(mut child: Child, call: String, input: Option<Vec<u8>>) -> Self {
        let lines = read_lines(child.stdout.take().unwrap());
        let errors = read_lines(child.stderr.take().unwrap());
        let mut stdin = child.stdin.take();
        if let Some(input) = input {
            let mut pipe = stdin.take().unwrap();
            // The program may close its end early; its exit code tells.
            std::thread::spawn(move || drop(pipe.write_all(&input)));
        }
        Self {
            child,
            call,
            stdin,
            lines,
            errors,
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output; `None` at its end.
    #[track_caller]
    pub fn next_line(&self) -> Option<String> {
        match self.lines.recv_timeout(EVENT_TIMEOUT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let errors: Vec<String> = self.errors.try_iter().collect();
                panic!("`{}` says nothing more; stderr: {errors:?}", self.call)
            }
        }
    }

    /// Writes a line to standard input, which must not have been given before the start.
    #[track_caller]
    pub fn write_line(&mut self, line: &str) {
        let pipe = self.stdin.as_mut().unwrap();
        writeln!(pipe, "{line}").unwrap();
    }

    /// What has come on standard error since the last look.
    pub fn errors(&self) -> Vec<String> {
        self.errors.try_iter().collect()
    }

    /// Ends the program with SIGKILL and waits for that.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already ended is as good as ended now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
