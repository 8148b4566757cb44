//! `/goal` and `/subgoal`: what the session works towards until a judge finds it reached.

use hermes_agent::standing_goal::{GoalContract, GoalWait, StandingGoal};

use super::{After, ChatState};
use crate::error::{CommandError, Result};
use crate::ui::{counted, visible};

pub(super) fn goal(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let (verb, rest) = match arguments.split_once(char::is_whitespace) {
        Some((verb, rest)) => (verb, rest.trim()),
        None => (arguments, ""),
    };
    match (verb, rest) {
        ("" | "status", "") => show_state(state),
        ("show", "") => show_all(state),
        ("pause", "") => pause(state),
        ("resume", "") => resume(state),
        ("clear" | "stop", "") => clear(state),
        ("unwait", "") => unwait(state),
        ("wait", rest) if !rest.is_empty() => wait(state, rest),
        ("wait" | "draft", "") => Err(CommandError::user(format!("/goal {verb} needs more"))
            .hint("/goal wait PID [reason] or /goal draft TEXT")),
        ("draft", text) => draft(state, text),
        _ => begin(state, arguments),
    }
}

fn show_state(state: &mut ChatState<'_>) -> Result<After> {
    match state
        .conversation
        .goal()?
        .filter(|goal| goal.is_open() || goal.last_verdict.is_some())
    {
        Some(goal) => {
            state.note(visible(&goal.summary()))?;
            if let Some(reason) = &goal.last_reason {
                state.note(format!("  Last verdict: {}", visible(reason)))?;
            }
        }
        None => state.note("There is no goal; /goal TEXT sets one.")?,
    }
    Ok(After::Prompt)
}

fn show_all(state: &mut ChatState<'_>) -> Result<After> {
    let goal = open_goal(state)?;
    state.note(visible(&goal.summary()))?;
    for (name, text) in goal.contract.parts() {
        if !text.trim().is_empty() {
            state.note(format!("  {name}: {}", visible(text)))?;
        }
    }
    for line in goal.numbered().lines() {
        state.note(format!("  {}", visible(line)))?;
    }
    Ok(After::Prompt)
}

fn pause(state: &mut ChatState<'_>) -> Result<After> {
    let mut goal = open_goal(state)?;
    goal.pause("by you");
    state.conversation.set_goal(&goal)?;
    state.note("The goal is paused; /goal resume goes on.")?;
    Ok(After::Prompt)
}

fn resume(state: &mut ChatState<'_>) -> Result<After> {
    let mut goal = open_goal(state)?;
    goal.resume();
    state.conversation.set_goal(&goal)?;
    Ok(After::Goal)
}

fn clear(state: &mut ChatState<'_>) -> Result<After> {
    let mut goal = open_goal(state)?;
    goal.status = hermes_agent::standing_goal::GoalStatus::Cleared;
    goal.stop_waiting();
    state.conversation.set_goal(&goal)?;
    state.note("The goal is given up.")?;
    Ok(After::Prompt)
}

fn wait(state: &mut ChatState<'_>, rest: &str) -> Result<After> {
    let (number, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let pid = number.parse::<u32>().ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(|| {
        CommandError::user(format!(
            "'{}' is not the number of a process",
            visible(number)
        ))
    })?;
    let mut goal = open_goal(state)?;
    if !goal.is_active() {
        return Err(CommandError::user("the goal is paused").hint("/goal resume goes on"));
    }
    goal.wait_for(&GoalWait::Pid(pid), reason);
    state.conversation.set_goal(&goal)?;
    Ok(After::Goal)
}

fn unwait(state: &mut ChatState<'_>) -> Result<After> {
    let mut goal = open_goal(state)?;
    if !goal.stop_waiting() {
        state.note("The goal waits for nothing.")?;
        return Ok(After::Prompt);
    }
    state.conversation.set_goal(&goal)?;
    Ok(if goal.is_active() {
        After::Goal
    } else {
        After::Prompt
    })
}

fn begin(state: &mut ChatState<'_>, typed: &str) -> Result<After> {
    let (text, contract) = GoalContract::parse(typed);
    set(state, &text, contract)
}

fn draft(state: &mut ChatState<'_>, text: &str) -> Result<After> {
    let contract = match state.conversation.draft_goal(text) {
        Ok(contract) => contract,
        Err(why) => {
            let why = visible(&why);
            state.note(format!("The goal is set as it stands: {why}"))?;
            GoalContract::default()
        }
    };
    for (name, text) in contract.parts() {
        if !text.trim().is_empty() {
            state.note(format!("  {name}: {}", visible(text)))?;
        }
    }
    set(state, text, contract)
}

fn set(state: &mut ChatState<'_>, text: &str, contract: GoalContract) -> Result<After> {
    if text.is_empty() {
        return Err(
            CommandError::user("say what the goal is, then what it takes")
                .hint("/goal TEXT, and lines such as `verify: cargo test passes` behind it"),
        );
    }
    let former = state.conversation.goal()?.filter(StandingGoal::is_open);
    if let Some(former) = former {
        state.note(format!("In place of: {}", visible(&former.goal)))?;
    }
    let goal = state.conversation.begin_goal(text, contract)?;
    let turns = counted(
        usize::try_from(goal.max_turns).unwrap_or(usize::MAX),
        "turn",
    );
    state.note(format!(
        "Goal set: at most {turns}; Ctrl-C or /goal pause stops it."
    ))?;
    Ok(After::Turn(if goal.contract.is_empty() {
        text.to_owned()
    } else {
        goal.continuation()
    }))
}

pub(super) fn subgoal(state: &mut ChatState<'_>, arguments: &str) -> Result<After> {
    let mut goal = open_goal(state)?;
    let (verb, rest) = arguments
        .split_once(char::is_whitespace)
        .unwrap_or((arguments, ""));
    match (verb, rest.trim()) {
        ("", _) => {
            if goal.subgoals.is_empty() {
                state.note("There are no subgoals; /subgoal TEXT adds one.")?;
            }
            for line in goal.numbered().lines() {
                state.note(format!("  {}", visible(line)))?;
            }
            return Ok(After::Prompt);
        }
        ("clear", "") => {
            let count = std::mem::take(&mut goal.subgoals).len();
            state.note(format!("Removed {}.", counted(count, "subgoal")))?;
        }
        ("remove", number) => {
            let at = number.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let Some(at) = at.filter(|at| *at < goal.subgoals.len()) else {
                let message = format!("there is no subgoal '{}'", visible(number));
                return Err(CommandError::user(message).hint("/subgoal lists them"));
            };
            let removed = goal.subgoals.remove(at);
            state.note(format!("Removed: {}", visible(&removed)))?;
        }
        _ => {
            goal.subgoals.push(arguments.to_owned());
            let number = goal.subgoals.len();
            state.note(format!("Subgoal {number}: {}", visible(arguments)))?;
        }
    }
    state.conversation.set_goal(&goal)?;
    Ok(After::Prompt)
}

/// The goal that is pursued or paused.
fn open_goal(state: &mut ChatState<'_>) -> Result<StandingGoal> {
    let goal = state.conversation.goal()?.filter(StandingGoal::is_open);
    goal.ok_or_else(|| CommandError::user("there is no goal").hint("/goal TEXT sets one"))
}
