//! `hermes auth add --type oauth` and `hermes login`: a login instead of a key.

use std::path::PathBuf;
use std::time::Duration;

use hermes_proc::Wake;
use hermes_providers::{
    BrowserLogin, CopilotHost, CredentialEntry, DeviceLogin, DevicePrompt, LoginConnection,
    LoginError, LoginKeeping, LoginPortal, LoginServer, QwenLogin, builtin, key_refusal,
    login_server,
};
use serde_json::json;

use super::file;
use super::github_cli;
use super::key_store::add_to_pool;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::visible;
use crate::web_page::open_page;

/// The provider that `hermes login` means if none is named.
const USUAL: &str = "nous";
/// The provider with a login in the browser; the others have one by a code.
const IN_BROWSER: &str = "openrouter";
/// The provider whose tokens are those for GitHub.
pub(crate) const COPILOT: &str = "copilot";

/// Flags of a login.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LoginFlags {
    /// Address of the authorisation server
    #[arg(long, value_name = "URL")]
    pub(super) portal_url: Option<String>,
    /// Address of the API that the login is for
    #[arg(long, value_name = "URL")]
    pub(super) inference_url: Option<String>,
    /// Client to log in as
    #[arg(long, value_name = "ID")]
    pub(super) client_id: Option<String>,
    /// What the login is for
    #[arg(long, value_name = "SCOPE")]
    pub(super) scope: Option<String>,
    /// Show the page to open, and open no browser
    #[arg(long)]
    pub(super) no_browser: bool,
    /// Seconds one request of the login may take
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout: Option<u64>,
    /// Accept any certificate, for tests of a portal
    #[arg(long)]
    pub(super) insecure: bool,
    /// File of certificates to trust for the login
    #[arg(long, value_name = "FILE")]
    pub(super) ca_bundle: Option<PathBuf>,
}

impl LoginFlags {
    /// Whether a flag was given that only a login has a use for.
    pub(super) fn is_given(&self) -> bool {
        self.portal_url.is_some()
            || self.inference_url.is_some()
            || self.client_id.is_some()
            || self.scope.is_some()
            || self.no_browser
            || self.timeout.is_some()
            || self.insecure
            || self.ca_bundle.is_some()
    }

    fn connection(&self) -> LoginConnection {
        let usual = LoginConnection::default();
        LoginConnection {
            timeout: self.timeout.map_or(usual.timeout, Duration::from_secs),
            ca_bundle: self.ca_bundle.clone(),
            insecure: self.insecure,
        }
    }
}

/// `hermes login`.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
    /// Provider to log in to: nous, openrouter, openai-codex, xai-oauth, minimax-oauth, qwen-oauth or copilot
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    #[command(flatten)]
    flags: LoginFlags,
}

pub(crate) fn run_login(args: &LoginArgs, context: &Context) -> Result<()> {
    match &args.provider {
        Some(provider) => log_in_with(context, provider, None, &args.flags),
        None if args.flags.is_given() => log_in_with(context, USUAL, None, &args.flags),
        None => {
            context.line("Keys and logins: `hermes auth add PROVIDER`")?;
            context.line("Provider and model: `hermes model`")?;
            context.line("Everything, step by step: `hermes setup`")
        }
    }
}

/// Whether a provider has a login.
pub(crate) fn has_login(provider: &str) -> bool {
    login_server(provider).is_some() || [IN_BROWSER, QwenLogin::PROVIDER].contains(&provider)
}

/// Whether people log in to this provider rather than store a key.
pub(super) fn is_login_first(provider: &str) -> bool {
    let known = builtin(provider);
    known.is_some_and(|known| has_login(known.id) && known.id != IN_BROWSER)
}

/// Logs in with everything as usual.
pub(crate) fn log_in(context: &Context, provider: &str) -> Result<()> {
    log_in_with(context, provider, None, &LoginFlags::default())
}

/// Logs in to the portal of the provider `nous`.
pub(crate) fn log_in_to_portal(context: &Context) -> Result<()> {
    log_in(context, USUAL)
}

pub(super) fn log_in_with(
    context: &Context,
    provider: &str,
    label: Option<&str>,
    flags: &LoginFlags,
) -> Result<()> {
    context.refuse_to_agents("logging in to a provider")?;
    let id = builtin(provider).map_or(provider, |known| known.id);
    // Ctrl-C ends the program; nothing is stored before the end.
    let interrupt = Wake::new()?;
    if id == COPILOT && flags.client_id.is_none() {
        return of_github_cli(context, label, flags);
    }
    if let Some(server) = login_server(id) {
        return by_code(context, server, label, flags, &interrupt);
    }
    match id {
        IN_BROWSER => in_browser(context, label, flags, &interrupt),
        QwenLogin::PROVIDER => of_qwen_code(context, flags),
        _ => Err(
            CommandError::user(format!("{provider} has no login here")).hint(format!(
                "add a key: `hermes auth add {provider} --type api-key`"
            )),
        ),
    }
}

fn by_code(
    context: &Context,
    server: &'static LoginServer,
    label: Option<&str>,
    flags: &LoginFlags,
    interrupt: &Wake,
) -> Result<()> {
    let given = |flag: &Option<String>, usual: String| flag.clone().unwrap_or(usual);
    let usual = DeviceLogin::usual(server, context.config(), &context.env);
    let login = DeviceLogin {
        server,
        url: given(&flags.portal_url, usual.url),
        client_id: given(&flags.client_id, usual.client_id),
        scope: given(&flags.scope, usual.scope),
        connection: flags.connection(),
    };
    let mut shown = |prompt: &DevicePrompt| show_code(context, prompt, flags.no_browser);
    let tokens = login
        .run(context.config(), interrupt, &mut shown)
        .map_err(|error| login_failed(&error))?;
    context.ensure_home()?;
    let keeping = LoginKeeping {
        label,
        inference_url: flags.inference_url.clone(),
        is_own_client: flags.client_id.is_some(),
    };
    let account = login.store(&file(context), context.config(), &tokens, &keeping)?;
    let provider = server.provider;
    let whose = account.map_or_else(String::new, |account| format!(" as {}", visible(&account)));
    context.line(format!("✓ Logged in to {provider}{whose}"))
}

/// Takes the token that the GitHub CLI got from GitHub. Hermes is no app that GitHub knows, and does not
/// pass itself off as one; the CLI logs people in by code, too.
fn of_github_cli(context: &Context, label: Option<&str>, flags: &LoginFlags) -> Result<()> {
    let host = match &flags.portal_url {
        Some(url) => CopilotHost::at(url),
        None => CopilotHost::of_settings(context.config()),
    };
    let token = github_cli::token(context, &host)?;
    if let Some(refusal) = key_refusal(COPILOT, token.expose()) {
        return Err(CommandError::user(refusal).hint("log in anew with `gh auth login`"));
    }
    let portal = LoginPortal {
        source: github_cli::SOURCE,
        url: host.own_name().map(|_| host.address().to_owned()),
        client_id: None,
        inference_url: flags.inference_url.clone(),
        insecure: flags.insecure,
    };
    context.ensure_home()?;
    let file = file(context);
    let id = CredentialEntry::new_id(&file.entries(COPILOT)?);
    let label = label.unwrap_or("GitHub CLI");
    let entry = CredentialEntry::lasting_login(id, label, &token, &portal);
    file.log_in(COPILOT, &entry)?;
    context.line("✓ The login of the GitHub CLI is used for copilot")
}

/// Uses the login that Qwen Code has on this machine.
fn of_qwen_code(context: &Context, flags: &LoginFlags) -> Result<()> {
    let provider = QwenLogin::PROVIDER;
    let Some(login) = QwenLogin::find(context.config()) else {
        return Err(
            CommandError::user("Qwen Code is not logged in on this machine").hint(
                "log in with it first: run `qwen` and choose Qwen OAuth; Hermes uses that login",
            ),
        );
    };
    let own = builtin(provider).map(|known| known.address(context.config()));
    let mut state = json!({"base_url": flags.inference_url.clone().or(own)});
    if let Some(url) = &flags.portal_url {
        state["portal_base_url"] = json!(url);
    }
    context.ensure_home()?;
    file(context).use_login(provider, &state)?;
    let path = context.display(login.path());
    context.line(format!(
        "✓ The login of Qwen Code ({path}) is used for {provider}"
    ))
}

fn show_code(context: &Context, prompt: &DevicePrompt, no_browser: bool) {
    let page = prompt.whole_page.as_ref().unwrap_or(&prompt.page);
    // Standard error may be closed; the login can still come about.
    drop(context.note(format!(
        "Open {} and enter the code {}",
        visible(&prompt.page),
        visible(&prompt.code)
    )));
    show_page(context, page, no_browser);
    drop(context.note("Waiting for the login; Ctrl-C gives up ..."));
}

fn in_browser(
    context: &Context,
    label: Option<&str>,
    flags: &LoginFlags,
    interrupt: &Wake,
) -> Result<()> {
    let usual = builtin(IN_BROWSER).map(|known| known.address(context.config()));
    let login = BrowserLogin {
        base_url: flags.inference_url.clone().or(usual).unwrap_or_default(),
        page_host: flags.portal_url.clone(),
        connection: flags.connection(),
    };
    let mut shown = |page: &str| {
        // Standard error may be closed; the login can still come about.
        drop(context.note(format!("Open {}", visible(page))));
        show_page(context, page, flags.no_browser);
        drop(context.note("Waiting for the browser; Ctrl-C gives up ..."));
    };
    let key = login
        .run(context.config(), interrupt, &mut shown)
        .map_err(|error| login_failed(&error))?;
    add_to_pool(context, IN_BROWSER, &key, Some(label.unwrap_or("login")))?;
    context.line(format!("✓ Logged in to {IN_BROWSER}"))
}

/// What is said of a login that did not come about.
pub(crate) fn login_failed(error: &LoginError) -> CommandError {
    let failed = if error.is_outside() {
        CommandError::environment(error.to_string())
    } else {
        CommandError::user(error.to_string())
    };
    match error.hint() {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

fn show_page(context: &Context, page: &str, no_browser: bool) {
    if !no_browser {
        open_page(context, page);
    }
}
