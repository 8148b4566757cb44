//! A string that does not print itself and does not stay behind. It never implements `Display` or
//! `Serialize`: whoever needs the text says so with [`SecretString::expose`], and a reviewer can
//! search for that. Its memory is overwritten before it is given back.

use std::fmt;

use zeroize::Zeroize;

/// A secret value. `Debug` prints `[redacted]`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a secret.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The secret itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretString {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl From<&str> for SecretString {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl Drop for SecretString {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_of_a_struct_that_holds_one_is_clean() {
        let holder = Some(SecretString::new("hunter2-hunter2"));
        assert_eq!(format!("{holder:?}"), "Some([redacted])");
        assert_eq!(format!("{holder:#?}").matches("hunter2").count(), 0);
    }

    #[test]
    fn the_value_comes_back_unchanged() {
        assert_eq!(SecretString::from("a b").expose(), "a b");
    }
}
