//! Several processes in one container: what one of them does, the others do not notice.

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, eventually, signal, text};
use crate::talk::Talk;

/// A conversation that has begun a command and goes on until `go` is there.
struct Sibling {
    talk: Talk,
}

impl Sibling {
    fn at_work(place: &Place) -> Self {
        let mut talk = place.talk();
        talk.output("cd /tmp; export OWN=mine; f() { echo from f; }");
        let sibling = json!({"command": "sleep 4000", "background": true});
        assert_eq!(talk.terminal(sibling)["exit_code"], 0);
        let command = "echo first; touch /root/at-work; \
            while [ ! -e /root/go ]; do sleep 0.1; done; echo last; f; exit 5";
        talk.send(
            "main",
            "terminal",
            &json!({"command": command, "timeout": 120}),
        );
        eventually("it is at work", || place.sandbox("home/at-work").exists());
        Self { talk }
    }

    /// Lets it finish: nothing has happened to it.
    #[track_caller]
    fn has_noticed_nothing(mut self, place: &Place, id: &str) {
        std::fs::write(place.sandbox("home/go"), "").unwrap();
        let result = self.talk.answer();
        assert_eq!(result["output"], "first\nlast\nfrom f", "{result}");
        assert_eq!(result["exit_code"], 5);
        assert_eq!(self.talk.output("pwd; echo $OWN"), "/tmp\nmine");
        assert_eq!(place.only_id(), id);
        assert_eq!(self.talk.end(), Some(0));
        assert_eq!(self.talk.hermes.errors(), [] as [&str; 0]);
        assert!(place.runs(id, "sleep 4000"));
    }
}

pub(crate) fn a_sibling_that_ends_is_not_noticed(engine: RealEngine) {
    let place = Place::on(engine);
    let sibling = Sibling::at_work(&place);
    let id = place.only_id();
    place.output("true");
    place.exec("exit 9").exits(9);
    let timed = place.hermes(&["exec", "--timeout", "1", "--", "sleep 60"]);
    timed.run().exits(124);
    assert_eq!(place.talk().end(), Some(0));
    for sent in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let mut other = place.talk();
        other.output("true");
        other.send(
            "main",
            "terminal",
            &json!({"command": "touch /root/busy; sleep 500"}),
        );
        eventually("the other is busy", || place.sandbox("home/busy").exists());
        signal(&other.hermes, sent);
        other.hermes.wait();
        std::fs::remove_file(place.sandbox("home/busy")).unwrap();
    }
    eventually("what the others ran is gone", || {
        !place.runs(&id, "sleep 500")
    });
    sibling.has_noticed_nothing(&place, &id);
}

pub(crate) fn a_sibling_that_looks_around_and_tidies_up_is_not_noticed(engine: RealEngine) {
    let place = Place::on(engine);
    let sibling = Sibling::at_work(&place);
    let id = place.only_id();
    let hermes = |args: &[&str]| place.hermes(args).run();
    hermes(&["sandbox", "list"]).succeeds();
    hermes(&["sandbox", "list", "--all-profiles", "--json"]).succeeds();
    hermes(&["doctor"]);
    hermes(&["tools", "list"]).succeeds();
    for more in [
        &[] as &[&str],
        &["--running"],
        &["--running", "--all-profiles"],
    ] {
        let args = [&["sandbox", "prune", "--older-than", "0", "--json"], more].concat();
        let pruned = hermes(&args).succeeds().json();
        let kept = pruned["kept"].as_array().unwrap().iter();
        let reasons: Vec<&Value> = kept
            .filter(|kept| kept["id"] == id.as_str())
            .map(|kept| &kept["reason"])
            .collect();
        assert_eq!(
            reasons,
            [&json!("a running Hermes process uses it")],
            "{pruned}"
        );
    }
    // The sandbox of another task, from its making to its end.
    let other = ["sandbox", "exec", "--task", "other", "--", "echo hi"];
    hermes(&other).succeeds().prints("hi\n");
    hermes(&["sandbox", "stop", "--task", "other"]).succeeds();
    hermes(&["sandbox", "rm", "--task", "other", "--purge", "--yes"]).succeeds();
    assert!(!place.home.has("sandboxes/docker/other"));
    let refused = hermes(&["sandbox", "rm", "--purge", "--yes"]);
    refused.refuses(1, "sandbox default is in use by a running Hermes process");
    sibling.has_noticed_nothing(&place, &id);
}

/// Who resets a sandbox under another's feet takes its command away; the next one finds a new home.
pub(crate) fn a_reset_is_the_one_thing_a_sibling_notices(engine: RealEngine) {
    let place = Place::on(engine);
    let mut sibling = Sibling::at_work(&place).talk;
    let id = place.only_id();
    place.hermes(&["sandbox", "reset"]).run().succeeds();
    let result = sibling.answer();
    let error = text(&result, "error");
    assert!(error.contains("while the command was running"), "{result}");
    assert!(error.contains("it was not run again"), "{result}");
    assert!(text(&result, "output").starts_with("first"), "{result}");
    let after = "pwd; echo $OWN; f; rm /root/at-work; ls /root";
    assert_eq!(sibling.output(after), "/tmp\nmine\nfrom f");
    assert_ne!(place.only_id(), id);
}

/// At a terminal somebody is asked before processes end.
pub(crate) fn a_reset_asks_when_something_runs(engine: RealEngine) {
    let place = Place::on(engine);
    let sibling = Sibling::at_work(&place);
    let id = place.only_id();
    for verb in ["reset", "stop"] {
        let mut terminal = place.hermes(&["sandbox", verb]).start_at_terminal();
        terminal.wait_for("Continue?");
        terminal.press("n\r");
        terminal.wait().exits(1);
    }
    sibling.has_noticed_nothing(&place, &id);
}
