//! Masks that come back: text made from what `read_file` showed has masks where the file has secrets.
//! Written, it would destroy them.

use hermes_secret::{Redactor, masks_in};

/// The refusal of a write whose new text has a mask that the old one has not.
pub(super) fn refuse_masks(
    shown: &str,
    before: Option<&str>,
    after: &str,
    redactor: &Redactor,
) -> Result<(), String> {
    // Where nothing is masked, no mask can come back.
    if !redactor.is_enabled() {
        return Ok(());
    }
    let before = before.unwrap_or_default();
    for mask in masks_in(after) {
        let line_start = after
            .get(..mask.start)
            .and_then(|above| above.rfind('\n'))
            .map_or(0, |end| end + 1);
        let through_mask = after.get(line_start..mask.end).unwrap_or_default();
        if before.contains(through_mask.trim_start()) {
            continue;
        }
        let line = after.get(..line_start).unwrap_or_default();
        let number = line.matches('\n').count() + 1;
        let mask = after.get(mask).unwrap_or_default();
        return Err(format!(
            "{shown} was not written: '{mask}' in line {number} is the mask that stands for a secret \
             when a file is shown, not its value. To keep the secret, change only other lines with \
             patch; to leave a value open, write a placeholder such as <your key>."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_masks_are_refused() {
        let redactor = Redactor::default();
        let refused = |before: Option<&str>, after: &str| {
            refuse_masks("a", before, after, &redactor).is_err()
        };
        assert!(refused(None, "API_KEY=***\n"));
        assert!(refused(Some("API_KEY=hunter2\n"), "X=1\nAPI_KEY=***\n"));
        assert!(refused(Some("k = 'sk-1'"), "k = 'sk-abc...uvwx'"));
        // An example was there before.
        assert!(!refused(
            Some("  API_KEY=***  # fill in\n"),
            "X=1\nAPI_KEY=***\n"
        ));
        assert!(!refused(None, "***bold*** Saving...done\n"));
        let off = Redactor::disabled();
        assert!(refuse_masks("a", None, "API_KEY=***", &off).is_ok());
        let message = refuse_masks("a.env", None, "X=1\nAPI_KEY=***", &redactor).unwrap_err();
        assert!(message.contains("'***' in line 2"), "{message}");
    }
}
