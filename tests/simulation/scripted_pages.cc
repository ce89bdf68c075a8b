// Actions of scripted guests with pages by hand: runs of tokens, and exports of them.
#include <algorithm>
#include <bit>

#include "simulation/guest_bytes.h"

namespace quire::simulation {
namespace {

constexpr std::size_t kRunCountMax = 3;
constexpr std::size_t kContextsOfRunsMax = 5;
constexpr std::uint32_t kRunTokenCountMax = 40;

}  // namespace

void ScriptedGuest::create_run() {
  if (runs_.size() >= kRunCountMax) return;
  const Queue* queue = some_queue();
  if (queue == nullptr) return;
  runs_[next_run_++] = {.queue = queue->handle, .model = queue->model};
}

// One with nothing under way.
ScriptedGuest::Run* ScriptedGuest::some_run(bool wants_own) {
  if (runs_.empty()) create_run();
  if (runs_.empty()) return nullptr;
  auto at = runs_.begin();
  std::advance(at, dice_.below(runs_.size()));
  Run& run = at->second;
  const bool fits = run.pending_count == 0 && run.is_known && !(wants_own && run.is_imported);
  return fits ? &run : nullptr;
}

bool ScriptedGuest::allocate(const Run& run, const char* import, std::uint32_t count,
                             std::vector<std::int32_t>& handles) {
  if (count == 0) return true;
  if (!check(import, call(import, {run.queue, count, kTakenBytes}))) return false;
  const std::string bytes = host_->get(kTakenBytes, 4 * count);
  for (std::uint32_t index = 0; index < count; ++index) {
    handles.push_back(value_at<std::int32_t>(bytes, 4 * std::size_t{index}));
  }
  return true;
}

void ScriptedGuest::extend_run() {
  const Run* run = some_run(false);
  if (run == nullptr) return;
  const auto key = std::find_if(runs_.begin(), runs_.end(), [&](const auto& each) {
                     return &each.second == run;
                   })->first;
  // Reading that leaves no trace is one batch, of so many rows at most.
  read_on(key, dice_.between(1, std::min(town_.knobs.page_size + 2, town_.knobs.row_count_max)));
}

// The first `read_count` pages are read alone. `adapter`: empty for that of the queue.
std::int64_t ScriptedGuest::begin_pass(std::int32_t queue, const std::vector<std::int32_t>& pages,
                                       std::uint32_t read_count,
                                       const std::vector<std::int32_t>& inputs, std::int32_t output,
                                       const std::string& adapter) {
  const std::vector<std::int32_t> read(pages.begin(), pages.begin() + read_count);
  const std::vector<std::int32_t> written(pages.begin() + read_count, pages.end());
  const std::int64_t reads = put_list(read);
  const std::int64_t embeds = put_list(inputs);
  const std::int64_t writes = put_list(written);
  const std::int64_t outputs = put_list(std::vector<std::int32_t>{output});
  if (adapter.empty()) {
    return call("forward.forward", {queue, reads, length_of(read), embeds, length_of(inputs),
                                    writes, length_of(written), outputs, 1, 0, 0, 0});
  }
  const std::int64_t name = put_bytes(adapter);
  return call("adapter.forward-with-adapter",
              {queue, name, length_of(adapter), reads, length_of(read), embeds, length_of(inputs),
               writes, length_of(written), outputs, 1, 0, 0, 0});
}

// A forward pass over so many tokens more, and the distribution after them. Pages from other guests
// are read and not written: then the tokens leave no trace.
void ScriptedGuest::read_on(std::uint32_t key, std::uint32_t token_count) {
  Run& run = runs_.at(key);
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t length = run.content.length();
  if (length + token_count > kRunTokenCountMax) return;
  std::vector<std::int32_t> embeds;
  std::vector<std::int32_t> pages = run.pages;
  const std::uint32_t page_count = (length + token_count + page_size - 1) / page_size;
  const auto has_count = static_cast<std::uint32_t>(pages.size());
  const std::uint32_t missing =
      run.is_imported || has_count > page_count ? 0 : page_count - has_count;
  if (!allocate(run, "allocate.alloc-emb", token_count + 1, embeds)) return;
  const auto free_embeds = [&] {
    const std::int64_t list = put_list(embeds);
    if (check("allocate.dealloc-emb",
              call("allocate.dealloc-emb", {run.queue, list, length_of(embeds)}))) {
      stale_.insert(stale_.end(), embeds.begin(), embeds.end());
    }
  };
  if (!allocate(run, "allocate.alloc-kvpage", missing, pages)) return free_embeds();
  run.pages = pages;

  const PassAdapter adapter = some_adapter_of_pass(run);
  test::Content after = run.content;
  after.use(adapter.set);
  std::vector<std::uint32_t> positions;
  for (std::uint32_t index = 0; index < token_count; ++index) {
    after.tokens.push_back((after.length() * 7 + (dice_.one_in(8) ? 3 : 0)) % 512);
    positions.push_back(length + index);
  }
  const std::vector<std::uint32_t> tokens(after.tokens.end() - token_count, after.tokens.end());
  const std::int32_t output = embeds.back();
  std::vector<std::int32_t> inputs(embeds.begin(), embeds.end() - 1);
  const std::int64_t embed_list = put_list(inputs);
  const std::int64_t token_list = put_list(tokens);
  const std::int64_t position_list = put_list(positions);
  if (!check("input.embed-txt",
             call("input.embed-txt", {run.queue, embed_list, length_of(inputs), token_list,
                                      length_of(tokens), position_list, length_of(positions)}))) {
    return free_embeds();
  }
  const std::uint32_t whole =
      run.is_imported ? static_cast<std::uint32_t>(pages.size()) : length / page_size;
  const bool made = expect(
      "low-level forward", begin_pass(run.queue, pages, whole, inputs, output, adapter.name),
      Comes::Surely,
      [this, key](const Taken& taken) {
        const auto found = runs_.find(key);
        if (found != runs_.end()) --found->second.pending_count;
        if (compute_failed("low-level forward", taken)) {
          if (found != runs_.end()) found->second.is_known = false;
        } else if (!taken.bytes.empty()) {
          find("a low-level forward gives bytes");
        }
      },
      [this, key] {
        const auto found = runs_.find(key);
        if (found == runs_.end()) return;
        --found->second.pending_count;
        found->second.is_known = false;
      });
  if (made) {
    ++run.pending_count;
    if (!run.is_imported) run.content = after;
    if (dice_.one_in(3)) {
      draw_token(run.queue, output, test::output_after(after));
    } else {
      expect_top("low-level distribution",
                 call("output.get-next-dist", {run.queue, output, kTopCount}),
                 test::output_after(after));
    }
  }
  free_embeds();
}

void ScriptedGuest::export_run() {
  Run* run = some_run(false);
  if (run == nullptr || run->content.length() == 0) return;
  if (!run->content.drops.empty()) return;  // Masks are of a handle and not exported.
  const std::string name = name_of_content("x", run->content, run->model);
  const std::int64_t pages = put_list(run->pages);
  const std::int64_t at = put_bytes(name);
  const bool made = expect("export",
                           call("allocate.export-kvpage",
                                {run->queue, pages, length_of(run->pages), at, length_of(name), 0}),
                           Comes::Surely, [this](const Taken& taken) {
                             if (taken.error == ErrorCode::AlreadyExists) return;
                             if (taken.error == ErrorCode::QuotaExceeded)
                               return;  // Of all the tenant's programs.
                             compute_failed("export", taken);
                           });
  if (made) town_.exported[name] = {run->content, run->model};
}

void ScriptedGuest::import_pages() {
  if (town_.exported.empty() || runs_.size() >= kRunCountMax) return;
  auto at = town_.exported.begin();
  std::advance(at, dice_.below(town_.exported.size()));
  const auto& [name, kept] = *at;
  const Queue* queue = some_queue();
  if (queue == nullptr || queue->model != kept.model) return;
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t count = (kept.content.length() + page_size - 1) / page_size;
  const std::int64_t address = put_bytes(name);
  const std::int64_t future =
      call("allocate.import-kvpage", {queue->handle, address, length_of(name), count, kTakenBytes});
  if (future < 0) {
    check("allocate.import-kvpage", future);
    return;
  }
  Run run{.queue = queue->handle, .model = queue->model};
  run.content = kept.content;
  receive_pages("import", std::move(run), future, count, ErrorCode::NotFound);
}

// Pages whose handles the call wrote, and which the future brings; or does not, by that error.
void ScriptedGuest::receive_pages(const char* what, Run run, std::int64_t future,
                                  std::uint32_t count, ErrorCode allowed) {
  const std::string bytes = host_->get(kTakenBytes, 4 * count);
  for (std::uint32_t index = 0; index < count; ++index) {
    run.pages.push_back(value_at<std::int32_t>(bytes, 4 * std::size_t{index}));
  }
  run.is_imported = true;
  run.pending_count = 1;
  const std::uint32_t key = next_run_++;
  runs_[key] = std::move(run);
  expect(
      what, future, Comes::Surely,
      [this, what, key, count, allowed](const Taken& taken) {
        const auto found = runs_.find(key);
        if (found != runs_.end()) --found->second.pending_count;
        if (!taken.ok()) {
          if (found != runs_.end()) found->second.is_known = false;
          if (taken.error != allowed) compute_failed(what, taken);
          return;
        }
        if (taken.bytes.size() != 8 * std::size_t{count}) {
          find(std::string(what) + " gives other than its pages");
        }
        std::uint32_t written = 0;
        for (std::uint32_t index = 0; index < count; ++index) {
          written += static_cast<std::uint32_t>(
              std::popcount(value_at<std::uint32_t>(taken.bytes, 8 * std::size_t{index} + 4)));
        }
        if (found == runs_.end() || written == found->second.content.length()) return;
        // More tokens of a context may have been written since its last answer.
        if (written < found->second.content.length()) find(std::string(what) + " lacks tokens");
        found->second.is_known = false;
      },
      [this, key] {
        const auto found = runs_.find(key);
        if (found == runs_.end()) return;
        --found->second.pending_count;
        found->second.is_known = false;
      });
}

// Handles of what a context has written: a run that can be read.
void ScriptedGuest::take_pages() {
  const Context* context = some_context(true);
  if (context == nullptr || !context->is_known || context->pending_count > 0 ||
      !context->content.drops.empty() || runs_.size() >= kRunCountMax) {
    return;
  }
  const std::int64_t written = call("context.seq-len", {context->handle});
  if (!check("context.seq-len", written) || written == 0 || written > kRunTokenCountMax) return;
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t count = (static_cast<std::uint32_t>(written) + page_size - 1) / page_size;
  const std::int64_t future = call("context.pages", {context->handle, 0, count, kTakenBytes});
  if (!check("context.pages", future)) return;
  Run run{.queue = context->queue, .model = context->model};
  run.content = context->content;
  run.content.cut(static_cast<std::uint32_t>(written));
  receive_pages("context.pages", std::move(run), future, count, ErrorCode::OutOfRange);
}

// The way back: a context with what a run holds.
void ScriptedGuest::make_context_of_run() {
  const Run* run = some_run(false);
  if (run == nullptr || run->content.length() == 0 || contexts_.size() >= kContextsOfRunsMax) {
    return;
  }
  const std::uint32_t page_size = town_.knobs.page_size;
  const std::uint32_t count = (run->content.length() + page_size - 1) / page_size;
  const std::vector<std::int32_t> pages(run->pages.begin(), run->pages.begin() + count);
  const std::int64_t page_list = put_list(pages);
  const std::int64_t token_list = put_list(run->content.tokens);
  Context made{.queue = run->queue, .model = run->model, .content = run->content};
  made.content.use(set_of_queue(run->queue));
  expect("from-pages",
         call("context.from-pages", {run->queue, page_list, length_of(pages), token_list,
                                     length_of(run->content.tokens)}),
         Comes::Surely, [this, made](const Taken& taken) {
           if (compute_failed("from-pages", taken)) return;
           if (taken.bytes.size() != 4) find("from-pages gives no handle");
           Context context = made;
           context.handle = value_at<std::int32_t>(taken.bytes, 0);
           add_context(std::move(context));
         });
}

void ScriptedGuest::list_exports() {
  expect("list-exports", call("allocate.list-exports", {}), Comes::Surely,
         [this](const Taken& taken) {
           if (!compute_failed("list-exports", taken) && taken.bytes.size() < 8) find("no list");
         });
}

void ScriptedGuest::unexport() {
  if (town_.exported.empty()) return;
  auto at = town_.exported.begin();
  std::advance(at, dice_.below(town_.exported.size()));
  const std::int64_t address = put_bytes(at->first);
  expect("unexport", call("allocate.unexport-kvpage", {address, length_of(at->first)}),
         Comes::Surely, [this](const Taken& taken) {
           if (taken.error != ErrorCode::NotFound) compute_failed("unexport", taken);
         });
}

void ScriptedGuest::drop_run() {
  if (runs_.empty()) return;
  auto at = runs_.begin();
  std::advance(at, dice_.below(runs_.size()));
  const Run run = std::move(at->second);
  runs_.erase(at);
  if (run.pages.empty()) return;
  const std::int64_t list = put_list(run.pages);
  if (check("allocate.dealloc-kvpage",
            call("allocate.dealloc-kvpage", {run.queue, list, length_of(run.pages)}))) {
    stale_.insert(stale_.end(), run.pages.begin(), run.pages.end());
  }
}

}  // namespace quire::simulation
