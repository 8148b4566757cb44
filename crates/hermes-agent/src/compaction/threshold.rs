//! The length from which a conversation is compacted.

use hermes_providers::RouteInfo;

use crate::settings::CompactionSettings;

/// Minimum threshold in tokens, if the window allows.
const MIN_THRESHOLD: u64 = 64_000;
/// Smaller windows are used to at least three quarters.
const LARGE_WINDOW: u64 = 512_000;

/// Tokens of a request from which the conversation is compacted.
pub(super) fn threshold(settings: &CompactionSettings, route: &RouteInfo) -> u64 {
    let window = route.context_length;
    let usable = usable(route);
    let mut limit = share(window, settings.threshold).max(MIN_THRESHOLD);
    if window < LARGE_WINDOW {
        limit = limit.max(share(window, 0.75));
    }
    if limit >= usable {
        limit = share(usable, 0.85);
    }
    limit
}

/// Maximum tokens of a request that leaves room for its answer.
pub(super) fn usable(route: &RouteInfo) -> u64 {
    let window = route.context_length;
    let reserve = u64::from(route.max_tokens.unwrap_or(0));
    // A reserve nearly as large as the window is ignored.
    match window.saturating_sub(reserve) {
        rest if rest < window / 4 => window,
        rest => rest,
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "windows are far below what a float holds exactly, shares are between 0 and 1"
)]
pub(super) fn share(tokens: u64, part: f64) -> u64 {
    (tokens as f64 * part) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(window: u64, max_tokens: Option<u32>) -> u64 {
        let route = RouteInfo {
            provider: String::new(),
            model: String::new(),
            base_url: String::new(),
            context_length: window,
            max_tokens,
            takes_images: false,
        };
        threshold(&CompactionSettings::default(), &route)
    }

    #[test]
    fn threshold_depends_on_the_window() {
        assert_eq!(of(8_000, None), 6_800);
        assert_eq!(of(64_000, None), 54_400);
        assert_eq!(of(128_000, None), 96_000);
        assert_eq!(of(128_000, Some(64_000)), 54_400);
        assert_eq!(of(1_000_000, None), 500_000);
        assert_eq!(of(32_000, Some(32_000)), 27_200);
    }

    proptest::proptest! {
        #[test]
        fn threshold_is_below_the_window(window in 1_000..10_000_000_u64, cap in 0..200_000_u32) {
            proptest::prop_assert!(of(window, Some(cap)) < window);
        }
    }
}
