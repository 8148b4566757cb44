//! How the interface is to look, from the settings and what this session has changed.

use std::sync::Arc;

use hermes_chat::{BusyMode, ColourDepth, FooterField, Indicator, Look, Skin, Theme};
use hermes_config::settings::Layer;
use hermes_config::{Config, Environment, vars};
use jiff::Timestamp;
use jiff::fmt::strtime;

use super::display::Display;
use super::skin;
use crate::context::Context;

/// How a time is written where the setting is of no use.
const USUAL_TIME: &str = "%H:%M";

/// What the terminal shows, in the colours of the skin. With what is wrong about the skin: its place
/// is taken by the default one.
pub(super) fn theme(context: &Context) -> (Theme, Option<String>) {
    let name = context.config().text("display.skin");
    let name = if name.is_empty() { skin::DEFAULT } else { name };
    let (skin, problem) = match skin::load(name, &context.location.home) {
        Ok(skin) => (skin, None),
        Err(problem) => (Skin::default(), Some(problem)),
    };
    let theme = Theme {
        depth: depth(&context.env),
        skin,
        utf8: crate::ui::is_utf8(&context.env),
    };
    (theme, problem)
}

fn depth(env: &Environment) -> ColourDepth {
    let kind = env.text(&vars::TERM).unwrap_or_default();
    if env.is_set(&vars::NO_COLOR) {
        ColourDepth::None
    } else if matches!(env.text(&vars::COLORTERM), Some("truecolor" | "24bit")) {
        ColourDepth::Full
    } else if kind.contains("256") {
        ColourDepth::Indexed
    } else {
        ColourDepth::Sixteen
    }
}

pub(super) fn look(context: &Context, display: &Display) -> Look {
    let (config, env) = (context.config(), &context.env);
    let is_console = env.text(&vars::TERM) == Some("linux");
    Look {
        theme: theme(context).0,
        reflows: !env.is_set(&vars::XTERM_VERSION) && !env.is_set(&vars::STY) && !is_console,
        busy_mode: match config.text("display.busy_input_mode") {
            "queue" => BusyMode::Queue,
            "steer" => BusyMode::Steer,
            _ => BusyMode::Interrupt,
        },
        streaming: !is_set(config, "display.streaming") || config.flag("display.streaming"),
        reasoning: config.flag("display.show_reasoning"),
        whole_reasoning: config.flag("display.reasoning_full"),
        cost: config.flag("display.show_cost"),
        bell: config.flag("display.bell_on_complete"),
        status_bar: display.status_bar,
        tool_progress: display.progress,
        indicator: indicator(config),
        footer: footer(config),
        clock: clock(context),
    }
}

/// Whether somebody has set it: the default of the other program is not always ours.
fn is_set(config: &Config, key: &str) -> bool {
    let winner = config.candidates(key);
    winner
        .first()
        .is_some_and(|winner| winner.layer != Layer::Default)
}

fn indicator(config: &Config) -> Indicator {
    const KEY: &str = "display.tui_status_indicator";
    match config.text(KEY) {
        "kaomoji" if is_set(config, KEY) => Indicator::Kaomoji,
        "emoji" => Indicator::Emoji,
        "ascii" => Indicator::Ascii,
        _ => Indicator::Unicode,
    }
}

fn footer(config: &Config) -> Vec<FooterField> {
    if !config.flag("display.runtime_footer.enabled") {
        return Vec::new();
    }
    let fields = config.texts("display.runtime_footer.fields");
    let known = fields.into_iter().filter_map(|field| match field {
        "model" => Some(FooterField::Model),
        "context_pct" => Some(FooterField::Context),
        "cwd" => Some(FooterField::Directory),
        _ => None,
    });
    known.collect()
}

fn clock(context: &Context) -> Option<Arc<dyn Fn() -> String + Send + Sync>> {
    let config = context.config();
    if !config.flag("display.timestamps") {
        return None;
    }
    let zone = context.zone().resolve();
    let format = config.text("display.timestamp_format").to_owned();
    Some(Arc::new(move || {
        written(&format, Timestamp::now(), zone.clone())
    }))
}

/// A time as the settings want it written.
pub(super) fn written(format: &str, at: Timestamp, zone: jiff::tz::TimeZone) -> String {
    let at = at.to_zoned(zone);
    let own = strtime::format(format, &at)
        .ok()
        .filter(|text| !text.trim().is_empty());
    own.or_else(|| strtime::format(USUAL_TIME, &at).ok())
        .unwrap_or_default()
}
