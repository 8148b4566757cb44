use pretty_assertions::assert_eq;

use super::*;

const PROGRAM: &str = "fn main() { library::run(library::Settings::new()); }";

/// What is unused in a library, beside a program that calls `run` and `Settings::new`.
fn unused_in(modules: &[(&str, &str)]) -> Vec<String> {
    let crates = [
        Crate::from_text("library", modules),
        Crate::from_text("program", &[("", PROGRAM)]),
    ];
    find(&crates)
        .into_iter()
        .map(|unused| unused.name)
        .collect()
}

#[test]
fn what_the_program_reaches_through_re_exports_is_used() {
    let modules = [
        ("", "mod inner; pub use inner::{Settings, run};"),
        (
            "inner",
            "pub struct Settings; impl Settings { pub fn new() -> Self { Self::with(LIMIT) }
             pub fn with(_: u8) -> Self { Self } pub fn check(&self) {} pub fn base() -> Self { Self } }
             pub const LIMIT: u8 = 1;
             pub fn run(settings: Settings) { settings.check(); let f = helper; Self { ..Settings::base() }; }
             pub fn helper() {}",
        ),
    ];
    assert_eq!(unused_in(&modules), Vec::<String>::new());
}

#[test]
fn functions_types_and_methods_without_a_caller_are_found() {
    let modules = [(
        "",
        "pub struct Settings; impl Settings { pub fn new() -> Self { Self } pub fn idle(&self) {} }
         pub fn run(_: Settings) {}
         pub fn lonely() { lonely(); also_lonely(); }
         pub fn also_lonely() {}
         pub struct Forgotten; impl Forgotten { pub fn new() -> Self { Self } }
         impl std::fmt::Debug for Forgotten {}",
    )];
    assert_eq!(
        unused_in(&modules),
        [
            "Settings::idle",
            "lonely",
            "also_lonely",
            "Forgotten",
            "Forgotten::new"
        ]
    );
}

#[test]
fn tests_imports_and_namesakes_are_no_callers() {
    let modules = [
        (
            "",
            "mod other; pub use other::spare; pub struct Settings; 
             impl Settings { pub fn new() -> Self { Self } }
             pub fn run(spare: Settings) { let other = spare; }
             #[cfg(test)] mod tests { fn t() { super::spare(); } }",
        ),
        ("other", "pub fn spare() {}"),
    ];
    assert_eq!(unused_in(&modules), ["other::spare"]);
}

#[test]
fn names_in_attributes_and_macros_are_callers() {
    let modules = [(
        "",
        "#[serde(default = \"fallback\")] pub struct Settings; impl Settings { pub fn new() -> Self { Self } }
         pub fn run(_: Settings) { println!(\"{}\", shown()); }
         pub fn fallback() {} pub fn shown() {}",
    )];
    assert_eq!(unused_in(&modules), Vec::<String>::new());
}

#[test]
fn methods_of_a_trait_are_used_by_calls_alone() {
    let modules = [(
        "",
        "pub trait Backend { fn start(&self); fn rest(&self) {} }
         pub struct Settings; impl Settings { pub fn new() -> Self { Self } }
         impl Backend for Settings { fn start(&self) {} }
         pub fn run(settings: Settings) { settings.start(); }",
    )];
    assert_eq!(unused_in(&modules), ["Backend::rest"]);
}

#[test]
fn a_type_behind_mut_is_used() {
    let modules = [(
        "",
        "pub struct Settings; impl Settings { pub fn new() -> Self { Self } }
         pub struct Card; pub fn run(_: Settings) { let act: fn(&mut Card) = |_| (); act(&mut Card); }",
    )];
    assert_eq!(unused_in(&modules), Vec::<String>::new());
}
