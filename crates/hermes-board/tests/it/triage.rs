//! Out of triage, swarms, and chats that follow cards.

use hermes_board::model::{SkillList, Status};
use hermes_board::store::{Applied, NewTask, StartIn};
use hermes_board::{
    ChatAddress, Decomposition, Error, ListQuery, NewSubscription, NewSwarm, PlannedChild,
    Specification, SwarmRole, SwarmWorker,
};
use pretty_assertions::assert_eq;

use crate::{Fixture, assignee, card, claim, complete, events, file, kinds, status, task};

fn in_triage() -> NewTask {
    NewTask {
        start: StartIn::Triage,
        ..NewTask::titled("rough idea")
    }
}

#[test]
fn a_specified_card_leaves_triage_with_a_note() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &in_triage());
    let specification = Specification {
        title: Some(" Do it ".to_owned()),
        body: Some("Goal".to_owned()),
        assignee: None,
        author: Some("specifier".to_owned()),
    };
    let now = board.specify(&id, &specification).unwrap();
    assert_eq!((now.title.as_str(), now.status()), ("Do it", Status::Ready));
    assert_eq!(
        events(&board, &id)[1..],
        [
            r#"specified {"changed_fields":["title","body"]}"#.to_owned(),
            "promoted".to_owned()
        ]
    );
    assert_eq!(board.comments(&id).unwrap()[0].author, "specifier");
    assert!(matches!(
        board.specify(&id, &specification),
        Err(Error::NotAllowed { .. })
    ));
    let other = file(&mut board, &in_triage());
    board.specify(&other, &Specification::default()).unwrap();
    assert_eq!(kinds(&board, &other), ["created", "specified", "promoted"]);
    assert!(board.comments(&other).unwrap().is_empty());
}

fn part(title: &str, parents: &[usize]) -> PlannedChild {
    PlannedChild {
        title: title.to_owned(),
        body: None,
        assignee: Some(assignee("coder")),
        parents: parents.to_vec(),
        workspace: None,
    }
}

fn plan(children: Vec<PlannedChild>) -> Decomposition {
    Decomposition {
        root_assignee: Some(assignee("lead")),
        children,
        author: Some("decomposer".to_owned()),
        promote: true,
    }
}

#[test]
fn a_decomposed_card_waits_for_its_parts() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let root = file(
        &mut board,
        &NewTask {
            tenant: Some("acme".to_owned()),
            workspace: hermes_board::model::WorkspaceKind::Dir,
            workspace_path: Some("/srv/site".to_owned()),
            ..in_triage()
        },
    );
    let made = board
        .decompose(
            &root,
            &plan(vec![
                part("one", &[]),
                part("two", &[]),
                part("three", &[0, 1]),
            ]),
        )
        .unwrap();
    let [one, two, three] = made.children.as_slice() else {
        panic!("{made:?}")
    };
    assert_eq!(made.promoted, vec![one.clone(), two.clone()]);
    let child = task(&board, three);
    assert_eq!(child.status(), Status::Todo);
    assert_eq!(child.tenant.as_deref(), Some("acme"));
    assert_eq!(child.workspace_path.as_deref(), Some("/srv/site"));
    assert_eq!(child.created_by.as_deref(), Some("decomposer"));
    assert_eq!(
        events(&board, three)[0],
        format!(r#"created {{"by":"decomposer","from_decompose_of":"{root}"}}"#)
    );
    assert_eq!(board.parents(&root).unwrap(), made.children);
    let whole = task(&board, &root);
    assert_eq!(whole.status(), Status::Todo);
    assert_eq!(whole.assignee.as_deref(), Some("lead"));
    for id in [one, two, three] {
        complete(&mut board, id);
    }
    assert_eq!(status(&board, &root), Status::Ready);
}

#[test]
fn an_invalid_plan_creates_nothing() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let root = file(&mut board, &in_triage());
    for children in [
        vec![],
        vec![part(" ", &[])],
        vec![part("a", &[0])],
        vec![part("a", &[5])],
        vec![part("a", &[1]), part("b", &[2]), part("c", &[0])],
    ] {
        assert!(board.decompose(&root, &plan(children)).is_err());
    }
    assert_eq!(status(&board, &root), Status::Triage);
    assert_eq!(board.list(&ListQuery::default()).unwrap().len(), 1);
    let mut held = plan(vec![part("a", &[])]);
    held.promote = false;
    let made = board.decompose(&root, &held).unwrap();
    assert_eq!(status(&board, &made.children[0]), Status::Todo);
}

fn role(profile: &str, skills: &[&str]) -> SwarmRole {
    SwarmRole {
        profile: assignee(profile),
        skills: SkillList::parse(skills.iter().copied(), &[]).unwrap(),
    }
}

fn swarm() -> NewSwarm {
    NewSwarm {
        goal: "Ship it\nsoon".to_owned(),
        workers: ["a", "b"]
            .map(|name| SwarmWorker {
                profile: assignee(name),
                title: format!("part {name}"),
                skills: SkillList::default(),
            })
            .to_vec(),
        verifier: role("checker", &["requesting-code-review"]),
        synthesizer: role("writer", &[]),
        tenant: None,
        priority: 3,
        created_by: assignee("lead"),
        idempotency_key: Some("S".to_owned()),
    }
}

#[test]
fn a_swarm_is_created_once() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let made = board.create_swarm(&swarm()).unwrap();
    assert_eq!(board.create_swarm(&swarm()).unwrap(), made);
    assert_eq!(board.list(&ListQuery::default()).unwrap().len(), 5);
    assert_eq!(status(&board, &made.root_id), Status::Done);
    for worker in &made.worker_ids {
        assert_eq!(status(&board, worker), Status::Ready);
    }
    assert_eq!(board.parents(&made.verifier_id).unwrap(), made.worker_ids);
    assert_eq!(
        task(&board, &made.verifier_id).skills,
        Some(vec!["requesting-code-review".to_owned()])
    );
    assert_eq!(task(&board, &made.synthesizer_id).skills, None);
    assert_eq!(status(&board, &made.synthesizer_id), Status::Todo);
    let run = board.runs(&made.root_id, None).unwrap().pop().unwrap();
    assert_eq!(run.metadata.unwrap()["kind"], "kanban_swarm_v1");
    let mut nobody = swarm();
    nobody.workers.clear();
    nobody.idempotency_key = None;
    assert!(board.create_swarm(&nobody).is_err());
}

#[test]
fn a_subscription_begins_with_the_latest_event() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let id = file(&mut board, &card("x"));
    let chat = ChatAddress {
        platform: "telegram".to_owned(),
        chat_id: "42".to_owned(),
        thread_id: String::new(),
    };
    let new = NewSubscription {
        chat: chat.clone(),
        user_id: None,
        notifier_profile: Some("default".to_owned()),
    };
    board.subscribe(&id, &new).unwrap();
    let first = board.subscriptions(Some(&id)).unwrap().remove(0);
    assert!(first.last_event_id > 0);
    claim(&mut board, &id);
    // Subscribing again changes the owner and not the cursor.
    let again = NewSubscription {
        notifier_profile: Some("other".to_owned()),
        ..new
    };
    board.subscribe(&id, &again).unwrap();
    let subscriptions = board.subscriptions(Some(&id)).unwrap();
    assert_eq!(subscriptions.len(), 1);
    assert_eq!(subscriptions[0].notifier_profile.as_deref(), Some("other"));
    assert_eq!(subscriptions[0].last_event_id, first.last_event_id);
    for (platform, chat_id) in [("", "1"), ("telegram", " ")] {
        let blank = NewSubscription {
            chat: ChatAddress {
                platform: platform.to_owned(),
                chat_id: chat_id.to_owned(),
                thread_id: String::new(),
            },
            ..again.clone()
        };
        assert!(matches!(
            board.subscribe(&id, &blank),
            Err(Error::Blank { .. })
        ));
    }
    assert!(board.subscribe(&"t_none".into(), &again).is_err());
    board.unsubscribe(&id, &chat).unwrap();
    assert!(matches!(
        board.unsubscribe(&id, &chat),
        Err(Error::UnknownSubscription { .. })
    ));
}

#[test]
fn a_follower_is_told_once_and_a_mark_moves_only_from_where_it_was_read() {
    let fixture = Fixture::new();
    let mut board = fixture.open();
    let (id, log) = (file(&mut board, &card("x")), file(&mut board, &card("log")));
    let chat = |chat_id: &str| NewSubscription {
        chat: ChatAddress {
            platform: "local".to_owned(),
            chat_id: chat_id.to_owned(),
            thread_id: String::new(),
        },
        user_id: None,
        notifier_profile: None,
    };
    board.subscribe(&id, &chat("a")).unwrap();
    assert_eq!(board.unseen().unwrap(), []);
    claim(&mut board, &id);
    // Nobody has to hear of that.
    assert_eq!(board.unseen().unwrap(), []);
    complete(&mut board, &id);
    let unseen = board.unseen().unwrap();
    let kinds: Vec<&str> = unseen[0]
        .events
        .iter()
        .map(|one| one.kind.as_str())
        .collect();
    assert_eq!((unseen.len(), kinds), (1, vec!["completed"]));
    // A card that is gone changes nothing.
    let gone = board.comment_seen(&unseen[0], &"t_none".into(), "n", "text");
    assert!(matches!(gone, Err(Error::UnknownTask { .. })));
    assert_eq!(board.unseen().unwrap(), unseen);
    let told = board.comment_seen(&unseen[0], &log, "n", "text").unwrap();
    assert_eq!(told, Applied::Yes);
    assert_eq!(board.comments(&log).unwrap().len(), 1);
    // The card is done: the subscription has ended, and a second notifier finds out.
    assert_eq!(board.subscriptions(None).unwrap(), []);
    assert_eq!(board.mark_seen(&unseen[0]).unwrap(), Applied::LostRace);
    let again = board.comment_seen(&unseen[0], &log, "n", "text").unwrap();
    assert_eq!(again, Applied::LostRace);
    assert_eq!(board.comments(&log).unwrap().len(), 1);
}
