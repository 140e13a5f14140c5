//! Prompts (MCP "Prompts").

use std::borrow::Cow;

use super::definition::{Check, Members};
use super::entries::{self, List};
use super::rejected::Rejected;
use crate::json::{Json, JsonError};
use crate::registration::Kind;
use crate::tool;

const PROMPTS: List = List {
    kind: Kind::Prompts,
    what: "prompt",
    key: "name",
};

/// The accepted prompts, verbatim and in order; reasons for the others.
pub(super) fn accept(list: &Json, rejected: &mut Rejected) -> Result<Json, JsonError> {
    entries::accept(PROMPTS, list, rejected, check)
}

fn check(entry: &Json) -> Result<String, Cow<'static, str>> {
    let members = Members::of("prompt", entry)?;
    let name = members.required_string("name")?;
    if !tool::is_name(&name) {
        return Err(tool::NAME_GRAMMAR.into());
    }
    entries::common(&members)?;
    if let Some(arguments) = members.get("arguments")? {
        let listed = arguments.entries();
        let listed = listed.map_err(|_| "prompt.arguments must be a list")?;
        for argument in listed {
            check_argument(&arguments.part(argument))?;
        }
    }
    Ok(name)
}

fn check_argument(argument: &Json) -> Check {
    let members = Members::of("prompt.arguments[]", argument)?;
    members.required_string("name")?;
    members.string("title")?;
    members.string("description")?;
    members.boolean("required")
}
