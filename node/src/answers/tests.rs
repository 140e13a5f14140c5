use clientmcp_core::json::Json;
use futures_util::FutureExt as _;

use super::*;

const KEEP: Duration = Duration::from_secs(10);

fn client(name: &str) -> ClientId {
    ClientId::parse(name).unwrap()
}

fn origin(session: &str, id: &str) -> Origin {
    Origin {
        session: session.to_owned(),
        request_id: Json::parse(id.to_owned()).unwrap(),
    }
}

fn wait(answers: &Arc<Answers>, session: &str, ids: &[&str]) -> Awaiting {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    answers
        .wait(&client("c"), origin(session, "1"), ids)
        .unwrap()
}

fn give(answers: &Arc<Answers>, session: &str, id: &str, answer: &'static str) -> Giving {
    answers
        .give(&client("c"), session, id, answer.into())
        .unwrap()
}

fn heard(awaiting: &mut Awaiting) -> Option<Heard> {
    awaiting.next().now_or_never()
}

fn answer(id: &str, text: &'static str) -> Option<Heard> {
    Some(Heard::Answer(id.to_owned(), text.into()))
}

#[tokio::test(start_paused = true)]
async fn an_answer_meets_whoever_waits_before_and_after_it_comes() {
    let answers = Arc::default();
    let mut early = give(&answers, "s", "a", "1");
    let mut awaiting = wait(&answers, "s", &["a", "b"]);
    assert_eq!(heard(&mut awaiting), answer("a", "1"));
    assert_eq!(heard(&mut awaiting), None, "once");
    assert_eq!(early.taken().now_or_never(), None, "heard is not taken");
    awaiting.take("a");
    assert_eq!(early.taken().now_or_never(), Some(()));
    drop(early);

    let listening = tokio::spawn(async move {
        let heard = awaiting.next().await;
        awaiting.take("b");
        heard
    });
    tokio::task::yield_now().await;
    let mut late = give(&answers, "s", "b", "2");
    late.taken().await;
    assert_eq!(Some(listening.await.unwrap()), answer("b", "2"));
    drop(late);
    assert!(answers.lock().clients.is_empty(), "nothing is left");
}

#[tokio::test(start_paused = true)]
async fn only_the_session_that_was_asked_can_answer() {
    let answers = Arc::default();
    let mut awaiting = wait(&answers, "s", &["a"]);
    let _foreign = give(&answers, "t", "a", "1");
    let _unknown = give(&answers, "s", "b", "2");
    assert_eq!(heard(&mut awaiting), None);
    let other = answers.give(&client("d"), "s", "a", "3".into());
    assert!(other.is_some());
    assert_eq!(heard(&mut awaiting), None);
    let _own = give(&answers, "s", "a", "4");
    assert_eq!(heard(&mut awaiting), answer("a", "4"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_taken_meets_the_next_who_waits() {
    let answers = Arc::default();
    let mut giving = give(&answers, "s", "a", "1");
    let mut lost = wait(&answers, "s", &["a"]);
    assert_eq!(heard(&mut lost), answer("a", "1"));
    drop(lost);
    let mut next = wait(&answers, "s", &["a"]);
    assert_eq!(heard(&mut next), answer("a", "1"));
    next.take("a");
    assert_eq!(giving.taken().now_or_never(), Some(()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_given_up_is_heard_by_nobody() {
    let answers = Arc::default();
    drop(give(&answers, "s", "a", "1"));
    let mut awaiting = wait(&answers, "s", &["a"]);
    assert_eq!(heard(&mut awaiting), None);
    awaiting.take("a");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_heard_or_kept_for_a_while() {
    let answers = Arc::default();
    let mut awaiting = wait(&answers, "s", &["a"]);
    answers.cancel(&client("c"), &origin("s", "\"1\""), KEEP);
    answers.cancel(&client("c"), &origin("t", "1"), KEEP);
    assert_eq!(
        heard(&mut awaiting),
        None,
        "the type of an id counts, and its session"
    );
    answers.cancel(&client("c"), &origin("s", "1"), KEEP);
    assert_eq!(heard(&mut awaiting), Some(Heard::Cancelled));
    drop(awaiting);

    answers.cancel(&client("c"), &origin("s", "1"), KEEP);
    let mut late = wait(&answers, "s", &["a"]);
    assert_eq!(heard(&mut late), Some(Heard::Cancelled));
    drop(late);
    assert_eq!(
        heard(&mut wait(&answers, "s", &["a"])),
        None,
        "it is used up"
    );

    answers.cancel(&client("c"), &origin("s", "1"), KEEP);
    tokio::time::advance(KEEP).await;
    assert_eq!(heard(&mut wait(&answers, "s", &["a"])), None);
    assert!(answers.lock().clients.is_empty(), "nothing is left");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_is_heard() {
    let answers = Arc::default();
    let mut own = wait(&answers, "s", &["a"]);
    let mut other = wait(&answers, "t", &["a"]);
    answers.end_session(&client("c"), "s");
    assert_eq!(heard(&mut own), Some(Heard::SessionEnded));
    assert_eq!(heard(&mut other), None);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_answers_and_waits_is_bounded() {
    let answers: Arc<Answers> = Arc::default();
    let give = |client_id: &str, bytes: usize| {
        let answer = Bytes::from(vec![b'x'; bytes]);
        answers.give(&client(client_id), "s", "a", answer)
    };
    let many: Vec<_> = (0..1_000).filter_map(|_| give("c", 1)).collect();
    assert_eq!(many.len(), limits::ANSWERS_KEPT_PER_CLIENT_ID);
    assert!(give("d", 1).is_some(), "others have room of their own");
    let mut awaiting = wait(&answers, "s", &["b"]);
    let wanted = || answers.give(&client("c"), "s", "b", "1".into());
    let giving = wanted();
    assert_eq!(
        heard(&mut awaiting),
        answer("b", "1"),
        "what is waited for has room"
    );
    assert!(giving.is_some() && wanted().is_none(), "once");
    drop((giving, awaiting, many));
    let half = limits::ANSWER_BYTES_KEPT_PER_CLIENT_ID / 2;
    let large = [give("c", half), give("c", half)];
    assert!(large.iter().all(Option::is_some));
    assert!(give("c", 1).is_none());

    let enter = || answers.wait(&client("c"), origin("s", "1"), Vec::new());
    let waits: Vec<_> = (0..1_000).filter_map(|_| enter()).collect();
    assert_eq!(waits.len(), limits::INPUT_WAITS_PER_CLIENT_ID);
    assert_eq!(answers.count(), waits.len());
}
