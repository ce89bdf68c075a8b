//! The calls below contexts: pages and embeddings by handle, passes over them, and the outputs of a pass. They are for
//! a program that manages its own pages. Every other program uses a [`Context`](crate::Context).
use crate::context::to_numbers;
use crate::draw::{Drawer, Draws};
use crate::future::nothing;
use crate::host::{self, checked_empty, Record};
use crate::raw;
use crate::{Distribution, HostFuture, Model, Queue, Result};

macro_rules! handle_list {
    ($(#[doc = $doc:literal])* $name:ident, $allocate:path, $deallocate:path) => {
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name {
            queue: Queue,
            pub(crate) handles: Vec<i32>,
        }

        impl $name {
            /// Allocates all of `count`, or returns an error.
            pub fn allocate(queue: &Queue, count: u32) -> Result<$name> {
                let mut handles = vec![0i32; count as usize];
                checked_empty(unsafe {
                    $allocate(queue.handle(), count, handles.as_mut_ptr().cast())
                })?;
                Ok($name::adopt(queue, handles))
            }
            pub(crate) fn adopt(queue: &Queue, handles: Vec<i32>) -> $name {
                $name { queue: queue.clone(), handles }
            }
            /// The handles in order, for calls that take them.
            pub fn handles(&self) -> &[i32] {
                &self.handles
            }
            /// Releases all of them now. Dropping the value does the same.
            pub fn release(&mut self) {
                let count = host::count(&self.handles);
                if count > 0 {
                    unsafe { $deallocate(self.queue.handle(), self.handles.as_ptr(), count) };
                }
                self.handles.clear();
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.release();
            }
        }
    };
}
handle_list!(
    /// Pages of keys and values. Dropping the value releases them.
    KvPages,
    raw::allocate::alloc_kvpage,
    raw::allocate::dealloc_kvpage
);
handle_list!(
    /// Embeddings: inputs of a pass, or places for its outputs. Dropping the value releases them.
    Embeds,
    raw::allocate::alloc_emb,
    raw::allocate::dealloc_emb
);

/// The use of one page of an export or of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageUse {
    /// The number of the page in the export. In a context: its first logical slot divided by the page size.
    pub index: u32,
    /// Bit i is set if slot i holds keys and values.
    pub written: u32,
}

/// Pages of an export or of a context. They are read-only.
#[derive(Debug)]
pub struct SharedPages {
    /// The pages.
    pub pages: KvPages,
    /// The use of each page.
    pub uses: Vec<PageUse>,
}

impl SharedPages {
    pub(crate) async fn of_call(
        queue: &Queue,
        handles: Vec<i32>,
        returned: i32,
    ) -> Result<SharedPages> {
        let pages = if returned >= 0 { handles } else { Vec::new() };
        let pages = KvPages::adopt(queue, pages);
        let uses = HostFuture::new(returned, |bytes| {
            let of = |each: &[u32]| PageUse { index: each[0], written: each[1] };
            Ok(host::u32s(bytes).chunks_exact(2).map(of).collect())
        });
        Ok(SharedPages { pages, uses: uses.await? })
    }
}

/// An export that this program may import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// The name of the export.
    pub name: String,
    /// The number of its pages.
    pub page_count: u32,
    /// The number of written slots.
    pub token_count: u32,
    /// All tenants may import it.
    pub is_public: bool,
    /// The export belongs to this program's tenant.
    pub is_own: bool,
}

/// Slots of one page that are copied to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCopy {
    /// The first slot in the source.
    pub source_slot: u32,
    /// The first slot in the target.
    pub target_slot: u32,
    /// The number of slots.
    pub count: u32,
}

/// Copies slots of the page `source` to `target`, in all layers.
pub fn copy_kvpage(queue: &Queue, source: i32, target: i32, copy: SlotCopy) -> HostFuture<()> {
    let SlotCopy { source_slot, target_slot, count } = copy;
    let call = unsafe {
        raw::allocate::copy_kvpage(queue.handle(), source, target, source_slot, target_slot, count)
    };
    HostFuture::new(call, nothing)
}
/// Exports pages under a name. Programs of the same tenant can import them. With `is_public`, which needs a grant,
/// programs of all tenants can.
pub fn export_kvpage(queue: &Queue, pages: &[i32], name: &str, is_public: bool) -> HostFuture<()> {
    let call = unsafe {
        raw::allocate::export_kvpage(
            queue.handle(),
            pages.as_ptr(),
            host::count(pages),
            name.as_ptr(),
            host::count(name.as_bytes()),
            u32::from(is_public),
        )
    };
    HostFuture::new(call, nothing)
}
/// Imports the first `count` pages of an export.
pub async fn import_kvpage(queue: &Queue, name: &str, count: u32) -> Result<SharedPages> {
    let mut handles = vec![0i32; count as usize];
    let returned = unsafe {
        raw::allocate::import_kvpage(
            queue.handle(),
            name.as_ptr(),
            host::count(name.as_bytes()),
            count,
            handles.as_mut_ptr().cast(),
        )
    };
    SharedPages::of_call(queue, handles, returned).await
}
/// Withdraws an export. Programs that imported it keep its pages.
pub fn unexport_kvpage(name: &str) -> HostFuture<()> {
    let call =
        unsafe { raw::allocate::unexport_kvpage(name.as_ptr(), host::count(name.as_bytes())) };
    HostFuture::new(call, nothing)
}
/// The exports that this program may import; those of its own tenant come first.
pub fn list_exports() -> HostFuture<Vec<ExportInfo>> {
    HostFuture::new(unsafe { raw::allocate::list_exports() }, |bytes| {
        let mut record = Record::new(bytes, "a list of exports");
        let count = record.u32()?;
        record.u32()?;
        let mut exports = Vec::new();
        for _ in 0..count {
            let (page_count, token_count) = (record.u32()?, record.u32()?);
            let (flags, name_bytes) = (record.u32()?, record.u32()?);
            let name = record.text(name_bytes)?;
            let (is_public, is_own) = (flags & 1 != 0, flags & 2 != 0);
            exports.push(ExportInfo { name, page_count, token_count, is_public, is_own });
        }
        record.end(exports)
    })
}

/// Writes tokens at positions into embeddings.
pub fn embed_txt(queue: &Queue, embeds: &[i32], tokens: &[u32], positions: &[u32]) -> Result<()> {
    checked_empty(unsafe {
        raw::input::embed_txt(
            queue.handle(),
            embeds.as_ptr(),
            host::count(embeds),
            tokens.as_ptr(),
            host::count(tokens),
            positions.as_ptr(),
            host::count(positions),
        )
    })
}

/// The inputs and outputs of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForwardArguments<'a> {
    /// Pages that the pass reads and then continues to write; 0 is a hole.
    pub input_pages: &'a [i32],
    /// The embeddings that the pass computes.
    pub input_embeds: &'a [i32],
    /// Pages that take keys and values.
    pub output_pages: &'a [i32],
    /// Places for the outputs of the last of the inputs.
    pub output_embeds: &'a [i32],
    /// The slots that each input sees. If it is empty, the positions decide.
    pub mask: &'a [u8],
    /// Positions may be beyond the model's context.
    pub beyond_context: bool,
}

/// Starts one pass of the model. The future is ready when the pass is computed; dropping the future cancels the pass.
pub fn forward(queue: &Queue, arguments: ForwardArguments<'_>) -> HostFuture<()> {
    let ForwardArguments { input_pages, input_embeds, output_pages, output_embeds, mask, .. } =
        arguments;
    let call = unsafe {
        raw::forward::forward(
            queue.handle(),
            input_pages.as_ptr(),
            host::count(input_pages),
            input_embeds.as_ptr(),
            host::count(input_embeds),
            output_pages.as_ptr(),
            host::count(output_pages),
            output_embeds.as_ptr(),
            host::count(output_embeds),
            mask.as_ptr(),
            host::count(mask),
            u32::from(arguments.beyond_context),
        )
    };
    HostFuture::new(call, nothing)
}
/// Sets the slots of a page that later passes see: one byte for each slot, 0 to hide it.
pub fn mask_kvpage(queue: &Queue, page: i32, visible: &[u8]) -> Result<()> {
    checked_empty(unsafe {
        raw::forward::mask_kvpage(queue.handle(), page, visible.as_ptr(), host::count(visible))
    })
}

/// The `top_k` most probable next tokens of an output (0: 256).
pub fn get_next_dist(queue: &Queue, embed: i32, top_k: u32) -> HostFuture<Distribution> {
    HostFuture::new(
        unsafe { raw::output::get_next_dist(queue.handle(), embed, top_k) },
        Distribution::decode,
    )
}
/// The most probable next tokens of several outputs, among those that `mask` allows. An empty mask allows all.
pub fn get_next_dists(
    queue: &Queue,
    embeds: &[i32],
    mask: &[u32],
    top_k: u32,
) -> HostFuture<Vec<Distribution>> {
    let call = unsafe {
        raw::output::get_next_dists(
            queue.handle(),
            embeds.as_ptr(),
            host::count(embeds),
            mask.as_ptr(),
            host::count(mask),
            top_k,
        )
    };
    HostFuture::new(call, Distribution::decode_all)
}
/// The logits of the whole vocabulary.
pub fn get_logits(queue: &Queue, embed: i32) -> HostFuture<Vec<f32>> {
    HostFuture::new(unsafe { raw::output::get_logits(queue.handle(), embed) }, to_numbers)
}
/// The log-probability of each of the tokens after one output.
pub fn get_logprobs(queue: &Queue, embed: i32, tokens: &[u32]) -> HostFuture<Vec<f32>> {
    let call = unsafe {
        raw::output::get_logprobs(queue.handle(), embed, tokens.as_ptr(), host::count(tokens))
    };
    HostFuture::new(call, to_numbers)
}
/// The log-probability of token i after output i.
pub fn get_logprobs_of(queue: &Queue, embeds: &[i32], tokens: &[u32]) -> HostFuture<Vec<f32>> {
    let call = unsafe {
        raw::output::get_logprobs_of(
            queue.handle(),
            embeds.as_ptr(),
            host::count(embeds),
            tokens.as_ptr(),
            host::count(tokens),
        )
    };
    HostFuture::new(call, to_numbers)
}
/// The entropy of an output, in nats.
pub async fn get_entropy(queue: &Queue, embed: i32) -> Result<f32> {
    let call = unsafe { raw::output::get_entropy(queue.handle(), embed) };
    let numbers = HostFuture::new(call, to_numbers).await?;
    numbers.first().copied().ok_or_else(|| crate::Error::broken("an entropy", 0))
}
/// The hidden state of an output.
pub fn get_embedding(queue: &Queue, embed: i32) -> HostFuture<Vec<f32>> {
    HostFuture::new(unsafe { raw::output::get_embedding(queue.handle(), embed) }, to_numbers)
}

/// Draws a token after each output, in one step. The call appends nothing and advances no matcher.
pub async fn draw_tokens(
    model: &Model,
    queue: &Queue,
    embeds: &[i32],
    drawer: &mut Drawer,
) -> Result<Draws> {
    let (matchers, randoms) = (drawer.matcher_handles(), drawer.randoms(embeds.len()));
    let rule = drawer.rule_handle(model)?;
    let call = unsafe {
        raw::draw::draw_tokens(
            queue.handle(),
            embeds.as_ptr(),
            host::count(embeds),
            rule,
            matchers.as_ptr(),
            host::count(&matchers),
            drawer.mask().as_ptr(),
            host::count(drawer.mask()),
            randoms.as_ptr(),
            host::count(&randoms),
            drawer.top_count(),
        )
    };
    let draws = HostFuture::new(call, Draws::decode).await?;
    drawer.note(&draws);
    Ok(draws)
}
