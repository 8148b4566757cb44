//! Commands about the model: which one answers, and what it has cost.

use hermes_config::settings::{SetRequest, set};
use hermes_providers::RouteInfo;
use hermes_session::Session;

use super::{After, ChatState};
use crate::commands::setup::{Listing, model_facts};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Characters of a name that are shown.
const SHOWN: usize = 80;

pub(super) fn model(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let wanted = Wanted::parse(arguments)?;
    let Some(name) = wanted.model else {
        return list(state, wanted.refresh);
    };
    let before = state.conversation.agent().provider().route();
    state.conversation.change_model(name, wanted.provider)?;
    let route = state.conversation.agent().provider().route();
    let reach = if wanted.global {
        write(state, &before, &route)?;
        "in this session and in new ones"
    } else {
        "in this session"
    };
    state.note(format!(
        "Now using {} from {} {reach}.",
        route.model, route.provider
    ))?;
    Ok(After::Prompt)
}

/// The arguments of `/model`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted<'a> {
    model: Option<&'a str>,
    provider: Option<&'a str>,
    /// For all sessions.
    global: bool,
    /// Ask the provider again.
    refresh: bool,
}

impl<'a> Wanted<'a> {
    fn parse(arguments: &'a str) -> Result<Self> {
        let mut wanted = Self::default();
        let mut words = arguments.split_whitespace();
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("--provider=") {
                wanted.provider = Some(name);
            } else if word == "--provider" {
                let name = words.next();
                wanted.provider = Some(
                    name.ok_or_else(|| CommandError::user("/model: --provider needs a name"))?,
                );
            } else if word == "--global" {
                wanted.global = true;
            } else if word == "--refresh" {
                wanted.refresh = true;
            } else if word.starts_with('-') {
                return Err(CommandError::user(format!("/model: unknown flag {word}"))
                    .hint("the flags are --provider NAME, --global and --refresh"));
            } else if wanted.model.replace(word).is_some() {
                return Err(CommandError::user("/model takes only one name"));
            }
        }
        if (wanted.provider.is_some() || wanted.global) && wanted.model.is_none() {
            return Err(CommandError::user(
                "/model: --provider and --global need a model",
            ));
        }
        Ok(wanted)
    }
}

/// Makes the model that of all sessions. Only a provider that changed is written.
fn write(state: &ChatState<'_>, before: &RouteInfo, route: &RouteInfo) -> Result<()> {
    state.context.refuse_if_managed("config.yaml")?;
    let sources = state.context.sources_to_write();
    let provider = (before.provider != route.provider).then_some(route.provider.as_str());
    let values = [
        ("model.default", Some(route.model.as_str())),
        ("model.provider", provider),
    ];
    for (key, value) in values {
        if let Some(value) = value {
            let request = SetRequest {
                key,
                value,
                force: false,
            };
            set(&sources, &request)?;
        }
    }
    Ok(())
}

fn list(state: &mut ChatState<'_>, refresh: bool) -> Result<After> {
    let route = state.conversation.agent().provider().route();
    state.note(format!(
        "  {} from {} ({} tokens)",
        route.model, route.provider, route.context_length
    ))?;
    let aliases = state.conversation.context().config().get("model_aliases");
    let aliases = aliases.and_then(serde_json::Value::as_object);
    for (name, meaning) in aliases.into_iter().flatten() {
        let model = meaning["model"].as_str().or_else(|| meaning.as_str());
        let model = one_line(model.unwrap_or("-"), SHOWN);
        state.note(format!("  {name}: {model}"))?;
    }
    let listing = Listing {
        provider: route.provider,
    };
    let context = state.conversation.context();
    let models = if refresh {
        let listed = listing.get(context, true);
        listed.map_err(|error| CommandError::environment(error.to_string()).hint(error.hint()))?
    } else {
        listing.remembered(context)
    };
    if models.is_empty() {
        state.note("  /model --refresh asks the provider for its models")?;
    }
    for model in models {
        let line = format!(
            "  {}  {}",
            one_line(&model.name, SHOWN),
            model_facts(&model)
        );
        state.note(line.trim_end())?;
    }
    Ok(After::Prompt)
}

pub(super) fn usage(state: &mut ChatState<'_>, _: &str) -> Result<After> {
    let agent = state.conversation.agent();
    let window = agent.window_use();
    let (count, _) = agent.message_counts();
    let summaries = agent.messages().filter(|one| one.is_summary()).count();
    let Some(session) = agent.stored_session()? else {
        state.note("There are no requests yet.")?;
        return Ok(After::Prompt);
    };
    let share = window.used.saturating_mul(100) / window.window.max(1);
    let used = format!("about {} of {} ({share} %)", window.used, window.window);
    let about_now = [
        ("Window", used),
        ("Messages", count.to_string()),
        ("Summaries", summaries.to_string()),
    ];
    for (name, value) in spent(&session).into_iter().chain(about_now) {
        state.note(format!("  {name:<12} {value}"))?;
    }
    Ok(After::Prompt)
}

fn spent(session: &Session) -> [(&'static str, String); 10] {
    let counters = session.counters;
    let prompt = counters.input_tokens + counters.cache_read_tokens + counters.cache_write_tokens;
    let now = jiff::Timestamp::now().as_duration().as_secs_f64();
    let cost = session
        .estimated_cost_usd
        .map_or_else(|| "-".to_owned(), |dollars| format!("${dollars:.4}"));
    let status = session.cost_status.as_deref().unwrap_or("unknown");
    let total = prompt + counters.output_tokens;
    [
        ("Input", counters.input_tokens.to_string()),
        ("Cache read", counters.cache_read_tokens.to_string()),
        ("Cache write", counters.cache_write_tokens.to_string()),
        ("Output", counters.output_tokens.to_string()),
        ("Reasoning", counters.reasoning_tokens.to_string()),
        ("Prompt", prompt.to_string()),
        ("Total", total.to_string()),
        ("Requests", counters.api_call_count.to_string()),
        (
            "Duration",
            format!("{:.0} s", (now - session.started_at).max(0.0)),
        ),
        ("Cost", format!("{cost} ({status})")),
    ]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn model_arguments_are_parsed() {
        let parse = |text| Wanted::parse(text).ok();
        let wanted = |model, provider| {
            Some(Wanted {
                model,
                provider,
                ..Wanted::default()
            })
        };
        assert_eq!(parse(""), wanted(None, None));
        assert_eq!(parse(" fast "), wanted(Some("fast"), None));
        assert_eq!(parse("m --provider p"), wanted(Some("m"), Some("p")));
        assert_eq!(parse("--provider=p m"), wanted(Some("m"), Some("p")));
        let everywhere = parse("m --global").unwrap();
        assert!(everywhere.global && everywhere.model == Some("m"));
        assert!(parse("--refresh").unwrap().refresh);
        for bad in [
            "a b",
            "m --provider",
            "--provider p",
            "--global",
            "m --nosuch",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
