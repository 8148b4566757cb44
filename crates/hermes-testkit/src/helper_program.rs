//! Programs of the workspace that take part in a test.

use std::path::{Path, PathBuf};

/// The program of a crate's tests that plays the other process. Cargo builds it from an example
/// target. Panics if it was not built.
pub fn helper_program(name: &str) -> PathBuf {
    let program = built("examples").join(name);
    assert!(
        program.is_file(),
        "the helper program {} was not built. Plain `cargo test` and `cargo nextest run` build it; \
         with `--test`, `--tests` or `--lib` run `cargo build --example {name}` in its crate first",
        program.display()
    );
    program
}

/// A program of the crate whose tests run, also as seen from its helper program.
pub fn own_program(name: &str) -> PathBuf {
    built(name)
}

/// What cargo built: this is `deps/NAME-HASH` or `examples/NAME` below it.
fn built(path: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let directory = own.parent().and_then(Path::parent).unwrap();
    directory.join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "run `cargo build --example no-such-program` in its crate first")]
    fn a_program_that_was_not_built_is_told_with_the_way_to_build_it() {
        helper_program("no-such-program");
    }
}
