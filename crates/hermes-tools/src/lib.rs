//! The tools an agent can call.
