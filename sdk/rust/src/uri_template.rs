//! Which URIs follow a template, and what its variables are in one (RFC 6570, read backwards).
//!
//! A variable matches as little as its place allows: `{x}` ends at the next `/`, `?`, `#` or `&`,
//! `{+x}` may go on to the end. Query variables may be left out, but stand in their order.

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::{Map, Value};

#[derive(Debug, Clone)]
pub(crate) struct UriTemplate {
    pattern: Regex,
    variables: Vec<String>,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut pattern = String::from("^");
        let mut variables = Vec::new();
        let mut rest = template;
        while let Some((literal, tail)) = rest.split_once('{') {
            let (expression, tail) = tail
                .split_once('}')
                .ok_or_else(|| "an expression does not end".to_owned())?;
            pattern.push_str(&regex::escape(literal));
            add(expression, &mut pattern, &mut variables)?;
            rest = tail;
        }
        if rest.contains('}') {
            return Err("an expression ends that did not begin".to_owned());
        }
        pattern.push_str(&regex::escape(rest));
        pattern.push('$');
        let pattern = Regex::new(&pattern).map_err(|error| error.to_string())?;
        Ok(Self { pattern, variables })
    }

    /// The variables in a URI, if it follows the template; those that are left out are absent.
    pub(crate) fn matches(&self, uri: &str) -> Option<Map<String, Value>> {
        let found = self.pattern.captures(uri)?;
        let values = self.variables.iter().zip(found.iter().skip(1));
        values
            .filter_map(|(name, value)| Some((name, value?.as_str())))
            .map(|(name, value)| {
                let value = percent_decode_str(value).decode_utf8().ok()?;
                Some((name.clone(), Value::from(value.into_owned())))
            })
            .collect()
    }
}

/// Adds what an expression matches, with one group for each variable.
fn add(expression: &str, pattern: &mut String, variables: &mut Vec<String>) -> Result<(), String> {
    let operators = ['+', '#', '.', '/', ';', '?', '&'];
    let operator = expression.chars().next().filter(|c| operators.contains(c));
    let names = operator.map_or(expression, |_| &expression[1..]);
    for (n, specification) in names.split(',').enumerate() {
        let (name, explode) = match specification.strip_suffix('*') {
            Some(name) => (name, true),
            None => (specification, false),
        };
        let valid = |c: char| c.is_ascii_alphanumeric() || "_.%".contains(c);
        if name.is_empty() || !name.chars().all(valid) {
            return Err(format!("{{{expression}}} is no expression of variables"));
        }
        if variables.iter().any(|present| present == name) {
            return Err(format!("{name} stands there twice"));
        }
        let key = regex::escape(name);
        let first = n == 0;
        let part = match operator {
            None => format!("{}([^/?#&,]+)", if first { "" } else { "," }),
            Some('+') => format!("{}(.+?)", if first { "" } else { "," }),
            Some('#') => format!("{}(.+?)", if first { "#" } else { "," }),
            Some('.') => r"\.([^/?#&.,]+)".to_owned(),
            Some('/') if explode => "((?:/[^/?#]+)+)".to_owned(),
            Some('/') => "/([^/?#]+)".to_owned(),
            Some(';') => format!("(?:;{key}(?:=([^/?#;&]*))?)?"),
            Some('?') if first => format!(r"(?:\?{key}=([^&#]*))?"),
            // After a variable that was left out, the next one begins the query.
            Some('?') => format!("(?:[?&]{key}=([^&#]*))?"),
            Some(_) => format!("(?:&{key}=([^&#]*))?"),
        };
        pattern.push_str(&part);
        variables.push(name.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_are_read_back() {
        let table = [
            ("app://doc", "app://doc", Some(json!({}))),
            ("app://doc", "app://docs", None),
            ("app://{id}", "app://a%20b", Some(json!({"id": "a b"}))),
            ("app://{id}", "app://", None),
            ("app://{id}", "app://a/b", None),
            (
                "test://template/{id}/data",
                "test://template/123/data",
                Some(json!({"id": "123"})),
            ),
            ("a.c/{x}", "abc/1", None),
            ("{x},{y}", "1,2", Some(json!({"x": "1", "y": "2"}))),
            ("{x,y}", "1,2", Some(json!({"x": "1", "y": "2"}))),
            (
                "{+rest}",
                "any://thing?at=all",
                Some(json!({"rest": "any://thing?at=all"})),
            ),
            (
                "file:///{+path}/{name}.txt",
                "file:///a/b/c.txt",
                Some(json!({"path": "a/b", "name": "c"})),
            ),
            (
                "app://a{#part}",
                "app://a#top",
                Some(json!({"part": "top"})),
            ),
            ("app://a{.type}", "app://a.md", Some(json!({"type": "md"}))),
            (
                "app://a{/x,y}",
                "app://a/1/2",
                Some(json!({"x": "1", "y": "2"})),
            ),
            ("app:{/path*}", "app:/1/2", Some(json!({"path": "/1/2"}))),
            ("app:a{;v}", "app:a;v=1", Some(json!({"v": "1"}))),
            (
                "app:a{?p,q}",
                "app:a?p=1&q=%26",
                Some(json!({"p": "1", "q": "&"})),
            ),
            ("app:a{?p,q}", "app:a?q=2", Some(json!({"q": "2"}))),
            ("app:a{?p,q}", "app:a", Some(json!({}))),
            ("app:a?x=1{&p}", "app:a?x=1&p=2", Some(json!({"p": "2"}))),
            ("app:{x}", "app:%FF", None),
        ];
        for (template, uri, variables) in table {
            let found = UriTemplate::parse(template).unwrap().matches(uri);
            assert_eq!(found.map(Value::from), variables, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for bad in [
            "{", "a{b", "b}", "{}", "{a b}", "{+}", "{a}{a}", "{!a}", "{a:3}",
        ] {
            assert!(UriTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
