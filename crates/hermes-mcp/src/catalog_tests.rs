use pretty_assertions::assert_eq;

use super::*;

fn server(entry: Value) -> ServerConfig {
    ServerConfig::parse("my-srv", &entry).unwrap()
}

fn catalog() -> Catalog {
    let tool = |name: &str| CatalogTool {
        name: name.to_owned(),
        description: String::new(),
        schema: Arc::new(json!({})),
        only_reads: false,
    };
    Catalog {
        tools: vec![tool("a.b"), tool("c")],
        has_resources: true,
        has_prompts: true,
    }
}

fn names(entry: Value) -> Vec<String> {
    let offered = catalog().offered(&server(entry));
    offered.into_iter().map(|tool| tool.name).collect()
}

#[test]
fn tools_and_utilities_are_offered_under_the_name_of_the_server() {
    assert_eq!(
        names(json!({"command": "x"})),
        [
            "mcp__my_srv__a_b",
            "mcp__my_srv__c",
            "mcp__my_srv__list_resources",
            "mcp__my_srv__read_resource",
            "mcp__my_srv__list_prompts",
            "mcp__my_srv__get_prompt",
        ]
    );
}

#[test]
fn filters_count_names_as_the_server_has_them() {
    let quiet = json!({"resources": false, "prompts": false});
    let with = |extra: Value| {
        let mut tools = quiet.clone();
        tools
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        names(json!({"command": "x", "tools": tools}))
    };
    assert_eq!(
        with(json!({"include": ["a.b"], "exclude": ["a.b"]})),
        ["mcp__my_srv__a_b"]
    );
    assert_eq!(with(json!({"exclude": ["a.b"]})), ["mcp__my_srv__c"]);
    assert_eq!(with(json!({"include": ["a_b"]})), Vec::<String>::new());
}

#[test]
fn a_catalog_survives_the_disk_and_belongs_to_its_settings() {
    let home = tempfile::tempdir().unwrap();
    let one = server(json!({"command": "x"}));
    crate::catalog_store::save(home.path(), &one, &catalog()).unwrap();
    let known = crate::catalog_store::load(home.path(), &one).unwrap();
    assert_eq!(*known.catalog, catalog());
    let other = server(json!({"command": "y"}));
    assert!(crate::catalog_store::load(home.path(), &other).is_none());
    assert!(crate::catalog_store::forget(home.path(), &one).unwrap());
    assert!(crate::catalog_store::load(home.path(), &one).is_none());
}
