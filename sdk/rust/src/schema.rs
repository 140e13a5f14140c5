//! JSON Schemas: those of Rust types, and checking values against any.

use std::error::Error;

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Where a schema stands for its compiler.
const LOCATION: &str = "urn:clientmcp:schema";
/// Problems that are told at most.
const TOLD: usize = 5;

/// The schema of a type's JSON, in the draft that MCP names (2020-12).
pub(crate) fn of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// The same as a form: only a flat object of simple fields, which is all that MCP's elicitation
/// knows. What has no place in one stays as it is, and the agent's client will refuse it.
pub(crate) fn form_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
        members.remove("description");
        let fields = members.get_mut("properties").and_then(Value::as_object_mut);
        for field in fields.into_iter().flat_map(|fields| fields.values_mut()) {
            simplify(field);
        }
    }
    schema
}

/// A field as a form has it: a type of its own instead of "this or null", no formats of Rust's
/// numbers, and choices with titles.
fn simplify(field: &mut Value) {
    let Some(members) = field.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(choices)) = members.remove("anyOf") {
        let mut choices = choices
            .into_iter()
            .filter(|choice| choice["type"] != "null");
        if let Some(Value::Object(only)) = choices.next() {
            for (key, value) in only {
                members.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(types)) = members.get("type") {
        let own = types.iter().find(|name| *name != "null").cloned();
        members.insert("type".to_owned(), own.unwrap_or(Value::Null));
    }
    if members.get("default") == Some(&Value::Null) {
        members.remove("default");
    }
    if let Some(Value::Array(names)) = members.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if matches!(
        members.get("type").and_then(Value::as_str),
        Some("integer" | "number")
    ) {
        members.remove("format");
    }
    if let Some(Value::Array(choices)) = members.get_mut("oneOf") {
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.remove("type");
            if let Some(title) = choice
                .remove("description")
                .or_else(|| choice.get("const").cloned())
            {
                choice.insert("title".to_owned(), title);
            }
        }
        members.insert("type".to_owned(), Value::from("string"));
    }
}

/// A schema, ready to check values.
pub(crate) struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    /// Compiles a schema. What it refers to must stand in it: nothing is fetched.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NothingIsFetched));
        compiler
            .add_resource(LOCATION, schema.clone())
            .map_err(|error| error.to_string())?;
        let index = compiler.compile(LOCATION, &mut schemas);
        let index = index.map_err(|error| error.to_string())?;
        Ok(Self { schemas, index })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What does not fit, in words that a model can act on.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let Err(error) = self.schemas.validate(value, self.index) else {
            return Ok(());
        };
        let mut problems = Vec::new();
        collect(&error, &mut problems);
        // The order in which members are looked at is none.
        problems.sort_unstable();
        problems.dedup();
        let more = problems.len().saturating_sub(TOLD);
        problems.truncate(TOLD);
        let mut text = problems.join("; ");
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        Err(text)
    }
}

/// The innermost problems, each with its place.
fn collect(error: &ValidationError<'_, '_>, problems: &mut Vec<String>) {
    // Which of several alternatives was meant, nobody knows: they are told as one.
    let alternatives = matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(_));
    if !error.causes.is_empty() && !alternatives {
        return error
            .causes
            .iter()
            .for_each(|cause| collect(cause, problems));
    }
    let what = match &error.kind {
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => {
            let mut causes = Vec::new();
            for cause in &error.causes {
                collect(cause, &mut causes);
            }
            causes.dedup();
            return problems.push(causes.join(", or "));
        }
        kind => kind.to_string(),
    };
    let place = error.instance_location.to_string();
    problems.push(if place.is_empty() {
        what
    } else {
        format!("{place}: {what}")
    });
}

/// Schemas are an application's own; what they refer to elsewhere is not looked up.
struct NothingIsFetched;

impl UrlLoader for NothingIsFetched {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is not part of the schema, and nothing is fetched").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, value: &Value) -> Result<(), String> {
        Validator::new(schema).unwrap().check(value)
    }

    #[test]
    fn problems_are_told_with_their_places() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "color": {"enum": ["red", "green"]},
                "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "at": {"$ref": "#/$defs/point"},
            },
            "required": ["n"],
            "additionalProperties": false,
            "$defs": {"point": {"type": "object", "required": ["x", "y"]}},
        });
        let table = [
            (
                json!({"n": 1, "color": "red", "id": 2, "at": {"x": 1, "y": 2}}),
                None,
            ),
            (json!({}), Some("missing properties 'n'")),
            (json!({"n": "1"}), Some("/n: want integer, but got string")),
            (json!({"n": 0}), Some("/n: must be >=1, but got 0")),
            (
                json!({"n": 1, "color": "blue", "at": {"x": 1}}),
                Some("/at: missing properties 'y'; /color: value must be one of 'red', 'green'"),
            ),
            (
                json!({"n": 1, "id": []}),
                Some("/id: want string, but got array, or /id: want integer, but got array"),
            ),
            (
                json!({"n": 1, "m": 1}),
                Some("additionalProperties 'm' not allowed"),
            ),
        ];
        for (value, problem) in table {
            assert_eq!(check(&schema, &value).err().as_deref(), problem, "{value}");
        }
    }

    #[test]
    fn not_everything_is_told_of_a_long_list() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let value = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1});
        let problems = check(&schema, &value).unwrap_err();
        assert_eq!(problems.matches("want string").count(), TOLD);
        assert!(problems.ends_with("; and 2 more"), "{problems}");
    }

    #[test]
    fn nothing_is_fetched() {
        for url in ["file:///etc/passwd", "https://example.com/schema.json"] {
            let error = Validator::new(&json!({"$ref": url})).err().unwrap();
            assert!(error.contains(url), "{error}");
        }
    }

    /// Something to fill in.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Form {
        /// Your name
        name: String,
        age: Option<u8>,
        #[serde(default)]
        score: f64,
        size: Size,
        tint: Option<Tint>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Size {
        Small,
        Large,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Tint {
        /// Dark red
        Red,
        /// Dark green
        Green,
    }

    #[test]
    fn a_form_is_flat_and_has_simple_fields() {
        assert_eq!(
            form_of::<Form>(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Your name"},
                    "age": {"type": "integer", "minimum": 0, "maximum": 255},
                    "score": {"type": "number", "default": 0.0},
                    "size": {"type": "string", "enum": ["small", "large"]},
                    "tint": {"type": "string", "oneOf": [
                        {"const": "Red", "title": "Dark red"},
                        {"const": "Green", "title": "Dark green"},
                    ]},
                },
                "required": ["name", "size"],
            })
        );
    }
}
