//! One memory, two programs: what either remembers, the other finds, also when both write at once.

use std::fs;
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::{V0_19_0, Version};
use crate::world::World;

with_each_reference!(
    what_either_remembers_the_other_finds,
    both_write_at_once_and_lose_nothing,
);

/// Makes changes as the reference's tool does; gives the results, one per line.
const THEIR_TOOL: &str = "import json, sys\n\
    from tools.memory_tool import MemoryStore, memory_tool\n\
    store = MemoryStore()\n\
    store.load_from_disk()\n\
    for line in sys.argv[1:]:\n\
    \x20   print(memory_tool(store=store, **json.loads(line)))\n";

fn ours(world: &World, args: &Value) -> Value {
    let args = args.to_string();
    let printed = world.ours(&["tools", "call", "memory", &args]);
    serde_json::from_str(&printed).unwrap()
}

fn theirs(world: &World, args: &Value) -> Value {
    let printed = world.python(THEIR_TOOL, &[&args.to_string()]);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn text(world: &World) -> String {
    fs::read_to_string(world.root("memories/MEMORY.md")).unwrap()
}

fn what_either_remembers_the_other_finds(version: Version) {
    let world = World::made_by_the_reference(version);
    let add = |content: &str| json!({"action": "add", "target": "memory", "content": content});
    assert_eq!(
        theirs(&world, &add("uses fish, § and all"))["success"],
        true
    );
    let seen = ours(&world, &add("two\nlines"));
    assert_eq!(
        seen["entries"],
        json!(["uses fish, § and all", "two\nlines"])
    );
    let replace =
        json!({"action": "replace", "target": "memory", "old_text": "two", "content": "one"});
    assert_eq!(theirs(&world, &replace)["success"], true);
    assert_eq!(text(&world), "uses fish, § and all\n§\none");
    let remove = json!({"action": "remove", "target": "memory", "old_text": "fish"});
    assert_eq!(ours(&world, &remove)["entries"], json!(["one"]));
    let prompt = "from tools.memory_tool import MemoryStore\n\
        store = MemoryStore()\nstore.load_from_disk()\n\
        print(store.format_for_system_prompt('memory'))";
    let block = world.python(prompt, &[]);
    assert!(
        block.contains("MEMORY (your personal notes) [0% — 3/2,200 chars]"),
        "{block}"
    );
}

fn both_write_at_once_and_lose_nothing(version: Version) {
    let world = World::made_by_the_reference(version);
    let each = 12;
    let script = "import sys\n\
        from tools.memory_tool import MemoryStore\n\
        store = MemoryStore()\nstore.load_from_disk()\n\
        print('ready', flush=True)\nsys.stdin.readline()\n\
        for n in range(int(sys.argv[1])):\n\
        \x20   assert store.add('memory', f'theirs {n}')['success']\n";
    let mut command = world.their_python();
    command.args(["-c", script, &each.to_string()]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Python takes its time to begin.
    let mut ready = String::new();
    let output = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut ready).unwrap();
    drop(child.stdin.take());
    for n in 0..each {
        let content = format!("ours {n}");
        let added = ours(&world, &json!({"action": "add", "content": content}));
        assert_eq!(added["success"], true, "{added}");
    }
    assert!(child.wait().unwrap().success());
    let text = text(&world);
    let entries: std::collections::BTreeSet<&str> = text.split("\n§\n").collect();
    assert_eq!(entries.len(), 2 * each, "{text}");
}

/// 0.15.1 asks for no approval.
#[test]
fn a_change_that_waits_there_is_approved_here() {
    let world = World::made_by_the_reference(V0_19_0);
    let script = "from tools import write_approval as wa\n\
        print(wa.stage_write(wa.MEMORY, {'action': 'add', 'target': 'user', 'content': 'Ada', \
        'old_text': None}, summary='add', origin='foreground')['id'])";
    let id = world.python(script, &[]).trim().to_owned();
    assert!(world.ours(&["memory", "pending"]).contains(&id));
    world.ours(&["memory", "approve", &id]);
    assert_eq!(
        fs::read_to_string(world.root("memories/USER.md")).unwrap(),
        "Ada"
    );
    world.ours(&["memory", "approval", "on"]);
    ours(&world, &json!({"action": "add", "content": "waits"}));
    let count = "from tools import write_approval as wa\n\
        print([r['payload']['content'] for r in wa.list_pending(wa.MEMORY)])";
    assert_eq!(world.python(count, &[]).trim(), "['waits']");
}
