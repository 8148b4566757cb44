//! What an endpoint is.

use axum::routing::{MethodFilter, MethodRouter};

/// The method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    pub(crate) fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// One endpoint.
pub(crate) struct Route {
    /// Its name in the OpenAPI document.
    pub(crate) name: &'static str,
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// What answers it.
    pub(crate) endpoint: fn(Verb) -> MethodRouter,
}
