//! The same calls as in rows.cpp, in Rust; the order and the arguments are the same.
mod note;
mod published;

use note::*;
use quire::http::{self, BodyLength, Exchange};
use quire::low::{self, Embeds, ForwardArguments, KvPages, SharedPages, SlotCopy};
use quire::runtime::{self, LogLevel};
use quire::serve::Request;
use quire::store::{self, Expected};
use quire::{
    drafts_from, messaging, raw, session, sleep, ChatMessage, Child, ChildEnd, ChildOptions, Context,
    ContextHint, DrawRule, Drawer, DrawnToken, Draws, GenerateOptions, Grammar, HostFuture, Model,
    Priority, Queue, Result, SaveOptions, TokenizeOptions,
};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ptr::{null, null_mut};
use std::time::Duration;

const NONE: i32 = 12_345_678; // A handle of nothing.
const TOO_MANY: u32 = 100_000;

fn too_large() -> String {
    "a".repeat(1_048_577)
}

async fn models(rows: &Rows, model: &Model) -> Result<()> {
    let buffer = &mut [0u8; 64];
    rows.row("models.available-models", Model::available(), texts);
    rows.row("models.get-model", Model::open(), ok);
    rows.row("models.get-model", Model::named("none"), ok);
    rows.row("models.available-traits", model.traits(), texts);
    rows.raw("models.available-traits", unsafe {
        raw::models::available_traits(NONE, buffer.as_mut_ptr(), 64)
    });
    rows.row("adapter.available-adapters", model.adapters(), texts);
    rows.raw("adapter.available-adapters", unsafe {
        raw::adapter::available_adapters(NONE, buffer.as_mut_ptr(), 64)
    });
    for name in ["forward", "none"] {
        let version =
            unsafe { raw::models::trait_version(model.handle(), name.as_ptr(), name.len() as u32) };
        rows.row("models.trait-version", checked(version), number);
    }
    let info = model.info();
    let numbers = [info.page_size, info.context_length, info.vocabulary_size, info.embedding_width];
    rows.row("models.model-info", Ok(numbers), list);
    rows.raw("models.model-info", unsafe {
        raw::models::model_info(NONE, buffer.as_mut_ptr(), 16)
    });
    rows.row("models.model-name", model.name(), quoted);
    rows.raw("models.model-name", unsafe {
        raw::models::model_name(NONE, buffer.as_mut_ptr(), 64)
    });
    Ok(())
}

async fn tokens(rows: &Rows, model: &Model) -> Result<()> {
    let options = TokenizeOptions::default();
    rows.row("tokenize.tokenize", model.tokenize("Once upon a time", options).await, list);
    rows.row("tokenize.tokenize", model.tokenize(&too_large(), options).await, list);
    let text = |bytes: Vec<u8>| quoted(String::from_utf8_lossy(&bytes));
    rows.row("tokenize.detokenize", model.detokenize(&[5, 6, 7, 80], false).await, text);
    rows.row("tokenize.detokenize", model.detokenize(&[99_999], false).await, text);
    rows.row("tokenize.get-vocabs", model.vocabulary().await, |all| {
        let texts = all.concat();
        quoted(format!("{} {}", all.len(), hash(&texts, texts.len())))
    });
    rows.future("tokenize.get-vocabs", unsafe { raw::tokenize::get_vocabs(NONE, 0, 1) }).await;
    rows.row("tokenize.get-token-kinds", model.token_kinds(0, 8).await, list);
    rows.row("tokenize.get-token-kinds", model.token_kinds(TOO_MANY, 8).await, list);
    let turns = [ChatMessage::new("user", "Hi \"you\"\n")];
    let wrong = "{".as_ptr();
    rows.row(
        "tokenize.apply-chat-template",
        model.apply_chat_template(&turns, true, "").await,
        quoted,
    );
    rows.future("tokenize.apply-chat-template", unsafe {
        raw::tokenize::apply_chat_template(model.handle(), wrong, 1)
    })
    .await;
    rows.row("tokenize.tokenize-chat", model.tokenize_chat(&turns, true, "").await, list);
    rows.future("tokenize.tokenize-chat", unsafe {
        raw::tokenize::tokenize_chat(model.handle(), wrong, 1)
    })
    .await;
    Ok(())
}

async fn constraints(rows: &Rows, model: &Model) -> Result<()> {
    rows.row("constraint.compile-grammar", Grammar::json_schema(model, "{}").await, ok);
    rows.row("constraint.compile-grammar", Grammar::json_schema(model, "{").await, ok);
    let year = Grammar::regex(model, "[0-9]{4}").await?;
    rows.row("constraint.fits", year.fits("2026").await, number);
    rows.row("constraint.fits", year.fits(&too_large()).await, number);
    let matcher = year.matcher()?;
    rows.row("constraint.create-matcher", Ok(()), ok);
    rows.raw("constraint.create-matcher", unsafe { raw::constraint::create_matcher(NONE) });
    rows.row("constraint.fork-matcher", matcher.fork(), ok);
    rows.raw("constraint.fork-matcher", unsafe { raw::constraint::fork_matcher(NONE) });
    rows.row("constraint.token-mask", matcher.token_mask().await, hash_of);
    rows.future("constraint.token-mask", unsafe { raw::constraint::token_mask(NONE) }).await;
    for text in ["20", "x"] {
        let tokens = model.tokenize(text, TokenizeOptions::default()).await?;
        rows.row("constraint.accept-tokens", matcher.accept(&tokens).await, number);
    }
    rows.row("constraint.roll-back", matcher.roll_back(1).await, ok);
    rows.row("constraint.roll-back", matcher.roll_back(9).await, ok);
    rows.row("constraint.forced-tokens", matcher.forced(4).await, list);
    rows.future("constraint.forced-tokens", unsafe { raw::constraint::forced_tokens(NONE, 4) })
        .await;
    Ok(())
}

async fn queues(rows: &Rows, model: &Model) -> Result<()> {
    let queue = Queue::create(model, Priority::Normal)?;
    rows.row("queue.create-queue", Ok(&queue), ok);
    rows.raw("queue.create-queue", unsafe { raw::queue::create_queue(model.handle(), 9) });
    rows.row("queue.set-queue-priority", queue.set_priority(Priority::High), ok);
    rows.raw("queue.set-queue-priority", unsafe {
        raw::queue::set_queue_priority(queue.handle(), 9)
    });
    rows.row("queue.synchronize", queue.synchronize().await, ok);
    rows.future("queue.synchronize", unsafe { raw::queue::synchronize(NONE) }).await;
    rows.raw("queue.destroy-queue", unsafe {
        raw::queue::destroy_queue(raw::queue::create_queue(model.handle(), 0))
    });
    rows.raw("queue.destroy-queue", unsafe { raw::queue::destroy_queue(NONE) });
    Ok(())
}

async fn outputs(rows: &Rows, queue: &Queue, out: i32) {
    let (both, chosen, handle) = ([out, out], [1u32, 2], queue.handle());
    rows.row("output.get-next-dist", low::get_next_dist(queue, out, 3).await, distribution);
    rows.future("output.get-next-dist", unsafe { raw::output::get_next_dist(handle, NONE, 3) })
        .await;
    let two = low::get_next_dists(queue, &both, &[], 2).await;
    rows.row("output.get-next-dists", two, |all| list(all.into_iter().map(distribution)));
    rows.future("output.get-next-dists", unsafe {
        raw::output::get_next_dists(handle, &NONE, 1, null(), 0, 2)
    })
    .await;
    rows.row("output.get-logits", low::get_logits(queue, out).await, hash_of_floats);
    rows.future("output.get-logits", unsafe { raw::output::get_logits(handle, NONE) }).await;
    let all = |numbers: Vec<f32>| list(numbers.into_iter().map(bits));
    rows.row("output.get-logprobs", low::get_logprobs(queue, out, &chosen).await, all);
    rows.row("output.get-logprobs", low::get_logprobs(queue, NONE, &chosen).await, all);
    rows.row("output.get-logprobs-of", low::get_logprobs_of(queue, &both, &chosen).await, all);
    rows.row("output.get-logprobs-of", low::get_logprobs_of(queue, &both, &[]).await, all);
    rows.row("output.get-entropy", low::get_entropy(queue, out).await, bits);
    rows.row("output.get-entropy", low::get_entropy(queue, NONE).await, bits);
    rows.row("output.get-embedding", low::get_embedding(queue, out).await, hash_of_floats);
    rows.row("output.get-embedding", low::get_embedding(queue, NONE).await, hash_of_floats);
}

fn uses(shared: SharedPages) -> String {
    list(shared.uses.iter().flat_map(|each| [each.index, each.written]))
}

async fn exports(rows: &Rows, queue: &Queue, pages: &[i32]) {
    for count in [4, 17] {
        let slots = SlotCopy { count, ..Default::default() };
        rows.row(
            "allocate.copy-kvpage",
            low::copy_kvpage(queue, pages[0], pages[1], slots).await,
            ok,
        );
    }
    for name in ["pages", "a/b"] {
        rows.row(
            "allocate.export-kvpage",
            low::export_kvpage(queue, &pages[..1], name, false).await,
            ok,
        );
    }
    for name in ["pages", "none"] {
        rows.row("allocate.import-kvpage", low::import_kvpage(queue, name, 1).await, uses);
    }
    rows.row("allocate.list-exports", low::list_exports().await, |all| {
        texts(all.iter().map(|each| format!("{} {}", each.name, each.token_count)).collect())
    });
    for _ in 0..2 {
        rows.row("allocate.unexport-kvpage", low::unexport_kvpage("pages").await, ok);
    }
}

fn drawn(each: &DrawnToken) -> String {
    let mut parts = vec![number(each.token.token), bits(each.token.probability)];
    for top in &each.top {
        parts.extend([number(top.token), bits(top.probability)]);
    }
    parts.join(" ")
}
fn all_drawn(draws: Draws) -> String {
    list(draws.tokens.iter().map(drawn))
}
fn greedy_drawer() -> Drawer {
    let mut drawer = Drawer::new(DrawRule { temperature: 0.0, ..Default::default() }, 0);
    drawer.report_top(2);
    drawer
}

async fn passes(rows: &Rows, model: &Model, queue: &Queue) -> Result<()> {
    let mut pages = KvPages::allocate(queue, 2)?;
    rows.row("allocate.alloc-kvpage", Ok(pages.handles().len()), number);
    rows.row("allocate.alloc-kvpage", KvPages::allocate(queue, TOO_MANY), ok);
    let mut embeds = Embeds::allocate(queue, 5)?;
    rows.row("allocate.alloc-emb", Ok(embeds.handles().len()), number);
    rows.row("allocate.alloc-emb", Embeds::allocate(queue, TOO_MANY), ok);
    let (input, output) = embeds.handles().split_at(4);
    for tokens in [[5, 6, 7, 8], [5, 6, 7, 99_999]] {
        rows.row("input.embed-txt", low::embed_txt(queue, input, &tokens, &[0, 1, 2, 3]), ok);
    }
    for input_embeds in [input, &[NONE]] {
        let arguments = ForwardArguments {
            input_embeds,
            output_pages: &pages.handles()[..1],
            output_embeds: output,
            ..Default::default()
        };
        rows.row("forward.forward", low::forward(queue, arguments).await, ok);
    }
    for name in ["first", "other"] {
        rows.future("adapter.forward-with-adapter", unsafe {
            raw::adapter::forward_with_adapter(
                queue.handle(),
                name.as_ptr(),
                name.len() as u32,
                null(),
                0,
                input.as_ptr(),
                4,
                pages.handles().as_ptr(),
                1,
                null(),
                0,
                null(),
                0,
                0,
            )
        })
        .await;
    }
    rows.row("forward.mask-kvpage", low::mask_kvpage(queue, pages.handles()[0], &[1; 16]), ok);
    rows.row("forward.mask-kvpage", low::mask_kvpage(queue, pages.handles()[0], &[1; 3]), ok);
    outputs(rows, queue, output[0]).await;
    let draws = low::draw_tokens(model, queue, output, &mut greedy_drawer()).await;
    rows.row("draw.draw-tokens", draws, all_drawn);
    rows.future("draw.draw-tokens", unsafe {
        raw::draw::draw_tokens(queue.handle(), &NONE, 1, NONE, null(), 0, null(), 0, null(), 0, 0)
    })
    .await;
    exports(rows, queue, pages.handles()).await;
    pages.release();
    rows.row("allocate.dealloc-kvpage", Ok(()), ok);
    rows.raw("allocate.dealloc-kvpage", unsafe {
        raw::allocate::dealloc_kvpage(queue.handle(), &NONE, 1)
    });
    embeds.release();
    rows.row("allocate.dealloc-emb", Ok(()), ok);
    rows.raw("allocate.dealloc-emb", unsafe {
        raw::allocate::dealloc_emb(queue.handle(), &NONE, 1)
    });
    Ok(())
}

async fn computing(rows: &Rows, context: &mut Context) -> Result<()> {
    rows.raw("context.create", unsafe { raw::context::create(NONE) });
    rows.row("context.append", context.append(&[5, 6, 7]), ok);
    rows.row("context.append", context.append(&[99_999]), ok);
    rows.row("context.flush", context.flush().await, counters);
    rows.future("context.flush", unsafe { raw::context::flush(NONE) }).await;
    context.append(&[8])?;
    rows.row("context.forward", context.forward(1).await, |pass| counters(pass.counters));
    rows.future("context.forward", unsafe { raw::context::forward(context.handle(), &NONE, 1) })
        .await;
    rows.row(
        "context.forward as next_distribution",
        context.next_distribution(3).await,
        distribution,
    );
    rows.row("output.get-logits as next_logits", context.next_logits().await, hash_of_floats);
    rows.row("output.get-logprobs-of as score", context.score(" one").await, |score| {
        bits(score.log_probability)
    });
    Ok(())
}

async fn editing(rows: &Rows, context: &mut Context) -> Result<()> {
    let mut fork = context.fork().await?;
    rows.row("context.fork", Ok(fork.token_count()), number);
    rows.future("context.fork", unsafe { raw::context::fork(NONE) }).await;
    rows.row("context.truncate", fork.truncate(1), counters);
    rows.row("context.truncate", fork.truncate(99), counters);
    rows.row("context.drop-range", fork.drop_range(0, 1).await, counters);
    rows.row("context.drop-range", fork.drop_range(0, 99).await, counters);
    rows.row("context.rewind", fork.rewind(2).await, counters);
    rows.row("context.rewind", fork.rewind(99).await, counters);
    rows.row("context.splice", fork.splice(context, 0, 2).await, counters);
    rows.row("context.splice", fork.splice(context, 0, 99).await, counters);
    rows.row("context.hint", fork.hint(ContextHint::WillResume), ok);
    rows.raw("context.hint", unsafe { raw::context::hint(fork.handle(), 99, 0) });
    rows.row("context.allow-beyond-context", fork.allow_beyond_context(true), ok);
    rows.raw("context.allow-beyond-context", unsafe {
        raw::context::allow_beyond_context(fork.handle(), 7)
    });
    rows.row("context.mark", fork.mark().await, ok);
    rows.raw("context.mark", unsafe { raw::context::mark(NONE) });
    rows.row("adapter.use-adapters", fork.use_adapters(&[("first", 0.5)]), ok);
    rows.row("adapter.use-adapters", fork.use_adapters(&[("none", 1.0)]), ok);
    Ok(())
}

async fn working_pages(rows: &Rows, model: &Model, queue: &Queue) -> Result<()> {
    let mut context = Context::of(model)?;
    rows.row("context.create", Ok(()), ok);
    rows.row("context.reserve-working-pages", context.inner().reserve_working_pages(2), counters);
    rows.row(
        "context.reserve-working-pages",
        context.inner().reserve_working_pages(TOO_MANY),
        counters,
    );
    let twenty = [5u32; 20];
    context.append(&twenty)?;
    context.flush().await?;
    rows.row("context.commit-working-pages", context.inner().commit_working_pages(0), counters);
    rows.row("context.commit-working-pages", context.inner().commit_working_pages(1), counters);
    let shared = context.pages().await?;
    let handles = shared.pages.handles().to_vec();
    let copy = Context::from_pages(model, queue, &handles, &twenty).await;
    rows.row("context.pages", Ok(shared), uses);
    rows.future("context.pages", unsafe { raw::context::pages(NONE, 0, 0, null_mut()) }).await;
    rows.row("context.from-pages", copy, |each| number(each.token_count()));
    rows.future("context.from-pages", unsafe {
        raw::context::from_pages(queue.handle(), &NONE, 1, twenty.as_ptr(), 5)
    })
    .await;
    rows.row(
        "context.truncate-working-page-tokens",
        context.inner().truncate_working_page_tokens(1),
        counters,
    );
    rows.row(
        "context.truncate-working-page-tokens",
        context.inner().truncate_working_page_tokens(99),
        counters,
    );
    rows.row("context.release-working-pages", context.inner().release_working_pages(1), counters);
    rows.row("context.release-working-pages", context.inner().release_working_pages(99), counters);
    rows.row("context.seq-len", Ok(context.seq_len()), number);
    rows.raw("context.seq-len", unsafe { raw::context::seq_len(NONE) });
    rows.row("context.page-size", Ok(context.page_size()), number);
    rows.raw("context.page-size", unsafe { raw::context::page_size(NONE) });
    rows.row("context.committed-page-count", Ok(context.inner().committed_page_count()), number);
    rows.raw("context.committed-page-count", unsafe { raw::context::committed_page_count(NONE) });
    rows.row("context.working-page-count", Ok(context.inner().working_page_count()), number);
    rows.raw("context.working-page-count", unsafe { raw::context::working_page_count(NONE) });
    rows.row(
        "context.working-page-token-count",
        Ok(context.inner().working_page_token_count()),
        number,
    );
    rows.raw("context.working-page-token-count", unsafe {
        raw::context::working_page_token_count(NONE)
    });
    rows.row("context.found-token-count", Ok(context.found_token_count()), number);
    rows.raw("context.found-token-count", unsafe { raw::context::found_token_count(NONE) });
    Ok(())
}

async fn snapshots(rows: &Rows, context: &mut Context) -> Result<()> {
    let model = context.model().clone();
    let length = |each: Context| number(each.token_count());
    for name in ["plain", "a/b"] {
        let saved =
            unsafe { raw::context::save(context.handle(), name.as_ptr(), name.len() as u32, 0, 0) };
        rows.future("context.save", saved).await;
    }
    for _ in 0..2 {
        rows.row("context.save-with-note", context.save("noted", SaveOptions::default()).await, ok);
    }
    rows.row("context.open", Context::open(&model, "noted").await, length);
    rows.row("context.open", Context::open(&model, "none").await, length);
    rows.row(
        "context.note-of",
        checked(unsafe { raw::context::note_of(context.handle(), null_mut(), 0) }),
        number,
    );
    rows.raw("context.note-of", unsafe { raw::context::note_of(NONE, null_mut(), 0) });
    rows.row("context.list", Context::list().await, |all| {
        texts(
            all.snapshots
                .iter()
                .map(|each| format!("{} {}", each.name, each.token_count))
                .collect(),
        )
    });
    for _ in 0..2 {
        rows.row("context.take", Context::take(&model, "noted").await, length);
    }
    for _ in 0..2 {
        rows.row("context.delete", Context::delete("plain").await, ok);
    }
    Ok(())
}

async fn generating(rows: &Rows, context: &mut Context) -> Result<()> {
    let options = GenerateOptions {
        temperature: 0.8,
        seed: 7,
        ignore_stop_tokens: true,
        ..GenerateOptions::max_tokens(6)
    };
    let length = context.token_count();
    let said = context.generate(options.clone()).await?;
    rows.row("draw.generate", Ok(said.clone()), answer);
    let wrong = GenerateOptions { temperature: -1.0, ..options.clone() };
    rows.row("draw.generate", context.generate(wrong).await, answer);
    context.rewind(length).await?;
    let mut generator = context.generate(options.clone());
    rows.row("draw.next-draws", generator.next().await, |piece| {
        let piece = piece.expect("a piece");
        quoted(format!("{} {} {}", piece.token, quoted(&piece.text), bits(piece.probability)))
    });
    rows.future("draw.next-draws", unsafe { raw::draw::next_draws(NONE, 1) }).await;
    generator.end();
    rows.row("draw.stop-generation", Ok(()), ok);
    drop(generator);
    rows.future("draw.stop-generation", unsafe { raw::draw::stop_generation(NONE) }).await;
    context.rewind(length).await?;
    let known = said.tokens.clone();
    let guess = move |given: &Context| {
        known[((given.token_count() - length) as usize).min(known.len())..].to_vec()
    };
    rows.row("draw.verify as draft", context.generate(options.clone()).draft(guess).await, answer);
    context.rewind(length).await?;
    let drafts = drafts_from(context).predict(&said.tokens);
    rows.row("draw.verify as drafts", context.generate(options).draft_from(drafts).await, answer);
    context.rewind(length).await?;
    Ok(())
}

async fn drawing(rows: &Rows, context: &mut Context) {
    let mut drawer = greedy_drawer();
    let next = context.draw(&mut drawer).await;
    rows.row("draw.create-rule", Ok(()), ok);
    rows.raw("draw.create-rule", unsafe {
        raw::draw::create_rule(context.model().handle(), [1u8, 0, 0].as_ptr(), 3)
    });
    rows.row("draw.forward-draw", next, |each| drawn(&each));
    rows.future("draw.forward-draw", unsafe {
        raw::draw::forward_draw(NONE, NONE, null(), 0, null(), 0, 0.5, 0, 0)
    })
    .await;
    rows.row("draw.verify", context.verify(&[3, 4], &mut drawer).await, all_drawn);
    rows.future("draw.verify", unsafe {
        raw::draw::verify(NONE, NONE, null(), 0, null(), 0, null(), 0, null(), 0, 0, 0)
    })
    .await;
}

async fn contexts(rows: &Rows, model: &Model, queue: &Queue) -> Result<()> {
    let mut context = Context::of(model)?;
    computing(rows, &mut context).await?;
    editing(rows, &mut context).await?;
    working_pages(rows, model, queue).await?;
    snapshots(rows, &mut context).await?;
    generating(rows, &mut context).await?;
    drawing(rows, &mut context).await;
    Ok(())
}

async fn futures(rows: &Rows) -> Result<()> {
    let nap = sleep(Duration::from_millis(1));
    let handle = unsafe { raw::runtime::sleep(1_000_000) };
    rows.row("future.wait", checked(unsafe { raw::future::wait(&handle, 1, -1) }), number);
    let night = unsafe { raw::runtime::sleep(60_000_000_000) };
    rows.raw("future.wait", unsafe { raw::future::wait(&night, 1, 0) });
    let mut flag = 0u8;
    while !nap.is_ready() {
        sleep(Duration::from_millis(1)).await?;
    }
    rows.row("future.poll", Ok(nap.is_ready()), number);
    rows.raw("future.poll", unsafe { raw::future::poll(&NONE, 1, &mut flag) });
    rows.row("future.take", nap.wait(), ok);
    rows.raw("future.take", unsafe { raw::future::take(NONE, null_mut(), 0) });
    drop(sleep(Duration::from_secs(60)));
    rows.row("future.drop", Ok(()), ok);
    rows.raw("future.drop", unsafe { raw::future::drop(NONE) });
    Ok(())
}

async fn messages(rows: &Rows) -> Result<()> {
    let news = messaging::subscribe("news")?;
    rows.row("messaging.subscribe", Ok(()), ok);
    rows.row("messaging.subscribe", messaging::subscribe("a/b"), ok);
    rows.row("messaging.broadcast", messaging::broadcast("news", "first"), number);
    rows.row("messaging.broadcast", messaging::broadcast("a/b", "first"), number);
    rows.row("messaging.next-message", news.next().await, quoted);
    rows.future("messaging.next-message", unsafe { raw::messaging::next_message(NONE) }).await;
    let other = unsafe { raw::messaging::subscribe("news".as_ptr(), 4) };
    rows.raw("messaging.unsubscribe", unsafe { raw::messaging::unsubscribe(other) });
    rows.raw("messaging.unsubscribe", unsafe { raw::messaging::unsubscribe(NONE) });
    rows.row("messaging.push", messaging::push("work", "one"), ok);
    rows.row("messaging.push", messaging::push("a/b", "one"), ok);
    rows.row("messaging.pull", messaging::pull("work").await, quoted);
    rows.row("messaging.pull", messaging::pull("a/b").await, quoted);
    Ok(())
}

async fn requests(rows: &Rows, at: &str) -> Result<()> {
    let denied = "http://127.0.0.1:1/";
    let whole =
        |response: http::Response| quoted(format!("{} {}", response.head.status, response.text()));
    rows.row("net.http-get", http::get(&format!("{at}/page"), &[]).await, whole);
    rows.row("net.http-get", http::get(denied, &[]).await, whole);
    rows.row("net.http-post", http::post(&format!("{at}/echo"), "a body", &[]).await, whole);
    rows.row("net.http-post", http::post(denied, "a body", &[]).await, whole);
    let upload = Exchange::open("PUT", &format!("{at}/echo"), &[], BodyLength::Bytes(10))?;
    rows.row("net.http-request", Ok(()), ok);
    rows.row("net.http-request", Exchange::open("get", at, &[], BodyLength::Bytes(0)), ok);
    rows.row("net.write-body", upload.write(b"hello").await, ok);
    rows.row("net.finish-body", upload.finish(), ok);
    upload.write(b"world").await?;
    rows.row("net.write-body", upload.write(b"more").await, ok);
    rows.row("net.finish-body", upload.finish(), ok);
    rows.row("net.response-head", upload.head().await, |head| number(head.status));
    rows.future("net.response-head", unsafe { raw::net::response_head(NONE) }).await;
    rows.row("net.read-body", all_of(|| upload.read()).await, quoted);
    rows.future("net.read-body", unsafe { raw::net::read_body(NONE) }).await;
    Ok(())
}

/// Reads until `read` gives nothing more.
async fn all_of(read: impl Fn() -> HostFuture<Vec<u8>>) -> Result<String> {
    let mut all = Vec::new();
    loop {
        let part = read().await?;
        if part.is_empty() {
            return Ok(String::from_utf8_lossy(&all).into_owned());
        }
        all.extend(part);
    }
}

async fn sessions(rows: &Rows) -> Result<()> {
    rows.row("session.receive", session::receive().await, quoted);
    rows.row("session.receive", session::receive().await, quoted);
    rows.row("session.send", session::send(""), ok);
    rows.row("session.send", session::send(&too_large()), ok);
    rows.row("session.send-file", session::send_file("out.txt", "text/plain", b"hello").await, ok);
    rows.row("session.send-file", session::send_file("out.txt", "", b"hello").await, ok);
    let file =
        unsafe { raw::session::send_file("raw.txt".as_ptr(), 7, "text/plain".as_ptr(), 10, 5) };
    rows.future("session.write-file", unsafe {
        raw::session::write_file(file, "hello".as_ptr(), 5)
    })
    .await;
    rows.future("session.write-file", unsafe {
        raw::session::write_file(NONE, "hello".as_ptr(), 5)
    })
    .await;
    let given = session::receive_file().await?;
    let about = vec![given.name.clone(), given.media_type.clone(), number(given.file_bytes)];
    rows.row("session.receive-file", Ok(about), texts);
    rows.row("session.receive-file", session::receive_file().await, ok);
    rows.row("session.read-file", all_of(|| given.read()).await, quoted);
    rows.future("session.read-file", unsafe { raw::session::read_file(NONE) }).await;
    Ok(())
}

async fn values(rows: &Rows) -> Result<()> {
    rows.row("store.put", store::put("key", "value", Expected::Any).await, ok);
    rows.row("store.put", store::put("", "value", Expected::Any).await, ok);
    rows.row("store.get", store::get("key").await, |value| quoted(value.text()));
    rows.row("store.get", store::get("none").await, |value| quoted(value.text()));
    rows.row("store.list-keys", store::list_keys("k", "", 1000).await, |all| {
        texts(all.keys.iter().map(|each| format!("{} {}", each.name, each.value_bytes)).collect())
    });
    rows.row("store.list-keys", store::list_keys(&too_large(), "", 1000).await, ok);
    rows.row("store.delete", store::remove("key", Expected::Any).await, ok);
    rows.row("store.delete", store::remove("key", Expected::Any).await, ok);
    Ok(())
}

fn end_of(end: ChildEnd) -> String {
    quoted(format!("{} {} {}", end.kind as u32, end.exit_code, end.result))
}

async fn children(rows: &Rows) -> Result<()> {
    let options = ChildOptions { arguments: vec!["child".into()], ..Default::default() };
    let child = Child::launch(&options)?;
    rows.row("runtime.launch", Ok(()), ok);
    rows.row(
        "runtime.launch",
        Child::launch(&ChildOptions { program: "none".into(), ..Default::default() }),
        ok,
    );
    rows.row("runtime.send-child", child.send("hello"), ok);
    rows.row("runtime.send-child", child.send(&too_large()), ok);
    rows.row("runtime.receive-child", child.receive().await, quoted);
    rows.row("runtime.receive-child", child.receive().await, quoted);
    rows.row("runtime.wait-child", child.wait().await, end_of);
    rows.future("runtime.wait-child", unsafe { raw::runtime::wait_child(NONE) }).await;
    let other = Child::launch(&options)?;
    rows.row("runtime.kill-child", other.kill(), ok);
    rows.raw("runtime.kill-child", unsafe { raw::runtime::kill_child(NONE) });
    rows.row("runtime.wait-child", other.wait().await, end_of);
    Ok(())
}

async fn instance(rows: &Rows) -> Result<()> {
    let mut buffer = vec![0u8; 65_537];
    let words = runtime::arguments()?;
    rows.row("runtime.get-arg-count", Ok(words.len()), number);
    rows.row("runtime.get-arg", Ok(&words[0]), quoted);
    rows.raw("runtime.get-arg", unsafe { raw::runtime::get_arg(99, buffer.as_mut_ptr(), 64) });
    rows.row("runtime.get-version", runtime::version(), quoted);
    rows.row("runtime.get-instance-id", Ok(runtime::instance_id() > 0), number);
    rows.row("runtime.get-tenant", runtime::tenant(), quoted);
    rows.row("runtime.limits", runtime::limits(), |text| number(text.matches('\n').count()));
    rows.row("runtime.misses", runtime::misses(), ok);
    runtime::log(LogLevel::Info, "a line");
    rows.row("runtime.log", Ok(()), ok);
    rows.raw("runtime.log", unsafe { raw::runtime::log(9, "a line".as_ptr(), 6) });
    rows.row("runtime.set-result", runtime::set_result("done"), ok);
    rows.row("runtime.set-result", runtime::set_result(&(too_large() + &too_large())), ok);
    rows.row("runtime.clock-now", Ok(runtime::now() > Duration::ZERO), number);
    rows.row("runtime.sleep", sleep(Duration::from_millis(1)).await, ok);
    rows.future("runtime.sleep", unsafe { raw::runtime::sleep(-1) }).await;
    rows.row("runtime.random", runtime::random(&mut buffer[..8]), ok);
    rows.row("runtime.random", runtime::random(&mut buffer), ok);
    let bytes = unsafe { raw::runtime::last_error(buffer.as_mut_ptr(), 256) } as usize;
    rows.row("runtime.last-error", Ok(String::from_utf8_lossy(&buffer[..bytes])), quoted);
    Ok(())
}

async fn absent(rows: &Rows, model: &Model, queue: i32) {
    let mut buffer = [0u8; 64];
    rows.raw("adapter.available-adapters", unsafe {
        raw::adapter::available_adapters(model.handle(), buffer.as_mut_ptr(), 64)
    });
    rows.future("adapter.forward-with-adapter", unsafe {
        raw::adapter::forward_with_adapter(
            queue,
            "name".as_ptr(),
            4,
            null(),
            0,
            null(),
            0,
            null(),
            0,
            null(),
            0,
            null(),
            0,
            0,
        )
    })
    .await;
    rows.raw("input-image.num-embs-needed", unsafe {
        raw::input_image::num_embs_needed(model.handle(), 8, 8)
    });
    rows.future("input-image.embed-img", unsafe {
        raw::input_image::embed_img(queue, null(), 0, "PNG".as_ptr(), 3, null(), 0)
    })
    .await;
    rows.row("serve.request-head", Request::open(), ok);
    rows.future("serve.read-request", unsafe { raw::serve::read_request() }).await;
    rows.raw("serve.respond", unsafe { raw::serve::respond(200, null(), 0, 0) });
    rows.future("serve.write-response", unsafe { raw::serve::write_response("a".as_ptr(), 1) })
        .await;
    rows.raw("serve.finish-response", unsafe { raw::serve::finish_response() });
}

/// The request that the test sends when it reads "ready": its instance pushes five lines.
async fn served(rows: &Rows) -> Result<()> {
    rows.line("ready");
    for _ in 0..5 {
        session::send(&messaging::pull("served").await?)?;
    }
    Ok(())
}

async fn handle(request: Request) -> Result<()> {
    let rows = Rows { is_served: true };
    let response = request.response();
    rows.row(
        "serve.request-head",
        Ok(format!("{} {}", request.method(), request.target())),
        quoted,
    );
    rows.row("serve.read-request", all_of(|| request.read()).await, quoted);
    rows.row(
        "serve.respond",
        response.begin(200, &[("content-type".into(), "text/plain".into())]),
        ok,
    );
    rows.row("serve.write-response", response.write("hello").await, ok);
    rows.row("serve.finish-response", response.finish(), ok);
    Ok(())
}

/// A server without a store, and without reasons for misses.
async fn bare(rows: &Rows) -> Result<()> {
    rows.row("context.list", Context::list().await, ok);
    rows.row("runtime.misses", runtime::misses(), ok);
    Ok(())
}

/// Random numbers, for seed_test.py.
async fn random(is_child: bool) -> Result<()> {
    let mut bytes = [0u8; 8];
    runtime::random(&mut bytes)?;
    let text = bytes.map(number).join(" ");
    if is_child {
        return session::send(&text);
    }
    session::send(&format!("bytes {text}\n"))?;
    let own = RandomState::new().build_hasher().finish();
    session::send(&format!("own {own}\n"))?;
    let mut context = Context::create()?;
    context.append_text("Once").await?;
    let options = GenerateOptions { temperature: 1.0, ..GenerateOptions::max_tokens(8) };
    let said = context.generate(options).await?;
    session::send(&format!("tokens {}\n", list(&said.tokens)))?;
    let options = ChildOptions { arguments: vec!["random child".into()], ..Default::default() };
    let heard = Child::launch(&options)?.receive().await?;
    session::send(&format!("child {heard}\n"))
}

async fn child() -> Result<()> {
    session::send(&format!("heard {}", session::receive().await?))?;
    runtime::set_result("well")
}

#[quire::main]
async fn program(words: Vec<String>) -> Result<()> {
    let rows = Rows { is_served: false };
    if let Ok(request) = Request::open() {
        return handle(request).await;
    }
    match words[0].as_str() {
        "child" => return child().await,
        "bare" => return bare(&rows).await,
        "random" => return random(false).await,
        "random child" => return random(true).await,
        "published" => return published::program().await,
        _ => {}
    }
    let model = Model::open()?;
    let queue = Queue::create(&model, Priority::Normal)?;
    instance(&rows).await?;
    models(&rows, &model).await?;
    tokens(&rows, &model).await?;
    constraints(&rows, &model).await?;
    queues(&rows, &model).await?;
    passes(&rows, &model, &queue).await?;
    contexts(&rows, &model, &queue).await?;
    futures(&rows).await?;
    messages(&rows).await?;
    requests(&rows, &words[1]).await?;
    sessions(&rows).await?;
    values(&rows).await?;
    children(&rows).await?;
    absent(&rows, &model, queue.handle()).await;
    served(&rows).await
}
