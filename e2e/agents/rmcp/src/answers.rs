//! What the user of this agent says, its model, and its roots.

use serde_json::{Value, json};

/// What must be declared for them.
pub(crate) fn capabilities() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

/// A form is filled in, by its message.
pub(crate) fn form(request: &Value) -> Value {
    let content = match request["message"].as_str() {
        Some("Who are you?") => json!({ "email": "ada@example.com", "username": "ada" }),
        Some("What is your name?") => json!({ "name": "Ada" }),
        Some("Please confirm") => json!({ "ok": true }),
        Some("Step 1: What is your name?") => json!({ "name": "Ada" }),
        Some("Step 2: What is your favorite color?") => json!({ "color": "blue" }),
        _ => return json!({ "action": "decline" }),
    };
    json!({ "action": "accept", "content": content })
}

/// The model agrees with what is said.
pub(crate) fn sample(request: &Value) -> Value {
    let content = &request["messages"][0]["content"];
    let said = content[0]["text"].as_str().or(content["text"].as_str());
    let text = format!("Yes: {}", said.unwrap_or_default());
    json!({ "role": "assistant", "model": "none", "content": { "type": "text", "text": text } })
}

/// One folder.
pub(crate) fn roots() -> Value {
    json!({ "roots": [{ "uri": "file:///ada", "name": "Ada" }] })
}
