//! Cutting a story down: parts are left out, large ones first, as long as it still ends badly.

/// The shortest list found that `fails` still accepts. The last call of `fails` that gave true was
/// for the list that is returned.
pub(crate) fn shrink<T: Clone>(mut items: Vec<T>, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = items.len() / 2;
    while size > 0 {
        let mut start = 0;
        let mut cut_any = false;
        while start < items.len() {
            let end = (start + size).min(items.len());
            let mut shorter = items.clone();
            shorter.drain(start..end);
            if fails(&shorter) {
                items = shorter;
                cut_any = true;
            } else {
                start = end;
            }
        }
        // Leaving something out may have made more of the rest unnecessary.
        if !(cut_any && size == 1) {
            size /= 2;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_needed_remains() {
        let items: Vec<u32> = (0..1000).collect();
        let mut calls = 0;
        let left = shrink(items, |some| {
            calls += 1;
            some.contains(&17) && some.contains(&612) && some.contains(&999)
        });
        assert_eq!(left, [17, 612, 999]);
        assert!(calls < 500, "{calls}");
    }

    #[test]
    fn what_always_fails_needs_nothing() {
        assert_eq!(shrink(vec![1, 2, 3], |_| true), [] as [i32; 0]);
    }
}
