//! Secrets as values: a string type that cannot be printed by accident, the masks that stand in
//! for a secret, the names that announce one, and the redactor for text on its way out.
//!
//! The crate knows how secrets look. It reads no environment, no file and no setting: whoever
//! builds a [`Redactor`] hands in the values it must never let through.

mod assignments;
mod mask;
mod mask_search;
mod name;
mod redactor;
mod secret_string;
mod shape;
mod sink;

pub use assignments::is_variables_file;
pub use mask::{display_mask, is_display_mask, log_mask};
pub use mask_search::masks_in;
pub use name::is_secret_name;
pub use redactor::Redactor;
pub use secret_string::SecretString;
pub use sink::Sink;
