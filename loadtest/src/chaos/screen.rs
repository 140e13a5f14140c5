//! What a watcher sees while a run goes on: a live line on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::audit::{Book, Tally};

/// On a terminal the line is drawn anew this often.
const LIVE_EVERY: Duration = Duration::from_millis(200);
/// Elsewhere a line says where things stand this often.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Standard error.
#[derive(Debug)]
pub(super) struct Screen {
    bar: Option<ProgressBar>,
    book: Arc<Book>,
    _running: DropGuard,
}

impl Screen {
    pub(super) fn new(book: Arc<Book>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            ProgressBar::new_spinner().with_style(style.expect("the template is a literal"))
        });
        let stopping = CancellationToken::new();
        let showing = show(book.clone(), bar.clone());
        tokio::spawn(stopping.clone().run_until_cancelled_owned(showing));
        Self {
            bar,
            book,
            _running: stopping.drop_guard(),
        }
    }

    /// A line that stays.
    pub(super) fn say(&self, text: &str) {
        let line = format!("{:8.3} s  {text}", self.book.now().as_secs_f64());
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

async fn show(book: Arc<Book>, bar: Option<ProgressBar>) {
    let every = bar.as_ref().map_or(PLAIN_EVERY, |_| LIVE_EVERY);
    let mut ticks = tokio::time::interval(every);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let now = book.now().as_secs_f64();
        let line = format!("{now:8.3} s  {}", line(book.tally()));
        match &bar {
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            None => eprintln!("{line}"),
        }
    }
}

fn line(tally: Tally) -> String {
    format!(
        "{} calls: {} ok, {} unknown, {} other, {} in flight",
        tally.issued, tally.ok, tally.unknown, tally.other, tally.in_flight
    )
}
