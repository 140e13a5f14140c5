//! The loop under load: a flood of events must not keep its timers from firing.

use std::time::Duration;

use clientmcp_core::ids::CallId;
use clientmcp_core::json::Json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::app::App;
use crate::driver::Told;
use crate::event::Event;
use crate::status::Status;

/// Each is a timer that fired: the first is dialled at once, all others after a delay.
const TRIES: usize = 5;
/// Tasks that fill the queue, of which each fills faster than the loop reads.
const FLOODS: usize = 4;
/// Far more than so many delays take together.
const PATIENCE: Duration = Duration::from_secs(60);

/// A loop that never finds its queue empty, while the clock goes on a millisecond with each turn of
/// the runtime. Each connection fails, so only the timer leads to the next.
#[tokio::test(start_paused = true)]
async fn timers_fire_while_events_never_end() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/v1/connect", server.local_addr().unwrap());
    let (_commands, received) = mpsc::channel(1);
    let told = Told {
        status: watch::Sender::new(Status::Connecting),
        watched: watch::Sender::new(Vec::new()),
    };
    let builder = App::builder(url).token("token");
    let driver = builder.driver(received, told).unwrap();
    let events = driver.events_sender.clone();
    tokio::spawn(driver.run());

    let id = CallId(uuid::Uuid::from_u128(1));
    for _ in 0..FLOODS {
        let events = events.clone();
        tokio::spawn(
            async move { while events.send(Event::Note(id, Json::NULL)).await.is_ok() {} },
        );
    }
    tokio::spawn(async {
        loop {
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    });
    let tries = async {
        for _ in 0..TRIES {
            server.accept().await.unwrap();
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, tries).await;
    in_time.expect("the timer did not fire");
}
