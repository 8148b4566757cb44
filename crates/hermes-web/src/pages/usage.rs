//! Tokens and cost per day, model and profile.

use askama::Template;
use serde::Deserialize;

use super::chart::{Bar, bars};
use super::frame::{self, html};
use super::profiles::Profiles;
use super::shell::{Shell, Trouble};
use super::shown::{dollars, nullable, segment, short_count};
use super::source::Source;
use crate::call::{Answered, Call};

const SPANS: &[i64] = &[7, 30, 90];
/// Models in the table.
const MOST_MODELS: usize = 20;

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    shell: Shell,
    trouble: Option<Trouble>,
    spans: &'static [i64],
    days: i64,
    tiles: Vec<(&'static str, String)>,
    is_empty: bool,
    tokens: String,
    cost: String,
    models: Vec<Row>,
    profiles: Vec<Row>,
}

struct Row {
    name: String,
    input: String,
    output: String,
    cost: String,
    share: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    daily: Vec<Day>,
    by_model: Vec<Counted>,
    totals: Totals,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Day {
    #[serde(rename = "day")]
    date: String,
    #[serde(deserialize_with = "nullable")]
    input_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    output_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    estimated_cost: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counted {
    #[serde(deserialize_with = "nullable")]
    model: String,
    #[serde(deserialize_with = "nullable")]
    input_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    output_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    estimated_cost: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Totals {
    #[serde(rename = "total_input", deserialize_with = "nullable")]
    input: u64,
    #[serde(rename = "total_output", deserialize_with = "nullable")]
    output: u64,
    #[serde(rename = "total_estimated_cost", deserialize_with = "nullable")]
    estimated_cost: f64,
    #[serde(rename = "total_sessions", deserialize_with = "nullable")]
    sessions: u64,
}

fn row(name: &str, input: u64, output: u64, cost: f64, most: u64) -> Row {
    Row {
        name: if name.is_empty() { "unknown" } else { name }.to_owned(),
        input: short_count(input),
        output: short_count(output),
        cost: dollars(cost),
        share: ((input + output) * 100).checked_div(most).unwrap_or(0),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the height of a bar needs few digits"
)]
fn number(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of tokens on the scale of a chart"
)]
fn token_label(value: f64) -> String {
    short_count(value as u64)
}

/// Every day of the span, also those on which nothing was used. Days are counted in UTC.
fn with_quiet_days(busy: &[Day], days: i64, now: jiff::Timestamp) -> Vec<Day> {
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let all = (0..days).rev().filter_map(|back| {
        let date = today.checked_sub(jiff::Span::new().days(back)).ok()?;
        let name = date.to_string();
        let known = busy.iter().find(|day| day.date == name).cloned();
        Some(known.unwrap_or(Day {
            date: name,
            ..Day::default()
        }))
    });
    all.collect()
}

/// What every profile has used; only told where there are several.
async fn by_profile(source: &Source, days: i64) -> Vec<Row> {
    let profiles: Result<Profiles, Trouble> = source.get("/api/profiles").await;
    let profiles = profiles.unwrap_or_default().profiles;
    if profiles.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for profile in profiles {
        let name = segment(&profile.name);
        let path = format!("/api/analytics/usage?days={days}&profile={name}");
        let usage: Result<Usage, Trouble> = source.get(&path).await;
        if let Ok(usage) = usage {
            found.push((profile.name, usage.totals));
        }
    }
    let most = found.iter().map(|(_, one)| one.input + one.output);
    let most = most.max().unwrap_or_default();
    let rows = found.iter().map(|(name, one)| {
        let cost = one.estimated_cost;
        row(name, one.input, one.output, cost, most)
    });
    rows.collect()
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let days = call.query("days").and_then(|text| text.parse().ok());
    let days = days.filter(|days| SPANS.contains(days)).unwrap_or(30);
    let answer: Result<Usage, Trouble> = source
        .get(&format!("/api/analytics/usage?days={days}"))
        .await;
    let (usage, trouble) = match answer {
        Ok(usage) => (usage, None),
        Err(trouble) => (Usage::default(), Some(trouble)),
    };
    let totals = &usage.totals;
    let shown = with_quiet_days(&usage.daily, days, jiff::Timestamp::now());
    let bar = |day: &Day, parts: Vec<f64>| Bar {
        label: day.date.clone(),
        parts,
    };
    let tokens: Vec<Bar> = shown
        .iter()
        .map(|day| {
            bar(
                day,
                vec![number(day.input_tokens), number(day.output_tokens)],
            )
        })
        .collect();
    let cost: Vec<Bar> = shown
        .iter()
        .map(|day| bar(day, vec![day.estimated_cost]))
        .collect();
    let most = usage
        .by_model
        .iter()
        .map(|one| one.input_tokens + one.output_tokens);
    let most = most.max().unwrap_or_default();
    let models = usage.by_model.iter().take(MOST_MODELS).map(|one| {
        row(
            &one.model,
            one.input_tokens,
            one.output_tokens,
            one.estimated_cost,
            most,
        )
    });
    let mut shell = frame::shell(&call, "Usage", "usage");
    shell.refresh = Some(30);
    let page = UsagePage {
        shell,
        trouble,
        spans: SPANS,
        days,
        tiles: vec![
            ("Tokens in", short_count(totals.input)),
            ("Tokens out", short_count(totals.output)),
            ("Cost, estimated", dollars(totals.estimated_cost)),
            ("Conversations", totals.sessions.to_string()),
        ],
        is_empty: usage.daily.is_empty(),
        tokens: bars("Tokens per day", &tokens, &["in", "out"], token_label),
        cost: bars("Cost per day", &cost, &["cost"], dollars),
        models: models.collect(),
        profiles: by_profile(&source, days).await,
    };
    html(&page)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn quiet_days_are_there_with_nothing() {
        let busy = Day {
            date: "2026-02-28".to_owned(),
            input_tokens: 7,
            ..Day::default()
        };
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        let days = with_quiet_days(std::slice::from_ref(&busy), 3, now);
        let names: Vec<&str> = days.iter().map(|day| day.date.as_str()).collect();
        assert_eq!(names, ["2026-02-27", "2026-02-28", "2026-03-01"]);
        assert_eq!(days[1], busy);
    }
}
