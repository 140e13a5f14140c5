use clientmcp_proto::tunnel::{Drain, Trunk, trunk};
use clientmcp_proto::v1::TunnelAnswer;
use futures_util::StreamExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// Longer than any reader here waits.
const STALL: Duration = Duration::from_secs(30);

/// An app whose socket is relayed, and the node at the other end of its tunnel.
struct Scene {
    app: TcpStream,
    from_app: Receiver,
    to_app: Sender,
    /// The router's end.
    trunk: Trunk,
    relayed: JoinHandle<io::Result<()>>,
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (near, far) = tokio::join!(
        TcpStream::connect(listener.local_addr().unwrap()),
        listener.accept()
    );
    (near.unwrap(), far.unwrap().0)
}

/// Brings the frames of one end to the other; the node's end answers each handshake.
async fn bring(mut drain: Drain, to: Trunk, opened: impl Fn(u64)) {
    while let Some(frame) = drain.next().await {
        if let Some((number, _)) = to.handle(frame).unwrap() {
            opened(number);
        }
    }
    to.lose();
}

async fn scene(stall: Duration, hang_up: impl Future<Output = ()> + Send + 'static) -> Scene {
    let (router, from_router) = trunk();
    let (node, from_node) = trunk();
    let (accepted, accepts) = tokio::sync::oneshot::channel();
    let accepted = std::sync::Mutex::new(Some(accepted));
    let answering = node.clone();
    tokio::spawn(bring(from_router, node, move |number| {
        let halves = answering.accept(number).unwrap();
        let answer = TunnelAnswer {
            status: 101,
            headers: Vec::new(),
        };
        answering.answer(number, answer);
        let accepted = accepted.lock().unwrap().take().unwrap();
        let _ = accepted.send(halves);
    }));
    tokio::spawn(bring(from_node, router.clone(), |_| {}));
    let (_, receiver, sender) = router.open(Vec::new()).unwrap().answer().await.unwrap();
    let (from_app, to_app) = accepts.await.unwrap();
    let (app, stream) = pair().await;
    let leg = Leg {
        stream,
        early: Bytes::from_static(b"early "),
    };
    Scene {
        app,
        from_app,
        to_app,
        trunk: router,
        relayed: tokio::spawn(relay(leg, receiver, sender, stall, hang_up)),
    }
}

/// Reads what comes to the node, to its end.
async fn read(from_app: &mut Receiver) -> io::Result<Vec<u8>> {
    let mut received = Vec::new();
    while let Some(chunks) = from_app.recv().await? {
        for chunk in chunks {
            from_app.took(chunk.len());
            received.extend_from_slice(&chunk);
        }
    }
    Ok(received)
}

async fn write(to_app: &mut Sender, mut bytes: Bytes) -> io::Result<()> {
    while !bytes.is_empty() {
        let room = to_app.ready().await?;
        to_app.send(bytes.split_to(bytes.len().min(room)));
    }
    Ok(())
}

#[tokio::test]
async fn bytes_pass_both_ways_and_the_ends_too() {
    let mut scene = scene(STALL, std::future::pending()).await;
    // Much more than a window, each way.
    let large = vec![7_u8; 16 * 1024 * 1024];
    let mut app = scene.app;
    let sent = large.clone();
    let app = tokio::spawn(async move {
        app.write_all(&sent).await.unwrap();
        app.shutdown().await.unwrap();
        let mut received = Vec::new();
        app.read_to_end(&mut received).await.unwrap();
        received
    });
    let received = read(&mut scene.from_app).await.unwrap();
    assert!(received.starts_with(b"early \x07"));
    assert_eq!(received.len(), 6 + large.len());
    write(&mut scene.to_app, large.clone().into())
        .await
        .unwrap();
    scene.to_app.finish();
    assert!(app.await.unwrap() == large);
    scene.relayed.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_node_that_left_said_last_still_arrives() {
    let mut scene = scene(STALL, std::future::pending()).await;
    write(&mut scene.to_app, Bytes::from_static(b"close"))
        .await
        .unwrap();
    drop((scene.to_app, scene.from_app));
    // The app is still talking.
    let _ = scene.app.write_all(&[7; 1024]).await;
    let mut text = String::new();
    scene.app.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "close");
    drop(scene.app);
    scene.relayed.await.unwrap().unwrap();
}

#[tokio::test]
async fn hanging_up_lets_the_node_say_its_last_word() {
    let (hang_up, hung_up) = tokio::sync::oneshot::channel::<()>();
    let mut scene = scene(STALL, async move {
        let _ = hung_up.await;
    })
    .await;
    let chunks = scene.from_app.recv().await.unwrap().unwrap();
    assert_eq!(chunks[0], &b"early "[..]);
    hang_up.send(()).unwrap();
    assert!(read(&mut scene.from_app).await.unwrap().is_empty());
    write(&mut scene.to_app, Bytes::from_static(b"close"))
        .await
        .unwrap();
    scene.to_app.finish();
    let mut text = String::new();
    scene.app.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "close");
    drop(scene.app);
    scene.relayed.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_side_that_takes_nothing_ends_the_tunnel() {
    let mut scene = scene(Duration::from_millis(100), std::future::pending()).await;
    // The node writes until it is cut off; the app never reads.
    let piece = Bytes::from(vec![7_u8; 1024 * 1024]);
    while write(&mut scene.to_app, piece.clone()).await.is_ok() {}
    let ended = scene.relayed.await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    drop(scene.app);
}

#[tokio::test]
async fn a_trunk_that_is_lost_takes_its_tunnels_along() {
    let mut scene = scene(STALL, std::future::pending()).await;
    scene.trunk.lose();
    let ended = scene.relayed.await.unwrap();
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert!(read(&mut scene.from_app).await.is_err());
    let mut nothing = Vec::new();
    let _ = scene.app.read_to_end(&mut nothing).await;
    assert!(nothing.is_empty());
}
