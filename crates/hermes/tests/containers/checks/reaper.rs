//! Containers nobody will come back to: which go at the next start, and which stay.

use std::time::{Duration, Instant};

use hermes_testkit::{EngineImage, RealEngine, RemoveContainers};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::place::{Place, eventually};
use crate::recorder::Recorder;

/// Lets containers look older than they are: `old-ID` holds for how many seconds they have not
/// been used, `garbage-ID` that they are not worth a look.
const AGEING: &str = r#"
id=${!#}; id=${id:0:12}
[ -e "$FAKE/state/garbage-$id" ] && { echo 'yesterday at noon'; exit 0; }
shown=$(ENGINE "$@") || exit
if [ "$2" = --format ] && [ -e "$FAKE/state/old-$id" ]; then
  day=$(date -u -d "$(cat "$FAKE/state/old-$id") seconds ago" +%Y-%m-%d)
  hour=$(date -u -d "$(cat "$FAKE/state/old-$id") seconds ago" +%H:%M:%S)
  shown=$(sed -E "s/[0-9]{4}-[0-9]{2}-[0-9]{2}([T ])[0-9:.]+/$day\1$hour/" <<<"$shown")
fi
printf '%s\n' "$shown"
"#;

/// Containers that another program or an earlier process left.
struct Leftovers<'a> {
    place: &'a Place,
    recorder: Recorder,
    mark: String,
    _containers: RemoveContainers,
}

impl<'a> Leftovers<'a> {
    fn of(place: &'a Place) -> Self {
        let recorder = Recorder::of(place.engine);
        recorder.answer("inspect", AGEING);
        let mark = format!("hermes-test={}", place.home.root().display());
        Self {
            place,
            recorder,
            _containers: RemoveContainers::of(place.engine, mark.clone()),
            mark,
        }
    }

    /// One with the three labels the reference gives its containers.
    fn container(&self, verb: &[&str], profile: &str) -> String {
        let image = EngineImage::Shell.name_in(self.place.engine);
        let profile = format!("hermes-profile={profile}");
        let labels = ["hermes-agent=1", "hermes-task-id=old", &profile, &self.mark];
        let mut args = verb.to_vec();
        for label in labels {
            args.extend(["--label", label]);
        }
        args.extend([image, "sleep", "infinity"]);
        self.place.engine.demand(&args)
    }

    fn running(&self) -> String {
        self.container(&["run", "-d"], "default")
    }

    fn exited(&self, profile: &str) -> String {
        let id = self.container(&["run", "-d"], profile);
        self.place.engine.demand(&["kill", &id]);
        id
    }

    fn look_old(&self, id: &str, seconds: u32) {
        let file = self.recorder.state(&format!("old-{}", short(id)));
        std::fs::write(file, seconds.to_string()).unwrap();
    }

    /// Runs a command in a new process and waits until the sweep beside it is over.
    fn sweep(&self) {
        self.recorder.forget();
        let run = self
            .place
            .recorded(&self.recorder, &["tools", "call", "--stdin"]);
        let mut talk = crate::talk::Talk::new(run.start());
        talk.output("true");
        eventually("the sweep has come to its last question", || {
            let asked = self.recorder.calls_of("ps");
            asked
                .iter()
                .any(|call| call.line().contains("label=hermes-owner"))
        });
        assert_eq!(talk.end(), Some(0));
    }

    fn is_there(&self, id: &str) -> bool {
        self.place.engine.ask(&["inspect", id]).0
    }
}

/// check 12
pub(crate) fn only_what_ended_long_ago_in_this_profile_goes(engine: RealEngine) {
    let place = Place::on(engine);
    let left = Leftovers::of(&place);
    let running = left.running();
    let paused = left.running();
    engine.demand(&["pause", &paused]);
    let [recent, old, of_another_profile, unreadable] =
        ["default", "default", "other", "default"].map(|profile| left.exited(profile));
    left.look_old(&recent, 10);
    for id in [&running, &paused, &old, &of_another_profile] {
        left.look_old(id, 20 * 60);
    }
    let garbage = left
        .recorder
        .state(&format!("garbage-{}", short(&unreadable)));
    std::fs::write(garbage, "").unwrap();
    left.sweep();
    for (what, id) in [
        ("running", &running),
        ("paused", &paused),
        ("recent", &recent),
        ("of another profile", &of_another_profile),
        ("unreadable", &unreadable),
    ] {
        assert!(left.is_there(id), "{what}");
    }
    assert!(!left.is_there(&old));
    assert!(
        place
            .log()
            .contains(&format!("Reaped orphan container {}", short(&old)))
    );
}

/// check 12
pub(crate) fn a_sandbox_that_stopped_long_ago_is_used_again(engine: RealEngine) {
    let place = Place::on(engine);
    let left = Leftovers::of(&place);
    place.output("mkdir /opt; echo installed > /opt/program");
    let id = place.only_id();
    engine.demand(&["kill", &id]);
    left.look_old(&id, 20 * 60);
    left.sweep();
    assert_eq!(place.only_id(), id);
    assert_eq!(place.output("cat /opt/program"), "installed");
}

/// check 12
pub(crate) fn a_sweep_that_fails_or_hangs_is_in_nobodys_way(engine: RealEngine) {
    let place = Place::on(engine);
    let recorder = Recorder::of(engine);
    for trouble in [
        "echo broken >&2; exit 1",
        "exec sleep 60",
        "echo '<<not an id>>'; echo -rf",
    ] {
        let snippet = format!("case \"$*\" in *status=*) {trouble};; *) exec ENGINE \"$@\";; esac");
        recorder.answer("ps", &snippet);
        let begun = Instant::now();
        let run = place.recorded(&recorder, &["exec", "--", "echo ran"]);
        run.run().succeeds().prints("ran\n").says("");
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{:?}",
            begun.elapsed()
        );
    }
    assert_eq!(recorder.calls_of("rm"), []);
}

/// check 13
pub(crate) fn the_sweep_can_be_turned_off_and_has_a_floor(engine: RealEngine) {
    let place = Place::with(engine, json!({"docker_orphan_reaper": false}));
    let left = Leftovers::of(&place);
    let [younger, older] = ["default", "default"].map(|profile| left.exited(profile));
    left.look_old(&younger, 100);
    left.look_old(&older, 140);
    let run = place.recorded(&left.recorder, &["exec", "--", "true"]);
    run.run().succeeds();
    let asked = left.recorder.calls_of("ps");
    assert!(
        !asked.iter().any(|call| call.line().contains("status=")),
        "{asked:?}"
    );
    assert_eq!(left.recorder.calls_of("rm"), []);

    // Twice a minute at least, not twice nothing.
    place.configure(json!({"lifetime_seconds": 0}));
    let run = place.recorded(&left.recorder, &["tools", "call", "--stdin"]);
    let mut talk = crate::talk::Talk::new(run.start());
    talk.output("true");
    eventually("the older one is gone", || !left.is_there(&older));
    assert!(left.is_there(&younger));
    assert_eq!(talk.end(), Some(0));
}

/// A process with a single command is over long before an engine has removed everything.
pub(crate) fn a_single_command_sweeps_to_the_end(engine: RealEngine) {
    let place = Place::on(engine);
    let left = Leftovers::of(&place);
    let old: Vec<String> = (0..4).map(|_| left.exited("default")).collect();
    for id in &old {
        left.look_old(id, 20 * 60);
    }
    let run = place.recorded(&left.recorder, &["exec", "--", "echo ran"]);
    run.run().succeeds().prints("ran\n").says("");
    let record = place.home.root().join("sandboxes/docker/.orphans");
    if record.exists() {
        let run = place.recorded(&left.recorder, &["exec", "--", "true"]);
        run.run().succeeds();
    }
    assert!(!old.iter().any(|id| left.is_there(id)), "{old:?}");
}

/// One that was made and never started, by a process that died in between.
pub(crate) fn what_was_never_started_goes_in_time(engine: RealEngine) {
    let place = Place::on(engine);
    let left = Leftovers::of(&place);
    place.output("true");
    let home = place.look(&place.only_id(), "{{index .Config.Labels \"hermes-home\"}}");
    let home = format!("hermes-home={home}");
    let made = || left.container(&["create", "--label", &home], "default");
    let [young, old] = [made(), made()];
    left.look_old(&young, 60);
    left.look_old(&old, 20 * 60);
    left.sweep();
    assert!(left.is_there(&young));
    assert!(!left.is_there(&old));
}

/// An id as lists show it.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
