//! What anybody may ask for.

/// Whether a path needs no key.
pub(crate) fn is_open(path: &str) -> bool {
    matches!(path, "/health" | "/v1/health")
}
