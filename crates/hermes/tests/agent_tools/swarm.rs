//! A swarm from its filing to the deliverable: workers beside each other, then the verifier, then the
//! synthesizer, each a real agent that the dispatcher starts.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::end_to_end::Builder;

/// Workers put a fact on the blackboard; the others go on only if they were handed what came before.
const SCRIPT: &str = r#"
turns:
  - match: {user: "work kanban task", step: 1}
    calls: [{tool: kanban_show, arguments: {}}]
  - match: {tool: kanban_show, last: "/Verify swarm outputs[\\s\\S]*the pipes are tight[\\s\\S]*/", seen: "Ask for a review of"}
    calls: [{tool: kanban_complete, arguments: {summary: "all evidence is there", metadata: {gate: pass}}}]
  - match: {tool: kanban_show, last: "/Synthesize swarm outputs[\\s\\S]*all evidence is there/"}
    calls: [{tool: kanban_complete, arguments: {summary: "the house is dry"}}]
  - match: {tool: kanban_show, last: "/Verify swarm outputs|Synthesize swarm outputs/"}
    calls: [{tool: kanban_block, arguments: {reason: "nothing was handed over"}}]
  - match: {tool: kanban_show, last: "/blackboard: `(?<root>t_[0-9a-f]+)`/"}
    calls: [{tool: kanban_comment, arguments: {task_id: "${root}", body: '[swarm:blackboard] {"key": "pipes", "value": "tight"}'}}]
  - match: {tool: kanban_comment}
    calls: [{tool: kanban_complete, arguments: {summary: "the pipes are tight"}}]
  - text: Done.
"#;

fn ids(value: &Value) -> Vec<String> {
    let all = value.as_array().unwrap().iter();
    all.map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[test]
fn workers_verifier_and_synthesizer_are_all_run_by_the_dispatcher() {
    let builder = Builder::new(SCRIPT, "");
    let desk = &builder.desk;
    desk.home.put(
        "profiles/builder/skills/requesting-code-review/SKILL.md",
        "---\nname: requesting-code-review\ndescription: x\n---\nAsk for a review of everything.\n",
    );
    let args = [
        "swarm",
        "find the leak",
        "--worker",
        "builder:look at the pipes",
        "--worker",
        "builder:look at the roof",
        "--verifier",
        "builder",
        "--synthesizer",
        "builder",
        "--idempotency-key",
        "leak",
    ];
    let swarm = desk.kanban(&args);
    let workers = ids(&swarm["worker_ids"]);
    let id = |name: &str| swarm[name].as_str().unwrap().to_owned();
    let (root, verifier, last) = (id("root_id"), id("verifier_id"), id("synthesizer_id"));

    let report = builder.dispatch();
    let spawned = report.succeeds().json()["spawned"].take();
    let mut started: Vec<String> = spawned
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["task_id"].as_str().unwrap().to_owned())
        .collect();
    started.sort();
    let mut both = workers.clone();
    both.sort();
    assert_eq!(started, both);
    for worker in &workers {
        builder.wait(worker, "done");
    }
    builder.work(&verifier, "done");
    let run = builder.card(&verifier)["runs"][0].clone();
    assert_eq!(
        run["metadata"]["gate"],
        "pass",
        "{}",
        builder.log(&verifier)
    );
    builder.work(&last, "done");
    assert_eq!(
        builder.card(&last)["runs"][0]["summary"],
        "the house is dry"
    );

    // The facts of both workers are on the blackboard beside the topology.
    let comments = builder.card(&root)["comments"].take();
    let facts: Vec<Value> = comments
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["body"].as_str()?.strip_prefix("[swarm:blackboard] "))
        .map(|fact| serde_json::from_str(fact).unwrap())
        .collect();
    let keys: Vec<&str> = facts
        .iter()
        .map(|fact| fact["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["topology", "pipes", "pipes"]);
    assert_eq!(facts[0]["value"]["goal"], "find the leak");

    // The same key means the same swarm, as the latest topology has it.
    assert_eq!(desk.kanban(&args), swarm);
    let moved = json!({"key": "topology", "value": {
        "worker_ids": [workers[0]], "verifier_id": verifier, "synthesizer_id": last,
    }});
    let comment = format!("[swarm:blackboard] {moved}");
    desk.home
        .run(["kanban", "comment", &root, &comment])
        .succeeds();
    assert_eq!(ids(&desk.kanban(&args)["worker_ids"]), [workers[0].clone()]);
}
