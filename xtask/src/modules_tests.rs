use pretty_assertions::assert_eq;

use super::*;

/// Parent and edges of every cycle among these modules of one crate.
fn found(modules: &[(&str, &str)]) -> Vec<String> {
    let crates = [Crate::from_text("demo", modules)];
    let cycles = cycles(&crates);
    cycles
        .iter()
        .map(|cycle| {
            let edges = cycle.edges.iter();
            let edges: Vec<_> = edges
                .map(|edge| format!("{}->{}", edge.from, edge.to))
                .collect();
            format!("{}: {}", cycle.parent, edges.join(" "))
        })
        .collect()
}

#[test]
fn dependencies_one_way_are_no_cycle() {
    let modules = [
        ("", "mod a; mod b; pub use a::A;"),
        ("a", "use crate::b::B; pub struct A(B);"),
        ("b", "pub struct B;"),
    ];
    assert_eq!(found(&modules), Vec::<String>::new());
}

#[test]
fn siblings_that_import_each_other_are_a_cycle() {
    let modules = [
        ("", "mod a; mod b; mod c;"),
        ("a", "use super::b::B; pub struct A(B);"),
        ("b", "pub struct B; fn f() { crate::a::g(); }"),
        ("c", "use super::a::A;"),
    ];
    assert_eq!(found(&modules), ["demo: a->b b->a"]);
}

#[test]
fn re_exports_and_globs_do_not_hide_a_cycle() {
    let through_root = [
        ("", "mod a; mod b; pub use a::{A as Renamed};"),
        ("a", "use super::b; pub struct A(b::B);"),
        ("b", "use crate::Renamed; pub struct B; type R = Renamed;"),
    ];
    assert_eq!(found(&through_root), ["demo: a->b b->a"]);
    let through_glob = [
        ("", "mod a; mod b; pub use a::*;"),
        ("a", "use super::b::B; pub struct A(B);"),
        ("b", "pub struct B; fn f(_: super::A) {}"),
    ];
    assert_eq!(found(&through_glob), ["demo: a->b b->a"]);
}

#[test]
fn a_cycle_of_three_through_sub_modules_and_macros_is_found() {
    let modules = [
        ("", "mod outer;"),
        ("outer", "mod a; mod b; mod c;"),
        ("outer::a", "mod deep;"),
        ("outer::a::deep", "use crate::outer::b::f;"),
        ("outer::b", "pub fn f() { println!(\"{}\", super::c::X); }"),
        ("outer::c", "pub const X: u8 = super::a::Y;"),
    ];
    assert_eq!(found(&modules), ["demo::outer: a->b b->c c->a"]);
}

#[test]
fn tests_and_parents_close_no_cycle() {
    let modules = [
        ("", "mod a; mod b; pub struct Root(a::A);"),
        (
            "a",
            "use super::{Root, b::B}; pub struct A(B); fn f(_: Root) {}",
        ),
        (
            "b",
            "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use super::a::A;",
        ),
    ];
    assert_eq!(found(&modules), Vec::<String>::new());
}
