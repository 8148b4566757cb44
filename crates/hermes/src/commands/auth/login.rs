//! `hermes auth add --type oauth` and `hermes login`: a login instead of a key.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hermes_config::vars;
use hermes_proc::{ChildSpec, Wake, find_on_path};
use hermes_providers::{
    BrowserLogin, CredentialEntry, DeviceLogin, DevicePrompt, LoginConnection, LoginError,
    LoginPortal, PORTAL_CLIENT, PORTAL_SCOPE, PORTAL_URL, builtin,
};

use super::file;
use super::key_store::add_to_pool;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::visible;

/// How long the program that opens a browser may take.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// Providers with a login: by a code, and in the browser.
const BY_CODE: &str = "nous";
const IN_BROWSER: &str = "openrouter";

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
    /// Provider to log in to: nous or openrouter
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    #[command(flatten)]
    flags: LoginFlags,
}

pub(crate) fn run_login(args: &LoginArgs, context: &Context) -> Result<()> {
    match &args.provider {
        Some(provider) => log_in_with(context, provider, None, &args.flags),
        None if args.flags.is_given() => log_in_with(context, BY_CODE, None, &args.flags),
        None => {
            context.line("Keys and logins: `hermes auth add PROVIDER`")?;
            context.line("Provider and model: `hermes model`")?;
            context.line("Everything, step by step: `hermes setup`")
        }
    }
}

/// The provider to log in to for this one, if it has a login.
pub(crate) fn logins_of(provider: &str) -> Option<&'static str> {
    [BY_CODE, IN_BROWSER].into_iter().find(|id| *id == provider)
}

/// Whether people log in to this provider rather than store a key.
pub(super) fn is_login_first(provider: &str) -> bool {
    builtin(provider).is_some_and(|known| known.id == BY_CODE)
}

/// Logs in with everything as usual.
pub(crate) fn log_in(context: &Context, provider: &str) -> Result<()> {
    log_in_with(context, provider, None, &LoginFlags::default())
}

/// Logs in to the portal of the provider `nous`.
pub(crate) fn log_in_to_portal(context: &Context) -> Result<()> {
    log_in(context, BY_CODE)
}

pub(super) fn log_in_with(
    context: &Context,
    provider: &str,
    label: Option<&str>,
    flags: &LoginFlags,
) -> Result<()> {
    let id = builtin(provider).map_or(provider, |known| known.id);
    // Ctrl-C ends the program; nothing is stored before the end.
    let interrupt = Wake::new()?;
    match id {
        BY_CODE => by_code(context, label, flags, &interrupt),
        IN_BROWSER => in_browser(context, label, flags, &interrupt),
        _ => Err(
            CommandError::user(format!("{provider} has no login here")).hint(format!(
                "add a key: `hermes auth add {provider} --type api-key`"
            )),
        ),
    }
}

fn by_code(
    context: &Context,
    label: Option<&str>,
    flags: &LoginFlags,
    interrupt: &Wake,
) -> Result<()> {
    let given =
        |flag: &Option<String>, usual: &str| flag.clone().unwrap_or_else(|| usual.to_owned());
    let login = DeviceLogin {
        portal_url: given(&flags.portal_url, PORTAL_URL),
        client_id: given(&flags.client_id, PORTAL_CLIENT),
        scope: given(&flags.scope, PORTAL_SCOPE),
        connection: flags.connection(),
    };
    let mut shown = |prompt: &DevicePrompt| show_code(context, prompt, flags.no_browser);
    let tokens = login
        .run(context.config(), interrupt, &mut shown)
        .map_err(failed)?;
    let portal = LoginPortal {
        url: login.portal_url,
        client_id: login.client_id,
        inference_url: flags.inference_url.clone(),
        insecure: flags.insecure,
    };
    context.ensure_home()?;
    let file = file(context);
    let id = CredentialEntry::new_id(&file.entries(BY_CODE)?);
    let entry = CredentialEntry::login(id, label.unwrap_or("login"), &tokens, &portal);
    file.log_in(BY_CODE, &entry)?;
    context.line(format!("✓ Logged in to {BY_CODE}"))
}

fn show_code(context: &Context, prompt: &DevicePrompt, no_browser: bool) {
    let page = prompt.whole_page.as_ref().unwrap_or(&prompt.page);
    // Standard error may be closed; the login can still come about.
    drop(context.note(format!(
        "Open {} and enter the code {}",
        visible(&prompt.page),
        visible(&prompt.code)
    )));
    open_page(context, page, no_browser);
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
        drop(context.note(format!("Open {}", visible(page))));
        open_page(context, page, flags.no_browser);
        drop(context.note("Waiting for the browser; Ctrl-C gives up ..."));
    };
    let key = login
        .run(context.config(), interrupt, &mut shown)
        .map_err(failed)?;
    add_to_pool(context, IN_BROWSER, &key, Some(label.unwrap_or("login")))?;
    context.line(format!("✓ Logged in to {IN_BROWSER}"))
}

fn failed(error: LoginError) -> CommandError {
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

/// Opens a page in the browser where there is a desktop. That it cannot is no failure: the person has
/// the address.
fn open_page(context: &Context, page: &str, no_browser: bool) {
    let has_desktop = cfg!(target_os = "macos")
        || context.env.is_set(&vars::DISPLAY)
        || context.env.is_set(&vars::WAYLAND_DISPLAY);
    if no_browser || !has_desktop || !(page.starts_with("https://") || page.starts_with("http://"))
    {
        return;
    }
    let path = context.env.os(&vars::PATH);
    let mut programs = ["xdg-open", "open"].into_iter();
    let Some(program) = programs.find_map(|name| find_on_path(OsStr::new(name), path)) else {
        return;
    };
    let plan = context.environment().helper_plan();
    let child = ChildSpec::new(&program, [OsString::from(page)], plan);
    // Some openers last as long as the browser; nobody waits for them.
    std::thread::spawn(move || drop(child.run_captured(OPEN_LIMIT, 1024)));
}
