//! Questions that many ask at once: asked once at a time, and what was answered serves everybody
//! who wanted to know.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// An answer that is not older than the wish to have it.
pub(crate) const FRESH: Duration = Duration::ZERO;

/// One question and its last answer. Locked while it is asked.
#[derive(Debug)]
pub(crate) struct Question<T>(Mutex<Option<Answered<T>>>);

#[derive(Debug)]
struct Answered<T> {
    begun: Instant,
    ended: Instant,
    answer: T,
}

impl<T> Default for Question<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Question<T> {
    /// The answer as of at most `age` ago, else as of a moment after this call.
    pub(crate) async fn ask(&self, age: Duration, asking: impl Future<Output = T>) -> T {
        let wanted = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(last) = &*last
            && (last.begun > wanted || last.ended.elapsed() < age)
        {
            return last.answer.clone();
        }
        let begun = Instant::now();
        let answer = asking.await;
        *last = Some(Answered {
            begun,
            ended: Instant::now(),
            answer: answer.clone(),
        });
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::sleep;

    const TAKES: Duration = Duration::from_millis(10);

    /// Answers with how often it was asked.
    async fn count(asked: &AtomicUsize) -> usize {
        sleep(TAKES).await;
        asked.fetch_add(1, Ordering::Relaxed) + 1
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_meanwhile_waits_for_one_more_answer_and_shares_it() {
        let (question, asked) = (Question::default(), AtomicUsize::new(0));
        let first = question.ask(FRESH, count(&asked));
        let others = async {
            sleep(TAKES / 2).await;
            let all = (0..9).map(|_| question.ask(FRESH, count(&asked)));
            futures_util::future::join_all(all).await
        };
        let (first, others) = tokio::join!(first, others);
        assert_eq!(first, 1);
        assert_eq!(others, [2; 9], "the first began before they asked");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_serves_until_it_is_too_old() {
        let (question, asked) = (Question::default(), AtomicUsize::new(0));
        let age = Duration::from_millis(250);
        assert_eq!(question.ask(age, count(&asked)).await, 1);
        sleep(age / 2).await;
        assert_eq!(question.ask(age, count(&asked)).await, 1);
        sleep(age).await;
        assert_eq!(question.ask(age, count(&asked)).await, 2);
        assert_eq!(question.ask(FRESH, count(&asked)).await, 3);
    }
}
