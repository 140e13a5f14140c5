//! Resources and resource templates (MCP "Resources").

use std::borrow::Cow;

use super::definition::{Check, Members};
use super::entries::{self, List};
use super::rejected::Rejected;
use crate::json::{Json, JsonError, ObjectWriter};
use crate::limits;
use crate::registration::Kind;

const RESOURCES: List = List {
    kind: Kind::Resources,
    what: "resource",
    key: "uri",
};

const TEMPLATES: List = List {
    kind: Kind::Resources,
    what: "resource template",
    key: "uriTemplate",
};

/// The content of the kind: what is accepted of both lists, verbatim and in order. A member that
/// has nothing is left out. `resources` may be `"dynamic"` instead of a list.
pub(super) fn accept(
    resources: Option<&Json>,
    templates: Option<&Json>,
    rejected: &mut Rejected,
) -> Result<Json, JsonError> {
    let mut content = ObjectWriter::new();
    if let Some(resources) = resources {
        let resources = if is_dynamic(resources) {
            resources.clone()
        } else {
            entries::accept(RESOURCES, resources, rejected, check_resource)?
        };
        content.raw_if("resources", Some(&resources).filter(|it| is_something(it)));
    }
    if let Some(templates) = templates {
        let templates = entries::accept(TEMPLATES, templates, rejected, check_template)?;
        let templates = Some(&templates).filter(|it| is_something(it));
        content.raw_if("resourceTemplates", templates);
    }
    Ok(content.finish())
}

fn is_dynamic(resources: &Json) -> bool {
    let text = resources.value::<Cow<'_, str>>();
    text.is_ok_and(|text| text == "dynamic")
}

fn is_something(list: &Json) -> bool {
    list.as_str() != "[]"
}

fn check_resource(entry: &Json) -> Result<String, Cow<'static, str>> {
    let members = Members::of("resource", entry)?;
    let uri = members.required_string("uri")?;
    check_length("uri", &uri)?;
    if !has_scheme(&uri) {
        return Err("uri must begin with a scheme, and have neither blanks nor controls".into());
    }
    check_rest(&members)?;
    let size = members.get("size")?;
    if size.is_some_and(|size| size.as_str().parse::<u64>().is_err()) {
        return Err("resource.size must be an integer of 0 or more".into());
    }
    Ok(uri)
}

fn check_template(entry: &Json) -> Result<String, Cow<'static, str>> {
    let members = Members::of("resource template", entry)?;
    let template = members.required_string("uriTemplate")?;
    check_length("uriTemplate", &template)?;
    check_rest(&members)?;
    Ok(template)
}

fn check_rest(members: &Members<'_>) -> Check {
    members.required_string("name")?;
    members.string("mimeType")?;
    entries::common(members)?;
    match members.get("annotations")? {
        Some(annotations) => check_annotations(&annotations),
        None => Ok(()),
    }
}

fn check_length(what: &str, text: &str) -> Check {
    if text.len() > limits::URI_BYTES {
        return Err(format!("{what} has at most {} bytes", limits::URI_BYTES).into());
    }
    Ok(())
}

/// Whether agents that parse URIs take it for one: they fail on the whole list otherwise.
fn has_scheme(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return false;
    };
    let mut letters = scheme.bytes();
    letters.next().is_some_and(|b| b.is_ascii_alphabetic())
        && letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && !rest.is_empty()
        && !rest.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// MCP's `Annotations` of what agents are shown.
fn check_annotations(annotations: &Json) -> Check {
    let members = Members::of("annotations", annotations)?;
    if let Some(audience) = members.get("audience")? {
        let roles = audience.value::<Vec<Cow<'_, str>>>();
        let is_role = |role: &Cow<'_, str>| role == "user" || role == "assistant";
        if !roles.is_ok_and(|roles| roles.iter().all(is_role)) {
            return Err("annotations.audience must be a list of user and assistant".into());
        }
    }
    if let Some(priority) = members.get("priority")? {
        let value = priority.value::<f64>();
        if !value.is_ok_and(|value| (0.0..=1.0).contains(&value)) {
            return Err("annotations.priority must be a number from 0 to 1".into());
        }
    }
    if members.get("lastModified")?.is_some() {
        let moment = members.required_string("lastModified")?;
        if !is_moment(&moment) {
            return Err("annotations.lastModified must be like 2026-01-31T10:00:00Z".into());
        }
    }
    Ok(())
}

/// A date and time as RFC 3339 has it, which is what strict agents parse of ISO 8601.
fn is_moment(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let Some((moment, rest)) = bytes.split_at_checked(FORM.len()) else {
        return false;
    };
    let has_form = |text: &[u8], form: &[u8]| {
        text.len() == form.len()
            && text.iter().zip(form).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    let zone = match rest.strip_prefix(b".") {
        None => rest,
        Some(rest) => {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &rest[digits..]
        }
    };
    let has_zone = zone == b"Z" || has_form(zone, b"+00:00") || has_form(zone, b"-00:00");
    has_form(moment, FORM) && has_zone
}
