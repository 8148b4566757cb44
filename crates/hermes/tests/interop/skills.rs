//! One home with skills, two programs: what either makes, installs or changes, the other uses.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::reference::Version;
use crate::world::World;

with_each_reference!(
    skills_of_either_are_used_by_both,
    what_either_installed_the_other_lists,
    bundled_skills_of_both_live_side_by_side,
);

const NOTES: &str = "---\nname: notes\ndescription: Takes notes\nmetadata:\n  hermes:\n    tags: \
    [a, b]\n---\nWrite ${HERMES_SKILL_DIR}/x.\n";

fn put(world: &World, path: &str, text: &str) {
    let file = world.root(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A call of a function of the reference that gives JSON.
fn theirs(world: &World, module: &str, call: &str) -> Value {
    let script = format!("from {module} import *\nprint({call})");
    let printed = world.python(&script, &[]);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn ours(world: &World, tool: &str, args: &Value) -> Value {
    serde_json::from_str(&world.ours(&["tools", "call", tool, &args.to_string()])).unwrap()
}

fn skills_of_either_are_used_by_both(version: Version) {
    let world = World::made_by_the_reference(version);
    put(&world, "skills/office/notes/SKILL.md", NOTES);
    put(&world, "skills/office/notes/references/a.md", "More.\n");
    let here = ours(&world, "skill_view", &json!({"name": "notes"}));
    let there = theirs(&world, "tools.skills_tool", "skill_view('notes')");
    for key in [
        "name",
        "description",
        "tags",
        "path",
        "skill_dir",
        "setup_needed",
        "linked_files",
    ] {
        assert_eq!(here[key], there[key], "{key}");
    }
    let text = "---\nname: fresh\ndescription: Made here\n---\nDo it.\n";
    let made = ours(
        &world,
        "skill_manage",
        &json!({"action": "create", "name": "fresh", "category": "office", "content": text}),
    );
    assert_eq!(made["success"], true, "{made}");
    let there = theirs(&world, "tools.skills_tool", "skill_view('fresh')");
    assert_eq!(there["description"], "Made here");
    let list = theirs(&world, "tools.skills_tool", "skills_list('office')");
    let here = ours(&world, "skills_list", &json!({"category": "office"}));
    assert_eq!(here["skills"], list["skills"]);
    theirs(
        &world,
        "tools.skill_manager_tool",
        "skill_manage('patch', 'fresh', old_string='Do it.', new_string='Do it well.')",
    );
    let here = ours(&world, "skill_view", &json!({"name": "fresh"}));
    assert_eq!(here["content"], "Do it well.");
}

fn what_either_installed_the_other_lists(version: Version) {
    let world = World::made_by_the_reference(version);
    let source = world.home().join("source/tidy");
    fs::create_dir_all(&source).unwrap();
    fs::write(
        source.join("SKILL.md"),
        "---\nname: tidy\ndescription: Tidies\n---\nUse ls.\n",
    )
    .unwrap();
    world.ours(&["skills", "install", source.to_str().unwrap(), "-y"]);
    world.ours(&["skills", "tap", "add", "someone/skills"]);
    let there = theirs(
        &world,
        "tools.skills_hub",
        "json.dumps([HubLockFile().list_installed(), TapsManager().list_taps()])",
    );
    assert_eq!(there[0][0]["name"], "tidy");
    assert_eq!(
        there[1],
        json!([{"repo": "someone/skills", "path": "skills/"}])
    );
    // The hash is theirs, too, so that their updater does not take the copy for a changed one.
    if version.has_config_get {
        let hash = theirs(
            &world,
            "tools.skills_guard",
            "json.dumps(content_hash(Path.home() / '.hermes/skills/tidy'))",
        );
        assert_eq!(there[0][0]["content_hash"], hash);
    }
    put(&world, "skills/other/SKILL.md", NOTES);
    world.python(
        "from tools.skills_hub import HubLockFile\n\
         HubLockFile().record_install('other', 'github', 'a/b/other', 'community', 'safe', 'h', \
         'other', ['SKILL.md'])",
        &[],
    );
    let rows = world.ours(&["skills", "list", "--source", "hub", "--json"]);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    world.ours(&["skills", "uninstall", "other", "-y"]);
    let left = theirs(
        &world,
        "tools.skills_hub",
        "json.dumps([s['name'] for s in HubLockFile().list_installed()])",
    );
    assert_eq!(left, json!(["tidy"]));
}

fn bundled_skills_of_both_live_side_by_side(version: Version) {
    let world = World::made_by_the_reference(version);
    let mine = "---\nname: board-worker\ndescription: Mine\n---\nMine.\n";
    world.ours(&["skills", "opt-in", "--sync"]);
    put(&world, "skills/kanban/board-worker/SKILL.md", mine);
    let before = world.tree();
    // Their sync leaves our copies alone, ours leaves theirs alone.
    world.python(
        "from tools.skills_sync import sync_skills\nsync_skills(quiet=True)",
        &[],
    );
    world.ours(&["skills", "opt-in", "--sync"]);
    let after = world.tree();
    let lost = before
        .iter()
        .filter(|(path, _)| path.ends_with("SKILL.md"))
        .filter(|(path, entry)| after.get(*path) != Some(*entry));
    let lost: Vec<&String> = lost.map(|(path, _)| path).collect();
    assert_eq!(lost, Vec::<&String>::new());
    let there = theirs(&world, "tools.skills_tool", "skill_view('board-worker')");
    assert_eq!(there["description"], "Mine", "{there}");
}
