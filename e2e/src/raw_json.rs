//! JSON text, taken apart without changing a byte.

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of the last member of an object whose name is written like this; `None` if there is
/// none.
///
/// # Panics
/// If the text is no object.
#[must_use]
pub fn member(object: &str, name: &str) -> Option<String> {
    let members: Members<'_> = serde_json::from_str(object)
        .unwrap_or_else(|error| panic!("no object ({error}): {object}"));
    let name = format!("\"{name}\"");
    members
        .0
        .into_iter()
        .rev()
        .find(|(found, _)| found.get() == name)
        .map(|(_, value)| value.get().to_owned())
}

/// Members in their order. Names are not decoded: there are some that no string can hold.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::member;

    #[test]
    fn members_keep_their_text() {
        let text = r#"{"\ud800":0,"a":1e400,"b":{ "x":[1 ,2]},"a":9007199254740993}"#;
        assert_eq!(member(text, "a").as_deref(), Some("9007199254740993"));
        assert_eq!(member(text, "b").as_deref(), Some(r#"{ "x":[1 ,2]}"#));
        assert_eq!(member(text, "c"), None);
    }
}
