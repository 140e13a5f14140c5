//! What agents see of an entry of a list: members that were set one by one, or an object as it was
//! given, to the byte.

use clientmcp_core::json::{Json, ObjectWriter};
use serde::de::DeserializeOwned;

#[derive(Debug, Clone)]
pub(crate) enum Definition {
    /// Members in their order.
    Members(Vec<(&'static str, Json)>),
    Verbatim(Json),
}

impl Definition {
    /// Sets a member. A definition that was given whole must not have it already.
    pub(crate) fn set(&mut self, key: &'static str, value: Json) {
        match self {
            Self::Members(members) => {
                match members.iter_mut().find(|(present, _)| *present == key) {
                    Some((_, present)) => *present = value,
                    None => members.push((key, value)),
                }
            }
            Self::Verbatim(json) => *json = with_member(json, key, &value),
        }
    }

    /// A member, if it is there and of this type.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let json = self.to_json();
        let members = json.members().ok()?;
        let (_, value) = members.into_iter().find(|(name, _)| name == key)?;
        serde_json::from_str(value.get()).ok()
    }

    /// The definition as it is registered.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Verbatim(json) => json.clone(),
            Self::Members(members) => {
                let mut object = ObjectWriter::new();
                for (key, value) in members {
                    object.raw(key, value);
                }
                object.finish()
            }
        }
    }
}

/// An object with one more member at its end; the rest stays as it is.
fn with_member(object: &Json, key: &str, value: &Json) -> Json {
    let text = object.as_str();
    let body = text.strip_suffix('}').unwrap_or(text).trim_end();
    let comma = if body.ends_with('{') { "" } else { "," };
    let text = format!("{body}{comma}\"{key}\":{}}}", value.as_str());
    Json::parse(text).expect("a member was added to an object")
}

/// What every definition may say, whatever it defines.
macro_rules! described {
    ($definition:ty) => {
        impl $definition {
            /// A title for people.
            #[must_use]
            pub fn title(self, title: impl Into<String>) -> Self {
                self.member("title", serde_json::Value::String(title.into()))
            }

            /// Icons for people: a list of MCP's `Icon` objects.
            #[must_use]
            pub fn icons(self, icons: serde_json::Value) -> Self {
                self.member("icons", icons)
            }

            /// `_meta` of the definition.
            #[must_use]
            pub fn meta(self, meta: serde_json::Value) -> Self {
                self.member("_meta", meta)
            }

            /// The definition as it is registered.
            pub(crate) fn definition(&self) -> clientmcp_core::json::Json {
                self.definition.to_json()
            }

            fn member(mut self, key: &'static str, value: serde_json::Value) -> Self {
                self.definition
                    .set(key, clientmcp_core::json::Json::of(&value));
                self
            }
        }
    };
}
pub(crate) use described;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &'static str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn members_stand_in_their_order_and_the_last_word_counts() {
        let mut definition = Definition::Members(vec![("name", json("\"a\"")), ("x", json("1"))]);
        definition.set("title", json("\"first\""));
        definition.set("title", json("\"second\""));
        definition.set("x", json("2.0"));
        assert_eq!(
            definition.to_json().as_str(),
            r#"{"name":"a","x":2.0,"title":"second"}"#
        );
        assert_eq!(definition.get::<String>("title").unwrap(), "second");
        assert_eq!(definition.get::<String>("x"), None);
        assert_eq!(definition.get::<u8>("absent"), None);
    }

    #[test]
    fn a_given_definition_stays_as_it_is() {
        let mut definition = Definition::Verbatim(json(r#"{ "z": 1.0, "name":"a" }"#));
        assert_eq!(definition.to_json().as_str(), r#"{ "z": 1.0, "name":"a" }"#);
        definition.set("title", json("\"t\""));
        assert_eq!(
            definition.to_json().as_str(),
            r#"{ "z": 1.0, "name":"a","title":"t"}"#
        );
        let mut empty = Definition::Verbatim(json("{ }"));
        empty.set("x", json("1"));
        assert_eq!(empty.to_json().as_str(), r#"{"x":1}"#);
    }
}
