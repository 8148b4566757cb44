//! Requests to an authorisation server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hermes_config::Config;
use hermes_http::HttpSettings;
use reqwest::Url;
use serde_json::Value;

use super::{LoginConnection, LoginError};
use crate::classify::error_message;
use crate::http::{HttpRequest, Method, Transport, whole_answer};
use crate::pool::LoginTokens;
use crate::route::{host_of, is_local};

/// An answer: its status and, if it is JSON, its content.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) value: Value,
    pub(super) text: String,
    /// What a refusal says about how to get in.
    pub(super) challenge: Option<String>,
}

impl Answer {
    /// Takes a secret out of what the answer says in words.
    pub(super) fn hide(&mut self, secret: &str) {
        if secret.is_empty() {
            return;
        }
        self.text = self.text.replace(secret, "***");
        if let Some(description) = self.value["error_description"].as_str() {
            let description = description.replace(secret, "***");
            self.value["error_description"] = Value::String(description);
        }
    }
}

/// Talks to one authorisation server.
pub(super) struct LoginClient {
    transport: Arc<Transport>,
    timeout: Duration,
    pub(super) base: String,
    pub(super) host: String,
}

impl LoginClient {
    /// `base` is the address of the server, without a slash at its end. Only an encrypted address, or
    /// one on this machine, gets to see a login.
    pub(super) fn new(
        config: &Config,
        connection: &LoginConnection,
        base: &str,
    ) -> Result<Self, LoginError> {
        let base = base.trim().trim_end_matches('/');
        let parsed = Url::parse(base).map_err(|_| LoginError::Address(base.to_owned()))?;
        let host = host_of(base);
        let is_safe = parsed.scheme() == "https" || (parsed.scheme() == "http" && is_local(&host));
        if !is_safe || host.is_empty() {
            return Err(LoginError::Address(base.to_owned()));
        }
        let mut settings = HttpSettings::resolve(config);
        if let Some(bundle) = &connection.ca_bundle {
            settings.ca_bundle = Some(bundle.clone());
        }
        settings.trust_any_certificate = connection.insecure;
        Ok(Self {
            transport: Transport::new(settings),
            timeout: connection.timeout,
            base: base.to_owned(),
            host,
        })
    }

    /// Sends a form.
    pub(super) fn post_form(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: Vec<(&'static str, String)>,
    ) -> Result<Answer, LoginError> {
        self.post(
            path,
            form(fields),
            "application/x-www-form-urlencoded",
            headers,
        )
    }

    /// Sends JSON.
    pub(super) fn post_json(&self, path: &str, body: &Value) -> Result<Answer, LoginError> {
        self.post(path, body.to_string(), "application/json", Vec::new())
    }

    /// Asks for JSON.
    pub(super) fn get(
        &self,
        path: &str,
        headers: Vec<(&'static str, String)>,
    ) -> Result<Answer, LoginError> {
        self.send(Method::GET, path, String::new(), headers)
    }

    fn post(
        &self,
        path: &str,
        body: String,
        content_type: &str,
        mut headers: Vec<(&'static str, String)>,
    ) -> Result<Answer, LoginError> {
        headers.push(("content-type", content_type.to_owned()));
        self.send(Method::POST, path, body, headers)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: String,
        mut headers: Vec<(&'static str, String)>,
    ) -> Result<Answer, LoginError> {
        headers.push(("accept", "application/json".to_owned()));
        let request = HttpRequest {
            method,
            url: format!("{}{path}", self.base),
            headers,
            body: Bytes::from(body),
        };
        let sent = self.transport.send(request);
        let answer = sent.and_then(|exchange| whole_answer(&exchange, self.timeout));
        let answer = answer.map_err(|reason| LoginError::Unreachable {
            host: self.host.clone(),
            reason,
        })?;
        Ok(Answer {
            status: answer.status,
            value: serde_json::from_str(&answer.text).unwrap_or(Value::Null),
            text: answer.text,
            challenge: answer.challenge,
        })
    }

    /// The content of an answer that has to be a good one.
    pub(super) fn accepted(&self, answer: Answer) -> Result<Value, LoginError> {
        match answer.status {
            200 => Ok(answer.value),
            _ => Err(self.refused(&answer)),
        }
    }

    /// The tokens of an answer.
    pub(super) fn tokens(&self, answer: &Value) -> Result<LoginTokens, LoginError> {
        LoginTokens::read(answer).ok_or_else(|| self.incomplete("a token"))
    }

    /// A text that an answer has to have; `what` it is, for the error.
    pub(super) fn text<'v>(
        &self,
        answer: &'v Value,
        key: &str,
        what: &'static str,
    ) -> Result<&'v str, LoginError> {
        let text = answer[key].as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.incomplete(what))
    }

    /// The error for an answer that is none of the expected ones.
    pub(super) fn refused(&self, answer: &Answer) -> LoginError {
        let described = answer.value["error_description"].as_str();
        LoginError::Refused {
            host: self.host.clone(),
            status: answer.status,
            message: described.map_or_else(
                || error_message(&answer.text),
                |text| hermes_text::one_line(text, 300),
            ),
        }
    }

    /// The error for an answer that lacks something.
    pub(super) fn incomplete(&self, what: &'static str) -> LoginError {
        LoginError::Incomplete {
            host: self.host.clone(),
            what,
        }
    }
}

/// Fields as a browser encodes them.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}
