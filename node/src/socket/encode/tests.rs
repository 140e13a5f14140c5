use clientmcp_core::close::CloseCode;

use super::*;

/// All bytes, taken in steps as a socket takes them.
fn bytes(frames: Vec<Frame>, step: usize) -> Vec<u8> {
    let mut encoded = Encoded::default();
    for frame in frames {
        encoded.push(frame);
    }
    let mut bytes = Vec::new();
    while !encoded.is_empty() {
        let mut slices = [IoSlice::new(&[]); 4];
        let count = encoded.slices(&mut slices);
        let before = bytes.len();
        for slice in &slices[..count] {
            let left = step - (bytes.len() - before);
            bytes.extend_from_slice(&slice[..left.min(slice.len())]);
        }
        let taken = bytes.len() - before;
        encoded.advance(taken);
    }
    bytes
}

#[test]
fn frames_have_the_shortest_head_and_no_mask() {
    assert_eq!(bytes(vec![Frame::Text("hi".into())], 99), b"\x81\x02hi");
    assert_eq!(bytes(vec![Frame::Ping], 99), b"\x89\x00");
    assert_eq!(bytes(vec![Frame::Pong("p".into())], 99), b"\x8A\x01p");
    assert_eq!(bytes(vec![Frame::CloseEcho(None)], 99), b"\x88\x00");
    assert_eq!(
        bytes(vec![Frame::CloseEcho(Some(1000))], 99),
        b"\x88\x02\x03\xE8"
    );
    let closing = Closing::new(CloseCode::Restart, "bye");
    assert_eq!(
        bytes(vec![Frame::Close(closing)], 99),
        b"\x88\x05\x03\xF4bye"
    );

    let text = |size: usize| Frame::Text("x".repeat(size).into());
    assert_eq!(bytes(vec![text(125)], 9999)[..2], [0x81, 125]);
    assert_eq!(bytes(vec![text(126)], 9999)[..4], [0x81, 126, 0, 126]);
    assert_eq!(
        bytes(vec![text(65_535)], 99_999)[..4],
        [0x81, 126, 255, 255]
    );
    assert_eq!(
        bytes(vec![text(65_536)], 99_999)[..10],
        [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]
    );
}

#[test]
fn however_little_is_taken_at_once_nothing_is_lost_or_moved() {
    let frames = || {
        let long = || Frame::Text("x".repeat(5000).into());
        vec![
            Frame::Text("first".into()),
            long(),
            Frame::Ping,
            Frame::Text("between".into()),
            long(),
            long(),
        ]
    };
    let whole = bytes(frames(), usize::MAX);
    for step in [7, 100, 4096, 7000] {
        assert!(bytes(frames(), step) == whole, "step {step}");
    }
}
