//! Defaults of settings in open sections, which have no entry in the schema: what the reference
//! shows for a setting that nobody has changed, we show as well.

use serde_json::{Map, Value};

use crate::yaml::put;

/// One setting per line, sorted: its dotted path, a tab, its default as JSON.
const TABLE: &str = include_str!("reference_defaults.tsv");

/// The defaults at and below a dotted path as a tree from the root; of everything for an empty
/// path. `None` if there are none.
pub fn reference_defaults(key: &str) -> Option<Value> {
    let mut root = Value::Object(Map::new());
    let mut found = false;
    let rows = from(first_row(key)).lines();
    let rows = rows.take_while(|line| line.starts_with(key));
    for (path, text) in rows.filter_map(|line| line.split_once('\t')) {
        let below = path.strip_prefix(key);
        let is_meant =
            key.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if is_meant && let Ok(value) = serde_json::from_str::<Value>(text) {
            put(&mut root, &path.split('.').collect::<Vec<_>>(), value);
            found = true;
        }
    }
    found.then_some(root)
}

/// The table from a row on.
fn from(begin: usize) -> &'static str {
    TABLE.get(begin..).unwrap_or_default()
}

/// Where the first row begins that is not sorted before a path.
fn first_row(path: &str) -> usize {
    let (mut low, mut high) = (0, TABLE.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let before = &TABLE.as_bytes()[..middle];
        let end_before = before.iter().rposition(|byte| *byte == b'\n');
        let begin = end_before.map_or(0, |end| end + 1);
        let row = from(begin).lines().next().unwrap_or_default();
        if row < path {
            low = begin + row.len() + 1;
        } else {
            high = begin;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Known, classify};

    #[test]
    fn the_table_is_sorted_and_every_default_is_json_of_an_open_section() {
        let rows: Vec<(&str, &str)> = TABLE
            .lines()
            .map(|line| line.split_once('\t').unwrap())
            .collect();
        assert!(rows.is_sorted());
        for (path, text) in rows {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{path}");
            let known = classify(&path.split('.').collect::<Vec<_>>());
            assert!(matches!(known, Known::Free | Known::Group), "{path}");
        }
    }

    #[test]
    fn one_default_or_those_of_a_group() {
        let all = reference_defaults("").unwrap();
        assert_eq!(all["display"]["pet"]["scale"], 0.33);
        let pet = reference_defaults("display.pet").unwrap();
        assert_eq!(pet["display"]["pet"], all["display"]["pet"]);
        assert_eq!(pet["display"].as_object().unwrap().len(), 1);
        assert_eq!(reference_defaults("display.pe"), None);
        assert_eq!(reference_defaults("zzz"), None);
        for (path, _) in TABLE.lines().filter_map(|line| line.split_once('\t')) {
            assert!(reference_defaults(path).is_some(), "{path}");
        }
    }
}
