//! An endpoint that is silent for longer than its interval, before an event and between two.
use quire::serve::{Request, Response};
use quire::{sleep, Result};
use std::time::Duration;

#[quire::endpoint]
async fn slow(_request: Request, response: Response) -> Result<()> {
    let events = response.events()?.keep_alive(Duration::from_millis(200));
    sleep(Duration::from_millis(700)).await?;
    events.send("one").await?;
    sleep(Duration::from_millis(500)).await?;
    events.send_named("end", "two").await?;
    events.finish().await
}
