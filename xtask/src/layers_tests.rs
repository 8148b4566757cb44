use pretty_assertions::assert_eq;

use super::*;

fn krate(
    name: &str,
    layer: impl Into<Option<Layer>>,
    dependencies: &[(&str, DependencyKind)],
) -> Crate {
    Crate {
        name: name.to_owned(),
        layer: layer.into(),
        dependencies: dependencies
            .iter()
            .map(|(name, kind)| Dependency {
                name: (*name).to_owned(),
                kind: *kind,
            })
            .collect(),
    }
}

const fn layer(number: u8) -> Layer {
    Layer::Number(number)
}

const NORMAL: DependencyKind = DependencyKind::Normal;
const BUILD: DependencyKind = DependencyKind::Build;
const DEV: DependencyKind = DependencyKind::Dev;

#[test]
fn the_workspace_keeps_its_layers() {
    let crates = crate::workspace::crates().unwrap();
    assert!(crates.len() >= 9, "found only {} crates", crates.len());
    assert_eq!(check(&crates, ALLOWED_SIDEWAYS), []);
}

#[test]
fn edges_downwards_and_to_foreign_crates_are_allowed() {
    let crates = [
        krate("words", layer(0), &[("serde", NORMAL)]),
        krate("domain", layer(2), &[("words", NORMAL), ("kit", DEV)]),
        krate("kit", Layer::Dev, &[("domain", NORMAL)]),
    ];
    assert_eq!(check(&crates, &[]), []);
}

#[test]
fn an_edge_upwards_is_found_in_every_kind_of_dependency() {
    for kind in [NORMAL, BUILD, DEV] {
        let crates = [
            krate("words", layer(0), &[("domain", kind)]),
            krate("domain", layer(2), &[]),
        ];
        let expected = Violation::Upward {
            from: "words".into(),
            to: "domain".into(),
        };
        assert_eq!(check(&crates, &[]), [expected], "{kind:?}");
    }
}

#[test]
fn an_edge_sideways_needs_a_reason() {
    let crates = [
        krate("board", layer(2), &[("home", NORMAL)]),
        krate("home", layer(2), &[]),
    ];
    let expected = Violation::Sideways {
        from: "board".into(),
        to: "home".into(),
    };
    assert_eq!(check(&crates, &[]), [expected]);
    let mut exception = Sideways {
        from: "board",
        to: "home",
        reason: "cards name profiles",
    };
    assert_eq!(check(&crates, &[exception]), []);
    exception.reason = " ";
    assert_eq!(check(&crates, &[exception]).len(), 1);
}

#[test]
fn an_exception_without_a_dependency_is_found() {
    let exception = Sideways {
        from: "board",
        to: "home",
        reason: "once",
    };
    let crates = [krate("board", layer(2), &[]), krate("home", layer(2), &[])];
    let expected = Violation::IdleException {
        from: "board".into(),
        to: "home".into(),
    };
    assert_eq!(check(&crates, &[exception]), [expected]);
}

#[test]
fn the_product_may_not_use_what_is_made_for_tests() {
    for kind in [NORMAL, BUILD] {
        let crates = [
            krate("domain", layer(2), &[("kit", kind)]),
            krate("kit", Layer::Dev, &[]),
        ];
        let expected = Violation::DevOnly {
            from: "domain".into(),
            to: "kit".into(),
        };
        assert_eq!(check(&crates, &[]), [expected], "{kind:?}");
    }
}

#[test]
fn a_crate_without_a_layer_is_found() {
    let crates = [krate("stray", None, &[])];
    let expected = Violation::NoLayer {
        name: "stray".into(),
    };
    assert_eq!(check(&crates, &[]), [expected]);
}

#[test]
fn a_cycle_is_found_also_behind_exceptions() {
    let exceptions = [("a", "b"), ("b", "c"), ("c", "a")].map(|(from, to)| Sideways {
        from,
        to,
        reason: "argued",
    });
    let crates = [
        krate("a", layer(2), &[("b", NORMAL)]),
        krate("b", layer(2), &[("c", BUILD)]),
        krate("c", layer(2), &[("a", NORMAL)]),
        krate("z", layer(3), &[("a", NORMAL)]),
    ];
    let path = ["a", "b", "c", "a"].map(str::to_owned).to_vec();
    assert_eq!(check(&crates, &exceptions), [Violation::Cycle { path }]);
}

#[test]
fn a_cycle_through_dev_dependencies_is_allowed() {
    let crates = [
        krate("a", layer(2), &[("kit", DEV)]),
        krate("kit", Layer::Dev, &[("a", NORMAL)]),
    ];
    assert_eq!(check(&crates, &[]), []);
}
