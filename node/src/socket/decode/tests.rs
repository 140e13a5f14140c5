//! Scripts: bytes as they arrive, then exactly what they give.

use super::*;

const LIMIT: usize = 1000;
const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// A masked frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | u8::try_from(short).unwrap()),
        medium @ 126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    let masked = payload.iter().zip(MASK.iter().cycle());
    bytes.extend(masked.map(|(byte, key)| byte ^ key));
    bytes
}

/// Feeds bytes in steps, as a socket does: into the message where the decoder asks for it.
fn decode(bytes: &[u8], step: usize) -> Result<Vec<Received>, Fault> {
    let mut decoder = Decoder::new(&[], LIMIT);
    let mut received = Vec::new();
    let mut rest = bytes;
    loop {
        while let Some(next) = decoder.next()? {
            received.push(next);
        }
        if rest.is_empty() {
            return Ok(received);
        }
        let missing = decoder.missing();
        let size = if missing > 0 { step.min(missing) } else { step };
        let (now, later) = rest.split_at(size.min(rest.len()));
        if missing > 0 {
            decoder.message.extend_from_slice(now);
            decoder.filled(now.len());
        } else {
            decoder.input.extend_from_slice(now);
        }
        rest = later;
    }
}

fn text(text: &str) -> Received {
    Received::Text(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn however_bytes_arrive_the_messages_are_the_same() {
    let long = "x".repeat(600);
    let mut bytes = frame(0x81, b"one");
    bytes.extend(frame(0x01, "zw\u{f6}".as_bytes()));
    bytes.extend(frame(0x89, b"ping"));
    bytes.extend(frame(0x00, b""));
    bytes.extend(frame(0x80, "lf".as_bytes()));
    bytes.extend(frame(0x8A, b""));
    bytes.extend(frame(0x81, b""));
    bytes.extend(frame(0x81, long.as_bytes()));
    bytes.extend(frame(0x88, &1001_u16.to_be_bytes()));
    let expected = [
        text("one"),
        Received::Ping(Bytes::from_static(b"ping")),
        text("zw\u{f6}lf"),
        Received::Pong,
        text(""),
        text(&long),
        Received::Close(Some(1001)),
    ];
    for step in [1, 2, 3, 5, 7, 64, 4096] {
        assert_eq!(decode(&bytes, step).unwrap(), expected, "step {step}");
    }
}

#[test]
fn a_character_may_be_split_over_two_frames() {
    let letter = "\u{1F600}".as_bytes();
    let mut bytes = frame(0x01, &letter[..2]);
    bytes.extend(frame(0x80, &letter[2..]));
    assert_eq!(decode(&bytes, 4096).unwrap(), [text("\u{1F600}")]);
}

#[test]
fn the_limit_holds_for_the_message_as_a_whole() {
    let whole = frame(0x81, &[b'x'; LIMIT]);
    assert!(decode(&whole, 4096).is_ok());
    let over = frame(0x81, &[b'x'; LIMIT + 1]);
    assert_eq!(
        decode(&over[..8], 4096),
        Err(Fault::TooLarge),
        "by its head"
    );
    let mut parts = frame(0x01, &[b'x'; LIMIT]);
    parts.extend(frame(0x80, b"x"));
    assert_eq!(decode(&parts, 4096), Err(Fault::TooLarge));
}

#[test]
fn close_frames_say_what_may_be_said() {
    let close = |payload: &[u8]| decode(&frame(0x88, payload), 4096);
    assert_eq!(close(b"").unwrap(), [Received::Close(None)]);
    let mut with_reason = 4000_u16.to_be_bytes().to_vec();
    with_reason.extend(b"why");
    assert_eq!(close(&with_reason).unwrap(), [Received::Close(Some(4000))]);
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        assert!(close(&code.to_be_bytes()).is_err(), "{code}");
    }
    with_reason.push(0xFF);
    assert!(close(&with_reason).is_err());
}

#[test]
fn after_discarding_only_the_close_frame_matters() {
    let mut decoder = Decoder::new(&frame(0x81, &[b'x'; LIMIT + 500]), LIMIT);
    assert_eq!(decoder.next(), Err(Fault::TooLarge));
    decoder.discard();
    let mut after = frame(0x82, b"binary");
    after.extend(frame(0x89, b"ping"));
    after.extend(frame(0x81, b"\xFF"));
    after.extend(frame(0x81, &[b'x'; LIMIT + 500]));
    after.extend(frame(0x88, &1000_u16.to_be_bytes()));
    decoder.input.extend_from_slice(&after);
    assert_eq!(decoder.next(), Ok(Some(Received::Close(Some(1000)))));
}

#[test]
fn a_binary_frame_is_refused_and_the_next_one_found() {
    let mut bytes = frame(0x82, b"binary");
    bytes.extend(frame(0x88, &1000_u16.to_be_bytes()));
    let mut decoder = Decoder::new(&bytes, LIMIT);
    assert_eq!(decoder.next(), Err(Fault::Binary));
    assert_eq!(decoder.next(), Ok(Some(Received::Close(Some(1000)))));
}

#[test]
fn after_a_broken_frame_nothing_is_read_any_more() {
    let mut decoder = Decoder::new(&frame(0xC1, b"reserved bit"), LIMIT);
    assert!(matches!(decoder.next(), Err(Fault::Protocol(_))));
    decoder.input.extend_from_slice(&frame(0x81, b"text"));
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.input.is_empty());
}
