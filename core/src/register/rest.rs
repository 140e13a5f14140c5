//! The kind `rest`: serverInfo, instructions, toolOptions, completions, ttlMs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::View;
use super::definition;
use super::rejected::Rejected;
use crate::json::{Json, ObjectWriter};
use crate::registration::Kind;
use crate::tool;

/// The accepted members, verbatim; reasons for the others. A member that is refused is left out,
/// so that its default holds.
pub(super) fn accept(message: &Json, view: &View<'_>, rejected: &mut Rejected) -> Json {
    let mut content = ObjectWriter::new();
    let mut refuse = |name: &str, reason: Cow<'static, str>| {
        rejected.add(Kind::Rest, Some(name), reason);
    };
    if let Some(info) = view.server_info.map(|part| message.part(part)) {
        match definition::implementation(&info) {
            Ok(()) => {
                content.raw("serverInfo", &info);
            }
            Err(reason) => refuse("serverInfo", format!("{reason}; a default is used").into()),
        }
    }
    if let Some(text) = view.instructions.map(|part| message.part(part)) {
        match definition::optional_string("instructions", Some(text.clone())) {
            Ok(()) => {
                content.raw("instructions", &text);
            }
            Err(reason) => refuse("instructions", reason),
        }
    }
    if let Some(completions) = view.completions.map(|part| message.part(part)) {
        match completions.as_str() {
            "false" => {}
            "true" => {
                content.raw("completions", &completions);
            }
            _ => refuse("completions", "completions must be a boolean".into()),
        }
    }
    let options = view.tool_options.map(|part| message.part(part));
    if let Some(options) = options.and_then(|options| accept_tool_options(&options, rejected)) {
        content.raw("toolOptions", &options);
    }
    if let Some(ttl_ms) = view.ttl_ms.map(|part| message.part(part)) {
        match ttl_ms.as_str().parse::<u64>() {
            Ok(0) => {}
            Ok(_) => {
                content.raw("ttlMs", &ttl_ms);
            }
            Err(_) => rejected.add(
                Kind::Rest,
                Some("ttlMs"),
                "ttlMs must be an integer of 0 or more; 0 is used",
            ),
        }
    }
    content.finish()
}

/// The options that are good, by tool name; `None` if there are none. Tools that are not offered
/// may have some: tools can come by hash, or later.
fn accept_tool_options(options: &Json, rejected: &mut Rejected) -> Option<Json> {
    let Ok(members) = options.members() else {
        let reason = "toolOptions must be an object: options by tool name";
        rejected.add(Kind::Rest, Some("toolOptions"), reason);
        return None;
    };
    let mut names = HashSet::new();
    let mut accepted = ObjectWriter::with_capacity(options.len());
    let mut any = false;
    for (name, entry) in &members {
        let entry = options.part(entry);
        let checked = if names.insert(name) {
            tool::read_tool_options(&entry).map(|_| ())
        } else {
            Err("another entry has options for this tool already")
        };
        match checked {
            Ok(()) if tool::is_name(name) => {
                accepted.raw(name, &entry);
                any = true;
            }
            Ok(()) => rejected.add(Kind::Rest, Some(name), "no tool can have this name"),
            Err(reason) => rejected.add(Kind::Rest, Some(name), reason),
        }
    }
    any.then(|| accepted.finish())
}
