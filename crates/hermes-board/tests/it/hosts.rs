//! Hosts that share a board: registered, alive or away, forgotten; attempts and cards that name them.

use hermes_board::model::{HostRef, Placement, RunId, TaskId};
use hermes_board::store::{
    Applied, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, Completion, NewTask,
};
use hermes_board::{HostEntry, HostOrigin, StoredBoard};
use pretty_assertions::assert_eq;

use crate::{Fixture, START, card, file, kinds};

/// A host of that name, whose id, machine and home are named after it.
pub(crate) fn entry(name: &str) -> HostEntry {
    HostEntry {
        id: format!("id-{name}"),
        name: name.to_owned(),
        labels: vec!["ssd".to_owned()],
        slots: Some(2),
        version: "1.0".to_owned(),
        beat_seconds: 15,
        origin: HostOrigin {
            machine: format!("machine-{name}"),
            boot: "boot-1".to_owned(),
            home: format!("/home/{name}"),
            home_mark: "7".to_owned(),
        },
    }
}

/// Claims a card as a dispatcher of that host does.
pub(crate) fn claim_on(
    board: &mut StoredBoard,
    id: &TaskId,
    host: &str,
    caps: ClaimCaps,
) -> ClaimOutcome {
    let request = ClaimRequest {
        task: id.clone(),
        lock: format!("{host}:1"),
        ttl_seconds: 900,
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: Some(HostRef {
            id: format!("id-{host}"),
            name: host.to_owned(),
        }),
        caps,
    };
    board.claim(&request).unwrap()
}

fn claimed_on(board: &mut StoredBoard, id: &TaskId, host: &str) -> RunId {
    match claim_on(board, id, host, ClaimCaps::default()) {
        ClaimOutcome::Claimed(claimed) => claimed.run,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_is_up_while_it_beats_and_away_after_three_missed_heartbeats() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let lap = entry("lap");
    board.register_host(&lap, false).unwrap();
    fixture.pass(40);
    assert_eq!(board.beat_host(&lap.id, &lap.origin).unwrap(), Applied::Yes);
    let used = board.hosts().unwrap();
    let host = &used[0].host;
    assert_eq!((host.name.as_str(), host.slots), ("lap", Some(2)));
    assert_eq!(host.labels, ["ssd"]);
    assert_eq!((host.started_at, host.heartbeat_at), (START, START + 40));
    assert_eq!(host.away_since(START + 85), None);
    assert_eq!(host.away_since(START + 86), Some(START + 40));
    board.leave_host(&lap.id, &lap.origin).unwrap();
    let host = &board.hosts().unwrap()[0].host;
    assert_eq!(host.away_since(START + 41), Some(START + 40));
    // The next dispatcher of the host is there again.
    fixture.pass(5);
    board.register_host(&lap, false).unwrap();
    let host = &board.hosts().unwrap()[0].host;
    assert_eq!(host.away_since(START + 46), None);
}

#[test]
fn a_copy_of_a_host_that_is_alive_elsewhere_is_refused_and_nothing_changes() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let lap = entry("lap");
    board.register_host(&lap, false).unwrap();
    fixture.pass(10);
    let before = board.hosts().unwrap();
    let mut copy = lap.clone();
    copy.name = "copy".to_owned();
    copy.origin.home = "/home/copy".to_owned();
    copy.origin.home_mark = "8".to_owned();
    let refused = board.register_host(&copy, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "two installations use the host id id-lap: 'lap' (/home/lap), seen 10 s ago, and this one, \
         'copy' (/home/copy)"
    );
    assert!(refused.hint().unwrap().contains("hosts new-id"));
    assert_eq!(board.hosts().unwrap(), before);
    // The copy has no entry to beat for, either.
    let beaten = board.beat_host(&copy.id, &copy.origin).unwrap();
    assert_eq!(beaten, Applied::LostRace);
    // What is left of a host that is gone for long is no obstacle.
    fixture.pass(46);
    board.register_host(&copy, false).unwrap();
    assert_eq!(board.hosts().unwrap()[0].host.name, "copy");
}

#[test]
fn a_restarted_machine_is_itself_and_its_twin_is_noticed_once_both_beat() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let lap = entry("lap");
    board.register_host(&lap, false).unwrap();
    let mut restarted = lap.clone();
    restarted.origin.boot = "boot-2".to_owned();
    board.register_host(&restarted, false).unwrap();
    // Nobody restarted the first one: the other is a clone of the machine.
    let beaten = board.beat_host(&lap.id, &lap.origin).unwrap();
    assert_eq!(beaten, Applied::LostRace);
    assert!(board.register_host(&lap, true).is_err());
}

#[test]
fn only_a_host_that_is_away_and_idle_is_forgotten() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    for name in ["gpu1", "lap"] {
        board.register_host(&entry(name), false).unwrap();
    }
    let refusal = |board: &mut StoredBoard, name| {
        let refused = board.forget_host(name).unwrap_err();
        assert!(refused.hint().is_some(), "{refused}");
        refused.to_string()
    };
    assert_eq!(
        refusal(&mut board, "desk"),
        "no such host: 'desk' (hosts: gpu1, lap)"
    );
    assert_eq!(
        refusal(&mut board, "lap"),
        "host lap is up and cannot be forgotten"
    );
    let id = file(&mut board, &card("work"));
    claimed_on(&mut board, &id, "lap");
    fixture.pass(100);
    assert_eq!(
        refusal(&mut board, "lap"),
        format!("host lap cannot be forgotten: it is working on {id}")
    );
    assert_eq!(board.hosts().unwrap()[1].running, std::slice::from_ref(&id));
    board.complete(&id, &Completion::default()).unwrap();
    assert_eq!(board.forget_host("id-lap").unwrap().name, "lap");
    let names = |board: &StoredBoard| {
        let hosts = board.hosts().unwrap();
        hosts
            .into_iter()
            .map(|used| used.host.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&board), ["gpu1"]);
    // Two of one name have to be told apart.
    let mut twin = entry("gpu1");
    twin.id = "id-2".to_owned();
    board.register_host(&twin, false).unwrap();
    fixture.pass(100);
    assert_eq!(
        refusal(&mut board, "gpu1"),
        "several hosts are called 'gpu1': id-2, id-gpu1"
    );
}

#[test]
fn attempts_keep_the_host_they_ran_on() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("work"));
    let run = claimed_on(&mut board, &id, "lap");
    board.complete(&id, &Completion::default()).unwrap();
    let run = board.run(run).unwrap().unwrap();
    assert_eq!(run.host.as_deref(), Some("lap"));
    assert_eq!(run.host_id.as_deref(), Some("id-lap"));
    let json = serde_json::to_value(&run).unwrap();
    assert_eq!(
        (&json["host"], &json["host_id"]),
        (&"lap".into(), &"id-lap".into())
    );
}

#[test]
fn cards_keep_what_they_ask_of_hosts_until_it_is_edited() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let new = NewTask {
        placement: Placement::parse(["gpu", "ssd"], Some("lap")).unwrap(),
        ..card("work")
    };
    let id = file(&mut board, &new);
    let asked = |board: &StoredBoard| {
        let task = board.task(&id).unwrap().unwrap();
        (task.host_labels, task.host_name)
    };
    let (labels, name) = asked(&board);
    assert_eq!(
        (labels.join(","), name.as_deref()),
        ("gpu,ssd".to_owned(), Some("lap"))
    );
    let snapshot = board.snapshot(2).unwrap();
    assert_eq!(snapshot.ready[0].placement, new.placement);
    board.set_placement(&id, &Placement::default()).unwrap();
    assert_eq!(asked(&board), (Vec::new(), None));
    assert!(kinds(&board, &id).contains(&"edited".to_owned()));
    board.complete(&id, &Completion::default()).unwrap();
    assert!(board.set_placement(&id, &Placement::default()).is_err());
}

#[test]
fn hosts_are_read_for_a_plan_only_if_a_card_asks_for_some() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    board.register_host(&entry("lap"), false).unwrap();
    file(&mut board, &card("anywhere"));
    assert!(board.snapshot(2).unwrap().hosts.is_empty());
    let new = NewTask {
        placement: Placement::parse(["gpu"], None).unwrap(),
        ..card("somewhere")
    };
    file(&mut board, &new);
    assert_eq!(board.snapshot(2).unwrap().hosts.len(), 1);
}

/// The turn of a dispatcher may end with its connection in the middle of a tick.
#[test]
fn a_claim_on_a_server_keeps_to_the_limits_by_itself() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let ids: Vec<TaskId> = (0..4).map(|_| file(&mut board, &card("work"))).collect();
    claimed_on(&mut board, &ids[0], "lap");
    claimed_on(&mut board, &ids[1], "gpu1");
    let limited =
        |caps: ClaimCaps, board: &mut StoredBoard| match claim_on(board, &ids[2], "lap", caps) {
            ClaimOutcome::Full(reached) => Some((reached.cap, reached.limit, reached.current)),
            ClaimOutcome::Claimed(_) => None,
            other => panic!("{other:?}"),
        };
    let caps = [
        (
            ClaimCaps {
                for_all: Some(("max_in_progress", 2)),
                ..ClaimCaps::default()
            },
            ("max_in_progress", 2, 2),
        ),
        (
            ClaimCaps {
                per_profile: Some(2),
                ..ClaimCaps::default()
            },
            ("max_in_progress_per_profile", 2, 2),
        ),
        (
            ClaimCaps {
                per_host: Some(1),
                ..ClaimCaps::default()
            },
            ("max_in_progress_per_host", 1, 1),
        ),
    ];
    if crate::ON_SERVER {
        for (caps, reached) in caps {
            assert_eq!(limited(caps, &mut board), Some(reached));
        }
    }
    let roomy = ClaimCaps {
        for_all: Some(("max_in_progress", 3)),
        per_profile: Some(3),
        per_host: Some(2),
    };
    assert_eq!(limited(roomy, &mut board), None);
}
