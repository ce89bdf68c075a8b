//! Calls what the crate offers, rightly and wrongly; what it finds wrong ends it with the line. The
//! word of the command line is the case.
use quire::runtime::{self, LogLevel};
use quire::store::Expected;
use quire::{
    first_ok, gather, messaging, race, session, sleep, spawn, store, when_all, when_any,
    with_timeout, Child, ChildEndKind, ChildOptions, Context, ContextHint, Distribution, Drawer,
    Either, ErrorCode, FinishReason, GenerateOptions, Grammar, LogitBias, Model, Mutex, Priority,
    Queue, Result, SaveOptions, Stream, TokenizeOptions, Tool, ToolOptions, Tools,
};
use std::cell::Cell;
use std::time::Duration;

#[quire::main]
async fn program(words: Vec<String>) -> Result<()> {
    let case = words.first().map_or("", String::as_str);
    match case {
        "pages" => pages().await,
        "manual_pages" => manual_pages().await,
        "contexts" => contexts().await,
        "snapshots" => snapshots().await,
        "values" => values().await,
        "messages" => messages().await,
        "children" => children(&words).await,
        "child" => child(&words).await,
        "futures" => futures().await,
        "races" => races().await,
        "streams" => streams().await,
        "hooks" => return hooks().await,
        "generations" => generations().await,
        "drafts" => drafts().await,
        "healed" => healed().await,
        "grammars" => grammars().await,
        "turn" => turn(&words[1], &words[2]).await,
        "tools" => tools().await,
        "turns_on_states" => turns_on_states().await,
        "models" => models().await,
        "wrong" => wrong().await,
        other => Err(format!("no case {other}").into()),
    }?;
    session::send(if case == "turn" { "" } else { "done" })
}

/// Whatever was written after the user's message, the next turn begins there, on a model with states too.
async fn turns_on_states() -> Result<()> {
    for extra in 0..16 {
        let text = format!("{extra} {}", "x".repeat(90 + extra));
        let mut first = Context::create()?;
        first.user(text.as_str());
        let turns = first.model().tokenize_chat(first.messages(), false, "").await?;
        let length = turns.len() as u32;
        first.generate(GenerateOptions::max_tokens(24)).await?;
        let mut next = Context::create()?;
        next.user(text.as_str());
        next.assistant("No.");
        next.user("And now?");
        next.prefill().await?;
        assert!(next.found_token_count() + 16 > length, "{} of {length}", next.found_token_count());
    }
    Ok(())
}

/// The first two Rust snippets of the published page on pages.
async fn pages() -> Result<()> {
    let mut ctx = Context::create()?;
    ctx.system("Long system prompt with lots of context for the task.");
    ctx.user("Question");
    ctx.flush().await?; // commit the prompt; nothing has been generated yet

    let total_len = ctx.seq_len();
    let psize = ctx.page_size();
    // Lower-level counts via the raw handle:
    let committed = ctx.inner().committed_page_count();
    let working = ctx.inner().working_page_count();
    let working_tokens = ctx.inner().working_page_token_count();
    // "committed pages x page size + tokens in the working page".
    assert_eq!(total_len, committed * psize + working_tokens);
    assert!(committed > 0 && working == u32::from(working_tokens > 0));
    assert_eq!(total_len, ctx.token_count());

    let before = ctx.token_count();
    let count = working_tokens.min(8);
    ctx.truncate(count)?; // drop the last tokens from the working page(s)
    assert_eq!(ctx.seq_len(), before - count);
    assert_eq!(ctx.tokens().len() as u32, before - count);
    // "Committed pages cannot be truncated through this API."
    assert_eq!(ctx.truncate(before).unwrap_err().code, ErrorCode::OutOfRange);
    // "Two pages produced from the same prefix hash to the same value": another context finds them.
    let mut again = Context::create()?;
    again.system("Long system prompt with lots of context for the task.");
    again.user("Question");
    again.flush().await?;
    assert_eq!(again.found_token_count(), committed * psize);
    Ok(())
}

/// The third: the four operations on working pages.
async fn manual_pages() -> Result<()> {
    let mut ctx = Context::create()?;
    let (n, k) = (4, 1);
    let size = ctx.page_size();
    {
        let raw = ctx.inner();
        raw.reserve_working_pages(n)?; // pre-allocate n working pages
        assert_eq!(raw.working_page_count(), n);
        assert_eq!(raw.commit_working_pages(k).unwrap_err().code, ErrorCode::PageNotFull);
    }
    ctx.append(&vec![5; size as usize + 7])?;
    ctx.flush().await?;
    let raw = ctx.inner();
    assert_eq!((raw.committed_page_count(), raw.working_page_token_count()), (1, 7));
    raw.truncate_working_page_tokens(3)?; // drop the last n tokens within the working pages
    assert_eq!(raw.working_page_token_count(), 4);
    let held = raw.working_page_count();
    raw.release_working_pages(held)?; // free n working pages from the tail
    assert_eq!((raw.working_page_count(), raw.working_page_token_count()), (0, 0));
    assert_eq!(raw.release_working_pages(1).unwrap_err().code, ErrorCode::OutOfRange);
    assert_eq!(ctx.token_count(), size);
    Ok(())
}

async fn contexts() -> Result<()> {
    let mut context = Context::create()?;
    context
        .append_text(
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
        )
        .await?;
    let next = context.next_distribution(5).await?;
    let logits = context.next_logits().await?;
    assert_eq!(next.tokens.len(), 5);
    let best =
        (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]).then(b.cmp(a))).unwrap();
    assert_eq!(next.tokens[0].token as usize, best);
    let length = context.token_count();
    let mut fork = context.fork().await?;
    fork.append(&[7])?;
    assert_eq!((fork.token_count(), context.token_count()), (length + 1, length));
    let first = context.generate(GenerateOptions::max_tokens(4)).await?;
    context.rewind(length).await?;
    assert_eq!(context.generate(GenerateOptions::max_tokens(4)).await?.tokens, first.tokens);
    let mut spliced = Context::of(context.model())?;
    spliced.splice(&context, 0, length).await?;
    assert_eq!(spliced.generate(GenerateOptions::max_tokens(4)).await?.tokens, first.tokens);
    spliced.drop_range(1, 3).await?;
    spliced.hint(ContextHint::Keep(Duration::from_secs(5)))?;
    spliced.allow_beyond_context(true)?;
    spliced.mark().await?;
    // Texts by their probability, and the branches of one prompt.
    let choice = fork.choose(["sure", "maybe", "never"]).await?;
    assert!((choice.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(choice
        .scores
        .iter()
        .all(|each| each.log_probability <= choice.scores[choice.index].log_probability));
    assert_eq!(fork.score(choice.text()).await?, choice.scores[choice.index]);
    let branches = fork
        .sample(3, GenerateOptions { temperature: 1.0, ..GenerateOptions::max_tokens(6) })
        .await?;
    assert_eq!(branches.len(), 3);
    // A conversation costs its new turns only, and is the template's.
    let mut chat = Context::create()?;
    chat.user("Hello");
    let answer = chat.generate(GenerateOptions::max_tokens(8)).await?;
    assert_eq!(chat.messages()[1].content, answer.text);
    let held = chat.token_count();
    chat.user("And now?");
    chat.prefill().await?;
    assert!(
        chat.token_count() > held
            && chat.tokens()[..held as usize - 1] == chat.tokens()[..held as usize - 1]
    );
    Ok(())
}

async fn snapshots() -> Result<()> {
    let model = Model::open()?;
    let mut context = Context::of(&model)?;
    context.system("You count.");
    context.user("One?");
    context.generate(GenerateOptions::max_tokens(6)).await?;
    context.save("rust", SaveOptions::default()).await?;
    let again = context.save("rust", SaveOptions::default()).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::AlreadyExists);
    context
        .save(
            "rust",
            SaveOptions {
                overwrite: true,
                time_to_live: Duration::from_secs(60),
                ..Default::default()
            },
        )
        .await?;
    assert!(Context::list()
        .await?
        .snapshots
        .iter()
        .any(|each| each.name == "rust" && each.expires_unix_ms > 0));
    let mut opened = Context::open(&model, "rust").await?;
    assert_eq!((opened.messages(), opened.tokens()), (context.messages(), context.tokens()));
    // The next turn has the prompt that it would have had without the break.
    for each in [&mut opened, &mut context] {
        each.user("Two?");
        each.prefill().await?;
    }
    assert_eq!(opened.tokens(), context.tokens());
    Context::take(&model, "rust").await?;
    assert_eq!(Context::open(&model, "rust").await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(Context::delete("rust").await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(Context::open_or_create(&model, "rust").await?.token_count(), 0);
    Ok(())
}

async fn values() -> Result<()> {
    let version = store::put("rust/count", "7", Expected::Nothing).await?;
    assert_eq!(store::get("rust/count").await?, store::Value { version, bytes: b"7".to_vec() });
    assert_eq!(
        store::put("rust/count", "8", Expected::Nothing).await.unwrap_err().code,
        ErrorCode::AlreadyExists
    );
    store::put("rust/count", "8", Expected::Version(version)).await?;
    let keys = store::all_keys("rust/").await?;
    assert_eq!((keys.len(), keys[0].name.as_str(), keys[0].value_bytes), (1, "rust/count", 1));
    store::remove("rust/count", Expected::Any).await?;
    assert_eq!(store::get("rust/count").await.unwrap_err().code, ErrorCode::NotFound);
    Ok(())
}

async fn messages() -> Result<()> {
    let news = messaging::subscribe("rust news")?;
    assert_eq!(messaging::broadcast("rust news", "It rains.")?, 1);
    assert_eq!(news.next().await?, "It rains.");
    messaging::push("rust work", "page 7")?;
    assert_eq!(messaging::pull("rust work").await?, "page 7");
    let nobody = with_timeout(Duration::from_millis(5), news.next()).await;
    assert_eq!(nobody.unwrap_err().code, ErrorCode::Timeout);
    Ok(())
}

async fn children(words: &[String]) -> Result<()> {
    let options = ChildOptions {
        arguments: vec!["child".into(), "5".into()],
        share_percent: 25,
        ..Default::default()
    };
    let child = Child::launch(&options)?;
    child.send("six")?;
    let mut said = Vec::new();
    child.forward(|message| said.push(message.to_string())).await?;
    assert_eq!(said, ["5 six", "done"]);
    let end = child.wait().await?;
    assert_eq!(
        (end.kind, end.exit_code, end.result.as_str()),
        (ChildEndKind::Finished, 0, "the result")
    );
    let failing = ChildOptions { arguments: vec!["child".into(), "panic".into()], ..options };
    let end = Child::launch(&failing)?.wait().await?;
    assert_eq!((end.kind, end.exit_code), (ChildEndKind::Finished, 101));
    assert_eq!(words.len(), 1);
    Ok(())
}

async fn child(words: &[String]) -> Result<()> {
    if words[1] == "panic" {
        panic!("as asked");
    }
    session::send(&format!("{} {}", words[1], session::receive().await?))?;
    runtime::set_result("the result")
}

async fn futures() -> Result<()> {
    let begin = runtime::now();
    // Side by side: eight times 100 ms take less than half of their sum.
    gather((0..8).map(|_| sleep(Duration::from_millis(100)))).await?;
    assert!(runtime::now() - begin < Duration::from_millis(400));
    let failed = gather((0..3).map(|number| async move {
        sleep(Duration::from_millis(number)).await?;
        if number == 1 {
            Err("one".into())
        } else {
            Ok(number)
        }
    }));
    assert_eq!(failed.await.unwrap_err().message, "one");
    let outcomes = when_all([1u64, 0].map(|each| async move {
        sleep(Duration::from_millis(each)).await.unwrap();
        each
    }));
    assert_eq!(outcomes.await, [1, 0]);
    assert!(gather(Vec::<std::future::Ready<Result<u32>>>::new()).await?.is_empty());
    // A task runs beside the others, and ends when it is dropped.
    let task = spawn(async { sleep(Duration::from_millis(1)).await.map(|_| 7) });
    let dropped = spawn(async {
        sleep(Duration::from_millis(1)).await.unwrap();
        panic!("a task that was dropped goes on");
    });
    drop::<quire::Task<()>>(dropped);
    sleep(Duration::from_millis(5)).await?;
    while !task.is_done() {
        sleep(Duration::from_millis(1)).await?;
    }
    assert_eq!(task.await?, 7);
    // One that was awaited before a value came is taken up again.
    assert_eq!(spawn(async { sleep(Duration::ZERO).await }).await, Ok(()));
    let late = with_timeout(Duration::from_millis(2), sleep(Duration::from_secs(60))).await;
    assert_eq!(late.unwrap_err().to_string(), "timeout: not done after 2 ms");
    let mut random = [0u8; 16];
    runtime::random(&mut random)?;
    assert!(random != [0; 16] && runtime::instance_id() > 0 && !runtime::tenant()?.contains('\n'));
    assert!(runtime::limits()?.contains("memory_bytes_max") && !runtime::version()?.is_empty());
    runtime::log(LogLevel::Info, "in the log");
    Ok(())
}

/// The value after so many milliseconds, or an error with its number.
async fn after(milliseconds: u64, is_error: bool) -> Result<u64> {
    sleep(Duration::from_millis(milliseconds)).await?;
    if is_error {
        Err(milliseconds.to_string().into())
    } else {
        Ok(milliseconds)
    }
}

async fn races() -> Result<()> {
    // The first that ends counts, in a value or an error.
    let (index, first) = when_any([after(60_000, false), after(1, true)]).await?;
    assert_eq!((index, first.unwrap_err().message.as_str()), (1, "1"));
    assert_eq!(first_ok([after(1, true), after(3, false), after(60_000, false)]).await?, 3);
    let failed = first_ok([after(4, true), after(1, true)]).await.unwrap_err();
    assert_eq!(failed.message, "4"); // The first of the list.
                                     // Of those that end in one turn the first of the list counts.
    let ready = [std::future::ready(1), std::future::ready(2)];
    assert_eq!(when_any(ready).await?, (0, 1));
    let none: [std::future::Ready<Result<()>>; 0] = [];
    assert_eq!(when_any(none).await.unwrap_err().message, "when_any: the list is empty");
    assert_eq!(race(after(60_000, false), async { "b" }).await, Either::Second("b"));
    // At most so many at once, in their order.
    let (running, most) = (Cell::new(0), Cell::new(0));
    let begun = Mutex::new(Vec::new());
    let one = async |number: u64| {
        begun.lock().await.push(number);
        running.set(running.get() + 1);
        most.set(running.get().max(most.get()));
        after(1 + (number % 3), number == 99).await?;
        running.set(running.get() - 1);
        Ok(number)
    };
    assert_eq!(gather((0..10).map(one)).at_once(3).await?, Vec::from_iter(0..10));
    assert_eq!((most.get(), begun.lock().await.as_slice()), (3, Vec::from_iter(0..10).as_slice()));
    assert_eq!(gather([99, 1].map(one)).at_once(1).await.unwrap_err().message, "1");
    assert_eq!(begun.lock().await.last(), Some(&99)); // What had not begun never does.
    let none_at_once = gather([0].map(one)).at_once(0).await.unwrap_err();
    assert!(none_at_once.message.contains("at_once is 0"));
    // A mutex is held over an await.
    let shared = Mutex::new(0);
    let add = async || {
        let mut held = shared.lock().await;
        let before = *held;
        after(1, false).await?;
        *held = before + 1;
        Ok(())
    };
    gather((0..5).map(|_| add())).await?;
    assert_eq!(shared.into_inner(), 5);
    Ok(())
}

async fn streams() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text("Once upon a time").await?;
    let length = context.token_count();
    let whole = context.generate(GenerateOptions::max_tokens(6)).await?;
    context.rewind(length).await?;
    let mut pieces = context.generate(GenerateOptions::max_tokens(6)).into_stream();
    let mut text = String::new();
    while let Some(piece) = pieces.next().await {
        text += &piece?.text;
    }
    assert!(pieces.next().await.is_none());
    assert_eq!(text, whole.text);
    drop(pieces);
    // An error ends a stream.
    let wrong = GenerateOptions { temperature: -1.0, ..Default::default() };
    let mut failing = context.generate(wrong).into_stream();
    assert_eq!(failing.next().await.unwrap().unwrap_err().code, ErrorCode::InvalidArgument);
    assert!(failing.next().await.is_none());
    drop(failing);
    let news = messaging::subscribe("rust stream")?;
    messaging::broadcast("rust stream", "one")?;
    messaging::broadcast("rust stream", "two")?;
    let mut messages = news.messages();
    assert_eq!(messages.next().await.unwrap()?, "one");
    assert_eq!(messages.next().await.unwrap()?, "two");
    assert!(session::messages().next().await.is_none()); // The client has ended its side.
                                                         // A fork and a choice take the context as it is.
    context.append_text(", far away,").await?;
    let queued = context.token_count();
    let shared: &Context = &context;
    let scores = gather(["a", "b"].map(|text| shared.score(text))).await?;
    let choice = shared.choose(["a", "b"]).await?;
    assert_eq!(scores, choice.scores);
    assert_eq!((shared.fork().await?.token_count(), context.token_count()), (queued, queued));
    Ok(())
}

const HOOKED: &str = "Once upon a time there was a small engine";

fn numbers(tokens: &[u32]) -> String {
    tokens.iter().map(|each| format!(" {each}")).collect()
}

/// How the program takes part in a generation.
#[derive(Clone, Copy)]
enum Part {
    Sharpen,
    Halve,
    DropAll,
}

/// One generation of the text, and what it gave: its tokens, and those that on_token got.
async fn report(name: &str, part: Part, options: GenerateOptions) -> Result<()> {
    let mut context = Context::create()?;
    context.append_text(HOOKED).await?;
    let mut seen = Vec::new();
    let generator = context.generate(options).on_token(async |token| seen.push(token));
    let generator = match part {
        Part::Sharpen => generator
            .logits(async |logits| logits.iter_mut().step_by(3).for_each(|each| *each += 1.5)),
        Part::Halve => generator.reshape(async |next: &mut Distribution| {
            for each in next.tokens.iter_mut().filter(|each| each.token % 2 == 0) {
                each.probability *= 0.5;
            }
        }),
        Part::DropAll => generator.reshape(async |next| next.tokens.clear()),
    };
    match generator.await {
        Err(error) => quire::println!("{name}: {}", error.message),
        Ok(answer) => {
            let (tokens, seen) = (numbers(&answer.tokens), numbers(&seen));
            let count = context.token_count();
            quire::println!("{name}:{tokens} |{seen} | {} {count}", answer.drawn_count)
        }
    }
}

/// Away from what the model says without the first words.
async fn guidance() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text(HOOKED).await?;
    let mut plain = Context::create()?;
    plain.append_text("a small engine").await?;
    let plain = Mutex::new(plain);
    let options = GenerateOptions {
        temperature: 0.8,
        seed: 11,
        ignore_stop_tokens: true,
        ..GenerateOptions::max_tokens(12)
    };
    let answer = context
        .generate(options)
        .logits(async |logits| {
            let without = plain.lock().await.next_logits().await?;
            for (logit, without) in logits.iter_mut().zip(without) {
                *logit += *logit - without;
            }
            Ok(())
        })
        .on_token(async |token| plain.lock().await.append(&[token]))
        .await?;
    quire::println!("guidance:{} | {}", numbers(&answer.tokens), plain.into_inner().token_count())
}

/// The twin of hooks.cpp.
async fn hooks() -> Result<()> {
    let model = Model::open()?;
    let letters = Grammar::regex(&model, "[a-z ]{9,20}").await?;
    let drawn = GenerateOptions {
        temperature: 1.0,
        top_p: 0.95,
        seed: 4,
        ignore_stop_tokens: true,
        ..GenerateOptions::max_tokens(16)
    };
    let mut penalized = GenerateOptions {
        repetition_penalty: 1.1,
        presence_penalty: 0.5,
        frequency_penalty: 0.3,
        logit_bias: vec![LogitBias { token: 5, bias: 4.0 }, LogitBias { token: 7, bias: -3.0 }],
        ..drawn.clone()
    };
    penalized.rule.dry_multiplier = 0.8;
    penalized.rule.top_n_sigma = 2.5;
    let constrained = GenerateOptions { grammar: Some(letters), ..drawn.clone() };
    let mut typical = GenerateOptions { temperature: 0.9, top_k: 40, ..drawn.clone() };
    typical.rule.typical_p = 0.9;
    typical.rule.xtc_probability = 0.5;
    report("logits", Part::Sharpen, drawn.clone()).await?;
    report("penalties", Part::Sharpen, penalized.clone()).await?;
    report("greedy", Part::Sharpen, GenerateOptions { temperature: 0.0, ..drawn.clone() }).await?;
    report("healed", Part::Sharpen, GenerateOptions { heal: true, ..drawn.clone() }).await?;
    report("grammar", Part::Sharpen, constrained.clone()).await?;
    report("reshape", Part::Halve, typical).await?;
    report("reshape all", Part::Halve, drawn.clone()).await?;
    report("reshape under a grammar", Part::Halve, constrained).await?;
    report("reshape to nothing", Part::DropAll, drawn).await?;
    report("reshape with penalties", Part::Halve, penalized).await?;
    guidance().await
}

async fn generations() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text("Once upon a time there was a small engine").await?;
    let length = context.token_count();
    let options = GenerateOptions {
        temperature: 1.0,
        seed: 4,
        top_logprobs: 2,
        ignore_stop_tokens: true,
        ..GenerateOptions::max_tokens(24)
    };
    let whole = context.generate(options.clone()).await?;
    assert_eq!(
        (whole.tokens.len(), whole.drawn_count, whole.finish_reason),
        (24, 24, FinishReason::Length)
    );
    assert!(whole.mean_log_probability() < 0.0);
    assert_eq!(context.token_count(), length + 24);
    context.rewind(length).await?;
    // Token by token, and ended early: the context ends with the last one that was given.
    let mut generator = context.generate(options.clone());
    for number in 0..5 {
        let piece = generator.next().await?.expect("a piece");
        assert_eq!((piece.token, piece.top.len()), (whole.tokens[number], 2));
    }
    generator.end();
    assert_eq!(generator.answer().finish_reason, FinishReason::Stopped);
    assert!(generator.next().await?.is_none());
    assert_eq!(context.token_count(), length + 5);
    context.flush().await?;
    assert_eq!(context.seq_len(), length + 5);
    context.rewind(length).await?;
    // Dropped.
    {
        let mut generator = context.generate(options.clone());
        generator.next().await?;
    }
    assert_eq!(context.token_count(), length + 1);
    context.append(&[9])?;
    context.flush().await?;
    assert_eq!((context.seq_len(), context.tokens()[length as usize + 1]), (length + 2, 9));
    context.rewind(length).await?;
    // A text that ends it.
    let stop = whole.text.chars().skip(whole.text.chars().count() / 2).take(2).collect::<String>();
    let stopped =
        context.generate(GenerateOptions { stop: vec![stop.clone()], ..options.clone() }).await?;
    assert_eq!(stopped.finish_reason, FinishReason::StopText);
    assert_eq!(Some(stopped.text.as_str()), whole.text.split(&stop).next());
    assert_eq!(context.token_count(), length + stopped.tokens.len() as u32);
    context.rewind(length).await?;
    // Logits that the program leaves as they are give the tokens that the host draws.
    let mut drawer = Drawer::new(Default::default(), 4);
    let greedy = context.generate(GenerateOptions::max_tokens(1)).await?.tokens[0];
    context.rewind(length).await?;
    let logits = context.next_logits().await?;
    assert_eq!(drawer.draw(&context, logits).await?.token.token, greedy);
    // An error of a hook ends it, and so does one of what shows the text.
    let refused = context.generate(options.clone()).on_token(async |_| Err("no".into())).await;
    assert_eq!(refused.unwrap_err().message, "no");
    context.rewind(length).await?;
    let refused =
        context.generate(options).stream(|_| -> Result<()> { Err("enough".into()) }).await;
    assert_eq!(refused.unwrap_err().message, "enough");
    Ok(())
}

/// A guess never changes what is drawn.
async fn drafts() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text("Once upon a time").await?;
    let length = context.token_count();
    for (temperature, grammar) in [(0.0, None), (1.0, None), (1.0, Some("[a-z ]{9,20}"))] {
        let mut options =
            GenerateOptions { temperature, seed: 9, ..GenerateOptions::max_tokens(20) };
        if let Some(expression) = grammar {
            options.grammar = Some(Grammar::regex(context.model(), expression).await?);
        }
        let plain = context.generate(options.clone()).await?;
        context.rewind(length).await?;
        for right in [true, false] {
            let known = plain.tokens.clone();
            let guess = move |context: &Context| -> Vec<u32> {
                let at = (context.token_count() - length) as usize;
                if right {
                    known[at.min(known.len())..].iter().copied().take(6).collect()
                } else {
                    vec![3; 5]
                }
            };
            let guessed = context.generate(options.clone()).draft(guess).await?;
            assert_eq!((&guessed.tokens, &guessed.text), (&plain.tokens, &plain.text));
            assert_eq!(guessed.finish_reason, plain.finish_reason);
            context.rewind(length).await?;
        }
    }
    Ok(())
}

/// The last token of the prompt may become a longer one, of which the answer shows what is new.
async fn healed() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text("Once upon a t").await?;
    let length = context.token_count();
    let last = *context.tokens().last().expect("a token");
    let begin = context.model().detokenize(&[last], true).await?;
    let options =
        GenerateOptions { heal: true, ignore_stop_tokens: true, ..GenerateOptions::max_tokens(4) };
    let said = context.generate(options.clone()).await?;
    let first = context.model().detokenize(&said.tokens[..1], true).await?;
    assert!(first.starts_with(&begin));
    assert!(said.text.as_bytes().starts_with(&first[begin.len()..]));
    let count = said.tokens.len() as u32;
    assert!([length + count, length + count - 1].contains(&context.token_count()));
    let grammar = Some(Grammar::regex(context.model(), "a").await?);
    let refused = context.generate(GenerateOptions { grammar, ..options }).await.unwrap_err();
    assert!(refused.message.contains("use one or the other"), "{refused}");
    Ok(())
}

async fn grammars() -> Result<()> {
    let mut context = Context::create()?;
    context.append_text("A number:").await?;
    let number = Grammar::regex(context.model(), "[0-9]{4}").await?;
    let options =
        GenerateOptions { grammar: Some(number.clone()), temperature: 1.0, ..Default::default() };
    let answer = context.generate(options).await?;
    assert_eq!((answer.text.len(), answer.finish_reason), (4, FinishReason::Grammar));
    assert!(number.fits(&answer.text).await? && !number.fits("12").await?);
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"]}"#;
    let object = Grammar::json_schema(context.model(), schema).await?;
    assert!(object.fits(r#"{ "a": 3 }"#).await? && !object.fits(r#"{"a": 30}"#).await?);
    Grammar::lark(context.model(), "start: \"a\" | \"b\"").await?;
    let wrong = Grammar::json_schema(context.model(), "{").await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::InvalidArgument);
    Ok(())
}

/// The next turn of a conversation that any program saved.
async fn turn(name: &str, text: &str) -> Result<()> {
    let mut context = Context::open(&Model::open()?, name).await?;
    assert_eq!(context.messages().last().expect("a turn").role, "assistant");
    context.user(text);
    context.generate(GenerateOptions::max_tokens(8)).stream(session::send).await?;
    session::send("\n")?;
    context.save(name, SaveOptions { overwrite: true, ..Default::default() }).await
}

/// Random weights call what they may call: each call can be read and fits its schema, whatever they
/// write.
async fn tools() -> Result<()> {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": ["a"], "additionalProperties": false}"#;
    let one = |name: &str| {
        Tool::new(name, "Adds one.", schema, |arguments| async move {
            let number = arguments["a"].number().expect("a number, as the schema says");
            assert!((0.0..100.0).contains(&number));
            sleep(Duration::from_millis(1)).await?;
            if number > 50.0 {
                Err("too much".into())
            } else {
                Ok((number + 1.0).to_string())
            }
        })
    };
    let (mut calls, mut answers, mut shown) = (0, 0, String::new());
    for seed in 0..16 {
        let mut context = Context::create()?;
        let options = ToolOptions { rounds_max: 3, calls_max: 2, ..Default::default() };
        let tools =
            Tools::offer(&mut context, vec![one("add-one"), one("plus_one")], options).await?;
        context.user("What is 4 + 1?");
        shown.clear();
        // Half of the turns would rather begin a call.
        let brace = context.model().tokenize("{", TokenizeOptions::default()).await?[0];
        let logit_bias =
            vec![LogitBias { token: brace, bias: if seed % 2 == 0 { 9.0 } else { 0.0 } }];
        let generate = GenerateOptions {
            temperature: 1.5,
            seed,
            logit_bias,
            ..GenerateOptions::max_tokens(96)
        };
        let answer = tools.answer(&mut context, generate, |text| shown.push_str(text)).await?;
        assert_eq!(shown, answer.text);
        assert!(answer.runs.len() <= 4);
        for each in &answer.runs {
            assert!(["add-one", "plus_one"].contains(&each.call.name.as_str()));
            calls += 1;
        }
        if !answer.runs.is_empty() {
            assert!(context
                .messages()
                .iter()
                .any(|each| each.content.starts_with("<tool_response>\n")));
        }
        answers += 1;
    }
    assert!(calls > 0 && answers == 16, "{calls} calls");
    let mut context = Context::create()?;
    for (name, schema) in [("a b", schema), ("", schema), ("a", "[]"), ("a", "{")] {
        let tool = Tool::new(name, "", schema, |_| async { Ok(String::new()) });
        let refused = Tools::offer(&mut context, vec![tool], ToolOptions::default()).await;
        assert_eq!(refused.err().expect("refused").code, ErrorCode::InvalidArgument);
    }
    Ok(())
}

async fn models() -> Result<()> {
    let model = Model::open()?;
    assert!(
        Model::available()?.contains(&model.name()?)
            && model.traits()?.contains(&"forward".to_string())
    );
    let tokens = model.tokenize("Once upon a time", TokenizeOptions::default()).await?;
    assert_eq!(model.detokenize(&tokens, false).await?, b"Once upon a time");
    let turns = [quire::ChatMessage::new("user", "Hi \"you\"\n")];
    let text = model.apply_chat_template(&turns, true, "").await?;
    let by_text = model.tokenize(&text, TokenizeOptions::default()).await?;
    assert_eq!(model.tokenize_chat(&turns, true, "").await?.len(), by_text.len());
    let queue = Queue::create(&model, Priority::Low)?;
    queue.set_priority(Priority::High)?;
    let mut context = Context::in_queue(&model, &queue)?;
    context.append(&tokens)?;
    context.flush().await?;
    queue.synchronize().await
}

async fn wrong() -> Result<()> {
    assert_eq!(Model::named("no such model").unwrap_err().code, ErrorCode::NotFound);
    let mut context = Context::create()?;
    assert_eq!(context.append(&[u32::MAX]).unwrap_err().code, ErrorCode::OutOfRange);
    context.append_text("a").await?;
    let hot = context
        .generate(GenerateOptions { temperature: -1.0, ..Default::default() })
        .await
        .unwrap_err();
    assert!(hot.code == ErrorCode::InvalidArgument && hot.message.contains("temperature"), "{hot}");
    assert_eq!(context.rewind(99).await.unwrap_err().code, ErrorCode::OutOfRange);
    assert_eq!(
        context.save("a/b", SaveOptions::default()).await.unwrap_err().code,
        ErrorCode::InvalidArgument
    );
    assert!(
        context.choose(Vec::<String>::new()).await.is_err() && context.choose([""]).await.is_err()
    );
    assert_eq!(
        quire::http::get("http://example.com/", &[]).await.unwrap_err().code,
        ErrorCode::PermissionDenied
    );
    let split = quire::http::get("http://example.com/", &[("x-a".into(), "b\nx-c: d".into())])
        .await
        .unwrap_err();
    assert_eq!(split.code, ErrorCode::InvalidArgument);
    assert_eq!(quire::serve::Request::open().unwrap_err().code, ErrorCode::NotSupported);
    let child = Child::launch(&ChildOptions { program: "no such".into(), ..Default::default() });
    assert_eq!(child.unwrap_err().code, ErrorCode::NotFound);
    // The number is not a handle.
    assert_eq!(unsafe { quire::raw::context::seq_len(123_456) }, -(ErrorCode::NotFound as i32));
    Ok(())
}
