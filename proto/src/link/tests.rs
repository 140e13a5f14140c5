//! Scripts: what is put into an outbox, then exactly which frames leave, and what an assembler
//! makes of them.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::StreamExt as _;

use super::{
    Arrived, AssembleError, Assembler, Begun, CallKey, Drain, Limits, Outbox, SendError, Withdrawn,
    outbox,
};
use crate::v1::{Call, Cancel, RouterFrame, router_frame};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
const LIMITS: Limits = Limits {
    chunk_bytes: 64 * KIB,
    window_bytes: MIB,
    payload_bytes: 5 * MIB,
    queue_bytes: 16 * MIB,
};

fn key(number: u8) -> CallKey {
    CallKey([number; 16])
}

fn send_call(outbox: &Outbox<RouterFrame>, number: u8, payload: usize) -> Result<(), SendError> {
    let payload = Bytes::from(vec![number; payload]);
    outbox.send_payload(key(number), payload, |params, params_bytes| {
        router_frame::Frame::Call(Call {
            call_id: key(number).to_bytes(),
            params,
            params_bytes,
            ..Call::default()
        })
    })
}

fn send_small(outbox: &Outbox<RouterFrame>, number: u8) -> Result<(), SendError> {
    outbox.send(router_frame::Frame::Cancel(Cancel {
        call_id: key(number).to_bytes(),
        reason: 1,
    }))
}

/// What a frame was, with the number of its call and its bytes of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Call(u8, usize),
    Chunk(u8, usize),
    Small(u8),
}

/// Polls after all others had their turn.
fn poll(drain: &mut Drain<RouterFrame>) -> Poll<Option<RouterFrame>> {
    let mut context = Context::from_waker(Waker::noop());
    match drain.poll_next_unpin(&mut context) {
        Poll::Pending => drain.poll_next_unpin(&mut context),
        ready @ Poll::Ready(_) => ready,
    }
}

fn next(drain: &mut Drain<RouterFrame>) -> Option<RouterFrame> {
    match poll(drain) {
        Poll::Ready(frame) => frame,
        Poll::Pending => None,
    }
}

fn left(drain: &mut Drain<RouterFrame>) -> Option<Left> {
    Some(match next(drain)?.frame? {
        router_frame::Frame::Call(call) => Left::Call(call.call_id[0], call.params.len()),
        router_frame::Frame::Chunk(chunk) => Left::Chunk(chunk.call_id[0], chunk.data.len()),
        router_frame::Frame::Cancel(cancel) => Left::Small(cancel.call_id[0]),
        other => panic!("unexpected {other:?}"),
    })
}

fn all_left(drain: &mut Drain<RouterFrame>) -> Vec<Left> {
    std::iter::from_fn(|| left(drain)).collect()
}

#[test]
fn small_frames_leave_in_order() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 100).unwrap();
    send_small(&outbox, 2).unwrap();
    send_call(&outbox, 3, 16 * KIB).unwrap();
    assert_eq!(
        all_left(&mut drain),
        [Left::Call(1, 100), Left::Small(2), Left::Call(3, 16 * KIB)]
    );
    assert_eq!(outbox.queued_bytes(), 0);
}

#[test]
fn a_large_payload_holds_nobody_up() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 4 * MIB).unwrap();
    assert_eq!(left(&mut drain), Some(Left::Call(1, 0)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(1, 64 * KIB)));

    // A small call, and another large one, arrive while the first is under way.
    send_call(&outbox, 2, 100).unwrap();
    send_call(&outbox, 3, 128 * KIB).unwrap();
    assert_eq!(left(&mut drain), Some(Left::Call(2, 100)));
    assert_eq!(left(&mut drain), Some(Left::Call(3, 0)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(1, 64 * KIB)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(3, 64 * KIB)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(1, 64 * KIB)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(3, 64 * KIB)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(1, 64 * KIB)));
}

#[test]
fn a_flood_of_small_frames_does_not_starve_a_payload() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 128 * KIB).unwrap();
    let mut during = Vec::new();
    for number in 10..50 {
        send_call(&outbox, number, 16 * KIB).unwrap();
        during.extend(left(&mut drain));
    }
    let chunks = during.iter().filter(|l| matches!(l, Left::Chunk(1, _)));
    assert_eq!(chunks.count(), 2, "{during:?}");
    assert_eq!(all_left(&mut drain).len(), 3);
}

#[test]
fn credit_stops_a_payload_and_lets_it_go_on() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 3 * MIB).unwrap();
    assert_eq!(all_left(&mut drain).len(), 1 + 16);
    assert_eq!(left(&mut drain), None);

    // Others are not held up by it.
    send_call(&outbox, 2, 128 * KIB).unwrap();
    assert_eq!(all_left(&mut drain).len(), 1 + 2);

    outbox.credit(key(1), 100 * KIB as u64);
    assert_eq!(
        all_left(&mut drain),
        [Left::Chunk(1, 64 * KIB), Left::Chunk(1, 36 * KIB)]
    );
    outbox.credit(key(1), 2 * MIB as u64);
    let rest: usize = all_left(&mut drain)
        .iter()
        .map(|left| match left {
            Left::Chunk(1, bytes) => *bytes,
            other => panic!("unexpected {other:?}"),
        })
        .sum();
    assert_eq!(rest, 2 * MIB - 100 * KIB);
    outbox.credit(key(1), MIB as u64);
    assert_eq!(left(&mut drain), None);
    assert_eq!(outbox.queued_bytes(), 0);
}

#[test]
fn withdrawing_a_call_frees_its_bytes_and_tells_what_left() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 4 * MIB).unwrap();
    send_call(&outbox, 2, 100).unwrap();
    send_call(&outbox, 3, 200).unwrap();
    assert_eq!(outbox.withdraw(key(2)), Withdrawn::NeverSent);
    assert_eq!(left(&mut drain), Some(Left::Call(1, 0)));
    assert_eq!(left(&mut drain), Some(Left::Call(3, 200)));
    assert_eq!(left(&mut drain), Some(Left::Chunk(1, 64 * KIB)));
    assert_eq!(outbox.withdraw(key(1)), Withdrawn::PartlySent);
    assert_eq!(outbox.withdraw(key(3)), Withdrawn::Sent);
    assert_eq!(outbox.queued_bytes(), 0);
    assert_eq!(left(&mut drain), None);

    // The same call may be sent again, and gets one turn like everybody.
    send_call(&outbox, 1, 128 * KIB).unwrap();
    assert_eq!(all_left(&mut drain).len(), 1 + 2);
}

#[test]
fn after_the_link_was_lost_it_is_still_known_what_had_left() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 100).unwrap();
    send_call(&outbox, 2, 4 * MIB).unwrap();
    assert_eq!(left(&mut drain), Some(Left::Call(1, 100)));
    assert_eq!(left(&mut drain), Some(Left::Call(2, 0)));
    send_call(&outbox, 3, 100).unwrap();
    drop(drain);
    assert_eq!(outbox.queued_bytes(), 0);
    assert_eq!(send_small(&outbox, 4), Err(SendError::Closed));
    assert_eq!(outbox.withdraw(key(1)), Withdrawn::Sent);
    assert_eq!(outbox.withdraw(key(2)), Withdrawn::PartlySent);
    assert_eq!(outbox.withdraw(key(3)), Withdrawn::NeverSent);
}

#[test]
fn payloads_are_bounded_and_leave_room_for_small_frames() {
    let (outbox, mut drain) = outbox(LIMITS);
    assert_eq!(send_call(&outbox, 9, 6 * MIB), Err(SendError::TooLarge));
    for number in 0..4 {
        send_call(&outbox, number, 4 * MIB - 64).unwrap();
    }
    assert_eq!(send_call(&outbox, 9, KIB), Err(SendError::Full));
    assert_eq!(send_call(&outbox, 0, KIB), Err(SendError::Busy));
    send_small(&outbox, 9).unwrap();
    assert_eq!(left(&mut drain), Some(Left::Call(0, 0)));
}

#[test]
fn a_peer_that_reads_nothing_loses_the_link() {
    let limits = Limits {
        queue_bytes: 64,
        ..LIMITS
    };
    let (outbox, mut drain) = outbox(limits);
    while send_small(&outbox, 1).is_ok() {}
    assert!(outbox.is_closed());
    assert_eq!(poll(&mut drain), Poll::Ready(None));
}

#[test]
fn a_finished_outbox_ends_after_what_waits() {
    let (outbox, mut drain) = outbox(LIMITS);
    send_call(&outbox, 1, 128 * KIB).unwrap();
    outbox.finish();
    assert_eq!(send_small(&outbox, 2), Err(SendError::Closed));
    assert_eq!(all_left(&mut drain).len(), 1 + 2);
    assert_eq!(poll(&mut drain), Poll::Ready(None));
}

#[test]
fn payloads_arrive_whole_and_credit_keeps_them_moving() {
    let (outbox, mut drain) = outbox(LIMITS);
    let mut assembler = Assembler::new(LIMITS);
    let mut whole = Vec::new();
    for (number, size) in [
        (1, 4 * MIB),
        (2, 0),
        (3, 16 * KIB),
        (4, 16 * KIB + 1),
        (5, 3 * MIB),
    ] {
        send_call(&outbox, number, size).unwrap();
    }
    while let Some(frame) = next(&mut drain).and_then(|frame| frame.frame) {
        match frame {
            router_frame::Frame::Call(call) => {
                let call_key = CallKey::read(&call.call_id).unwrap();
                let begun = assembler.begin(call_key, call_key, call.params, call.params_bytes);
                if let Begun::Whole(head, payload) = begun.unwrap() {
                    whole.push((head.0[0], payload.len()));
                }
            }
            router_frame::Frame::Chunk(chunk) => {
                let call_key = CallKey::read(&chunk.call_id).unwrap();
                match assembler.chunk(call_key, &chunk.data).unwrap() {
                    Arrived::Whole(head, payload) => {
                        assert!(payload.iter().all(|byte| *byte == head.0[0]));
                        whole.push((head.0[0], payload.len()));
                    }
                    Arrived::Partial { credit } => outbox.credit(call_key, credit),
                    Arrived::Unknown => panic!("unknown {call_key:?}"),
                }
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(
        whole,
        [
            (2, 0),
            (3, 16 * KIB),
            (4, 16 * KIB + 1),
            (5, 3 * MIB),
            (1, 4 * MIB)
        ]
    );
    assert!(assembler.is_empty());
}

#[test]
fn an_assembler_refuses_what_exceeds_its_limits() {
    let mut assembler = Assembler::new(LIMITS);
    let none = Bytes::new;
    let announced = |bytes: usize| bytes as u64;
    assert_eq!(
        assembler.begin(key(1), (), none(), announced(6 * MIB)),
        Err(AssembleError::TooLarge)
    );
    assert_eq!(
        assembler.begin(key(1), (), none(), u64::MAX),
        Err(AssembleError::TooLarge)
    );
    for number in 1..=4 {
        let begun = assembler.begin(key(number), (), none(), announced(4 * MIB));
        assert_eq!(begun, Ok(Begun::Partial));
    }
    assert_eq!(
        assembler.begin(key(5), (), none(), announced(64 * KIB)),
        Err(AssembleError::Full)
    );
    assert_eq!(assembler.chunk(key(5), b"late"), Ok(Arrived::Unknown));
    assert_eq!(assembler.forget(key(1)), Some(()));
    assert_eq!(
        assembler.begin(key(5), (), none(), announced(64 * KIB)),
        Ok(Begun::Partial)
    );
}

#[test]
fn an_assembler_ends_the_link_of_a_sender_that_breaks_the_rules() {
    let mut assembler = Assembler::new(LIMITS);
    let begin = |assembler: &mut Assembler<()>| assembler.begin(key(1), (), Bytes::new(), 4);
    assert_eq!(begin(&mut assembler), Ok(Begun::Partial));
    assert_eq!(begin(&mut assembler), Err(AssembleError::Overrun));
    assert_eq!(
        assembler.chunk(key(1), b"12345"),
        Err(AssembleError::Overrun)
    );

    let begun = assembler.begin(key(2), (), Bytes::new(), 4 * MIB as u64);
    assert_eq!(begun, Ok(Begun::Partial));
    let too_much = vec![0; MIB + 1];
    assert_eq!(
        assembler.chunk(key(2), &too_much),
        Err(AssembleError::Overrun)
    );
}
