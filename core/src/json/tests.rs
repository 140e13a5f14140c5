use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::texts;

fn text(text: &str) -> Text {
    Text::new(Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let parse = |text: &[u8]| Json::parse(Bytes::copy_from_slice(text));
    assert_eq!(parse(b"\"\xff\""), Err(JsonError::NotUtf8));
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1}}",
        "nul",
        "01",
        "\"\n\"",
        "1 2",
        "'a'",
    ] {
        let error = parse(bad.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::Unparsable(_)), "{bad}: {error}");
    }
    let deep = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(deep(limits::JSON_DEPTH).as_bytes()).is_ok());
    assert_eq!(
        parse(deep(limits::JSON_DEPTH + 1).as_bytes()),
        Err(JsonError::TooDeep)
    );
}

#[test]
fn errors_quote_no_position() {
    let twice = text("{\n\"payload\":1,\"payload\":2}");
    let error = twice.read::<Envelope<'_>>();
    assert_eq!(error.unwrap_err().to_string(), "duplicate field `payload`");
}

#[test]
fn a_member_that_is_read_may_stand_there_once_however_it_is_escaped() {
    for twice in [
        r#"{"payload":1,"payload":1}"#,
        r#"{"payload":1,"pa\u0079load":1}"#,
        r#"{"\u0069d":1,"payload":1,"id":1}"#,
    ] {
        let text = text(twice);
        let error = text.read::<Envelope<'_>>().unwrap_err();
        assert!(matches!(error, JsonError::Duplicate(_)), "{twice}: {error}");
    }
    let others = text(r#"{"payload":{"a":1,"a":2},"x":1,"x":2}"#);
    let envelope: Envelope<'_> = others.read().unwrap();
    assert_eq!(others.part(envelope.payload).as_str(), r#"{"a":1,"a":2}"#);
}

#[test]
fn absent_and_null_are_told_apart() {
    let with_null = text(r#"{"id":null,"payload":1}"#);
    let envelope: Envelope<'_> = with_null.read().unwrap();
    assert_eq!(envelope.id.map(RawValue::get), Some("null"));
    let without = text(r#"{"payload":1}"#);
    assert!(without.read::<Envelope<'_>>().unwrap().id.is_none());
}

#[test]
fn only_objects_are_read_as_objects() {
    for other in ["[1,2]", " \n[1,2]", "null", "\"payload\"", "7"] {
        let text = text(other);
        let error = text.read::<Envelope<'_>>().unwrap_err();
        assert!(matches!(error, JsonError::Shape(_)), "{other}: {error}");
    }
    for broken in ["[1,2", "", "{\"payload\":1"] {
        let text = text(broken);
        let error = text.read::<Envelope<'_>>().unwrap_err();
        assert!(
            matches!(error, JsonError::Unparsable(_)),
            "{broken}: {error}"
        );
    }
}

#[test]
fn parts_share_the_memory_of_what_arrived() {
    let arrived = Bytes::from(r#"{"payload":{"x":[1,2,3]}}"#.to_owned());
    let text = Text::new(arrived.clone()).unwrap();
    let envelope: Envelope<'_> = text.read().unwrap();
    let payload = text.part(envelope.payload);
    assert_eq!(payload.bytes().as_ptr(), arrived[11..].as_ptr());
    assert_eq!(
        text.clone().parse().unwrap().bytes().as_ptr(),
        arrived.as_ptr()
    );
}

#[test]
fn values_tell_their_types() {
    let json = |text: &'static str| Json::parse(text).unwrap();
    assert!(json(" {} ").is_object() && json("[]").is_array() && json("\"\"").is_string());
    assert!(json("-1").is_number() && json("0").is_number() && json("null").is_null());
    assert!(!json("true").is_number() && !json("3").is_null());
}

#[test]
fn members_keep_their_order_and_their_duplicates() {
    let object = Json::parse(r#"{"b":1,"a":{"c":2},"\u0062":3}"#).unwrap();
    let members = object.members().unwrap();
    let members: Vec<_> = members.iter().map(|(k, v)| (&**k, v.get())).collect();
    assert_eq!(members, [("b", "1"), ("a", r#"{"c":2}"#), ("b", "3")]);
    assert!(Json::EMPTY_ARRAY.members().is_err());
    assert_eq!(Json::parse("[1, [2]]").unwrap().entries().unwrap().len(), 2);
    assert!(Json::EMPTY_OBJECT.entries().is_err());
}

#[test]
fn envelopes_are_written_from_parts() {
    let mut object = ObjectWriter::new();
    object
        .name("type", "call")
        .raw("params", &Json::parse(r#"{"n":1e400}"#).unwrap())
        .raw_if("nothing", None)
        .string("text", "a \"quoted\"\nline")
        .string_if("more", Some("ü"))
        .plain("round", 0)
        .plain("yes", true);
    let expected = r#"{"type":"call","params":{"n":1e400},"text":"a \"quoted\"\nline","more":"ü","round":0,"yes":true}"#;
    assert_eq!(object.finish().as_str(), expected);
    let mut array = ArrayWriter::new();
    array.raw(&Json::NULL).string("x");
    assert_eq!(array.finish().as_str(), r#"[null,"x"]"#);
    assert_eq!(ObjectWriter::new().finish(), Json::EMPTY_OBJECT);
    assert_eq!(ArrayWriter::new().finish(), Json::EMPTY_ARRAY);
}

/// The deepest nesting, counted the obvious way.
fn depth(text: &str) -> usize {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    fn of(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(entries) => 1 + entries.iter().map(of).max().unwrap_or(0),
            serde_json::Value::Object(members) => 1 + members.values().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    of(&value)
}

proptest! {
    #[test]
    fn every_valid_text_passes_verbatim_but_for_its_line_ends(value in texts::value()) {
        let json = Json::parse(value.clone()).unwrap();
        prop_assert_eq!(json.as_str(), texts::normalised(&value));
        prop_assert_eq!(Json::parse(json.bytes().clone()).unwrap(), json);
    }

    #[test]
    fn a_payload_comes_out_of_its_envelope_as_it_went_in(
        value in texts::value(),
        blank in texts::blank(),
        pad in texts::object(),
    ) {
        let envelope = format!("{blank}{{\"pad\":{pad},{blank}\"payload\":{value}{blank}}}{blank}");
        let text = text(&envelope);
        let read: Envelope<'_> = text.read().unwrap();
        let payload = text.part(read.payload);
        prop_assert_eq!(payload.as_str(), texts::normalised(&value));
        // And again out of what is known to be JSON.
        let json = text.clone().parse().unwrap();
        let read: Envelope<'_> = json.read().unwrap();
        prop_assert_eq!(json.part(read.payload), payload);
    }

    #[test]
    fn damaged_texts_are_judged_as_serde_json_judges_them(
        value in texts::value(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"\"\\{}[]:, \n0eE-.tn\x00\xff".to_vec()),
        cut in any::<bool>(),
    ) {
        let mut bytes = value.into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let expected = std::str::from_utf8(&bytes)
            .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        prop_assert_eq!(Json::parse(bytes).is_ok(), expected);
    }

    #[test]
    fn depth_is_counted_as_a_parser_counts_it(text in texts::nested(5), wrap in texts::string()) {
        let found = scan::scan(text.as_bytes());
        prop_assert_eq!(found.depth, depth(&text));
        // Brackets in strings do not count.
        let wrapped = format!("[{wrap},{text}]");
        prop_assert_eq!(scan::scan(wrapped.as_bytes()).depth, 6);
    }

    #[test]
    fn strings_and_values_survive_the_writers(key in "[a-zA-Z]{1,8}", string in ".*", value in texts::value()) {
        let value = Json::parse(value).unwrap();
        let mut object = ObjectWriter::new();
        object.string(&key, &string).raw("value", &value);
        let written = object.finish();
        let members = written.members().unwrap();
        prop_assert_eq!(&*members[0].0, &*key);
        let back: Cow<'_, str> = serde_json::from_str(members[0].1.get()).unwrap();
        prop_assert_eq!(&*back, &*string);
        prop_assert_eq!(members[1].1.get(), value.as_str());
    }
}
