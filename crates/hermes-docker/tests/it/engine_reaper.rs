//! The sweep of old containers, against an engine that notes its calls.

use std::time::{Duration, Instant};

use hermes_docker::{DockerSandbox, SandboxRequest, labels, sweep};
use hermes_terminal::remote::Transport;
use hermes_testkit::{EngineCall, FakeEngine};
use pretty_assertions::assert_eq;

use crate::docker_world::{DockerWorld, FakeEngineExt, full_id, id_of, made_by};
use hermes_testkit::eventually;

/// An engine with exited containers, each with the line that `inspect` prints for it.
fn with_exited(containers: &[(&str, &str)]) -> (FakeEngine, DockerWorld) {
    let engine = FakeEngine::new();
    for (id, line) in containers {
        std::fs::write(engine.state().join(id), format!("{line}\n")).unwrap();
    }
    let ids: Vec<&str> = containers.iter().map(|(id, _)| *id).collect();
    engine.answer(
        "ps",
        &format!(
            "case \"$*\" in *status=exited*) printf '%s\\n' {};; esac",
            ids.join(" ")
        ),
    );
    engine.answer("inspect", "cat $FAKE/state/\"${!#}\" 2>/dev/null || exit 1");
    let mut world = DockerWorld::faked(&engine);
    world.settings.orphan_reaper = true;
    (engine, world)
}

fn ago(seconds: i64) -> String {
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds);
    format!("{then:.9}")
}

fn removed(engine: &FakeEngine) -> Vec<String> {
    let calls = engine.calls_of("rm");
    let last = |call: &EngineCall| call.args.last().unwrap().clone();
    calls.iter().map(last).collect()
}

#[test]
fn only_what_ended_long_ago_is_removed() {
    // check 12
    let (engine, world) = with_exited(&[
        ("aa10", &ago(10)),
        ("bb20", &ago(1200)),
        ("cc", "0001-01-01T00:00:00Z"),
        ("dd", "garbage"),
        ("ee", ""),
        ("ff", &ago(-500)),
        ("ab30", &format!("{}\texited\t<no value>", ago(601))),
    ]);
    assert_eq!(sweep(&world.host()), 2);
    assert_eq!(removed(&engine), ["bb20", "ab30"]);
    // One that was started again in the meantime stays.
    for call in engine.calls_of("rm") {
        assert_eq!(call.args.len(), 2, "{}", call.line());
    }
}

#[test]
fn the_question_is_about_this_profile_and_what_has_ended() {
    let (engine, world) = with_exited(&[]);
    assert_eq!(sweep(&world.host()), 0);
    assert_eq!(
        engine.calls_of("ps")[0].line(),
        "ps -a --filter label=hermes-agent=1 --filter status=exited \
         --filter label=hermes-profile=custom --format {{.ID}}"
    );
}

#[test]
fn what_runs_again_or_belongs_to_another_home_is_left() {
    let (engine, world) = with_exited(&[
        ("aa", &format!("{}\trunning\t", ago(1200))),
        ("bb", &format!("{}\texited\tbbbbbbbbbbbb", ago(1200))),
        ("cc", &format!("{}\texited\t{}", ago(1200), "OURS")),
    ]);
    let ours = labels::home_key(&world.home());
    std::fs::write(
        engine.state().join("cc"),
        format!("{}\texited\t{ours}\n", ago(1200)),
    )
    .unwrap();
    assert_eq!(sweep(&world.host()), 1);
    assert_eq!(removed(&engine), ["cc"]);
}

#[test]
fn a_short_lifetime_has_a_floor() {
    // check 13
    let (engine, mut world) = with_exited(&[("aa", &ago(110)), ("bb", &ago(130))]);
    world.settings.lifetime = Duration::ZERO;
    assert_eq!(sweep(&world.host()), 1);
    assert_eq!(removed(&engine), ["bb"]);
}

#[test]
fn one_failure_does_not_save_the_others() {
    let (engine, world) = with_exited(&[("aa", &ago(1200)), ("bb", &ago(1200))]);
    engine.answer("rm", "[ \"${!#}\" = aa ] && exit 1 || exit 0");
    assert_eq!(sweep(&world.host()), 1);
    assert_eq!(removed(&engine), ["aa", "bb"]);
}

#[test]
fn failures_are_swallowed() {
    for verb in ["ps", "inspect"] {
        let (engine, world) = with_exited(&[("aa", &ago(1200))]);
        engine.fail(verb, 1, "broken");
        assert_eq!(sweep(&world.host()), 0, "{verb}");
        assert_eq!(engine.calls_of("rm").len(), 0, "{verb}");
    }
    let (engine, world) = with_exited(&[]);
    engine.answer("ps", "echo 'WARNING: something odd; rm -rf /'");
    assert_eq!(sweep(&world.host()), 0);
    assert_eq!(engine.calls_of("inspect").len(), 0, "that is no id");
}

#[test]
fn what_never_started_is_removed_when_it_is_old() {
    let (engine, world) = with_exited(&[]);
    for (id, line) in [
        ("aa", format!("{}\tcreated\t", ago(1200))),
        ("bb", format!("{}\tcreated\t", ago(60))),
        ("cc", format!("{}\trunning\t", ago(1200))),
    ] {
        std::fs::write(engine.state().join(id), line).unwrap();
    }
    engine.answer(
        "ps",
        "case \"$*\" in *status=created*) printf '%s\\n' aa bb cc;; esac",
    );
    assert_eq!(sweep(&world.host()), 1);
    assert_eq!(removed(&engine), ["aa"]);
    let asked = engine.calls_of("ps");
    let created = asked
        .iter()
        .find(|call| call.line().contains("created"))
        .unwrap();
    let home = format!("label=hermes-home={}", labels::home_key(&world.home()));
    assert!(created.line().contains(&home), "{}", created.line());
}

#[test]
fn a_container_whose_owner_is_gone_is_removed_and_no_other() {
    // check 11
    let (engine, world) = with_exited(&[]);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let mine = {
        let (other_engine, mut other) = with_exited(&[]);
        other.settings.persist_across_processes = false;
        other.settings.orphan_reaper = false;
        other.sandbox().ensure().unwrap();
        let run = other_engine.calls_of("run")[0].clone();
        let label = run
            .args
            .iter()
            .find_map(|arg| arg.strip_prefix("hermes-owner="));
        label.unwrap().to_owned()
    };
    let parts: Vec<&str> = mine.split('.').collect();
    let with_pid = |pid: u32| format!("{}.{}.{}.{pid}.1", parts[0], parts[1], parts[2]);
    for (id, owner) in [
        ("aa", mine.clone()),
        ("bb", with_pid(child.id())),
        ("cc", "garbage".to_owned()),
        ("dd", format!("{}.{}.elsewhere.1.1", parts[0], parts[1])),
        (
            "ee",
            format!("othermachine.otherboot.{}.{}.1", parts[2], child.id()),
        ),
        ("ff", format!("{}.earlierboot.x.1.1", parts[0])),
        ("ab", "<no value>".to_owned()),
    ] {
        std::fs::write(engine.state().join(id), format!("{owner}\t\t")).unwrap();
    }
    engine.answer(
        "ps",
        "case \"$*\" in *label=hermes-owner*) printf '%s\\n' aa bb cc dd ee ff ab;; esac",
    );
    assert_eq!(sweep(&world.host()), 2);
    assert_eq!(removed(&engine), ["bb", "ff"]);
    assert!(
        engine
            .calls_of("rm")
            .iter()
            .all(|call| call.args[1] == "-f")
    );
}

#[test]
fn turned_off_it_asks_nothing() {
    // check 13
    let (engine, mut world) = with_exited(&[("aa", &ago(1200))]);
    world.settings.orphan_reaper = false;
    world.sandbox().ensure().unwrap();
    let verbs: Vec<String> = engine
        .calls()
        .iter()
        .map(|call| call.args[0].clone())
        .collect();
    assert_eq!(verbs, ["ps", "version", "image", "info", "run"]);
}

#[test]
fn it_runs_once_per_process() {
    // check 13
    let (engine, world) = with_exited(&[]);
    let host = world.host();
    std::thread::scope(|scope| {
        for index in 0..20 {
            let host = host.clone();
            scope.spawn(move || {
                let request = SandboxRequest::of(format!("t{index}"));
                DockerSandbox::new(host, request).ensure().unwrap();
            });
        }
    });
    let sweeps = |call: &EngineCall| call.line().contains("status=exited");
    eventually("the sweep", || engine.calls_of("ps").iter().any(sweeps));
    // The last question of a sweep; after it another one would have begun.
    eventually("its end", || {
        engine
            .calls_of("ps")
            .iter()
            .any(|call| call.line().contains("label=hermes-owner"))
    });
    assert_eq!(engine.calls_of("ps").into_iter().filter(sweeps).count(), 1);
}

#[test]
fn it_neither_delays_nor_fails_the_first_command() {
    // check 12
    let (engine, world) = with_exited(&[]);
    engine.answer("ps", "case \"$*\" in *status=exited*) exec sleep 14;; esac");
    let begun = Instant::now();
    world.sandbox().ensure().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_sandbox_in_use_comes_before_the_sweep() {
    // check 12: stopped twenty minutes ago, and used again
    let engine = FakeEngine::new();
    let mut world = DockerWorld::faked(&engine);
    world.sandbox().ensure().unwrap();
    let run = engine.calls_of("run")[0].clone();
    engine.have(&[made_by(&run, &full_id('a'), "exited")]);
    engine.answer("start", "touch $FAKE/state/started");
    // Once started it is no longer among those that have ended.
    engine.answer(
        "ps",
        "case \"$*\" in *status=exited*) [ -e $FAKE/state/started ] || echo a123456789ab;; *status=*) ;; *) printf 'a123456789ab\\texited\\n';; esac",
    );
    world.settings.orphan_reaper = true;
    engine.forget();
    let sandbox = world.sandbox();
    sandbox.ensure().unwrap();
    assert_eq!(id_of(&sandbox), full_id('a'));
    eventually("the sweep", || {
        engine
            .calls_of("ps")
            .iter()
            .any(|call| call.line().contains("label=hermes-owner"))
    });
    assert_eq!(engine.calls_of("rm").len(), 0);
}

/// Many containers that ended long ago.
fn many(count: usize) -> Vec<(String, String)> {
    (0..count)
        .map(|index| (format!("a{index}"), ago(1200)))
        .collect()
}

fn as_pairs(containers: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = containers.iter();
    pairs
        .map(|(id, line)| (id.as_str(), line.as_str()))
        .collect()
}

#[test]
fn it_begins_before_a_container_is_made_and_is_over_when_the_process_ends() {
    let old = many(8);
    let (engine, world) = with_exited(&as_pairs(&old));
    let host = world.host();
    let sandbox = DockerSandbox::new(host.clone(), SandboxRequest::of("default"));
    sandbox.ensure().unwrap();
    assert!(host.finish(Duration::from_secs(15)));
    let lines: Vec<String> = engine.calls().iter().map(EngineCall::line).collect();
    let at = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap();
    assert!(at("status=exited") < at("run -d"), "{lines:#?}");
    let expected: Vec<String> = old.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(removed(&engine), expected);
}

#[test]
fn slow_removals_delay_no_command_and_the_rest_is_left_to_the_next() {
    let old = many(9);
    let (engine, world) = with_exited(&as_pairs(&old));
    let (_engine, without) = with_exited(&[]);
    let begun = Instant::now();
    without.sandbox().ensure().unwrap();
    let usual = begun.elapsed();

    engine.answer("rm", "exec sleep 0.6");
    let begun = Instant::now();
    let host = world.host();
    let sandbox = DockerSandbox::new(host.clone(), SandboxRequest::of("default"));
    sandbox.ensure().unwrap();
    let delay = begun.elapsed().saturating_sub(usual);
    // Fifty milliseconds, on a machine that does other things besides.
    assert!(delay < Duration::from_millis(400), "{delay:?}");

    let begun = Instant::now();
    assert!(host.finish(Duration::from_secs(15)));
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(3500), "{took:?}");
    let first = removed(&engine);
    assert!((2..=5).contains(&first.len()), "{first:?}");
    let record = world.home().join("sandboxes/docker/.orphans");
    let mut left: Vec<String> = std::fs::read_to_string(&record)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(
        !left.is_empty() && left.iter().all(|id| !first.contains(id)),
        "{left:?}"
    );

    // What was left comes first, whatever the engine's order.
    engine.answer("rm", "");
    engine.forget();
    assert_eq!(sweep(&world.host()), 9);
    let mut next = removed(&engine);
    next.truncate(left.len());
    next.sort();
    left.sort();
    assert_eq!(next, left);
    assert!(!record.exists());
}
