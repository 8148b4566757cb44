//! SQL that loses data, in what a database client is given.

use super::super::keys;
use super::{Call, Keys};
use hermes_shell::Command;

pub(super) fn rules(call: &Call<'_>, keys: &mut Keys) {
    match call.name() {
        "dropdb" => keys.push(keys::SQL_DROP),
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlite" | "sqlcmd" | "clickhouse-client"
        | "clickhouse" | "duckdb" | "cockroach" | "bq" | "mycli" | "pgcli" | "usql" | "snowsql"
        | "litecli" => {
            let upstream = call.script.upstream(call.command);
            let given = call.command.texts().flat_map(spellings);
            let given = given.chain(stdin_of(call.command));
            let piped = upstream.into_iter().flat_map(|source| {
                let prints = matches!(source.name(), "echo" | "printf");
                let printed = source.texts().filter(move |_| prints);
                stdin_of(source).into_iter().chain(printed)
            });
            for text in given.chain(piped) {
                statements(text, keys);
            }
        }
        _ => {}
    }
}

/// The texts that a word may be: itself, and the value of `--command=DROP …` or `-e'DROP …'`.
fn spellings(text: &str) -> impl Iterator<Item = &str> {
    let long = text.split_once('=').filter(|_| text.starts_with("--"));
    let short = text.strip_prefix("-e").or_else(|| text.strip_prefix("-c"));
    let values = [Some(text), long.map(|(_, value)| value), short];
    values.into_iter().flatten()
}

fn stdin_of(command: &Command) -> Option<&str> {
    Some(&command.stdin.as_ref()?.word.text)
}

/// Checks each statement of a text by its words, comments and quoted strings left out.
fn statements(text: &str, keys: &mut Keys) {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    let mut word = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\'' => while rest.next().is_some_and(|c| c != '\'') {},
            '-' if rest.peek() == Some(&'-') => while rest.next().is_some_and(|c| c != '\n') {},
            '/' if rest.peek() == Some(&'*') => {
                let mut star = false;
                for c in rest.by_ref() {
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            c if c.is_alphanumeric() || c == '_' => {
                word.extend(c.to_uppercase());
                continue;
            }
            _ => {}
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c == ';' {
            check_statement(&words, keys);
            words.clear();
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    check_statement(&words, keys);
}

fn check_statement(words: &[String], keys: &mut Keys) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let follows = |first: &str, second: &[&str]| {
        words
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if *a == first && second.contains(b)))
    };
    if follows("DROP", &["TABLE", "DATABASE", "SCHEMA"]) {
        keys.push(keys::SQL_DROP);
    }
    if follows("DELETE", &["FROM"]) && !words.contains(&"WHERE") {
        keys.push(keys::SQL_DELETE);
    }
    if words.first() == Some(&"TRUNCATE") && words.len() > 1 {
        keys.push(keys::SQL_TRUNCATE);
    }
}
