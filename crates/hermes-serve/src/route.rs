//! What an endpoint is, and what is made from the table of all.

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use serde_json::{Map, Value, json};

/// The method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    /// As it stands in a request.
    pub fn name(self) -> &'static str {
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
pub struct Route {
    /// Its name in the OpenAPI document.
    pub name: &'static str,
    pub verb: Verb,
    pub path: &'static str,
    pub summary: &'static str,
    /// What answers it.
    pub endpoint: fn(Verb) -> MethodRouter,
}

/// Makes the table `ROUTES` from rows of name, verb, path, summary, kind and function. The kind says how
/// the function is called: [`disk`](crate::disk) or [`waiting`](crate::waiting).
#[macro_export]
macro_rules! routes {
    ($($name:literal $verb:ident $path:literal $summary:literal $kind:ident $($endpoint:ident)::+;)+) => {
        /// All endpoints.
        pub(crate) const ROUTES: &[$crate::Route] = &[$($crate::Route {
            name: $name,
            verb: $crate::Verb::$verb,
            path: $path,
            summary: $summary,
            endpoint: |verb| $crate::$kind(verb, $($endpoint)::+),
        }),+];
    };
}

/// A router of these endpoints.
pub fn router(routes: &[Route]) -> Router {
    routes.iter().fold(Router::new(), |router, route| {
        router.route(route.path, (route.endpoint)(route.verb))
    })
}

/// The names of the parts of a path that vary.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(name.trim_start_matches('*'))
    })
}

/// The `paths` of an OpenAPI document.
pub fn document_paths<'r>(
    routes: impl Iterator<Item = &'r Route>,
    operation: impl Fn(&Route) -> Value,
) -> Map<String, Value> {
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.name().to_lowercase()] = operation(route);
    }
    paths
}
