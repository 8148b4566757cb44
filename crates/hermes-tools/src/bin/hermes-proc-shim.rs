//! The supervisor of a background process as a program of its own, for tests and tools that are not
//! the `hermes` binary.

fn main() -> std::io::Result<()> {
    hermes_terminal::background::supervise()
}
