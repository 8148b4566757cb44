//! From the syntax tree to commands.
//!
//! The walk keeps its own stack, because a list of forty thousand commands is a tree that deep, and
//! visits each node once. It follows every node, known or not, so that a substitution in an odd
//! inherited is found all the same.

use std::rc::Rc;

use tree_sitter::{Node, Tree};

use crate::effects;
use crate::heredoc::{self, Substitution};
use crate::kind::kind;
use crate::model::{Command, Function, PipePosition, Redirect, Script, StdinText, Word};
use crate::scope::Scope;
use crate::stages::stages;
use crate::word;

#[derive(Clone, Default)]
struct Inherited<'t> {
    pipe: Option<PipePosition>,
    background: bool,
    function: Option<usize>,
    stdin: Option<Rc<StdinText>>,
    redirects: Option<Rc<Vec<Node<'t>>>>,
    /// Kind of the node above; asking the tree would climb down from its root.
    parent: &'t str,
}

/// Nodes still to be visited, the next one last.
type Stack<'t> = Vec<(Node<'t>, Inherited<'t>)>;

/// Text of backtick substitutions, which must be read once more without its escapes.
pub(crate) struct Backtick {
    pub(crate) text: String,
    pub(crate) function: Option<usize>,
}

pub(crate) struct Walker<'w, 's> {
    pub(crate) source: &'w str,
    pub(crate) scope: &'w mut Scope<'s>,
    pub(crate) script: &'w mut Script,
    /// What every command found in the text inherits from where the text comes from.
    pub(crate) template: &'w Command,
    pub(crate) backticks: Vec<Backtick>,
    /// Ends of the subshells around the place that is read, and the directory outside each.
    pub(crate) subshells: Vec<(usize, Option<Rc<str>>)>,
}

impl<'w> Walker<'w, '_> {
    pub(crate) fn walk(&mut self, tree: &Tree) {
        let inherited = Inherited {
            pipe: self.template.pipe,
            function: self.template.function,
            ..Inherited::default()
        };
        let mut stack = vec![(tree.root_node(), inherited)];
        while let Some((node, inherited)) = stack.pop() {
            self.leave_subshells(node.start_byte());
            self.visit(node, inherited, &mut stack);
        }
        self.leave_subshells(usize::MAX);
    }

    /// A directory that a subshell entered is left with it.
    fn leave_subshells(&mut self, at: usize) {
        while let Some((_, outside)) = self.subshells.pop_if(|(end, _)| *end <= at) {
            self.scope.cwd = outside;
        }
    }

    fn visit<'t>(&mut self, node: Node<'t>, inherited: Inherited<'t>, stack: &mut Stack<'t>) {
        match kind(node) {
            "command" | "declaration_command" | "unset_command" => self.command(node, &inherited),
            "variable_assignment" => self.assignment(node, &inherited),
            "redirected_statement" => return self.redirected(node, inherited, stack),
            "pipeline" => return self.pipeline(node, inherited, stack),
            "for_statement" => self.loop_variable(node),
            "heredoc_redirect" => self.heredoc_backticks(node, inherited.function),
            "subshell"
            | "command_substitution"
            | "process_substitution"
            | "function_definition" => {
                let outside = self.scope.cwd.clone();
                self.subshells.push((node.end_byte(), outside));
            }
            _ => {}
        }
        match kind(node) {
            "command_substitution" if self.text(node).starts_with('`') => {
                let text = self.text(node);
                let inner = text.trim_start_matches('`').trim_end_matches('`');
                self.backticks.push(Backtick {
                    text: heredoc::unescape(inner),
                    function: inherited.function,
                });
                return;
            }
            _ => {}
        }
        let mut below = inherited.clone();
        below.parent = kind(node);
        match kind(node) {
            "function_definition" => {
                let name = node.child_by_field_name("name");
                let name = name.map_or("", |name| self.text(name));
                below.function = Some(self.script.functions.len());
                let body = node.child_by_field_name("body");
                let body = body.map(|body| self.text(body));
                let depends = body.filter(|body| effects::uses_parameters(body));
                self.script.functions.push(Function {
                    name: name.to_owned(),
                    body: depends.map(Rc::from),
                });
                below.redirects = None;
                below.background = false;
            }
            // Passed on to the last command, as the shell does it.
            "list" | "negated_command" => {}
            "command" | "command_substitution" | "process_substitution" => {
                below.redirects = None;
                below.stdin = None;
                below.background = false;
                below.pipe = self.template.pipe;
            }
            _ => {
                self.redirects_of_group(&inherited, &mut below);
            }
        }
        self.push_children(node, &below, stack);
    }

    /// Children in the order of the text, each with whether `&` ends it.
    fn push_children<'t>(
        &mut self,
        node: Node<'t>,
        inherited: &Inherited<'t>,
        stack: &mut Stack<'t>,
    ) {
        // Most of a command is plain words, in which nothing runs.
        let words = kind(node) == "command";
        let is_leaf = |child: Node<'_>| {
            words
                && child.child_count() == 0
                && matches!(kind(child), "word" | "number" | "raw_string")
        };
        let expression = matches!(
            kind(node),
            "binary_expression" | "parenthesized_expression" | "arithmetic_expansion"
        );
        let first = stack.len();
        let mut is_pushed = false;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.is_named() {
                is_pushed = !is_leaf(child);
                if is_pushed {
                    stack.push((child, inherited.clone()));
                }
            } else if kind(child) == "&" && !expression {
                if self.template.is_source() {
                    self.script.background = true;
                }
                if is_pushed && let Some((_, before)) = stack.last_mut() {
                    before.background = true;
                }
            }
        }
        if matches!(kind(node), "list" | "negated_command") {
            let last = stack.len().saturating_sub(1);
            for (index, (_, inherited)) in stack.iter_mut().enumerate().skip(first) {
                if index != last {
                    inherited.redirects = None;
                    inherited.stdin = None;
                }
            }
        }
        if let Some(pushed) = stack.get_mut(first..) {
            pushed.reverse();
        }
    }

    fn text(&self, node: Node<'_>) -> &'w str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    /// A command as found, not yet with words.
    fn new_command(&self, inherited: &Inherited<'_>) -> Command {
        Command {
            pipe: inherited.pipe,
            background: inherited.background,
            function: inherited.function,
            stdin: inherited.stdin.clone(),
            cwd: self.scope.cwd.clone(),
            environment: Rc::default(),
            ..self.template.clone()
        }
    }

    fn emit(&mut self, mut command: Command) {
        if !self.template.is_source() {
            for word in &mut command.words {
                word.span = None;
            }
        }
        self.script.add(command);
    }

    /// A command with the redirections around it.
    fn emit_with_redirects(&mut self, mut command: Command, inherited: &Inherited<'_>) {
        for redirect in inherited.redirects.iter().flat_map(|all| all.iter()) {
            self.redirect(*redirect, &mut command);
        }
        effects::apply(&command, self.scope);
        self.emit(command);
    }

    fn fields(&mut self, node: Node<'_>) -> Vec<Word> {
        word::fields(self.source, self.scope, node, 0)
    }

    fn single(&mut self, node: Node<'_>) -> Word {
        word::single(self.source, self.scope, node, 0)
    }

    fn fields_of(&mut self, nodes: Vec<Node<'_>>) -> Vec<Word> {
        let nodes = nodes.into_iter();
        nodes.flat_map(|node| self.fields(node)).collect()
    }

    /// A command; with `export`, `declare`, `unset` and relatives, assignments are arguments that last.
    fn command(&mut self, node: Node<'_>, inherited: &Inherited<'_>) {
        let is_declaration = kind(node) != "command";
        let mut command = self.new_command(inherited);
        let mut environment = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match kind(child) {
                "variable_assignment" if is_declaration => {
                    let (name, words) = self.assigned(child);
                    self.scope.assign(name, &words);
                    let value = words.into_iter().next().unwrap_or_default();
                    command.words.push(Word {
                        text: format!("{name}={}", value.text),
                        ..value
                    });
                }
                _ if is_declaration => command.words.extend(self.fields(child)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, &mut command);
                }
                // The shell does not keep an assignment in front of a command.
                "variable_assignment" => {
                    let (name, words) = self.assigned(child);
                    let value = words.into_iter().next().unwrap_or_default();
                    environment.push((name.to_owned(), value));
                }
                "subshell" | "comment" => {}
                _ => command.words.extend(self.fields(child)),
            }
        }
        if !environment.is_empty() {
            command.environment = Rc::new(environment);
        }
        self.emit_with_redirects(command, inherited);
    }

    /// An assignment that stands alone.
    fn assignment(&mut self, node: Node<'_>, inherited: &Inherited<'_>) {
        if matches!(inherited.parent, "command" | "declaration_command") {
            return;
        }
        let (name, words) = self.assigned(node);
        self.scope.assign(name, &words);
        let mut command = self.new_command(inherited);
        let value = words.into_iter().next().unwrap_or_default();
        command.environment = Rc::new(vec![(name.to_owned(), value)]);
        self.emit_with_redirects(command, inherited);
    }

    fn assigned(&mut self, node: Node<'_>) -> (&'w str, Vec<Word>) {
        let name = node.child_by_field_name("name");
        let name = name.map_or("", |name| self.text(name));
        let words = match node.child_by_field_name("value") {
            Some(array) if kind(array) == "array" => {
                let mut cursor = array.walk();
                self.fields_of(array.named_children(&mut cursor).collect())
            }
            Some(value) => vec![self.single(value)],
            None => vec![Word::default()],
        };
        (name, words)
    }

    fn loop_variable(&mut self, node: Node<'_>) {
        let Some(variable) = node.child_by_field_name("variable") else {
            return;
        };
        let mut cursor = node.walk();
        let values = node.children_by_field_name("value", &mut cursor).collect();
        let words = self.fields_of(values);
        self.scope.assign(self.text(variable), &words);
    }

    /// `body > file`: the redirections go down to the command or group they belong to.
    fn redirected<'t>(
        &mut self,
        node: Node<'t>,
        mut inherited: Inherited<'t>,
        stack: &mut Stack<'t>,
    ) {
        let mut redirects = inherited
            .redirects
            .take()
            .map_or_else(Vec::new, |r| r.to_vec());
        let mut body = None;
        let mut followers: Vec<(Node<'t>, bool)> = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match kind(child) {
                "file_redirect" | "herestring_redirect" => redirects.push(child),
                "heredoc_redirect" => {
                    redirects.push(child);
                    self.behind_heredoc(child, &mut redirects, &mut followers);
                }
                "comment" => {}
                _ if body.is_none() => body = Some(child),
                _ => followers.push((child, false)),
            }
        }
        let piped = followers.iter().any(|(_, piped)| *piped);
        let outer = inherited.pipe;
        if piped {
            let pipeline = self.script.pipelines.len();
            self.script.pipelines.push(outer);
            inherited.pipe = Some(PipePosition { pipeline, stage: 0 });
        }
        // Last pushed, first visited: followers, then what the redirections contain, then the body.
        for (follower, piped) in followers.into_iter().rev() {
            let mut behind = Inherited {
                pipe: outer,
                redirects: None,
                stdin: None,
                parent: "heredoc_redirect",
                ..inherited.clone()
            };
            if let (true, Some(first)) = (piped, inherited.pipe) {
                behind.pipe = Some(PipePosition {
                    stage: first.stage + 1,
                    ..first
                });
            }
            stack.push((follower, behind));
        }
        let inside = Inherited {
            pipe: self.template.pipe,
            function: inherited.function,
            parent: "file_redirect",
            ..Inherited::default()
        };
        for redirect in redirects.iter().rev() {
            self.push_redirect_contents(*redirect, &inside, stack);
        }
        inherited.redirects = Some(Rc::new(redirects));
        inherited.parent = "redirected_statement";
        match body {
            Some(body) => stack.push((body, inherited)),
            None => {
                let mut below = inherited.clone();
                self.redirects_of_group(&inherited, &mut below);
            }
        }
    }

    /// Commands and redirections that stand on the line of `<<WORD`.
    fn behind_heredoc<'t>(
        &mut self,
        heredoc: Node<'t>,
        redirects: &mut Vec<Node<'t>>,
        followers: &mut Vec<(Node<'t>, bool)>,
    ) {
        let mut cursor = heredoc.walk();
        for child in heredoc.children(&mut cursor) {
            match kind(child) {
                "file_redirect" | "herestring_redirect" => redirects.push(child),
                "pipeline" => followers.push((child, true)),
                "ERROR" => {
                    let mut inner = child.walk();
                    let background = child.children(&mut inner).any(|token| kind(token) == "&");
                    if background && self.template.is_source() {
                        self.script.background = true;
                    }
                    followers.push((child, false));
                }
                "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor" => {}
                _ if child.is_named() => followers.push((child, false)),
                _ => {}
            }
        }
    }

    /// Substitutions inside file names and here-documents run as well.
    fn push_redirect_contents<'t>(
        &mut self,
        redirect: Node<'t>,
        inherited: &Inherited<'t>,
        stack: &mut Stack<'t>,
    ) {
        if kind(redirect) == "heredoc_redirect" {
            self.heredoc_backticks(redirect, inherited.function);
        }
        let mut cursor = redirect.walk();
        for child in redirect.named_children(&mut cursor) {
            let visited_separately =
                kind(redirect) == "heredoc_redirect" && kind(child) != "heredoc_body";
            if !visited_separately {
                stack.push((child, inherited.clone()));
            }
        }
    }

    fn pipeline<'t>(&mut self, node: Node<'t>, inherited: Inherited<'t>, stack: &mut Stack<'t>) {
        // The part of a pipeline behind a here-document continues the one before it.
        let continues = inherited.parent == "heredoc_redirect";
        let (pipeline, first_stage) = match (continues, inherited.pipe) {
            (true, Some(at)) => (at.pipeline, at.stage),
            _ => {
                self.script.pipelines.push(inherited.pipe);
                (self.script.pipelines.len() - 1, 0)
            }
        };
        let outer = self.script.pipelines.get(pipeline).copied().flatten();
        let first = stack.len();
        let (stages, followers) = stages(node);
        for (index, child) in stages.into_iter().enumerate() {
            let mut below = inherited.clone();
            below.parent = "pipeline";
            below.pipe = Some(PipePosition {
                pipeline,
                stage: first_stage + index,
            });
            below.redirects = None;
            if index > 0 {
                below.stdin = None;
            }
            stack.push((child, below));
        }
        for follower in followers {
            let below = Inherited {
                parent: "list",
                pipe: outer,
                redirects: None,
                ..inherited.clone()
            };
            stack.push((follower, below));
        }
        if let (Some(redirects), Some((_, last))) = (inherited.redirects, stack.last_mut()) {
            last.redirects = Some(redirects);
        }
        if let Some(pushed) = stack.get_mut(first..) {
            pushed.reverse();
        }
    }

    /// Redirections of a group become a command of their own; its input is that of its commands.
    fn redirects_of_group<'t>(&mut self, inherited: &Inherited<'t>, below: &mut Inherited<'t>) {
        let Some(redirects) = &inherited.redirects else {
            return;
        };
        let mut command = self.new_command(inherited);
        for redirect in redirects.iter() {
            self.redirect(*redirect, &mut command);
        }
        below.redirects = None;
        if command.stdin.is_some() {
            below.stdin.clone_from(&command.stdin);
        }
        if !command.redirects.is_empty() {
            command.stdin = None;
            self.emit(command);
        }
    }

    fn redirect(&mut self, node: Node<'_>, command: &mut Command) {
        match kind(node) {
            "file_redirect" => {
                let mut cursor = node.walk();
                let writes = node
                    .children(&mut cursor)
                    .any(|child| !child.is_named() && kind(child).contains('>'))
                    || node.has_error();
                let mut cursor = node.walk();
                let targets: Vec<Node<'_>> = node
                    .children_by_field_name("destination", &mut cursor)
                    .collect();
                for (index, target) in targets.into_iter().enumerate() {
                    // The grammar takes words behind a file name as further files; they are
                    // arguments.
                    if index == 0 {
                        let target = self.single(target);
                        command.redirects.push(Redirect { writes, target });
                    } else {
                        command.words.extend(self.fields(target));
                    }
                }
            }
            "herestring_redirect" => {
                if let Some(value) = node.named_child(
                    u32::try_from(node.named_child_count().saturating_sub(1)).unwrap_or(0),
                ) {
                    let word = self.single(value);
                    command.stdin = Some(Rc::new(StdinText {
                        word,
                        heredoc: false,
                    }));
                }
            }
            "heredoc_redirect" => self.heredoc(node, command),
            _ => {}
        }
    }

    /// The body of a here-document, and whether its delimiter is quoted.
    fn heredoc_body<'t>(&self, redirect: Node<'t>) -> (Option<Node<'t>>, bool) {
        let mut quoted = false;
        let mut body = None;
        let mut cursor = redirect.walk();
        for child in redirect.named_children(&mut cursor) {
            match kind(child) {
                "heredoc_start" => quoted = self.text(child).contains(['\'', '"', '\\']),
                "heredoc_body" => body = Some(child),
                _ => {}
            }
        }
        (body, quoted)
    }

    /// Backticks run in a body whose delimiter is not quoted; to the grammar they are plain text.
    fn heredoc_backticks(&mut self, redirect: Node<'_>, function: Option<usize>) {
        let (Some(body), false) = self.heredoc_body(redirect) else {
            return;
        };
        for found in heredoc::substitutions(self.text(body)) {
            if let Substitution::Backtick(text) = found {
                self.backticks.push(Backtick { text, function });
            }
        }
    }

    fn heredoc(&mut self, node: Node<'_>, command: &mut Command) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if let "word"
            | "concatenation"
            | "string"
            | "raw_string"
            | "number"
            | "simple_expansion"
            | "expansion"
            | "command_substitution" = kind(child)
            {
                command.words.extend(self.fields(child));
            }
        }
        let word = match self.heredoc_body(node) {
            // Substitutions and variables inside; the word reader fills in what is known.
            (Some(body), false) => {
                let mut word = self.single(body);
                let text = self.text(body);
                word.dynamic |= text.contains('`') && !heredoc::substitutions(text).is_empty();
                word
            }
            (Some(body), true) => Word::constant(self.text(body)),
            (None, _) => Word::default(),
        };
        command.stdin = Some(Rc::new(StdinText {
            word,
            heredoc: true,
        }));
    }
}
