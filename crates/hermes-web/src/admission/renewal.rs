//! Sessions: the cookies of a new one, the renewal of one whose time is over, and the way to the login.

use std::sync::Arc;

use hermes_http::HttpSettings;
use hyper::header::{HeaderMap, HeaderValue};

use crate::app::App;
use crate::gate::{
    Cookie, Entry, Event, Identity, LoginFailure, PASSWORD, Purpose, RemoteSettings, Visitor,
    safe_next,
};
use crate::http::ApiError;

/// Seconds for which somebody need not log in again.
const REFRESH_SECONDS: i64 = 30 * 24 * 3_600;

/// Where to log in, and what to see then.
pub(super) fn login_url(app: &App, visitor: &Visitor, wanted: Option<&str>) -> String {
    let next = safe_next(wanted);
    let mut query = form_urlencoded::Serializer::new(String::new());
    let logins = &app.gate.settings.logins;
    let prefix = &visitor.prefix;
    query.append_pair("next", &next);
    match (&logins.password, logins.remote.as_slice()) {
        // The only way there is needs no page that offers it.
        (None, [only]) => {
            query.append_pair("provider", only.name);
            format!("{prefix}/auth/login?{}", query.finish())
        }
        _ => format!("{prefix}/login?{}", query.finish()),
    }
}

/// Renews a session whose time is over; `None` if it cannot be renewed.
pub(super) async fn refreshed(
    app: &Arc<App>,
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Result<Option<(Identity, Vec<HeaderValue>)>, ApiError> {
    let Some(refresh) = Cookie::Refresh.read(headers, visitor) else {
        return Ok(None);
    };
    let now = jiff::Timestamp::now().as_second();
    let name = Cookie::Provider.read(headers, visitor).unwrap_or_default();
    if name == PASSWORD {
        let Some(settings) = &app.gate.settings.logins.password else {
            return Ok(None);
        };
        let identity = app.gate.sessions.identity(Purpose::Refresh, &refresh, now);
        let Some(identity) = identity.filter(|identity| identity.provider == PASSWORD) else {
            return Ok(None);
        };
        let identity = Identity {
            expires_at: now + settings.ttl_seconds,
            ..identity
        };
        note(
            app,
            Event::RefreshSuccess,
            (PASSWORD, &identity.user_id),
            (visitor, ""),
        );
        let cookies = password_cookies(app, visitor, &identity, now);
        return Ok(Some((identity, cookies)));
    }
    let Some(provider) = remote(app, &name) else {
        return Ok(None);
    };
    match provider.renew(&http(app), &refresh).await {
        Ok(renewed) => {
            let user = renewed.identity.user_id.clone();
            note(
                app,
                Event::RefreshSuccess,
                (provider.name, &user),
                (visitor, ""),
            );
            let token = renewed.refresh_token.as_ref();
            let token = token.map(hermes_secret::SecretString::expose);
            let cookies = session_cookies(app, visitor, &renewed.identity, (token, now));
            Ok(Some((renewed.identity, cookies)))
        }
        Err(LoginFailure::Refused(_)) => {
            note(
                app,
                Event::RefreshFailure,
                (provider.name, ""),
                (visitor, "refused"),
            );
            Ok(None)
        }
        Err(error) => {
            note(
                app,
                Event::RefreshFailure,
                (provider.name, ""),
                (visitor, "unreachable"),
            );
            Err(failed(error))
        }
    }
}

/// Cookies of a session that a password began.
pub(super) fn password_cookies(
    app: &App,
    visitor: &Visitor,
    identity: &Identity,
    now: i64,
) -> Vec<HeaderValue> {
    let until = now + REFRESH_SECONDS;
    let sessions = &app.gate.sessions;
    let refresh = sessions.sign_identity(Purpose::Refresh, identity, until);
    session_cookies(app, visitor, identity, (Some(&refresh), now))
}

pub(super) fn session_cookies(
    app: &App,
    visitor: &Visitor,
    identity: &Identity,
    (refresh, now): (Option<&str>, i64),
) -> Vec<HeaderValue> {
    let sessions = &app.gate.sessions;
    let access = sessions.sign_identity(Purpose::Access, identity, identity.expires_at);
    let lifetime = identity.expires_at - now;
    let mut set = vec![
        Cookie::Access.set(visitor, &access, lifetime),
        Cookie::Provider.set(visitor, &identity.provider, REFRESH_SECONDS),
    ];
    if let Some(refresh) = refresh {
        set.push(Cookie::Refresh.set(visitor, refresh, REFRESH_SECONDS));
    }
    set.into_iter().flatten().collect()
}

pub(super) fn remote<'a>(app: &'a App, name: &str) -> Option<&'a RemoteSettings> {
    let mut providers = app.gate.settings.logins.remote.iter();
    providers.find(|provider| provider.name == name)
}

pub(super) fn http(app: &App) -> HttpSettings {
    HttpSettings::resolve(app.context().config())
}

pub(super) fn failed(error: LoginFailure) -> ApiError {
    let text = error.to_string();
    match error {
        LoginFailure::Unreachable(_) | LoginFailure::Unusable(_) => ApiError::unavailable(text),
        LoginFailure::Refused(_) => ApiError::bad_request(text),
    }
}

pub(super) fn note(
    app: &App,
    event: Event,
    (provider, user): (&str, &str),
    (visitor, reason): (&Visitor, &str),
) {
    app.gate.audit.note(Entry {
        event,
        provider,
        user,
        address: visitor.address,
        reason,
    });
}
