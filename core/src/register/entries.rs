//! What the lists of a registration have in common: each entry is checked by itself, and what is
//! refused hides no other.

use std::borrow::Cow;
use std::collections::HashSet;

use super::definition::{self, Check, Members};
use super::rejected::Rejected;
use crate::json::{ArrayWriter, Json, JsonError};
use crate::limits;
use crate::registration::Kind;

/// A list of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) kind: Kind,
    /// What an entry is called.
    pub(super) what: &'static str,
    /// The member that names an entry, and that no two entries share.
    pub(super) key: &'static str,
}

/// The accepted entries, verbatim and in order; reasons for the others. `check` sees the members
/// of an entry, and gives its key.
pub(super) fn accept(
    of: List,
    list: &Json,
    rejected: &mut Rejected,
    check: impl Fn(&Json) -> Result<String, Cow<'static, str>>,
) -> Result<Json, JsonError> {
    let mut keys = HashSet::new();
    let mut accepted = ArrayWriter::with_capacity(list.len());
    for (index, entry) in list.entries()?.into_iter().enumerate() {
        let entry = list.part(entry);
        match accept_one(of, index, &entry, &mut keys, &check) {
            Ok(()) => {
                accepted.raw(&entry);
            }
            Err(reason) => rejected.add(of.kind, label(&entry, of.key).as_deref(), reason),
        }
    }
    Ok(accepted.finish())
}

fn accept_one(
    of: List,
    index: usize,
    entry: &Json,
    keys: &mut HashSet<String>,
    check: impl Fn(&Json) -> Result<String, Cow<'static, str>>,
) -> Check {
    let List { kind, what, key } = of;
    if index >= limits::REGISTRATION_ENTRIES {
        let most = limits::REGISTRATION_ENTRIES;
        return Err(format!("a registration has at most {most} {kind}").into());
    }
    definition::readable(entry)?;
    let named = check(entry)?;
    if !keys.insert(named) {
        return Err(format!("another {what} has this {key} already").into());
    }
    Ok(())
}

/// What an entry is called in `rejected`, where that can be read.
fn label(entry: &Json, key: &str) -> Option<String> {
    let members = entry.members().ok()?;
    let read = |wanted: &str| {
        let mut named = members.iter().filter(|member| member.0 == wanted);
        let (Some(found), None) = (named.next(), named.next()) else {
            return None;
        };
        serde_json::from_str(found.1.get()).ok()
    };
    read("name").or_else(|| read(key))
}

/// The members that prompts, resources and templates have in common.
pub(super) fn common(members: &Members<'_>) -> Check {
    members.string("title")?;
    members.string("description")?;
    definition::optional_icons(members.get("icons")?)?;
    if let Some(meta) = members.get("_meta")? {
        Members::of("_meta", &meta)?;
    }
    Ok(())
}
