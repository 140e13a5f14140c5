//! What time does to a run: nobody answers, or nobody waits.

use super::*;
use crate::result::ToolError;

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// A run of a call with a minute's deadline, and what it says.
fn run(shelf: &Arc<Shelf>) -> (Arc<Run>, mpsc::Receiver<Event>) {
    let (events, said) = mpsc::channel(16);
    let id = CallId::parse(ID).unwrap();
    let round = Round {
        id,
        root_id: id,
        number: 0,
        deadline: Instant::now() + Duration::from_secs(60),
        capabilities: Json::parse(r#"{"roots":{}}"#).unwrap(),
        log_level: None,
        wants_progress: false,
        legacy: false,
        limit: 1000,
    };
    let binding = Binding::of("s", "tools/call", &Json::EMPTY_OBJECT);
    let method = "tools/call".to_owned();
    let run = Run::new(
        method,
        binding,
        (round, InputResponses::default()),
        Arc::clone(shelf),
        events,
    );
    (Arc::new(run), said)
}

fn failed(error: &AskError) -> Ending {
    Err(ToolError::new(error.to_string()).into())
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_ends() {
    let shelf = Arc::new(Shelf::default());
    let (run, mut said) = run(&shelf);
    let begun = Instant::now();
    let handler = async {
        let error = run.ask(None, InputRequest::roots()).await.unwrap_err();
        assert_eq!(shelf.all().len(), 0);
        // There will be no other round.
        let again = run.ask(None, InputRequest::roots()).await;
        assert_eq!(again, Err(AskError::Unanswered));
        failed(&error)
    };
    let (round, ending) = run.drive(handler).await;
    assert!(round.is_none(), "nobody waits for an answer");
    assert_eq!(begun.elapsed(), ANSWERED_WITHIN);
    let text = ending.unwrap_err().to_string();
    assert_eq!(text, "the question was not answered within 600 s");
    let Some(Event::Finished(_, frame)) = said.recv().await else {
        panic!("the call was not answered");
    };
    assert!(frame.as_str().contains("input_required"));
    assert!(said.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_was_lost_comes_all_the_same() {
    let shelf = Arc::new(Shelf::default());
    let (run, _said) = run(&shelf);
    let begun = Instant::now();
    let handler = async {
        let reason = run.cancellation().cancelled().await;
        assert_eq!(reason, CancelReason::Timeout);
        let error = run.ask(None, InputRequest::roots()).await.unwrap_err();
        assert_eq!(error, AskError::Cancelled(CancelReason::Timeout));
        failed(&error)
    };
    run.drive(handler).await.1.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_secs(65));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_ended_does_not_wait_for_a_cancelled_agent() {
    let shelf = Arc::new(Shelf::default());
    let (run, _said) = run(&shelf);
    let handler = async {
        let asked = run.ask(None, InputRequest::roots());
        _ = tokio::time::timeout(Duration::from_secs(1), asked).await;
        Ok(Answer::Result(Json::NULL))
    };
    let cancelled = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        run.cancellation().cancel(CancelReason::Closed);
    };
    let begun = Instant::now();
    let ((round, _), ()) = tokio::join!(run.drive(handler), cancelled);
    assert!(round.is_none());
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(shelf.all().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_that_of_the_latest_call() {
    let shelf = Arc::new(Shelf::default());
    let (run, mut said) = run(&shelf);
    let resumed = Arc::clone(&run);
    tokio::spawn(async move {
        said.recv().await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        let mut round = resumed.round();
        round.number = 1;
        round.deadline = Instant::now() + Duration::from_secs(60);
        let roots = Json::parse(r#"{"roots":[]}"#).unwrap();
        let responses = InputResponses(vec![("input-1".to_owned(), roots)]);
        resumed.resume(round, &responses);
    });
    let handler = async {
        let answer = run.ask(None, InputRequest::roots()).await.unwrap();
        assert_eq!(run.cancellation().reason(), None);
        Ok(Answer::Result(answer))
    };
    let (round, ending) = run.drive(handler).await;
    assert_eq!(round.unwrap().number, 1);
    assert_eq!(
        ending.unwrap(),
        Answer::Result(Json::parse(r#"{"roots":[]}"#).unwrap())
    );
}
