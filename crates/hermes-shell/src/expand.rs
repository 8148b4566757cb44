//! Following what commands carry: text for shells, words for wrappers, input from pipes.
//!
//! Each command found is looked at once; what it carries is appended and looked at in its turn, to
//! a fixed depth and within a budget that is a multiple of the text's length.

use std::collections::HashSet;
use std::rc::Rc;

use crate::known_shell::KnownShell;
use crate::lexical;
use crate::model::{Command, Reach, Script, StdinText, Via, Word, basename};
use crate::parse::{parse, with_line_end};
use crate::plain;
use crate::programs::{self, ShellInput, is_shell};
use crate::scope::Scope;
use crate::substitution;
use crate::tool_text;
use crate::walk::Walker;
use crate::wrapper;

/// How deep payloads of payloads are followed.
const MAX_PAYLOAD_DEPTH: u8 = 8;

/// Bytes that may be read or filled in per byte of the text, and besides.
const BUDGET_PER_BYTE: usize = 12;
const BUDGET: usize = 1 << 16;
/// What copying a word costs of it.
const WORD_COST: usize = 16;

/// Reads texts into one script.
pub(crate) struct Reader<'s> {
    script: Script,
    scope: Scope<'s>,
    /// Commands up to here have been looked into.
    done: usize,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(shell: &'s dyn KnownShell, length: usize) -> Self {
        Self {
            script: Script::default(),
            scope: Scope::new(
                shell,
                (length + shell.earlier().map_or(0, str::len)) * BUDGET_PER_BYTE + BUDGET,
            ),
            done: 0,
        }
    }

    /// Reads the text that was given, or its normalised form as a variant.
    pub(crate) fn read_text(&mut self, text: &str, variant: bool) {
        let template = Command {
            variant,
            cwd: self.scope.cwd.clone(),
            ..Command::default()
        };
        self.read(text, template, None);
        self.follow();
    }

    /// Reads a text for what it leaves behind: variables, functions, aliases, the directory.
    pub(crate) fn remember(&mut self, earlier: &str) {
        let template = Command {
            cwd: self.scope.cwd.clone(),
            ..Command::default()
        };
        self.read_with_backticks(earlier, template);
        let functions = std::mem::take(&mut self.script.functions);
        self.script = Script::default();
        self.script.functions = functions;
        self.done = 0;
    }

    pub(crate) fn finish(mut self) -> Script {
        self.script.unread |= self.scope.exhausted;
        self.script.incomplete |= self.script.unread;
        self.script
    }

    /// Reads a text; every command in it is made from this one. It begins in the directory of this
    /// command, with these positional parameters if it has some of its own.
    fn read(&mut self, text: &str, template: Command, positional: Option<&[Word]>) {
        let outside = (self.scope.cwd.take(), self.scope.positional.clone());
        self.scope.cwd.clone_from(&template.cwd);
        if let Some(words) = positional {
            self.scope.set_positional(words);
        }
        self.read_with_backticks(text, template);
        (self.scope.cwd, self.scope.positional) = outside;
    }

    fn read_with_backticks(&mut self, text: &str, template: Command) {
        let mut pending = vec![(text.to_owned(), template)];
        while let Some((text, template)) = pending.pop() {
            if template.depth > MAX_PAYLOAD_DEPTH || !self.scope.spend(text.len()) {
                self.script.incomplete = true;
                self.script.unread = true;
                continue;
            }
            let first = self.script.commands.len();
            let length = text.len();
            let source = with_line_end(text);
            if !plain::read(&source, &mut self.scope, &mut self.script, &template) {
                pending.extend(self.read_by_grammar(&source, &template));
            }
            let text = source.get(..length).unwrap_or_default();
            self.add_second_reading(text, first, &template);
        }
    }

    /// Reads a text as the grammar takes it apart; gives what backticks hold.
    fn read_by_grammar(&mut self, source: &str, template: &Command) -> Vec<(String, Command)> {
        let tree = parse(source);
        self.script.unread |= tree.is_none();
        let broken = tree
            .as_ref()
            .is_none_or(|tree| tree.root_node().has_error());
        let mut backticks = Vec::new();
        if let Some(tree) = &tree {
            let mut walker = Walker {
                source,
                scope: &mut self.scope,
                script: &mut self.script,
                template,
                backticks: Vec::new(),
                subshells: Vec::new(),
            };
            walker.walk(tree);
            backticks.extend(walker.backticks.into_iter().map(|backtick| {
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
        backticks
    }

    /// Adds what the tolerant reader sees and the grammar did not: it has been wrong without noticing.
    fn add_second_reading(&mut self, text: &str, first: usize, template: &Command) {
        let found = self.script.commands.get(first..).unwrap_or_default();
        let known = KnownCommands::of(found);
        let heredocs = found.iter().filter_map(|command| command.stdin.as_ref());
        let has_body = |stdin: &&Rc<StdinText>| stdin.heredoc && !stdin.word.text.is_empty();
        let heredocs = heredocs.filter(has_body).count();
        for command in lexical::commands(text, heredocs) {
            if !known.contains(&command) {
                self.script.add(Command {
                    reach: template.reach,
                    carrier: template.carrier,
                    depth: template.depth,
                    variant: template.variant,
                    cwd: template.cwd.clone(),
                    ..command
                });
            }
        }
    }

    /// Looks into every command not looked into yet.
    fn follow(&mut self) {
        while let Some(command) = self.script.commands.get_mut(self.done) {
            // Nothing that is looked up meanwhile is this command itself.
            let command = std::mem::take(command);
            let index = self.done;
            self.done += 1;
            if !command.words.is_empty() {
                self.look_into(index, &command);
            }
            if let Some(place) = self.script.commands.get_mut(index) {
                *place = command;
            }
        }
    }

    fn look_into(&mut self, index: usize, command: &Command) {
        if command.depth >= MAX_PAYLOAD_DEPTH {
            self.script.unread |= programs::shell_text(command).is_some();
            return;
        }
        self.follow_words(index, command);
        self.follow_text(index, command);
        self.follow_name(index, command);
    }

    fn follow_words(&mut self, index: usize, command: &Command) {
        for carried in wrapper::carried(&command.words) {
            let mut words = carried.words;
            if carried.via == Via::Xargs {
                self.add_input(command, &mut words);
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
                environment: Rc::new(carried.environment),
                ..command.clone()
            });
        }
    }

    /// What `xargs` and `parallel` add to a command: words of their input, at the end or in place of a
    /// placeholder.
    fn add_input(&self, command: &Command, words: &mut Vec<Word>) {
        let input = self.piped_text(command).or_else(|| {
            let mut inner = command.args().iter().flat_map(|word| &word.inner);
            inner.find_map(|inner| inner.output.clone())
        });
        let placeholder = wrapper::placeholder(command.args());
        let Some(placeholder) = placeholder else {
            // A shell takes the first of them for its text.
            if input.is_none()
                && words
                    .first()
                    .is_some_and(|word| is_shell(basename(&word.text)))
            {
                words.push(Word {
                    dynamic: true,
                    ..Word::constant("$input")
                });
            }
            let piped = input.unwrap_or_default();
            let items = piped.split(|c: char| c.is_ascii_whitespace() || c == '\0');
            let items = items.filter(|item| !item.is_empty());
            words.extend(items.map(Word::constant));
            return;
        };
        for word in words {
            match &input {
                Some(text) => word.text = word.text.replace(&placeholder, text.trim()),
                None => word.dynamic |= word.text == placeholder,
            }
        }
    }

    /// The text that arrives at a command through its pipe, or as its own input. What is not known
    /// of it stays as written, so that the rest is read all the same.
    fn piped_text(&self, command: &Command) -> Option<String> {
        if let Some(stdin) = &command.stdin {
            return Some(stdin.word.text.clone());
        }
        let mut inputs = command.redirects.iter().filter(|input| !input.writes);
        let printed = inputs.find_map(|input| {
            let mut inner = input.target.inner.iter();
            inner.find_map(|inner| inner.output.clone())
        });
        if printed.is_some() {
            return printed;
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

    /// A command that is carried by another as text.
    fn carried_text(index: usize, command: &Command) -> Command {
        Command {
            reach: match command.reach {
                Reach::Container => Reach::Container,
                Reach::Direct | Reach::Payload => Reach::Payload,
            },
            carrier: Some((index, Via::Text)),
            depth: command.depth + 1,
            variant: command.variant,
            pipe: command.pipe,
            lexical: command.lexical,
            cwd: command.cwd.clone(),
            ..Command::default()
        }
    }

    fn follow_text(&mut self, index: usize, command: &Command) {
        let shell_text = match programs::shell_text(command) {
            Some(ShellInput::Text(word)) => Some(word.text),
            Some(ShellInput::Joined(text)) => Some(text),
            Some(ShellInput::Stdin) => {
                let text = self.piped_text(command);
                let piped = command.stdin.is_none() && self.script.is_fed_by_a_pipe(command);
                let mut sources = self.script.upstream(command).into_iter();
                let unknown = sources.any(|source| source.args().iter().any(|word| word.dynamic));
                if piped && (text.is_none() || unknown) {
                    self.script.unknown_input.insert(index);
                }
                text
            }
            Some(ShellInput::File(file)) => {
                file.inner.iter().find_map(|inner| inner.output.clone())
            }
            None => None,
        };
        let shell_text = shell_text.or_else(|| self.written_text(index, command));
        let program = programs::program_option(command).and_then(|(_, program)| program);
        let positional = programs::shell_parameters(command);
        let texts = shell_text.into_iter().chain(program);
        for text in texts.chain(tool_text::texts(command)) {
            self.read(&text, Self::carried_text(index, command), positional);
        }
    }

    /// The text of a script that the command line itself wrote before it runs it:
    /// `echo … > x; sh x`.
    fn written_text(&self, index: usize, command: &Command) -> Option<String> {
        let word = command.words.first()?;
        let file = match programs::shell_text(command) {
            Some(ShellInput::File(file)) => file,
            None if word.text.contains('/') => word.clone(),
            _ => return None,
        };
        let plain = |path: &str| path.trim_start_matches("./").to_owned();
        let file = plain(&file.text);
        let before = self.script.commands.get(..index)?;
        before.iter().rev().find_map(|source| {
            let mut targets = source.redirects.iter().filter(|redirect| redirect.writes);
            let is_tee = source.name() == "tee";
            let written = targets.any(|redirect| plain(&redirect.target.text) == file)
                || (is_tee && source.texts().any(|text| plain(text) == file));
            match (written, source.name()) {
                (false, _) => None,
                (true, "echo" | "printf") => substitution::output(&source.words),
                (true, _) => self.piped_text(source),
            }
        })
    }

    /// Calls of aliases and functions, of the text or of the shell.
    fn follow_name(&mut self, index: usize, command: &Command) {
        let Some(word) = command.words.first().filter(|word| !word.dynamic) else {
            return;
        };
        let name = word.text.as_str();
        if name.is_empty() || name.contains('/') || self.is_expansion_of(command, name) {
            return;
        }
        let alias = self.scope.aliases.get(name).cloned();
        if let Some(value) = alias.or_else(|| self.scope.shell.alias(name)) {
            let mut text = value;
            for word in command.args() {
                text.push(' ');
                if word.glob || word.dynamic {
                    text.push_str(&word.text);
                } else {
                    text.push_str(&quoted(&word.text));
                }
            }
            let template = Command {
                carrier: Some((index, Via::Wrapper)),
                reach: command.reach,
                ..Self::carried_text(index, command)
            };
            self.read(&text, template, None);
        }
        let mut functions = self.script.functions.iter().rev();
        let body = match functions.find(|function| function.name == name) {
            Some(function) => function.body.clone(),
            None => self
                .scope
                .shell
                .function(name)
                .map(|text| Rc::from(body_of(&text))),
        };
        if let Some(body) = body {
            let template = Self::carried_text(index, command);
            self.read(&body, template, Some(command.args()));
        }
    }

    /// Whether a command came out of a call of this very name: what calls itself is looked into once.
    fn is_expansion_of(&self, command: &Command, name: &str) -> bool {
        let mut next = command.carrier;
        while let Some((index, _)) = next {
            let Some(carrier) = self.script.commands.get(index) else {
                return false;
            };
            if carrier.words.first().is_some_and(|word| word.text == name) {
                return true;
            }
            next = carrier.carrier;
        }
        false
    }
}

/// Commands by how they read, to find one among them.
enum KnownCommands {
    /// So few that looking at all of them is faster than a table.
    Few(Vec<String>),
    Many(HashSet<String>),
}

impl KnownCommands {
    const FEW: usize = 16;

    fn of(commands: &[Command]) -> Self {
        let lines = commands.iter().map(|command| command.render(false));
        if commands.len() <= Self::FEW {
            Self::Few(lines.collect())
        } else {
            Self::Many(lines.collect())
        }
    }

    fn contains(&self, command: &Command) -> bool {
        let line = command.render(false);
        match self {
            Self::Few(lines) => lines.contains(&line),
            Self::Many(lines) => lines.contains(&line),
        }
    }
}

/// The body of a function as a shell prints it: without its name in front, and without what may stand
/// behind it.
fn body_of(definition: &str) -> &str {
    let from = definition.find('{').unwrap_or(0);
    let to = definition.rfind('}').map_or(definition.len(), |at| at + 1);
    definition.get(from..to).unwrap_or(definition)
}

/// A word as it has to be written to be read as this text.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=~+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
