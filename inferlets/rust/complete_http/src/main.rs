//! complete_http: an HTTP endpoint that goes on with a text.
//!
//!     quire serve --endpoint "POST /complete=complete_http.wasm"
//!     curl localhost:7847/complete -d '{"prompt": "Once upon a time", "max_tokens": 16}'
//!
//! With "stream": true the text comes as events, one for each piece, and last "[DONE]".
use quire::serve::{Request, Response};
use quire::{Context, GenerateOptions, Json, Options, Result};

#[derive(Options)]
struct Limits {
    /// Tokens that a request may ask for at most
    #[option(default = 4096)]
    max_tokens: u32,
}

/// The member of that name, within a range, or what it is by default.
fn number(
    request: &Request,
    body: &Json,
    name: &str,
    default: f64,
    most: f64,
    range: &str,
) -> Result<f64> {
    match (&body[name], body[name].number()) {
        (Json::Null, _) => Ok(default),
        (_, Some(value)) if (0.0..=most).contains(&value) => Ok(value),
        _ => Err(request.refuse(400, &format!("\"{name}\" is {range}"))),
    }
}

/// The options of a generation, as the request gives them.
fn generation_of(request: &Request, body: &Json, most: u32) -> Result<GenerateOptions> {
    let default = GenerateOptions::default();
    let range = format!("from 1 to {most}");
    let count = number(
        request,
        body,
        "max_tokens",
        default.max_tokens.min(most).into(),
        most.into(),
        &range,
    )?;
    if count < 1.0 {
        return Err(request.refuse(400, &format!("\"max_tokens\" is {range}")));
    }
    const SEED_MAX: f64 = 9_007_199_254_740_991.0;
    Ok(GenerateOptions {
        max_tokens: count as u32,
        temperature: number(request, body, "temperature", default.temperature, 1e6, "0 or more")?,
        seed: number(request, body, "seed", 0.0, SEED_MAX, "from 0 to 2^53 - 1")? as u64,
        ..default
    })
}

#[quire::endpoint]
async fn handle(request: Request, response: Response, limits: Limits) -> Result<()> {
    let body = request.json().await?;
    if !body["prompt"].is_text() {
        return Err(request.refuse(400, "\"prompt\" is a text"));
    }
    let options = generation_of(&request, &body, limits.max_tokens)?;
    let mut context = Context::create()?;
    context.append_text(body["prompt"].text()).await?;
    let mut generator = context.generate(options);
    if body["stream"].boolean() {
        let events = response.events()?;
        while let Some(piece) = generator.next().await? {
            if !piece.text.is_empty() {
                events.send(&Json::object([("text", piece.text.into())]).to_string()).await?;
            }
        }
        return events.send("[DONE]").await;
    }
    let answer = generator.await?;
    let told = Json::object([
        ("text", answer.text.into()),
        ("finish_reason", answer.finish_reason.name().into()),
        ("completion_tokens", answer.tokens.len().into()),
    ]);
    response.json(200, &told).await
}
