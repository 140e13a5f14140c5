//! Changing JSON text in a few places, and nowhere else (SPEC.md §5.8).

use std::ops::Range;

use serde_json::value::RawValue;

/// A JSON object's text, and what is to be changed in it.
#[derive(Debug)]
pub(super) struct Splice<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Splice<'a> {
    /// The text of an object, without blanks before it.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            edits: Vec::new(),
        }
    }

    /// Adds a member at the beginning of the object. The last that is added stands first.
    pub(super) fn add(&mut self, key: &str, value: &str) -> &mut Self {
        self.add_at(0, key, value)
    }

    /// Adds a member at the beginning of an object that is a part of the text.
    pub(super) fn add_in(&mut self, object: &RawValue, key: &str, value: &str) -> &mut Self {
        self.add_at(self.range(object).start, key, value)
    }

    fn add_at(&mut self, brace: usize, key: &str, value: &str) -> &mut Self {
        let inside = brace + 1;
        let empty = self.text[inside..].trim_ascii_start().starts_with('}');
        let occupied = self.edits.iter().any(|(range, _)| range.start == inside);
        let comma = if empty && !occupied { "" } else { "," };
        let member = format!("\"{key}\":{value}{comma}");
        self.edits.push((inside..inside, member));
        self
    }

    /// Puts another value in the place of a part of the text.
    pub(super) fn replace(&mut self, part: &RawValue, value: &str) -> &mut Self {
        self.edits.push((self.range(part), value.to_owned()));
        self
    }

    fn range(&self, part: &RawValue) -> Range<usize> {
        let start = part.get().as_ptr().addr() - self.text.as_ptr().addr();
        start..start + part.get().len()
    }

    /// Writes the changed text.
    pub(super) fn write(mut self, target: &mut String) {
        // Of members that are added at one place the later one comes first: it ends in a comma.
        self.edits.reverse();
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut written = 0;
        for (range, text) in &self.edits {
            target.push_str(&self.text[written..range.start]);
            target.push_str(text);
            written = range.end;
        }
        target.push_str(&self.text[written..]);
    }

    /// How much longer the text becomes, at most.
    pub(super) fn growth(&self) -> usize {
        self.edits.iter().map(|(_, text)| text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        a: Option<&'a RawValue>,
        #[serde(borrow, default)]
        b: Option<&'a RawValue>,
    }

    fn spliced(text: &str, edit: impl Fn(&mut Splice<'_>, &Parts<'_>)) -> String {
        let parts: Parts<'_> = serde_json::from_str(text).unwrap();
        let mut splice = Splice::new(text);
        edit(&mut splice, &parts);
        let mut target = String::new();
        splice.write(&mut target);
        let _: serde::de::IgnoredAny = serde_json::from_str(&target).unwrap();
        target
    }

    #[test]
    fn what_is_not_changed_stays_as_it_is() {
        for text in ["{}", "{ }", r#"{ "a" : 1e400 , "x":[ 1 ]}"#] {
            assert_eq!(spliced(text, |_, _| {}), text);
        }
    }

    #[test]
    fn members_are_added_in_front() {
        for (text, expected) in [
            ("{}", r#"{"q":2,"p":1}"#),
            ("{ }", r#"{"q":2,"p":1 }"#),
            (r#"{"z":0}"#, r#"{"q":2,"p":1,"z":0}"#),
        ] {
            let added = spliced(text, |splice, _| {
                splice.add("p", "1").add("q", "2");
            });
            assert_eq!(added, expected);
        }
    }

    #[test]
    fn parts_are_changed_in_their_place() {
        let changed = spliced(r#"{"b":[ 1 ], "a": {} }"#, |splice, parts| {
            splice
                .add_in(parts.a.unwrap(), "x", "1")
                .replace(parts.b.unwrap(), "0")
                .add("p", "true");
        });
        assert_eq!(changed, r#"{"p":true,"b":0, "a": {"x":1} }"#);
    }
}
