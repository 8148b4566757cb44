//! One line of advice when a command failed for a reason that is ours: a variable it did not get, or
//! a HOME that is not the user's.
//!
//! Without it people look for hours at a tool that says "not logged in" although they are. Pure: a
//! table of what tools print, and what was kept from the command.

use hermes_proc::env::Rule;

/// A variable that was kept from the command, and the rule that took it.
pub(super) type Stripped<'a> = (&'a str, Rule);

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

/// The advice about a failed command, if a known symptom meets something that was kept from it.
/// `profile_home` is its `HOME`, unless that is the user's own.
pub(super) fn symptom_hint(
    output: &str,
    stripped: &[Stripped<'_>],
    profile_home: Option<&str>,
) -> Option<String> {
    let output = end_of(output);
    // A name in the output beats every guess.
    if let Some(named) = named_variable(output, stripped) {
        return advice_for(named);
    }
    let lower = output.to_lowercase();
    let (_, cause) = SYMPTOMS.iter().find(|(phrase, _)| lower.contains(phrase))?;
    match cause {
        Cause::Login(names) => stripped
            .iter()
            .find(|(name, _)| names.contains(name))
            .and_then(advice_for)
            .or_else(|| profile_home.map(home_advice)),
        Cause::Environment => stripped
            .iter()
            .find(|(_, rule)| *rule == Rule::ActivationMarker)
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
    stripped.iter().find(|(name, _)| {
        // Shorter names are words of any text.
        name.len() >= 6
            && output.match_indices(name).any(|(start, name)| {
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

fn advice_for((name, rule): &Stripped<'_>) -> Option<String> {
    let id = rule.id();
    match rule {
        Rule::Credential | Rule::ListedSecret | Rule::DerivedSecret => Some(format!(
            "hint: {name} is set but withheld from commands ({id}); to pass it through, the user \
             adds it to terminal.trusted_env_passthrough in config.yaml"
        )),
        Rule::ActivationMarker => Some(format!(
            "hint: {name} is set but withheld from commands ({id}); activate the environment in \
             this session, or the user adds {name} to terminal.env_passthrough in config.yaml"
        )),
        // Nobody can opt in to the others.
        _ => None,
    }
}

fn home_advice(path: &str) -> String {
    format!(
        "hint: HOME of this command is {path} (terminal.home_mode), so logins in the user's own \
         home are not seen; the user sets terminal.home_mode: real, or lists the files under \
         terminal.profile_home_links in config.yaml"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Stripped<'_> = ("GH_TOKEN", Rule::ListedSecret);
    const VENV: Stripped<'_> = ("VIRTUAL_ENV", Rule::ActivationMarker);
    const INTERNAL: Stripped<'_> = ("HERMES_RPC_TOKEN", Rule::Internal);
    const PROFILE: Option<&str> = Some("/p/home");

    #[test]
    fn symptoms_lead_to_their_rule_and_opt_in() {
        for (output, stripped, home, parts) in [
            (
                "To get started with GitHub CLI, please run:  gh auth login",
                &[TOKEN][..],
                PROFILE,
                ["GH_TOKEN", "t2", "terminal.trusted_env_passthrough"],
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
                None,
                ["GH_TOKEN", "t2", "trusted_env_passthrough"],
            ),
            (
                "conda: no such environment: data",
                &[VENV],
                None,
                ["VIRTUAL_ENV", "t3", "terminal.env_passthrough"],
            ),
        ] {
            let hint = symptom_hint(output, stripped, home).unwrap_or_else(|| panic!("{output}"));
            assert!(!hint.contains('\n') && hint.starts_with("hint: "), "{hint}");
            for part in parts {
                assert!(hint.contains(part), "{part}: {hint}");
            }
        }
    }

    #[test]
    fn silence_where_nothing_of_ours_explains_it() {
        for (output, stripped, home) in [
            ("not logged in", &[][..], None),
            ("not logged in", &[VENV], None),
            ("no such environment", &[TOKEN], PROFILE),
            ("error: expected expression", &[TOKEN, VENV], PROFILE),
            ("MY_GH_TOKEN_2 is missing", &[TOKEN], None),
            ("HERMES_RPC_TOKEN missing", &[INTERNAL], None),
            ("", &[TOKEN], PROFILE),
        ] {
            assert_eq!(symptom_hint(output, stripped, home), None, "{output}");
        }
    }

    #[test]
    fn long_and_odd_output_is_looked_at_from_the_end() {
        let text = format!("{}\nnot logged in", "é".repeat(100_000));
        assert!(symptom_hint(&text, &[], PROFILE).is_some());
        let text = format!("not logged in{}", "é".repeat(100_000));
        assert_eq!(symptom_hint(&text, &[], PROFILE), None);
    }
}
