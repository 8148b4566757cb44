//! Clients that die, streams that make no sense, places that are gone.
