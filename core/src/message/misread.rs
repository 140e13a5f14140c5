//! Messages of apps that cannot be read, but say what they are about (SPEC.md §4.2): they cost one
//! call, not the connection with all its calls.

use crate::ids::CallId;
use crate::json;

/// What a message is about that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misread {
    /// It answers this call; `None`: one that no cluster has asked for.
    Answer(Option<CallId>),
    /// It tells something of a call that goes on.
    News,
}

impl Misread {
    /// Looks for the type and the call of a message that is no JSON, is nested too deeply, or has
    /// a member that is none. `None`: it cannot be told whose it is.
    #[must_use]
    pub fn attribute(message: &[u8]) -> Option<Self> {
        let [kind, id] = json::strings(message, ["type", "id"]);
        let id = CallId::parse(&id?).ok();
        match kind?.as_str() {
            "result" | "error" => Some(Self::Answer(id)),
            "progress" | "log" | "task" => Some(Self::News),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn attribute(message: &str) -> Option<Misread> {
        Misread::attribute(message.replace("ID", ID).as_bytes())
    }

    #[test]
    fn what_has_a_type_and_an_id_is_attributed_wherever_they_stand() {
        let ours = Some(Misread::Answer(Some(CallId::parse(ID).unwrap())));
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for message in [
            r#"{"type":"result","id":"ID","result":{"a":01}}"#,
            r#"{"type":"result","id":"ID","result":1,"result":2}"#,
            r#"{"type":"result","id":"ID","result":{"a":"#,
            r#" { "type" : "error" , "id" : "ID" , "error" : nope } "#,
            r#"{"ty\u0070e":"error","id":"ID"}"#,
            r#"{"error":{"message":"},{\"id\":\"x\""},"id":"ID","type":"error""#,
            &format!(r#"{{"result":{deep},"id":"ID","type":"result"}}"#),
        ] {
            assert_eq!(attribute(message), ours, "{message}");
        }
        assert_eq!(
            attribute(r#"{"type":"result","id":"call-7"}"#),
            Some(Misread::Answer(None))
        );
        for news in ["progress", "log", "task"] {
            let message = format!(r#"{{"id":"ID","type":"{news}","level":[}}"#);
            assert_eq!(attribute(&message), Some(Misread::News));
        }
    }

    #[test]
    fn what_lacks_one_or_says_it_twice_is_nobodys() {
        for message in [
            "",
            "{",
            "{}",
            "[]",
            r#"["type","result","id","ID"]"#,
            r#"{"type":"result"}"#,
            r#"{"type":"result","id":7,"result":{}}"#,
            r#"{"type":"result","id":"ID","id":"ID","result":{}}"#,
            r#"{"type":"result","type":"result","id":"ID","result":{}}"#,
            r#"{"type":"result","id":"ID"#,
            r#"{"result":{"type":"result","id":"ID"}"#,
            r#"{"result":"no end,"type":"result","id":"ID"}"#,
            r#"{"type":"register","id":"ID","tools":[}"#,
            r#"{"type":"conjure","id":"ID"}"#,
        ] {
            assert_eq!(attribute(message), None, "{message}");
        }
    }
}
