//! The parts of a script, as the rules see them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// One field of a simple command, quotes and known expansions resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Its value. `~` in front always means the home directory; a file of that name reads `./~`.
    /// What cannot be known stays as written (`$NAME`, `$(…)`).
    pub text: String,
    /// Where it stands in the source; `None` inside payloads.
    pub span: Option<Range<usize>>,
    /// Some part is only known when it runs.
    pub dynamic: bool,
    /// An unquoted `*`, `?` or `[` is in it.
    pub glob: bool,
    /// Substitutions inside it.
    pub inner: Vec<Inner>,
}

impl Word {
    /// A constant word that does not stand in the source.
    pub fn constant(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A substitution inside a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner {
    pub form: InnerForm,
    /// Basenames of the commands in it, the first few.
    pub names: Vec<String>,
    /// What it prints, where that is known.
    pub output: Option<String>,
}

/// How a substitution is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InnerForm {
    /// `$(…)`
    Dollar,
    Backtick,
    /// `<(…)` or `>(…)`
    Process,
}

/// A file redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub writes: bool,
    /// The file, or a descriptor number for `2>&1`.
    pub target: Word,
}

/// Text that a command gets on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdinText {
    pub word: Word,
    /// A here-document, not a here-string.
    pub heredoc: bool,
}

/// A position in a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipePosition {
    /// Which pipeline.
    pub pipeline: usize,
    /// Which stage of it, from 0.
    pub stage: usize,
}

/// How a command is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// It stands in the command line, perhaps behind `sudo`, `env`, `time` and the like.
    #[default]
    Direct,
    /// It is carried by an argument or by input of another command.
    Payload,
    /// It runs inside a container that another command enters.
    Container,
}

/// Which command carries this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// A wrapper such as `sudo`.
    Wrapper,
    /// `xargs`, `parallel`.
    Xargs,
    /// `find -exec`, `-execdir`, `-ok`, `-okdir`.
    FindExec,
    /// Text: `-c`, `eval`, a here-document, a program named by an option of a reading tool.
    Text,
}

/// A simple command.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// Command word and arguments; empty for bare redirections and assignments.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Variables set in front of it, for it alone.
    pub environment: Rc<Vec<(String, Word)>>,
    /// The directory it runs in, where that is known; may begin with `~`.
    pub cwd: Option<Rc<str>>,
    /// A here-document or here-string for it.
    pub stdin: Option<Rc<StdinText>>,
    /// The innermost pipeline it is part of.
    pub pipe: Option<PipePosition>,
    /// Its list ends with `&`.
    pub background: bool,
    /// The function whose body it is in, as an index into [`Script::functions`].
    pub function: Option<usize>,
    pub reach: Reach,
    /// Which command carries it, as an index into [`Script::commands`], and how.
    pub carrier: Option<(usize, Via)>,
    /// Payloads around it.
    pub depth: u8,
    /// Found by the tolerant reader only, or carried by what was: a second opinion, which counts
    /// where a miss cannot be made good.
    pub lexical: bool,
    /// Found in the normalised text only.
    pub variant: bool,
}

impl Command {
    /// The command word without its directory; empty if there is none.
    pub fn name(&self) -> &str {
        self.words.first().map_or("", |word| basename(&word.text))
    }

    /// The words behind the command word.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Values of the words behind the command word.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.args().iter().map(|word| word.text.as_str())
    }

    /// Whether its command word names a directory too.
    pub fn is_named_by_path(&self) -> bool {
        let first = self.words.first();
        first.is_some_and(|word| word.text.contains('/'))
    }

    /// Whether what is made from this one stands in the text that was given, byte for byte.
    pub(crate) fn is_source(&self) -> bool {
        self.depth == 0 && !self.variant && self.carrier.is_none()
    }

    /// The command on one line, its word as written or as basename.
    pub fn render(&self, with_basename: bool) -> String {
        let length = self.words.iter().map(|word| word.text.len() + 1).sum();
        let mut line = String::with_capacity(length);
        for (at, word) in self.words.iter().enumerate() {
            if at > 0 {
                line.push(' ');
            }
            let named = at == 0 && with_basename;
            line.push_str(if named {
                basename(&word.text)
            } else {
                &word.text
            });
        }
        line
    }
}

/// A function that a text defines.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// Its body, where a call has to be looked into because it depends on the words of the call.
    pub body: Option<Rc<str>>,
}

/// Everything a text would run.
#[derive(Debug, Default)]
pub struct Script {
    /// All commands, carriers before what they carry.
    pub commands: Vec<Command>,
    /// For each pipeline the position it has in an outer one.
    pub pipelines: Vec<Option<PipePosition>>,
    pub functions: Vec<Function>,
    /// The grammar did not fit, or a limit was reached: there may be more than was found.
    pub incomplete: bool,
    /// A limit was reached and part of the text was not read.
    pub unread: bool,
    /// A list of the source itself ends with `&`.
    pub background: bool,
    /// Commands whose payload the grammar did not fit, by index.
    pub unclear: BTreeSet<usize>,
    /// Shells that are given text by a pipe of which not everything is known, by index.
    pub unknown_input: BTreeSet<usize>,
    /// Commands by pipeline and stage, those in inner pipelines included.
    by_position: BTreeMap<PipePosition, Vec<usize>>,
}

/// Outer pipelines looked at; nobody writes more by hand.
const MAX_PIPE_NESTING: usize = 16;
/// Commands in front of one in its pipeline that are looked at.
const MAX_UPSTREAM: usize = 64;

impl Script {
    pub(crate) fn add(&mut self, command: Command) {
        let index = self.commands.len();
        for position in self.positions(command.pipe) {
            self.by_position.entry(position).or_default().push(index);
        }
        self.commands.push(command);
    }

    /// Commands that are there without doubt; all that was found, when the grammar did not fit.
    pub fn certain(&self) -> impl Iterator<Item = (usize, &Command)> {
        let commands = self.commands.iter().enumerate();
        commands.filter(|(_, command)| self.incomplete || !command.lexical)
    }

    /// Commands that write into the standard input of this one.
    pub fn upstream<'s>(&'s self, command: &Command) -> Vec<&'s Command> {
        let positions = self.positions(command.pipe);
        positions
            .iter()
            .flat_map(|&position| {
                let first = PipePosition {
                    stage: 0,
                    ..position
                };
                self.by_position.range(first..position).rev()
            })
            .flat_map(|(_, indices)| indices)
            .filter_map(|&index| self.commands.get(index))
            .take(MAX_UPSTREAM)
            .collect()
    }

    /// Whether its standard input comes from another command of the text.
    pub fn is_fed_by_a_pipe(&self, command: &Command) -> bool {
        let positions = self.positions(command.pipe);
        positions.iter().any(|position| position.stage > 0)
    }

    fn positions(&self, innermost: Option<PipePosition>) -> Vec<PipePosition> {
        let mut found = Vec::new();
        let mut next = innermost;
        while let Some(position) = next {
            found.push(position);
            if found.len() == MAX_PIPE_NESTING {
                break;
            }
            next = self.pipelines.get(position.pipeline).copied().flatten();
        }
        found
    }
}

/// Those of these words that are neither options nor values of the options in `with_value`.
pub fn operands<'w>(
    words: impl IntoIterator<Item = &'w str>,
    with_value: &'static str,
) -> impl Iterator<Item = &'w str> {
    let mut takes_value = false;
    words.into_iter().filter(move |text| {
        let is_value = std::mem::take(&mut takes_value);
        takes_value = is_one_of(text, with_value);
        !is_value && !text.starts_with('-')
    })
}

/// Those of these words that are not options: all behind `--`, and `-` as well.
pub fn file_operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    let dashes = args.iter().position(|word| word.text == "--");
    args.iter().enumerate().filter_map(move |(at, word)| {
        let behind = dashes.is_some_and(|dashes| at > dashes);
        (behind || !word.text.starts_with('-') || word.text == "-").then_some(word)
    })
}

/// Whether a word is one of those in a list with blanks between.
pub fn is_one_of(text: &str, list: &str) -> bool {
    let (text, list) = (text.as_bytes(), list.as_bytes());
    let Some(&first) = text.first() else {
        return false;
    };
    // The rules look words up all the time, and most are in no list.
    memchr::memchr_iter(first, list).any(|at| {
        let is_start = at == 0 || list.get(at - 1) == Some(&b' ');
        let end = at + text.len();
        is_start && list.get(at..end) == Some(text) && matches!(list.get(end), None | Some(b' '))
    })
}

/// Whether a word is a long option, perhaps shortened to no less than `fewest` characters.
pub fn is_long(text: &str, option: &str, fewest: usize) -> bool {
    let written = text.split('=').next().unwrap_or_default();
    written.len() >= fewest && option.starts_with(written)
}

/// The last part of a path.
pub fn basename(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    match memchr::memrchr(b'/', path.as_bytes()) {
        Some(at) => path.get(at + 1..).unwrap_or_default(),
        None => path,
    }
}
