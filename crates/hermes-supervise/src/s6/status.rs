//! What the supervisor of a slot says of it.

/// The state of a slot. By default that of one without a supervisor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlotStatus {
    /// Whether its program runs.
    pub is_up: bool,
    /// Whether its supervisor starts it again when it ends.
    pub is_wanted: bool,
    pub pid: Option<u32>,
}

impl SlotStatus {
    /// Reads what `s6-svstat -o up,wantedup,pid,exitcode,signal` prints: `true true 7 -1 NA`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [up, wanted, pid, _, _] = fields.as_slice() else {
            return None;
        };
        Some(Self {
            is_up: up.parse().ok()?,
            is_wanted: wanted.parse().ok()?,
            pid: pid.parse().ok().filter(|pid| *pid > 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn fields_are_read_in_their_order() {
        let up = SlotStatus {
            is_up: true,
            is_wanted: true,
            pid: Some(22_078),
        };
        assert_eq!(SlotStatus::parse("true true 22078 -1 NA"), Some(up));
        let crashed = SlotStatus {
            is_wanted: true,
            ..SlotStatus::default()
        };
        assert_eq!(SlotStatus::parse("false true -1 3 NA"), Some(crashed));
        let ended = SlotStatus::parse("false false -1 -1 SIGTERM\n");
        assert_eq!(ended, Some(SlotStatus::default()));
    }

    #[test]
    fn anything_else_is_no_answer() {
        for text in ["", "up (pid 7) 3 seconds", "true true", "1 1 7 0 NA"] {
            assert_eq!(SlotStatus::parse(text), None, "{text}");
        }
    }
}
