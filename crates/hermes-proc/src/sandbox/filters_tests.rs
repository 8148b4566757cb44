use super::*;

/// What the kernel is told of a call: number, interface, place, arguments.
fn call(number: u32, interface: u32, argument: u64) -> Vec<u32> {
    let low = u32::try_from(argument & 0xffff_ffff).unwrap();
    let high = u32::try_from(argument >> 32).unwrap();
    let mut words = vec![number, interface, 0, 0];
    for _ in 0..6 {
        words.extend([low, high]);
    }
    words
}

/// Runs a filter: what it returns, and after how many instructions.
fn run(program: &[sock_filter], call: &[u32]) -> (u32, usize) {
    let (mut held, mut at) = (0, 0);
    for steps in 1..10_000 {
        let now = &program[at];
        let (k, jump) = (now.k, |is: bool| {
            usize::from(if is { now.jt } else { now.jf })
        });
        at += 1 + match now.code {
            LOAD => {
                held = call[usize::try_from(k).unwrap() / 4];
                0
            }
            // AND
            0x54 => {
                held &= k;
                0
            }
            JUMP => usize::try_from(k).unwrap(),
            JUMP_IF_EQUAL => jump(held == k),
            JUMP_IF_AT_LEAST => jump(held >= k),
            JUMP_IF_SET => jump(held & k != 0),
            RETURN => return (k, steps),
            other => panic!("unknown instruction {other:#x}"),
        };
    }
    panic!("the filter does not end");
}

/// The interface of 64-bit programs, as the first instructions of every filter know it.
fn own_interface() -> u32 {
    let filter = compiled(Rules::new(), libc::EPERM).unwrap();
    filter[1].k
}

#[test]
fn the_short_lists_say_what_the_long_one_says() {
    let long = compiled(denied().unwrap(), libc::EPERM).unwrap();
    let short = filters(Network::On).unwrap().remove(0);
    let own = own_interface();
    let mut denied = 0;
    for number in 0..600 {
        let is_absent = [libc::SYS_clone3, libc::SYS_openat2].contains(&i64::from(number));
        for argument in [0, 1, 16, 0o4755, 0x1000_0000, u64::MAX] {
            let call = call(number, own, argument);
            let expected = if is_absent {
                ERROR | libc::ENOSYS.unsigned_abs()
            } else {
                run(&long, &call).0
            };
            let (verdict, steps) = run(&short, &call);
            assert_eq!(verdict, expected, "{number} with {argument:#x}");
            assert!(steps < 80, "{number} with {argument:#x}: {steps}");
            denied += usize::from(verdict != ALLOW);
        }
    }
    assert!(denied > 6 * DENIED.len(), "{denied}");
}

#[test]
fn other_interfaces_get_nothing() {
    let filter = filters(Network::On).unwrap().remove(0);
    let own = own_interface();
    let absent = ERROR | libc::ENOSYS.unsigned_abs();
    for number in 0..600 {
        let foreign = run(&filter, &call(number, own ^ 1, 0)).0;
        assert_eq!(foreign, libc::SECCOMP_RET_KILL_PROCESS, "{number}");
        let x32 = run(&filter, &call(number | X32, own, 0)).0;
        assert_eq!(x32, absent, "{number}");
    }
}
