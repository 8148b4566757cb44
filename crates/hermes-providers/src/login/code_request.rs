//! A request for a code, and what the person is shown of the answer.

use serde_json::Value;

use super::LoginError;
use super::client::LoginClient;

/// Who asks which server for a code, and for what.
pub(super) struct CodeRequest<'a> {
    pub(super) client: &'a LoginClient,
    pub(super) client_id: &'a str,
    pub(super) scope: &'a str,
}

/// What the person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    /// The page to open.
    pub page: String,
    /// The same page with the code in it, if the server has such.
    pub whole_page: Option<String>,
    /// The code to type there.
    pub code: String,
}

impl DevicePrompt {
    /// Reads what a server answers to the request for a code.
    pub(super) fn read(answer: &Value, client: &LoginClient) -> Result<Self, LoginError> {
        let whole_page = answer["verification_uri_complete"].as_str();
        Ok(Self {
            page: client
                .text(answer, "verification_uri", "a page to open")?
                .to_owned(),
            whole_page: whole_page.map(str::to_owned),
            code: client.text(answer, "user_code", "a code")?.to_owned(),
        })
    }
}
