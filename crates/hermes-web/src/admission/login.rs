//! The endpoints of a login.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template as _;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::{Value, json};

use super::renewal::{failed, http, note, password_cookies, remote, session_cookies};
use crate::app::off_loop;
use crate::call::{Answered, Call, json as answer};
use crate::gate::{
    ALL_COOKIES, Access, Cookie, Entry, Event, Identity, Mode, PASSWORD, PendingLogin, Purpose,
    TICKET_LIFETIME, safe_next,
};
use crate::http::{ApiError, json_response};
use crate::pages::{LoginPage, LoginProvider, page_response};

const PASSWORD_LABEL: &str = "User name and password";
/// Seconds that a login may take at its provider.
const LOGIN_SECONDS: i64 = 600;
/// How long a provider may take to end a session.
const REVOKE_LIMIT: Duration = Duration::from_secs(3);
/// Longest user name and password.
const MOST_LETTERS: usize = 1_024;

/// `GET /login`.
pub(crate) fn login_page(call: &Call) -> Answered {
    let logins = &call.app.gate.settings.logins;
    let next = safe_next(call.query("next").as_deref());
    let page = LoginPage {
        prefix: call.visitor.prefix.clone(),
        next,
        has_password: logins.password.is_some(),
        providers: logins
            .remote
            .iter()
            .map(|provider| LoginProvider {
                name: provider.name,
                label: provider.label,
            })
            .collect(),
        is_needed: call.app.gate.mode() == Mode::Gated,
    };
    let html = page
        .render()
        .map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(page_response(html))
}

/// `GET /api/auth/providers`.
pub(crate) fn providers(call: &Call) -> Answered {
    let logins = &call.app.gate.settings.logins;
    let mut providers: Vec<Value> = Vec::new();
    if call.app.gate.mode() == Mode::Gated {
        if logins.password.is_some() {
            providers.push(json!({
                "name": PASSWORD, "display_name": PASSWORD_LABEL, "supports_password": true,
            }));
        }
        for provider in &logins.remote {
            providers.push(json!({
                "name": provider.name, "display_name": provider.label, "supports_password": false,
            }));
        }
    }
    answer(&json!({ "providers": providers }))
}

/// `GET /api/auth/me`: who asks. On this machine nobody has a name, and that is said.
pub(crate) fn me(call: &Call) -> Answered {
    match &call.visitor.access {
        Access::Session(who) => answer(&json!({
            "user_id": who.user_id,
            "email": who.email,
            "display_name": who.display_name,
            "org_id": who.org_id,
            "provider": who.provider,
            "expires_at": who.expires_at,
        })),
        Access::Token | Access::Drain | Access::Open | Access::Public => {
            let message = "nobody logs in to this dashboard, so there is no user";
            Err(ApiError::new(StatusCode::UNAUTHORIZED, message)
                .field("error", "unauthenticated")
                .field("reason", "no_identity_provider"))
        }
    }
}

/// `POST /api/auth/ws-ticket`.
pub(crate) fn ws_ticket(call: &Call) -> Answered {
    let identity = match &call.visitor.access {
        Access::Session(identity) => identity.clone(),
        // A client that always asks for a ticket works on this machine as well.
        Access::Token => Identity::named("", "local"),
        Access::Drain | Access::Open | Access::Public => {
            return Err(ApiError::not_found("this dashboard asks for no tickets"));
        }
    };
    let gate = &call.app.gate;
    let (user, provider) = (identity.user_id.clone(), identity.provider.clone());
    let ticket = gate
        .tickets
        .issue(identity, Instant::now())
        .ok_or_else(|| {
            let seconds = TICKET_LIFETIME.as_secs();
            ApiError::too_many("too many tickets are waiting to be used", seconds)
        })?;
    gate.audit.note(Entry {
        event: Event::TicketIssued,
        provider: &provider,
        user: &user,
        address: call.visitor.address,
        reason: "",
    });
    answer(&json!({"ticket": ticket, "ttl_seconds": TICKET_LIFETIME.as_secs()}))
}

/// `POST /auth/password-login`.
pub(crate) async fn password_login(call: Call) -> Answered {
    let username = call.required_text("username")?.to_owned();
    let password = call.required_text("password")?.to_owned();
    let provider = call.text("provider")?.unwrap_or(PASSWORD);
    let next = safe_next(call.text("next")?);
    let Some(settings) = &call.app.gate.settings.logins.password else {
        return Err(ApiError::not_found("nobody logs in with a password here"));
    };
    if provider != PASSWORD {
        return Err(ApiError::not_found("there is no such login by password"));
    }
    let address = call.visitor.address;
    let gate = &call.app.gate;
    if let Err(seconds) = gate.logins.attempt(address, Instant::now()) {
        note(
            &call.app,
            Event::LoginFailure,
            (PASSWORD, &username),
            (&call.visitor, "too many attempts"),
        );
        return Err(ApiError::too_many("too many attempts to log in", seconds));
    }
    let ttl = settings.ttl_seconds;
    let is_long = username.len() > MOST_LETTERS || password.len() > MOST_LETTERS;
    let app = Arc::clone(&call.app);
    let given = username.clone();
    let fits = off_loop(move || {
        let settings = app.gate.settings.logins.password.as_ref();
        Ok(!is_long && settings.is_some_and(|settings| settings.fits(&given, &password)))
    })
    .await?;
    if !fits {
        note(
            &call.app,
            Event::LoginFailure,
            (PASSWORD, &username),
            (&call.visitor, "wrong"),
        );
        let message = "the user name or the password is wrong";
        return Err(
            ApiError::new(StatusCode::UNAUTHORIZED, message).field("error", "invalid_credentials")
        );
    }
    note(
        &call.app,
        Event::LoginSuccess,
        (PASSWORD, &username),
        (&call.visitor, ""),
    );
    let next = format!("{}{next}", call.visitor.prefix);
    let mut response = json_response(StatusCode::OK, &json!({"ok": true, "next": next}));
    let now = jiff::Timestamp::now().as_second();
    let identity = Identity {
        expires_at: now + ttl,
        ..Identity::named(&username, PASSWORD)
    };
    for cookie in password_cookies(&call.app, &call.visitor, &identity, now) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /auth/login`: sends the browser to a provider.
pub(crate) async fn start(call: Call) -> Answered {
    let name = call.query("provider").unwrap_or_default();
    let app = Arc::clone(&call.app);
    let Some(provider) = remote(&app, &name) else {
        let shown = hermes_text::shown(&name, 80);
        return Err(ApiError::not_found(format!("there is no login {shown}")));
    };
    if let Err(seconds) = app
        .gate
        .logins
        .attempt(call.visitor.address, Instant::now())
    {
        return Err(ApiError::too_many("too many attempts to log in", seconds));
    }
    let pending = PendingLogin::new();
    let redirect = redirect_address(&call)?;
    let address = provider
        .authorize_url(&http(&app), &pending, &redirect)
        .await
        .map_err(failed)?;
    note(
        &app,
        Event::LoginStart,
        (provider.name, ""),
        (&call.visitor, ""),
    );
    let now = jiff::Timestamp::now().as_second();
    let next = safe_next(call.query("next").as_deref());
    let value = json!([
        provider.name,
        pending.state,
        pending.nonce,
        pending.verifier,
        next
    ]);
    let kept = app
        .gate
        .sessions
        .sign(Purpose::Login, &value, now + LOGIN_SECONDS);
    let mut response = redirect_to(&address)?;
    let cookie = Cookie::Login.set(&call.visitor, &kept, LOGIN_SECONDS);
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /auth/callback`: the browser comes back from a provider.
pub(crate) async fn callback(call: Call) -> Answered {
    let app = Arc::clone(&call.app);
    let now = jiff::Timestamp::now().as_second();
    let kept = Cookie::Login.read(call.headers(), &call.visitor);
    let kept = kept.and_then(|text| {
        let read = app.gate.sessions.read(Purpose::Login, &text, now);
        // A login is completed once.
        app.gate.sessions.revoke(&text, now);
        read
    });
    let refused = |reason: &str| {
        note(
            &app,
            Event::LoginFailure,
            ("", ""),
            (&call.visitor, "callback"),
        );
        ApiError::bad_request(format!(
            "{reason}; begin again at {}/login",
            call.visitor.prefix
        ))
    };
    let Some((kept, _)) = kept else {
        return Err(refused("this login was not begun here, or took too long"));
    };
    let part = |at: usize| kept[at].as_str().unwrap_or_default().to_owned();
    let pending = PendingLogin {
        state: part(1),
        nonce: part(2),
        verifier: part(3),
    };
    if call.query("state").as_deref() != Some(pending.state.as_str()) {
        return Err(refused("the answer belongs to another login"));
    }
    if let Some(error) = call.query("error") {
        let shown = hermes_text::shown(&error, 120);
        return Err(refused(&format!("the provider refused the login: {shown}")));
    }
    let Some(provider) = remote(&app, &part(0)) else {
        return Err(refused("this login is not configured any more"));
    };
    // A provider that names itself (RFC 9207) must be the one that was asked.
    if call
        .query("iss")
        .is_some_and(|issuer| !provider.is_issuer(&issuer))
    {
        return Err(refused("the answer is from another provider"));
    }
    let code = call
        .query("code")
        .ok_or_else(|| refused("the answer has no code"))?;
    let redirect = redirect_address(&call)?;
    let done = provider
        .complete(&http(&app), &pending, (&code, &redirect))
        .await;
    let done = done.map_err(|error| {
        note(
            &app,
            Event::LoginFailure,
            (provider.name, ""),
            (&call.visitor, "exchange"),
        );
        failed(error)
    })?;
    let user = done.identity.user_id.clone();
    note(
        &app,
        Event::LoginSuccess,
        (provider.name, &user),
        (&call.visitor, ""),
    );
    let mut response = redirect_to(&format!(
        "{}{}",
        call.visitor.prefix,
        safe_next(Some(&part(4)))
    ))?;
    let refresh = done
        .refresh_token
        .as_ref()
        .map(hermes_secret::SecretString::expose);
    for cookie in session_cookies(&app, &call.visitor, &done.identity, (refresh, now)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    if let Some(cookie) = Cookie::Login.set(&call.visitor, "", 0) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `POST /auth/logout`.
pub(crate) async fn logout(call: Call) -> Answered {
    let now = jiff::Timestamp::now().as_second();
    let app = &call.app;
    end_remote_session(&call).await;
    for cookie in [Cookie::Access, Cookie::Refresh] {
        if let Some(text) = cookie.read(call.headers(), &call.visitor) {
            app.gate.sessions.revoke(&text, now);
        }
    }
    let who = call.visitor.identity().cloned().unwrap_or_default();
    note(
        app,
        Event::Logout,
        (&who.provider, &who.user_id),
        (&call.visitor, ""),
    );
    let login = format!("{}/login", call.visitor.prefix);
    let mut response = json_response(StatusCode::OK, &json!({"ok": true, "login_url": login}));
    for cookie in ALL_COOKIES {
        if let Some(gone) = cookie.set(&call.visitor, "", 0) {
            response.headers_mut().append(header::SET_COOKIE, gone);
        }
    }
    Ok(response)
}

/// Ends the session at the provider that began it, as far as it lets us. Whoever logs out is logged out
/// here in any case.
async fn end_remote_session(call: &Call) {
    let app = &call.app;
    let (headers, visitor) = (call.headers(), &call.visitor);
    let name = Cookie::Provider.read(headers, visitor).unwrap_or_default();
    let refresh = Cookie::Refresh.read(headers, visitor);
    let (Some(provider), Some(refresh)) = (remote(app, &name), refresh) else {
        return;
    };
    // What strangers send is not remembered: it would crowd out what counts.
    if visitor.identity().is_some() {
        provider.end_session(&refresh);
    }
    if app
        .gate
        .logins
        .attempt(visitor.address, Instant::now())
        .is_err()
    {
        return;
    }
    let http = http(app);
    let revoked = tokio::time::timeout(REVOKE_LIMIT, provider.revoke(&http, &refresh)).await;
    match revoked {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::info!("a session goes on at its provider: {error}"),
        Err(_) => tracing::info!("a session goes on at its provider, which does not answer"),
    }
}

/// Where a provider sends the browser back to.
fn redirect_address(call: &Call) -> Result<String, ApiError> {
    if let Some(public) = &call.app.gate.settings.public_url {
        return Ok(format!("{}/auth/callback", public.as_text()));
    }
    let host = call.header(&header::HOST);
    let host = host.ok_or_else(|| ApiError::bad_request("the request names no host"))?;
    let scheme = if call.visitor.is_https {
        "https"
    } else {
        "http"
    };
    Ok(format!(
        "{scheme}://{host}{}/auth/callback",
        call.visitor.prefix
    ))
}

fn redirect_to(address: &str) -> Answered {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let location = HeaderValue::from_str(address)
        .map_err(|_| ApiError::internal("an address cannot stand in a header"))?;
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response.into_response())
}
