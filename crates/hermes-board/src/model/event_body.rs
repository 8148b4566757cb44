//! What can happen to a card: kinds of events and their particulars, as the reference writes them.
//!
//! The one place that spells kinds and keys of payloads. Not in the reference are the kinds about
//! checks (`checks_started`, `checks_passed`, `check_failed`, `checks_edited`) and the keys marked
//! as ours.

use serde_json::{Value, json};

use crate::model::{
    Assignee, BlockKind, CheckEvidence, Object, Outcome, RunId, Status, TaskId, Termination,
    WorkerIdentity,
};

/// An event about to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventBody<'a> {
    Created {
        assignee: Option<&'a Assignee>,
        status: Status,
        parents: &'a [TaskId],
        tenant: Option<&'a str>,
        branch_name: Option<&'a str>,
        skills: &'a [String],
        goal_mode: bool,
    },
    CreatedByDecompose {
        by: &'a str,
        root: &'a TaskId,
    },
    Assigned {
        assignee: Option<&'a str>,
        source: Option<&'static str>,
    },
    Linked {
        parent: &'a TaskId,
        child: &'a TaskId,
    },
    Unlinked {
        parent: &'a TaskId,
        child: &'a TaskId,
    },
    Commented {
        author: &'a str,
        characters: usize,
    },
    Attached {
        filename: &'a str,
        size: u64,
        by: Option<&'a str>,
    },
    AttachmentRemoved {
        filename: &'a str,
    },
    Promoted,
    PromotedManual {
        actor: &'a str,
        reason: Option<&'a str>,
        forced: bool,
    },
    Claimed {
        lock: &'a str,
        expires: i64,
        run: RunId,
        from_review: bool,
    },
    ClaimRejected,
    Spawned {
        pid: u32,
        identity: Option<&'a WorkerIdentity>,
    },
    Heartbeat {
        note: Option<&'a str>,
    },
    ClaimExtended {
        worker_pid: u32,
        lock: Option<&'a str>,
        expires_was: i64,
        expires_now: i64,
        last_heartbeat_at: Option<i64>,
    },
    ReclaimDeferred {
        reason: &'static str,
        lock: Option<&'a str>,
        expires_now: i64,
        termination: Termination,
    },
    ReclaimedExpired {
        lock: Option<&'a str>,
        worker_pid: Option<i64>,
        claim_expires: i64,
        last_heartbeat_at: Option<i64>,
        now: i64,
        host_local: bool,
        heartbeat_stale: bool,
        termination: Termination,
    },
    ReclaimedManually {
        reason: Option<&'a str>,
        prev_lock: Option<&'a str>,
        termination: Termination,
    },
    /// `stale`, `crashed`, `protocol_violation`, `rate_limited` and `timed_out`, whose particulars
    /// are also those of the attempt.
    Ended {
        kind: &'static str,
        payload: &'a Object,
    },
    /// `spawn_failed`, or `timed_out` for a used-up budget of turns.
    Failed {
        outcome: Outcome,
        error: &'a str,
        failures: i64,
    },
    GaveUp {
        payload: &'a Object,
    },
    RespawnGuarded {
        reason: &'a str,
    },
    TipScratchWorkspace {
        message: &'a str,
    },
    Completed {
        result_characters: usize,
        summary: Option<&'a str>,
        verified_cards: &'a [TaskId],
        artifacts: &'a [String],
    },
    CompletionBlockedHallucination {
        phantom: &'a [TaskId],
        verified: &'a [TaskId],
        summary_preview: Option<&'a str>,
    },
    SuspectedHallucinatedReferences {
        phantom: &'a [TaskId],
    },
    Edited {
        fields: &'a [&'static str],
        result_characters: usize,
        summary: Option<&'a str>,
    },
    EditedPlain,
    Blocked {
        reason: Option<&'a str>,
        kind: Option<BlockKind>,
        recurrences: i64,
        /// Ours: `initial_status`, or the kind that was asked for if it could not be had.
        extra: Option<(&'static str, &'static str)>,
    },
    DependencyWait {
        reason: Option<&'a str>,
    },
    BlockLoopDetected {
        reason: Option<&'a str>,
        kind: Option<BlockKind>,
        recurrences: i64,
        limit: i64,
    },
    Unblocked {
        waits: bool,
        source: Option<&'static str>,
    },
    Scheduled {
        reason: Option<&'a str>,
        /// Ours.
        at: Option<i64>,
    },
    Specified {
        changed: &'a [&'static str],
    },
    Decomposed {
        children: &'a [TaskId],
        root_assignee: Option<&'a Assignee>,
    },
    Archived,
    StatusSet {
        status: Status,
    },
    ParentReopened {
        parent: &'a TaskId,
    },
    Reprioritized {
        priority: i64,
    },
    ChecksStarted {
        session: i64,
        checks: usize,
    },
    ChecksPassed {
        session: i64,
        checks: usize,
    },
    CheckFailed {
        session: i64,
        evidence: &'a CheckEvidence,
    },
    ChecksEdited {
        checks: usize,
    },
}

impl EventBody<'_> {
    /// The word in the column `kind`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } | Self::CreatedByDecompose { .. } => "created",
            Self::Assigned { .. } => "assigned",
            Self::Linked { .. } => "linked",
            Self::Unlinked { .. } => "unlinked",
            Self::Commented { .. } => "commented",
            Self::Attached { .. } => "attached",
            Self::AttachmentRemoved { .. } => "attachment_removed",
            Self::Promoted => "promoted",
            Self::PromotedManual { .. } => "promoted_manual",
            Self::Claimed { .. } => "claimed",
            Self::ClaimRejected => "claim_rejected",
            Self::Spawned { .. } => "spawned",
            Self::Heartbeat { .. } => "heartbeat",
            Self::ClaimExtended { .. } => "claim_extended",
            Self::ReclaimDeferred { .. } => "reclaim_deferred",
            Self::ReclaimedExpired { .. } | Self::ReclaimedManually { .. } => "reclaimed",
            Self::Ended { kind, .. } => kind,
            Self::Failed { outcome, .. } => outcome.as_str(),
            Self::GaveUp { .. } => "gave_up",
            Self::RespawnGuarded { .. } => "respawn_guarded",
            Self::TipScratchWorkspace { .. } => "tip_scratch_workspace",
            Self::Completed { .. } => "completed",
            Self::CompletionBlockedHallucination { .. } => "completion_blocked_hallucination",
            Self::SuspectedHallucinatedReferences { .. } => "suspected_hallucinated_references",
            Self::Edited { .. } | Self::EditedPlain => "edited",
            Self::Blocked { .. } => "blocked",
            Self::DependencyWait { .. } => "dependency_wait",
            Self::BlockLoopDetected { .. } => "block_loop_detected",
            Self::Unblocked { .. } => "unblocked",
            Self::Scheduled { .. } => "scheduled",
            Self::Specified { .. } => "specified",
            Self::Decomposed { .. } => "decomposed",
            Self::Archived => "archived",
            Self::StatusSet { .. } | Self::ParentReopened { .. } => "status",
            Self::Reprioritized { .. } => "reprioritized",
            Self::ChecksStarted { .. } => "checks_started",
            Self::ChecksPassed { .. } => "checks_passed",
            Self::CheckFailed { .. } => "check_failed",
            Self::ChecksEdited { .. } => "checks_edited",
        }
    }

    /// The particulars; `None` where there are none.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm per kind, and no kind may be forgotten"
    )]
    pub(crate) fn payload(&self) -> Option<Value> {
        Some(match self {
            Self::Created {
                assignee,
                status,
                parents,
                tenant,
                branch_name,
                skills,
                goal_mode,
            } => json!({
                "assignee": assignee,
                "status": status,
                "parents": parents,
                "tenant": tenant,
                "branch_name": branch_name,
                "skills": (!skills.is_empty()).then_some(skills),
                "goal_mode": goal_mode.then_some(true),
            }),
            Self::CreatedByDecompose { by, root } => {
                json!({"by": by, "from_decompose_of": root})
            }
            Self::Assigned { assignee, source } => {
                let mut payload = json!({"assignee": assignee});
                put(&mut payload, "source", source.map(Value::from));
                payload
            }
            Self::Linked { parent, child } | Self::Unlinked { parent, child } => {
                json!({"parent": parent, "child": child})
            }
            Self::Commented { author, characters } => {
                json!({"author": author, "len": characters})
            }
            Self::Attached { filename, size, by } => {
                json!({"filename": filename, "size": size, "by": by})
            }
            Self::AttachmentRemoved { filename } => json!({"filename": filename}),
            Self::Edited {
                fields,
                result_characters,
                summary,
            } => json!({"fields": fields, "result_len": result_characters, "summary": summary}),
            Self::Specified { changed } if !changed.is_empty() => {
                json!({"changed_fields": changed})
            }
            Self::Decomposed {
                children,
                root_assignee,
            } => json!({"child_ids": children, "root_assignee": root_assignee}),
            Self::StatusSet { status } => json!({"status": status}),
            Self::ParentReopened { parent } => {
                json!({"status": "todo", "reason": "parent_reopened", "parent": parent})
            }
            Self::Reprioritized { priority } => json!({"priority": priority}),
            Self::ChecksEdited { checks } => json!({"checks": checks}),
            Self::PromotedManual {
                actor,
                reason,
                forced,
            } => json!({"actor": actor, "reason": reason, "forced": forced}),
            Self::Claimed {
                lock,
                expires,
                run,
                from_review,
            } => {
                let mut payload = json!({"lock": lock, "expires": expires, "run_id": run});
                put(
                    &mut payload,
                    "source_status",
                    from_review.then(|| json!("review")),
                );
                payload
            }
            Self::ClaimRejected => json!({"reason": "parents_not_done"}),
            Self::Spawned { pid, identity } => {
                let mut payload = Object::new();
                payload.insert("pid".to_owned(), json!(pid));
                if let Some(identity) = identity {
                    identity.add_to(&mut payload);
                }
                Value::Object(payload)
            }
            Self::Heartbeat { note: Some(note) } => json!({"note": note}),
            Self::ClaimExtended {
                worker_pid,
                lock,
                expires_was,
                expires_now,
                last_heartbeat_at,
            } => json!({
                "reason": "pid_alive",
                "worker_pid": worker_pid,
                "claim_lock": lock,
                "claim_expires_was": expires_was,
                "claim_expires_now": expires_now,
                "last_heartbeat_at": last_heartbeat_at,
            }),
            Self::ReclaimDeferred {
                reason,
                lock,
                expires_now,
                termination,
            } => with_report(
                json!({"reason": reason, "claim_lock": lock, "claim_expires_now": expires_now}),
                *termination,
            ),
            Self::ReclaimedExpired {
                lock,
                worker_pid,
                claim_expires,
                last_heartbeat_at,
                now,
                host_local,
                heartbeat_stale,
                termination,
            } => {
                let payload = json!({
                    "stale_lock": lock,
                    "worker_pid": worker_pid,
                    "claim_expires": claim_expires,
                    "last_heartbeat_at": last_heartbeat_at,
                    "now": now,
                    "host_local": host_local,
                    "heartbeat_stale": heartbeat_stale,
                });
                with_report(payload, *termination)
            }
            Self::ReclaimedManually {
                reason,
                prev_lock,
                termination,
            } => with_report(
                json!({"manual": true, "reason": reason, "prev_lock": prev_lock}),
                *termination,
            ),
            Self::Ended { payload, .. } | Self::GaveUp { payload } => {
                Value::Object((*payload).clone())
            }
            Self::Failed {
                error, failures, ..
            } => json!({"error": error, "failures": failures}),
            Self::RespawnGuarded { reason } => json!({"reason": reason}),
            Self::TipScratchWorkspace { message } => json!({"message": message}),
            Self::Completed {
                result_characters,
                summary,
                verified_cards,
                artifacts,
            } => {
                let mut payload = json!({"result_len": result_characters, "summary": summary});
                let cards = (!verified_cards.is_empty()).then(|| json!(verified_cards));
                put(&mut payload, "verified_cards", cards);
                let artifacts = (!artifacts.is_empty()).then(|| json!(artifacts));
                put(&mut payload, "artifacts", artifacts);
                payload
            }
            Self::CompletionBlockedHallucination {
                phantom,
                verified,
                summary_preview,
            } => json!({
                "phantom_cards": phantom,
                "verified_cards": verified,
                "summary_preview": summary_preview,
            }),
            Self::SuspectedHallucinatedReferences { phantom } => {
                json!({"phantom_refs": phantom, "source": "completion_summary"})
            }
            Self::Blocked {
                reason,
                kind,
                recurrences,
                extra,
            } => {
                let mut payload =
                    json!({"reason": reason, "kind": kind, "recurrences": recurrences});
                if let Some((key, value)) = extra {
                    put(&mut payload, key, Some(json!(value)));
                }
                payload
            }
            Self::DependencyWait { reason } => {
                json!({"reason": reason, "kind": BlockKind::Dependency})
            }
            Self::BlockLoopDetected {
                reason,
                kind,
                recurrences,
                limit,
            } => json!({
                "reason": reason,
                "kind": kind,
                "recurrences": recurrences,
                "limit": limit,
            }),
            Self::Unblocked { waits, source } if *waits || source.is_some() => {
                let mut payload = json!({});
                put(&mut payload, "status", waits.then(|| json!(Status::Todo)));
                put(&mut payload, "source", source.map(Value::from));
                payload
            }
            Self::Scheduled { reason, at } => {
                let mut payload = json!({"reason": reason});
                put(&mut payload, "at", at.map(Value::from));
                payload
            }
            Self::ChecksStarted { session, checks } | Self::ChecksPassed { session, checks } => {
                json!({"session": session, "checks": checks})
            }
            Self::CheckFailed { session, evidence } => json!({
                "session": session,
                "check": evidence.position,
                "command": evidence.command,
                "exit_code": evidence.exit_code,
                "timed_out": evidence.timed_out,
                "duration_ms": evidence.duration_ms,
                "output": evidence.output,
            }),
            Self::Promoted
            | Self::Archived
            | Self::EditedPlain
            | Self::Heartbeat { note: None }
            | Self::Specified { .. }
            | Self::Unblocked { .. } => return None,
        })
    }
}

fn put(payload: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(map), Some(value)) = (payload, value) {
        map.insert(key.to_owned(), value);
    }
}

fn with_report(payload: Value, termination: Termination) -> Value {
    match payload {
        Value::Object(mut map) => {
            map.extend(termination.to_object());
            Value::Object(map)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn particulars_are_spelled_as_the_reference_spells_them() {
        let text = |body: EventBody<'_>| body.payload().map(|value| value.to_string());
        assert_eq!(
            text(EventBody::Claimed {
                lock: "h:1",
                expires: 5,
                run: RunId(3),
                from_review: true
            })
            .unwrap(),
            r#"{"lock":"h:1","expires":5,"run_id":3,"source_status":"review"}"#
        );
        assert_eq!(
            text(EventBody::ReclaimedManually {
                reason: None,
                prev_lock: Some("h:1"),
                termination: Termination::default()
            })
            .unwrap(),
            r#"{"manual":true,"reason":null,"prev_lock":"h:1","prev_pid":null,"host_local":false,"termination_attempted":false,"terminated":false,"sigkill":false}"#
        );
        assert_eq!(text(EventBody::Promoted), None);
        assert_eq!(text(EventBody::Heartbeat { note: None }), None);
        assert_eq!(
            text(EventBody::Unblocked {
                waits: false,
                source: None
            }),
            None
        );
        assert_eq!(
            text(EventBody::Unblocked {
                waits: true,
                source: Some("scheduled_at")
            })
            .unwrap(),
            r#"{"status":"todo","source":"scheduled_at"}"#
        );
        assert_eq!(text(EventBody::Specified { changed: &[] }), None);
    }
}
