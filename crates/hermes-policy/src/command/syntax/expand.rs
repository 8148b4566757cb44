//! Following what commands carry: text for shells, words for wrappers, input from pipes.
//!
//! Each command found is looked at once; what it carries is appended and looked at in its turn, to
//! a fixed depth and within a budget that is a multiple of the text's length.

use std::collections::HashSet;
use std::rc::Rc;

use super::MAX_PAYLOAD_DEPTH;
use super::lexical;
use super::model::{Command, Reach, Script, StdinText, Via, Word};
use super::parse::parse;
use super::programs::{self, ShellInput};
use super::substitution;
use super::walk::Walker;
use super::word::Scope;
use super::wrapper;

/// Bytes that may be read or filled in per byte of the text, and besides.
const BUDGET_PER_BYTE: usize = 12;
const BUDGET: usize = 1 << 16;
/// What copying a word costs of it.
const WORD_COST: usize = 16;

/// Reads texts into one script.
pub(super) struct Reader {
    script: Script,
    scope: Scope,
    /// Commands up to here have been looked into.
    done: usize,
}

impl Reader {
    pub(super) fn new(length: usize) -> Self {
        Self {
            script: Script::default(),
            scope: Scope::new(length * BUDGET_PER_BYTE + BUDGET),
            done: 0,
        }
    }

    /// Reads the text that was given, or its normalised form as a variant.
    pub(super) fn read_text(&mut self, text: &str, variant: bool) {
        let template = Command {
            variant,
            ..Command::default()
        };
        self.read(text, template);
        self.follow();
    }

    pub(super) fn finish(mut self) -> Script {
        self.script.unread |= self.scope.exhausted;
        self.script.incomplete |= self.script.unread;
        self.script
    }

    /// Reads a text; every command in it is made from this one.
    fn read(&mut self, text: &str, template: Command) {
        let mut pending = vec![(text.to_owned(), template)];
        while let Some((text, template)) = pending.pop() {
            if template.depth > MAX_PAYLOAD_DEPTH || !self.scope.spend(text.len()) {
                self.script.incomplete = true;
                self.script.unread = true;
                continue;
            }
            let first = self.script.commands.len();
            let tree = parse(&text);
            self.script.unread |= tree.is_none();
            let broken = tree
                .as_ref()
                .is_none_or(|tree| tree.root_node().has_error());
            if let Some(tree) = &tree {
                let mut walker = Walker {
                    source: &text,
                    scope: &mut self.scope,
                    script: &mut self.script,
                    template: &template,
                    backticks: Vec::new(),
                };
                walker.walk(tree);
                pending.extend(walker.backticks.into_iter().map(|backtick| {
                    let inner = Command {
                        depth: template.depth + 1,
                        function: backtick.function,
                        variant: true,
                        pipe: None,
                        ..template.clone()
                    };
                    (backtick.text, inner)
                }));
            }
            if broken {
                self.script.incomplete = true;
                let carrier = template.carrier.map(|(index, _)| index);
                self.script.unclear.extend(carrier);
            }
            self.add_second_reading(&text, first, &template);
        }
    }

    /// Adds what the tolerant reader sees and the grammar did not: it has been wrong without noticing.
    fn add_second_reading(&mut self, text: &str, first: usize, template: &Command) {
        let found = self.script.commands.get(first..).unwrap_or_default();
        let known: HashSet<String> = found.iter().map(|command| command.render(false)).collect();
        let heredocs = found.iter().filter_map(|command| command.stdin.as_ref());
        let has_body = |stdin: &&Rc<StdinText>| stdin.heredoc && !stdin.word.text.is_empty();
        let heredocs = heredocs.filter(has_body).count();
        for command in lexical::commands(text, heredocs) {
            if !known.contains(&command.render(false)) {
                self.script.add(Command {
                    reach: template.reach,
                    carrier: template.carrier,
                    depth: template.depth,
                    variant: template.variant,
                    ..command
                });
            }
        }
    }

    /// Looks into every command not looked into yet.
    fn follow(&mut self) {
        while let Some(command) = self.script.commands.get(self.done) {
            let command = command.clone();
            let index = self.done;
            self.done += 1;
            if command.words.is_empty() {
                continue;
            }
            if command.depth >= MAX_PAYLOAD_DEPTH {
                self.script.unread |= programs::shell_text(&command).is_some();
                continue;
            }
            self.follow_words(index, &command);
            self.follow_text(index, &command);
        }
    }

    fn follow_words(&mut self, index: usize, command: &Command) {
        for carried in wrapper::carried(&command.words) {
            let mut words = carried.words;
            if carried.via == Via::Xargs {
                // `echo / | xargs rm`
                let piped = self.piped_text(command).unwrap_or_default();
                words.extend(piped.split_ascii_whitespace().map(Word::constant));
            }
            if words.is_empty() || !self.scope.spend(words.len() * WORD_COST) {
                continue;
            }
            let reach = match (command.reach, carried.reach) {
                (Reach::Container, _) | (_, Reach::Container) => Reach::Container,
                (Reach::Payload, _) | (_, Reach::Payload) => Reach::Payload,
                (Reach::Direct, Reach::Direct) => Reach::Direct,
            };
            // A wrapper of a wrapper is no payload, but a chain of ten thousand is none either.
            let depth = match carried.via {
                Via::Wrapper => command.depth,
                _ => command.depth + 1,
            };
            self.script.add(Command {
                words,
                reach,
                carrier: Some((index, carried.via)),
                depth,
                redirects: Vec::new(),
                ..command.clone()
            });
        }
    }

    /// The text that arrives at a command through its pipe, or as its own input. What is not known
    /// of it stays as written, so that the rest is read all the same.
    fn piped_text(&self, command: &Command) -> Option<String> {
        if let Some(stdin) = &command.stdin {
            return Some(stdin.word.text.clone());
        }
        let upstream = self.script.upstream(command);
        // With anything but copies between, the text that arrives is another one.
        let transparent = upstream.iter().all(|source| {
            matches!(source.name(), "cat" | "tee" | "echo" | "printf" | "")
                || source.carrier.is_some()
        });
        if !transparent {
            return None;
        }
        upstream
            .iter()
            .find_map(|source| match (source.name(), &source.stdin) {
                ("cat" | "tee", Some(stdin)) => Some(stdin.word.text.clone()),
                ("echo" | "printf", _) => substitution::output(&source.words),
                _ => None,
            })
    }

    fn follow_text(&mut self, index: usize, command: &Command) {
        let shell_text = match programs::shell_text(command) {
            Some(ShellInput::Text(word)) => Some(word.text),
            Some(ShellInput::Joined(text)) => Some(text),
            Some(ShellInput::Stdin) => self.piped_text(command),
            None => None,
        };
        let program = programs::program_option(command).and_then(|(_, program)| program);
        for text in shell_text.into_iter().chain(program) {
            let template = Command {
                reach: match command.reach {
                    Reach::Container => Reach::Container,
                    Reach::Direct | Reach::Payload => Reach::Payload,
                },
                carrier: Some((index, Via::Text)),
                depth: command.depth + 1,
                variant: command.variant,
                pipe: command.pipe,
                lexical: command.lexical,
                ..Command::default()
            };
            self.read(&text, template);
        }
    }
}
