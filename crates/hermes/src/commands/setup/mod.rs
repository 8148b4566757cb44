//! `hermes setup`: from an empty home to a conversation, and later one thing at a time.
//!
//! Every answer is written as soon as it is given and has proved to work, so that leaving loses
//! nothing.

mod backends;
mod detect;
mod gateway_section;
mod menu;
mod model_rows;
mod model_section;
mod provider_names;
mod scripted;
mod sections;
mod wizard;
mod write;

use hermes_providers::{OpenError, RouteCheck, usable_fallbacks};

use super::named;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::can_ask;

pub(crate) use model_rows::facts as model_facts;
pub(crate) use model_section::{Listing, model_section};

/// A part of the set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Model,
    Terminal,
    Tools,
    Agent,
    Gateway,
    /// Parts that the Python runtime has and this one does not.
    Missing(&'static str),
}

const SECTIONS: [(&str, Section); 6] = [
    ("model", Section::Model),
    ("terminal", Section::Terminal),
    ("tools", Section::Tools),
    ("agent", Section::Agent),
    ("tts", Section::Missing("speech")),
    ("gateway", Section::Gateway),
];

#[derive(Debug, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Only this section
    #[arg(value_parser = named(SECTIONS))]
    section: Option<Section>,
    /// Ask nothing: take flags, variables and what is found; a missing answer is an error
    #[arg(long)]
    non_interactive: bool,
    /// Begin with default settings; the present config.yaml is kept beside it
    #[arg(long)]
    reset: bool,
    /// Go through all sections, also if everything is set
    #[arg(long, conflicts_with = "quick")]
    reconfigure: bool,
    /// Ask only for what is missing
    #[arg(long)]
    quick: bool,
    /// Log in to the Nous Portal and use its models
    #[arg(long, conflicts_with = "provider")]
    portal: bool,
    /// Provider: an id, an alias, custom, or a key of `providers`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Address of the provider's API, for --provider custom
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where commands run: local, docker or ssh
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Read the key of the provider from standard input
    #[arg(long, requires = "non_interactive")]
    key_stdin: bool,
}

impl Args {
    /// Whether an answer was given on the command line.
    fn has_answers(&self) -> bool {
        self.provider.is_some()
            || self.base_url.is_some()
            || self.model.is_some()
            || self.backend.is_some()
    }
}

/// What follows setup.
pub(crate) enum AfterSetup {
    Done,
    /// A conversation with these settings.
    Chat(Box<Context>),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<AfterSetup> {
    context.refuse_to_agents("setting up a provider, a model or a terminal")?;
    if let Some(Section::Missing(what)) = args.section {
        return Err(CommandError::user(format!(
            "there is nothing to set up for {what} in this build"
        ))
        .hint("the sections are model, terminal, tools, agent and gateway"));
    }
    if args.section == Some(Section::Gateway) && (args.non_interactive || !can_ask()) {
        return Err(
            CommandError::usage("setting up the gateway takes a terminal")
                .hint("`hermes config set API_SERVER_KEY KEY` turns its API on without one"),
        );
    }
    context.refuse_if_managed("config.yaml")?;
    let reloaded;
    let context = if args.reset {
        sections::reset(context)?;
        reloaded = context.reloaded();
        &reloaded
    } else {
        context
    };
    if args.portal {
        super::auth::log_in_to_portal(context)?;
    }
    if args.non_interactive || args.has_answers() {
        return scripted::run(args, context).map(|()| AfterSetup::Done);
    }
    if !can_ask() {
        return Err(CommandError::usage("setup asks questions and needs a terminal")
            .hint("answer them with flags: `hermes setup --non-interactive --provider NAME --model NAME`"));
    }
    let is_usable = missing_part(context).is_none();
    match args.section {
        Some(section) => menu::section(section, context).map(|()| AfterSetup::Done),
        None if args.quick && is_usable => {
            context.note("Everything needed is set.")?;
            Ok(AfterSetup::Done)
        }
        None if args.reconfigure => menu::all(context).map(|()| AfterSetup::Done),
        None if is_usable && !args.portal => menu::run(context),
        None => Ok(match wizard::first_run(context)? {
            Some(ready) => AfterSetup::Chat(Box::new(ready)),
            None => AfterSetup::Done,
        }),
    }
}

/// Sets up the gateway alone.
pub(crate) fn gateway(context: &Context) -> Result<()> {
    let args = Args {
        section: Some(Section::Gateway),
        ..Args::default()
    };
    run(&args, context).map(drop)
}

/// What keeps a conversation from being opened, if setup can help.
fn missing_part(context: &Context) -> Option<OpenError> {
    let config = context.config();
    let error = RouteCheck::resolve(config).err()?;
    let helps = matches!(
        error,
        OpenError::NothingConfigured | OpenError::NoModel { .. } | OpenError::NoKey { .. }
    );
    (helps && usable_fallbacks(config) == 0).then_some(error)
}

/// What `hermes chat` does where no provider is set up: sets one up, if somebody is there to ask.
pub(crate) enum FirstRun {
    /// Everything is there.
    NotNeeded,
    /// Set up; conversations use these settings.
    Ready(Box<Context>),
    /// The person left.
    Left,
}

/// Runs setup before the first conversation at a terminal.
pub(crate) fn before_chat(context: &Context) -> Result<FirstRun> {
    // A file that cannot be read is to be mended, not replaced.
    let may_write = context.home_policy().managed.is_none() && context.config_is_usable();
    if !can_ask() || !may_write || missing_part(context).is_none() {
        return Ok(FirstRun::NotNeeded);
    }
    context.refuse_to_agents("setting up a provider, a model or a terminal")?;
    Ok(match wizard::first_run(context)? {
        Some(ready) => FirstRun::Ready(Box::new(ready)),
        None => FirstRun::Left,
    })
}
