//! One line of advice when a command failed for a reason that is ours: a variable it did not get, or
//! a HOME that is not the user's.
//!
//! Without it people look for hours at a tool that says "not logged in" although they are. Pure: a
//! table of what tools print, and what was kept from the command.

/// Where `HOME` of the command points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeOfCommand<'a> {
    /// To the home of the user.
    Real,
    /// To the home of the profile, at this path.
    Profile(&'a str),
}

/// A variable that was kept from the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripped<'a> {
    /// Its name.
    pub name: &'a str,
    /// What kind of rule took it.
    pub rule: StrippedAs<'a>,
}

/// Why a variable was kept from the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrippedAs<'a> {
    /// As a credential; the text names the rule.
    Credential(&'a str),
    /// As the mark of an environment someone activated; the text names the rule.
    Marker(&'a str),
    /// As something nobody can opt in to.
    Internal,
}

/// A command that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// What it printed.
    pub output: &'a str,
    /// Its exit code.
    pub exit_code: i32,
    /// What it did not get.
    pub stripped: &'a [Stripped<'a>],
    /// Where its home is.
    pub home: HomeOfCommand<'a>,
}

/// What a phrase in the output points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A credential, in one of these variables or in a file below HOME.
    Login(&'static [&'static str]),
    /// An activated Python or Conda environment.
    Environment,
}

const GITHUB: &[&str] = &["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN"];
const AWS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
];
const HUGGING_FACE: &[&str] = &["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"];
const NPM: &[&str] = &["NPM_TOKEN", "NODE_AUTH_TOKEN"];
const CLAUDE: &[&str] = &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];
const OPENAI: &[&str] = &["OPENAI_API_KEY"];
const GOOGLE: &[&str] = &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_API_KEY"];

/// Phrases in lower case, the more telling ones first.
const SYMPTOMS: &[(&str, Cause)] = &[
    ("gh auth login", Cause::Login(GITHUB)),
    (
        "could not read username for 'https://github.com",
        Cause::Login(GITHUB),
    ),
    ("unable to locate credentials", Cause::Login(AWS)),
    ("huggingface-cli login", Cause::Login(HUGGING_FACE)),
    ("hf auth login", Cause::Login(HUGGING_FACE)),
    ("npm error code eneedauth", Cause::Login(NPM)),
    ("npm err! code eneedauth", Cause::Login(NPM)),
    ("please run /login", Cause::Login(CLAUDE)),
    ("invalid api key · please run", Cause::Login(CLAUDE)),
    ("codex login", Cause::Login(OPENAI)),
    ("application default credentials", Cause::Login(GOOGLE)),
    ("gcloud auth login", Cause::Login(GOOGLE)),
    ("az login", Cause::Login(&[])),
    ("docker login", Cause::Login(&[])),
    ("permission denied (publickey", Cause::Login(&[])),
    ("host key verification failed", Cause::Login(&[])),
    ("not logged in", Cause::Login(&[])),
    ("not authenticated", Cause::Login(&[])),
    ("authentication required", Cause::Login(&[])),
    ("no credentials", Cause::Login(&[])),
    ("please log in", Cause::Login(&[])),
    ("please tell me who you are", Cause::Login(&[])),
    ("no such environment", Cause::Environment),
    ("environmentnamenotfound", Cause::Environment),
    ("no active environment", Cause::Environment),
    ("not in a virtual environment", Cause::Environment),
    ("no virtual environment found", Cause::Environment),
    ("could not find an activated virtualenv", Cause::Environment),
    ("modulenotfounderror: no module named", Cause::Environment),
];

/// Only the end of a long output is looked at: errors stand there.
const LOOKED_AT: usize = 16 * 1024;

/// The advice, if a known symptom meets something that was kept from the command.
pub fn symptom_hint(observation: &Observation<'_>) -> Option<String> {
    if observation.exit_code == 0 {
        return None;
    }
    let output = end_of(observation.output);
    // A name in the output beats every guess.
    if let Some(named) = named_variable(output, observation.stripped) {
        return advice_for(named);
    }
    let lower = output.to_lowercase();
    let (_, cause) = SYMPTOMS.iter().find(|(phrase, _)| lower.contains(phrase))?;
    match cause {
        Cause::Login(names) => {
            let stripped = observation
                .stripped
                .iter()
                .find(|stripped| names.contains(&stripped.name));
            stripped
                .and_then(advice_for)
                .or_else(|| home_advice(observation.home))
        }
        Cause::Environment => observation
            .stripped
            .iter()
            .find(|stripped| matches!(stripped.rule, StrippedAs::Marker(_)))
            .and_then(advice_for),
    }
}

fn end_of(output: &str) -> &str {
    let start = output.ceil_char_boundary(output.len().saturating_sub(LOOKED_AT));
    output.get(start..).unwrap_or_default()
}

/// A stripped variable the output names as a whole word.
fn named_variable<'a>(output: &str, stripped: &'a [Stripped<'a>]) -> Option<&'a Stripped<'a>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    stripped.iter().find(|stripped| {
        // Shorter names are words of any text.
        stripped.name.len() >= 6
            && output.match_indices(stripped.name).any(|(start, name)| {
                let before = output
                    .get(..start)
                    .and_then(|text| text.chars().next_back());
                let after = output
                    .get(start + name.len()..)
                    .and_then(|text| text.chars().next());
                !before.is_some_and(is_part) && !after.is_some_and(is_part)
            })
    })
}

fn advice_for(stripped: &Stripped<'_>) -> Option<String> {
    let name = stripped.name;
    match stripped.rule {
        StrippedAs::Credential(rule) => Some(format!(
            "hint: {name} is set but kept from commands ({rule}); to hand it over, the user adds it \
             to terminal.trusted_env_passthrough in config.yaml"
        )),
        StrippedAs::Marker(rule) => Some(format!(
            "hint: {name} is set but kept from commands ({rule}); activate the environment in this \
             session, or the user adds {name} to terminal.env_passthrough in config.yaml"
        )),
        StrippedAs::Internal => None,
    }
}

fn home_advice(home: HomeOfCommand<'_>) -> Option<String> {
    match home {
        HomeOfCommand::Real => None,
        HomeOfCommand::Profile(path) => Some(format!(
            "hint: HOME of this command is {path} (terminal.home_mode), so logins in the user's own \
             home are not seen; the user sets terminal.home_mode: real, or lists the files under \
             terminal.profile_home_links in config.yaml"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Stripped<'_> = Stripped {
        name: "GH_TOKEN",
        rule: StrippedAs::Credential("T2: tool credential"),
    };
    const VENV: Stripped<'_> = Stripped {
        name: "VIRTUAL_ENV",
        rule: StrippedAs::Marker("T3: activation marker"),
    };
    const INTERNAL: Stripped<'_> = Stripped {
        name: "HERMES_RPC_TOKEN",
        rule: StrippedAs::Internal,
    };
    const PROFILE: HomeOfCommand<'_> = HomeOfCommand::Profile("/p/home");

    fn hint(output: &str, stripped: &[Stripped<'_>], home: HomeOfCommand<'_>) -> Option<String> {
        symptom_hint(&Observation {
            output,
            exit_code: 1,
            stripped,
            home,
        })
    }

    #[test]
    fn symptoms_lead_to_their_rule_and_opt_in() {
        for (output, stripped, home, parts) in [
            (
                "To get started with GitHub CLI, please run:  gh auth login",
                &[TOKEN][..],
                PROFILE,
                ["GH_TOKEN", "T2", "terminal.trusted_env_passthrough"],
            ),
            (
                "To get started with GitHub CLI, please run:  gh auth login",
                &[],
                PROFILE,
                ["/p/home", "terminal.home_mode: real", "profile_home_links"],
            ),
            (
                "Error: You are Not Logged In.",
                &[VENV, TOKEN],
                PROFILE,
                ["/p/home", "terminal.home_mode", "profile_home_links"],
            ),
            (
                "KeyError: 'GH_TOKEN'",
                &[TOKEN],
                HomeOfCommand::Real,
                ["GH_TOKEN", "T2", "trusted_env_passthrough"],
            ),
            (
                "conda: no such environment: data",
                &[VENV],
                HomeOfCommand::Real,
                ["VIRTUAL_ENV", "T3", "terminal.env_passthrough"],
            ),
        ] {
            let hint = hint(output, stripped, home).unwrap_or_else(|| panic!("{output}"));
            assert!(!hint.contains('\n') && hint.starts_with("hint: "), "{hint}");
            for part in parts {
                assert!(hint.contains(part), "{part}: {hint}");
            }
        }
    }

    #[test]
    fn silence_where_nothing_of_ours_explains_it() {
        for (output, stripped, home) in [
            ("not logged in", &[][..], HomeOfCommand::Real),
            ("not logged in", &[VENV], HomeOfCommand::Real),
            ("no such environment", &[TOKEN], PROFILE),
            ("error: expected expression", &[TOKEN, VENV], PROFILE),
            ("MY_GH_TOKEN_2 is missing", &[TOKEN], HomeOfCommand::Real),
            ("HERMES_RPC_TOKEN missing", &[INTERNAL], HomeOfCommand::Real),
            ("", &[TOKEN], PROFILE),
        ] {
            assert_eq!(hint(output, stripped, home), None, "{output}");
        }
        let fine = Observation {
            output: "not logged in",
            exit_code: 0,
            stripped: &[TOKEN],
            home: PROFILE,
        };
        assert_eq!(symptom_hint(&fine), None);
    }

    #[test]
    fn long_and_odd_output_is_looked_at_from_the_end() {
        let text = format!("{}\nnot logged in", "é".repeat(100_000));
        assert!(hint(&text, &[], PROFILE).is_some());
        let text = format!("not logged in{}", "é".repeat(100_000));
        assert_eq!(hint(&text, &[], PROFILE), None);
    }
}
