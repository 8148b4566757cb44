use std::collections::BTreeSet;

use hermes_serve::{Verb, path_names};
use pretty_assertions::assert_eq;

use super::*;
use crate::routes::ROUTES;

#[test]
fn every_endpoint_is_described_and_nothing_else() {
    let document = document(ROUTES);
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for verb in operations.as_object().unwrap().keys() {
            described.insert((verb.to_uppercase(), path.clone()));
        }
    }
    let served: BTreeSet<(String, String)> = ROUTES
        .iter()
        .map(|route| (route.verb.name().to_owned(), route.path.to_owned()))
        .collect();
    assert_eq!(described, served);
    let names: BTreeSet<&str> = ROUTES.iter().map(|route| route.name).collect();
    assert_eq!(names.len(), ROUTES.len(), "names are unique");
}

#[test]
fn every_operation_says_what_it_takes_and_gives() {
    for route in ROUTES {
        let operation = operation(route);
        let parameters = operation["parameters"].as_array();
        for name in path_names(route.path) {
            let is_described = |one: &Value| one["name"] == name && one["in"] == "path";
            assert!(
                parameters.unwrap().iter().any(is_described),
                "{}",
                route.name
            );
        }
        let without = ["run_stop", "job_pause", "job_resume", "job_run"];
        let takes_body =
            matches!(route.verb, Verb::Post | Verb::Patch) && !without.contains(&route.name);
        assert_eq!(
            operation.get("requestBody").is_some(),
            takes_body,
            "{}",
            route.name
        );
        assert_eq!(operation.get("security").is_some(), is_open(route.path));
        assert!(operation["responses"]["400"].is_object());
    }
}
