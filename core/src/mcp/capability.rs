//! What an agent declares that it can do, and what is missing for a request (MCP "Client
//! features"; SPEC.md §5.4).

use serde_json::{Map, Value, json};

use super::version::Version;
use crate::json::Json;

/// Declared client capabilities, in the shape of MCP's `ClientCapabilities`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Capabilities(Map<String, Value>);

/// The capabilities that a session remembers, one bit each.
const REMEMBERED: [(u8, &str, &str); 6] = [
    (1, "roots", ""),
    (1 << 1, "sampling", ""),
    (1 << 2, "sampling", "tools"),
    (1 << 3, "sampling", "context"),
    (1 << 4, "elicitation", "form"),
    (1 << 5, "elicitation", "url"),
];

impl Capabilities {
    /// Takes the declaration of an agent; `None` if it is no object. `elicitation` without a mode
    /// means `form`.
    #[must_use]
    pub fn declared(value: Value) -> Option<Capabilities> {
        let Value::Object(mut declared) = value else {
            return None;
        };
        if let Some(Value::Object(modes)) = declared.get_mut("elicitation")
            && !modes.contains_key("form")
            && !modes.contains_key("url")
        {
            modes.insert("form".to_owned(), json!({}));
        }
        Some(Capabilities(declared))
    }

    /// What of them a revision knows: a capability of a later one means nothing in it, and before
    /// 2025-11-25 elicitation is by form alone, whatever stands in the declaration.
    #[must_use]
    pub fn in_revision(mut self, version: Version) -> Capabilities {
        if version >= Version::V2025_11_25 {
            return self;
        }
        if let Some(sampling) = self.0.get_mut("sampling")
            && sampling.is_object()
        {
            *sampling = json!({});
        }
        if version == Version::V2025_03_26 {
            self.0.remove("elicitation");
        } else if let Some(elicitation) = self.0.get_mut("elicitation")
            && elicitation.is_object()
        {
            *elicitation = json!({"form": {}});
        }
        self
    }

    /// The bits that a session keeps of them: roots, sampling with tools and context, and
    /// elicitation by form and URL. Extensions and experiments are not kept.
    #[must_use]
    pub fn to_bits(&self) -> u8 {
        REMEMBERED
            .into_iter()
            .filter(|(_, name, part)| self.has(name, part))
            .fold(0, |bits, (bit, _, _)| bits | bit)
    }

    /// The capabilities that the bits stand for.
    #[must_use]
    pub fn from_bits(bits: u8) -> Capabilities {
        let mut declared = Map::new();
        for (bit, name, part) in REMEMBERED {
            if bits & bit == 0 {
                continue;
            }
            let entry = declared.entry(name).or_insert_with(|| json!({}));
            if let (Value::Object(parts), false) = (entry, part.is_empty()) {
                parts.insert(part.to_owned(), json!({}));
            }
        }
        Capabilities(declared)
    }

    /// The part of `required` that was not declared, in the same shape; `None` if nothing is
    /// missing.
    #[must_use]
    pub fn missing(&self, required: &Map<String, Value>) -> Option<Value> {
        missing(&self.0, required).map(Value::Object)
    }

    /// The declaration as JSON text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::of(&self.0)
    }

    fn has(&self, name: &str, part: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Object(parts)) => {
                part.is_empty() || matches!(parts.get(part), Some(Value::Object(_)))
            }
            _ => false,
        }
    }
}

/// Capabilities are objects of objects: one is declared if it is there as an object, and so are
/// the parts of it that are required. What is required with another type of value counts as `{}`.
fn missing(
    declared: &Map<String, Value>,
    required: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let mut lacking = Map::new();
    for (name, wanted) in required {
        let nothing = Map::new();
        let wanted = wanted.as_object().unwrap_or(&nothing);
        match declared.get(name) {
            Some(Value::Object(parts)) => {
                if let Some(parts) = missing(parts, wanted) {
                    lacking.insert(name.clone(), Value::Object(parts));
                }
            }
            _ => {
                lacking.insert(name.clone(), Value::Object(wanted.clone()));
            }
        }
    }
    (!lacking.is_empty()).then_some(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_part_by_part() {
        for (declared, required, expected) in [
            (
                json!({}),
                json!({"sampling": {}}),
                Some(json!({"sampling": {}})),
            ),
            (json!({"sampling": {}}), json!({"sampling": {}}), None),
            (
                json!({"sampling": {}, "roots": {}}),
                json!({"sampling": {"tools": {}}, "roots": {}}),
                Some(json!({"sampling": {"tools": {}}})),
            ),
            (
                json!({"elicitation": {}}),
                json!({"elicitation": {"form": {}}}),
                None,
            ),
            (
                json!({"elicitation": {}}),
                json!({"elicitation": {"url": {}}}),
                Some(json!({"elicitation": {"url": {}}})),
            ),
            (
                json!({"elicitation": {"url": {}}}),
                json!({"elicitation": {"form": {}}}),
                Some(json!({"elicitation": {"form": {}}})),
            ),
            (
                json!({"sampling": null}),
                json!({"sampling": true}),
                Some(json!({"sampling": {}})),
            ),
            (
                json!({"extensions": {"com.example/x": {"a": 1}}}),
                json!({"extensions": {"com.example/x": {}, "com.example/y": {}}}),
                Some(json!({"extensions": {"com.example/y": {}}})),
            ),
            (json!({}), json!({}), None),
        ] {
            let missing = Capabilities::declared(declared.clone())
                .unwrap()
                .missing(required.as_object().unwrap());
            assert_eq!(missing, expected, "{declared} {required}");
        }
    }

    #[test]
    fn sessions_remember_what_servers_may_ask_for() {
        for (declared, remembered) in [
            (json!({}), json!({})),
            (
                json!({"roots": {"listChanged": true}, "tasks": {}, "experimental": {"x": {}}}),
                json!({"roots": {}}),
            ),
            (
                json!({"sampling": {"tools": {}}, "elicitation": {}}),
                json!({"sampling": {"tools": {}}, "elicitation": {"form": {}}}),
            ),
            (
                json!({"sampling": {"context": {}}, "elicitation": {"url": {}, "form": {}}}),
                json!({"sampling": {"context": {}}, "elicitation": {"form": {}, "url": {}}}),
            ),
        ] {
            let bits = Capabilities::declared(declared).unwrap().to_bits();
            assert_eq!(
                Capabilities::from_bits(bits).to_json().as_str(),
                remembered.to_string()
            );
        }
    }

    #[test]
    fn a_revision_knows_what_it_has() {
        let all = json!({
            "roots": {}, "sampling": {"tools": {}, "context": {}}, "elicitation": {"url": {}},
        });
        for (version, declared, known) in [
            (
                Version::V2025_03_26,
                all.clone(),
                json!({"roots": {}, "sampling": {}}),
            ),
            (
                Version::V2025_06_18,
                all.clone(),
                json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}}}),
            ),
            (
                Version::V2025_06_18,
                json!({"elicitation": {}}),
                json!({"elicitation": {"form": {}}}),
            ),
            (
                Version::V2025_06_18,
                json!({"elicitation": 1}),
                json!({"elicitation": 1}),
            ),
            (Version::V2025_11_25, all.clone(), all.clone()),
            (Version::V2026_07_28, all.clone(), all),
        ] {
            let declared = Capabilities::declared(declared).unwrap();
            let found: Value = declared.in_revision(version).to_json().value().unwrap();
            assert_eq!(found, known, "{version:?}");
        }
    }

    #[test]
    fn only_objects_declare() {
        for value in [json!(null), json!([]), json!("sampling"), json!(true)] {
            assert_eq!(Capabilities::declared(value), None);
        }
    }
}
