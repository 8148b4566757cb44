//! `hermes update`: what is in use comes to the versions that the program pins.

use hermes_testkit::ProgramOutput;
use pretty_assertions::assert_eq;

use crate::{Desk, FEATURE};

fn update(desk: &Desk) -> ProgramOutput {
    desk.program(&["update"]).run()
}

// check 29
#[test]
fn an_update_refreshes_what_is_in_use_and_nothing_else() {
    let desk = Desk::new();
    let code = update(&desk).code;
    desk.lock("skill.youtube", "0.7.1");
    desk.install().succeeds();
    desk.addons(&["install", "skill.youtube"]).succeeds();
    desk.lock(FEATURE, "0.7.3");
    assert_eq!(desk.state(FEATURE), "stale");
    desk.program(&["update", "--check"])
        .run()
        .succeeds()
        .says_part("To update: ");
    assert_eq!(desk.installs(), 2);
    let updated = update(&desk);
    updated.prints_part(
        "→ Refreshing 2 active add-ons\n  ↑ 1 refreshed: debug.selftest\n  \
         ✓ 1 current: skill.youtube\n",
    );
    assert_eq!(updated.code, code);
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.3'\n");
    assert_eq!(desk.installs(), 3);
    // A feature that was removed is not active, whatever was there.
    desk.addons(&["remove", "skill.youtube"]).succeeds();
    update(&desk).prints("→ Refreshing 1 active add-on\n  ✓ 1 current: debug.selftest\n");
}

// check 29
#[test]
fn a_refresh_that_fails_is_told_and_the_old_environment_serves() {
    let desk = Desk::new();
    let code = update(&desk).code;
    desk.install().succeeds();
    desk.lock(FEATURE, "0.7.3");
    desk.uv("echo 'the mirror is on fire' >&2; exit 1");
    let updated = update(&desk);
    updated.prints_part("  ⚠ debug.selftest failed: ");
    updated.prints_part("the mirror is on fire");
    assert_eq!(updated.code, code);
    assert_eq!(desk.served(FEATURE), "VERSION = '0.7.2'\n");
    assert_eq!(desk.state(FEATURE), "stale");
    desk.addons(&["verify"]).succeeds();
    // Nobody may install.
    desk.home
        .put("config.yaml", "security: {allow_lazy_installs: false}\n");
    let calls = desk.installs();
    update(&desk).prints_part("  · debug.selftest skipped: lazy installs disabled");
    assert_eq!(desk.installs(), calls);
}

#[test]
fn what_an_interpreter_left_behind_comes_back_with_the_update() {
    let desk = Desk::new();
    desk.lock("skill.youtube", "0.7.1");
    desk.addons(&["install", "skill.youtube"]).succeeds();
    desk.python(13);
    desk.install().succeeds();
    assert_eq!(desk.state("skill.youtube"), "absent");
    update(&desk).prints_part("  ↑ 1 refreshed: skill.youtube\n");
    assert_eq!(desk.state("skill.youtube"), "installed");
}
