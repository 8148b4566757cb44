//! Commands that would leave something behind or never return, and belong in the background.
//!
//! Only what stands in the command line itself counts: a script that a shell is given may start
//! what it likes, it is ended with the command.

use hermes_shell::{Analysis, Command, Reach, Via, operands};

/// Why a command should not run in the foreground, if so.
pub(crate) fn foreground_refusal(analysis: &Analysis<'_>) -> Option<String> {
    if analysis.too_long {
        return None;
    }
    let script = &analysis.script;
    let own = |command: &&Command| {
        !command.variant
            && !command.lexical
            && command.reach == Reach::Direct
            && command.carrier.is_none_or(|(_, via)| via == Via::Wrapper)
    };
    let detached = script.commands.iter().filter(own).find(|command| {
        matches!(command.name(), "nohup" | "setsid" | "disown") && !asks_for_help(command)
    });
    if let Some(command) = detached {
        return Some(format!(
            "'{}' would leave a process behind that nobody watches. Run the command itself with \
             background=true; its output and exit code are kept for you.",
            command.name()
        ));
    }
    if script.background {
        return Some(
            "'&' would leave a process behind that nobody watches. Run the command without it, \
             with background=true."
                .to_owned(),
        );
    }
    let server = script
        .commands
        .iter()
        .filter(own)
        .find(|command| is_server(command) && !asks_for_help(command))?;
    let shown: String = server.render(true).chars().take(60).collect();
    Some(format!(
        "'{shown}' starts a server that does not return. Run it with background=true, then look at \
         its output with the process tool."
    ))
}

fn asks_for_help(command: &Command) -> bool {
    command
        .texts()
        .any(|text| matches!(text, "--help" | "--version"))
        || command
            .texts()
            .last()
            .is_some_and(|text| matches!(text, "-h" | "-v"))
}

fn is_server(command: &Command) -> bool {
    let args: Vec<&str> = command.texts().collect();
    let mut words = args.iter().copied().filter(|text| !text.starts_with('-'));
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let serves = |verb: &str| matches!(verb, "dev" | "start" | "serve" | "watch");
    match command.name() {
        "npm" | "pnpm" | "yarn" | "bun" => {
            serves(first) || (matches!(first, "run" | "run-script") && serves(second))
        }
        "docker" if first == "compose" => {
            let rest = args.iter().skip_while(|text| **text != "compose").skip(1);
            compose_up(&rest.copied().collect::<Vec<_>>())
        }
        "docker-compose" => compose_up(&args),
        "next" => first == "dev",
        "vite" => !matches!(first, "build" | "optimize"),
        "nodemon" | "uvicorn" | "gunicorn" => true,
        name if name.starts_with("python") => {
            args.windows(2).any(|pair| pair == ["-m", "http.server"])
        }
        _ => false,
    }
}

fn compose_up(args: &[&str]) -> bool {
    let with_value = "-f --file -p --project-name --profile";
    operands(args.iter().copied(), with_value).next() == Some("up")
        && !args
            .iter()
            .any(|text| matches!(*text, "-d" | "--detach" | "--wait"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(command: &str) -> bool {
        foreground_refusal(&Analysis::of(command)).is_some()
    }

    #[test]
    fn detaching_and_serving_commands_are_refused() {
        for command in [
            "sleep 1 &",
            "sleep 1 & wait",
            "nohup x",
            "sudo nohup x",
            "env A=1 setsid x",
            "/usr/bin/setsid x",
            "x; disown",
            "npm run dev",
            "npm start",
            "cd app && pnpm dev",
            "yarn serve",
            "bun run watch",
            "docker compose up",
            "docker compose -f a.yml up web",
            "docker-compose up",
            "next dev",
            "npx vite",
            "vite --port 3",
            "nodemon x.js",
            "uv run uvicorn a:b",
            "gunicorn a:b",
            "python3 -m http.server",
            "python -m http.server 8000",
        ] {
            assert!(refused(command), "{command} was let through");
        }
    }

    #[test]
    fn arguments_that_look_like_servers_are_allowed() {
        for command in [
            "pip show gunicorn",
            "echo vite build",
            "vite build",
            "npx vite build",
            "git commit -m \"setsid & nohup\"",
            "cat <<E\na & b\nE",
            "curl 'x?a=1&b=2'",
            "uvicorn --help",
            "gunicorn --version",
            "nohup --help",
            "docker compose up -d",
            "docker compose up --wait",
            "docker compose ps",
            "npm run build",
            "npm install vite",
            "a && b",
            "make 2>&1",
            "make &> log",
            "bash -c 'sleep 20 & echo started'",
            "grep -r nohup .",
            "python -m pytest",
            "",
        ] {
            assert!(!refused(command), "{command} was refused");
        }
    }
}
