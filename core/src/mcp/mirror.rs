//! `Mcp-Param-*`: headers that repeat arguments (MCP "Streamable HTTP", Custom Headers from Tool
//! Parameters).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName};

use super::error::RpcError;
use super::header::{self, Field};
use super::message::decode_string;
use super::sentinel;
use crate::json::{Json, JsonError};
use crate::tool::HeaderParam;

/// Checks the headers that repeat a call's arguments. Headers that the tool does not declare do
/// not matter.
///
/// # Errors
/// 400: -32020 if a header is missing although its argument is there, is there without it, or
/// disagrees; -32600 if an argument that is looked at stands there twice.
pub(super) fn check(
    headers: &HeaderMap,
    params: &[HeaderParam],
    arguments: Option<&Json>,
) -> Result<(), RpcError> {
    let all: Vec<&HeaderParam> = params.iter().collect();
    let mut values = BTreeMap::new();
    if let (Some(arguments), false) = (arguments, params.is_empty()) {
        collect(arguments, &all, 0, &mut values)?;
    }
    for param in params {
        let value = values.get(param.name.as_str());
        check_one(headers, param, value)?;
    }
    Ok(())
}

/// Finds the arguments. Each object on the way is read once, however many headers lead there.
fn collect<'p>(
    object: &Json,
    params: &[&'p HeaderParam],
    depth: usize,
    values: &mut BTreeMap<&'p str, Json>,
) -> Result<(), RpcError> {
    if !object.is_object() {
        return Ok(());
    }
    let mut seen: Vec<std::borrow::Cow<'_, str>> = Vec::new();
    for (key, value) in object.members().map_err(|error| unreadable(&error))? {
        let below: Vec<&HeaderParam> = params
            .iter()
            .copied()
            .filter(|param| param.path.get(depth).is_some_and(|step| *step == key))
            .collect();
        if below.is_empty() {
            continue;
        }
        if seen.contains(&key) {
            return Err(RpcError::invalid_request(
                "Invalid request: an argument that a header repeats stands there twice",
            ));
        }
        seen.push(key);
        let value = object.part(value);
        for param in below.iter().filter(|param| param.path.len() == depth + 1) {
            values.insert(&param.name, value.clone());
        }
        collect(&value, &below, depth + 1, values)?;
    }
    Ok(())
}

fn unreadable(error: &JsonError) -> RpcError {
    RpcError::invalid_request(format!("Invalid request: {error}"))
}

fn check_one(
    headers: &HeaderMap,
    param: &HeaderParam,
    value: Option<&Json>,
) -> Result<(), RpcError> {
    let mismatch = |problem: &str| {
        let message = format!("Header mismatch: Mcp-Param-{} {problem}", param.name);
        Err(RpcError::header_mismatch(message))
    };
    let name = format!("{}{}", header::PARAM_PREFIX, param.name);
    let Ok(name) = HeaderName::try_from(name) else {
        return Ok(());
    };
    let value = value.filter(|value| !value.is_null());
    match (header::read(headers, &name), value) {
        (Field::Malformed(problem), _) => mismatch(problem),
        (Field::Absent, None) => Ok(()),
        (Field::Absent, Some(_)) => mismatch("is required, as its argument is given"),
        (Field::One(_), None) => mismatch("is given without its argument"),
        (Field::One(text), Some(value)) => match sentinel::decode(text) {
            Some(text) if agrees(&text, value) => Ok(()),
            Some(_) => mismatch("does not match its argument"),
            None => mismatch("is not encoded as it should be"),
        },
    }
}

/// Whether a header says the same as an argument. The argument's own type counts: whether it is
/// the one that the schema wants is for the app to say.
fn agrees(text: &str, value: &Json) -> bool {
    match decode_string(value.as_str()) {
        Some(string) => string == text,
        None if value.is_number() => match (Decimal::parse(text), Decimal::parse(value.as_str())) {
            (Some(header), Some(argument)) => header == argument,
            _ => false,
        },
        None => matches!(value.as_str(), "true" | "false") && value.as_str() == text,
    }
}

/// A decimal number of any size, for comparing: `42.0`, `42` and `4.2e1` are the same.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Without zeros on either side; empty for zero.
    digits: String,
    /// Where the point stands, counted from the first digit.
    point: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let leading = all.len() - all.trim_start_matches('0').len();
        let digits = all.trim_matches('0').to_owned();
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        Some(match digits.len().cmp(&0) {
            Ordering::Greater => Decimal {
                negative,
                digits,
                point: point + i64::from(exponent),
            },
            _ => Decimal {
                negative: false,
                digits,
                point: 0,
            },
        })
    }
}

#[cfg(test)]
mod tests;
