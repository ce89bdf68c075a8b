#include "main/verbs/text/eval_command.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "cli/terminal.h"
#include "main/machine/host_loop.h"
#include "main/machine/machine.h"
#include "main/verbs/shared/output.h"
#include "main/verbs/text/eval_input.h"

namespace quire {
namespace {

constexpr std::uint64_t kTextBytesMax = std::uint64_t{1} << 30;
// Logits that are under way at once: 16 rows of 49,152 are 3 MiB.
constexpr std::size_t kLogitsAtOnce = 16;

// Called with each token's logits, in order.
using RowSink = std::function<Result<void>(const std::vector<float>&)>;

// Computes tokens chunk by chunk and hands every row's logits on. Without a mask or positions it is
// a context, as programs use one; with them, pages and embeddings by hand.
class Scorer {
 public:
  Scorer(HostLoop& loop, const control::ModelDescription& model, const EvalInput& input,
         std::uint32_t chunk)
      : model_(model), input_(input), chunk_(chunk), instance_(loop) {}

  Result<void> run(const RowSink& sink);

 private:
  bool by_hand() const { return !input_.mask.empty() || !input_.positions.empty(); }
  Result<void> check() const;
  void begin();
  control::FutureId compute_by_context(std::size_t begin, std::size_t end);
  control::FutureId compute_by_hand(std::size_t begin, std::size_t end);
  std::vector<std::uint8_t> mask_of(std::size_t begin, std::size_t end) const;
  Result<void> read_logits(std::size_t count, const RowSink& sink);

  const control::ModelDescription& model_;
  const EvalInput& input_;
  const std::uint32_t chunk_;
  HostInstance instance_;
  control::ObjectId queue_{};
  control::ObjectId context_{};
  std::vector<control::ObjectId> pages_;    // By hand: of all tokens.
  std::vector<control::ObjectId> inputs_;   // By hand: of one chunk.
  std::vector<control::ObjectId> outputs_;  // Of one chunk.
};

Result<void> Scorer::check() const {
  const std::size_t count = input_.ids.size();
  if (count < 2) {
    return Error(ErrorCode::InvalidArgument,
                 std::to_string(count) + " tokens: scoring needs at least 2");
  }
  if (!by_hand() && count > model_.context_length) {
    return Error(ErrorCode::OutOfRange,
                 std::to_string(count) + " tokens do not fit the context of " + model_.name +
                     ", which holds " + std::to_string(model_.context_length));
  }
  const std::size_t pages = (count + model_.page_size - 1) / model_.page_size;
  if (pages > model_.page_count) {
    return Error(ErrorCode::NoFreePage, std::to_string(count) + " tokens need " +
                                            std::to_string(pages) + " pages; the pool has " +
                                            std::to_string(model_.page_count) +
                                            " (see --kv-pages, --kv-memory)");
  }
  // A key that a later chunk computes does not exist yet.
  for (std::size_t query = 0; !input_.mask.empty() && query < count; ++query) {
    const std::size_t end = std::min(count, (query / chunk_ + 1) * chunk_);
    const auto row = input_.mask.begin() + static_cast<std::ptrdiff_t>(query * count);
    const auto late = std::find(row + static_cast<std::ptrdiff_t>(end),
                                row + static_cast<std::ptrdiff_t>(count), 1);
    if (late != row + static_cast<std::ptrdiff_t>(count)) {
      return Error(ErrorCode::InvalidArgument, "the mask lets query " + std::to_string(query) +
                                                   " see key " + std::to_string(late - row) +
                                                   ", which a later chunk computes: use --chunk " +
                                                   std::to_string(count));
    }
  }
  return {};
}

void Scorer::begin() {
  const std::size_t widest = std::min<std::size_t>(chunk_, input_.ids.size());
  queue_ = instance_.new_object();
  instance_.tell(control::CreateQueue{.queue = queue_});
  outputs_ = instance_.new_objects(widest);
  instance_.tell(control::AllocEmbeds{.queue = queue_, .embeds = outputs_});
  if (!by_hand()) {
    context_ = instance_.new_object();
    instance_.tell(control::ContextCreate{.context = context_, .queue = queue_});
    return;
  }
  inputs_ = instance_.new_objects(widest);
  instance_.tell(control::AllocEmbeds{.queue = queue_, .embeds = inputs_});
  pages_ = instance_.new_objects((input_.ids.size() + model_.page_size - 1) / model_.page_size);
  instance_.tell(control::AllocPages{.queue = queue_, .pages = pages_});
}

template <typename T>
std::vector<T> slice(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

control::FutureId Scorer::compute_by_context(std::size_t begin, std::size_t end) {
  instance_.tell(
      control::ContextAppend{.context = context_, .tokens = slice(input_.ids, begin, end)});
  return instance_.ask(control::ContextForward{.context = context_,
                                               .output_embeds = slice(outputs_, 0, end - begin)});
}

// One byte for each slot of the pages that the pass reads or writes; token i lies in slot i.
std::vector<std::uint8_t> Scorer::mask_of(std::size_t begin, std::size_t end) const {
  if (input_.mask.empty()) return {};
  const std::size_t count = input_.ids.size();
  const std::size_t slots = (end - 1) / model_.page_size * model_.page_size + model_.page_size;
  std::vector<std::uint8_t> mask((end - begin) * slots, 0);
  for (std::size_t query = begin; query < end; ++query) {
    std::copy_n(input_.mask.begin() + static_cast<std::ptrdiff_t>(query * count), end,
                mask.begin() + static_cast<std::ptrdiff_t>((query - begin) * slots));
  }
  return mask;
}

control::FutureId Scorer::compute_by_hand(std::size_t begin, std::size_t end) {
  control::EmbedText embed{.queue = queue_,
                           .embeds = slice(inputs_, 0, end - begin),
                           .tokens = slice(input_.ids, begin, end),
                           .positions = {}};
  for (std::size_t token = begin; token < end; ++token) {
    embed.positions.push_back(input_.positions.empty() ? static_cast<std::uint32_t>(token)
                                                       : input_.positions[token]);
  }
  instance_.tell(std::move(embed));
  const std::size_t page_first = begin / model_.page_size;
  const std::size_t page_end = (end - 1) / model_.page_size + 1;
  return instance_.ask(control::Forward{.queue = queue_,
                                        .input_pages = slice(pages_, 0, page_first),
                                        .input_embeds = slice(inputs_, 0, end - begin),
                                        .output_pages = slice(pages_, page_first, page_end),
                                        .output_embeds = slice(outputs_, 0, end - begin),
                                        .mask = mask_of(begin, end),
                                        .beyond_context = false});
}

Result<void> Scorer::read_logits(std::size_t count, const RowSink& sink) {
  for (std::size_t first = 0; first < count; first += kLogitsAtOnce) {
    const std::size_t end = std::min(count, first + kLogitsAtOnce);
    std::vector<control::FutureId> futures;
    for (std::size_t row = first; row < end; ++row) {
      futures.push_back(instance_.ask(control::GetLogits{.queue = queue_, .embed = outputs_[row]}));
    }
    for (const control::FutureId future : futures) {
      const control::Values logits = TRY(instance_.wait_for<control::Values>(future));
      TRY(sink(logits.all));
    }
  }
  return {};
}

Result<void> Scorer::run(const RowSink& sink) {
  TRY(check());
  begin();
  for (std::size_t first = 0; first < input_.ids.size(); first += chunk_) {
    const std::size_t end = std::min(input_.ids.size(), first + chunk_);
    const control::FutureId computed =
        by_hand() ? compute_by_hand(first, end) : compute_by_context(first, end);
    TRY(instance_.wait(computed));
    TRY(read_logits(end - first, sink));
  }
  return {};
}

struct Score {
  std::vector<double> nll;  // Of token i + 1 after token i.
  std::vector<std::uint32_t> argmax;
  double sum = 0.0;

  void add(const std::vector<float>& logits, std::optional<std::uint32_t> next) {
    const auto best = std::max_element(logits.begin(), logits.end());
    argmax.push_back(static_cast<std::uint32_t>(best - logits.begin()));
    if (!next) return;
    double total = 0.0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit - *best));
    const double each = std::log(total) - static_cast<double>(logits[*next] - *best);
    nll.push_back(each);
    sum += each;
  }
  double mean() const { return sum / static_cast<double>(nll.size()); }
};

Result<EvalInput> read_input(const cli::EvalOptions& options, HostLoop& loop,
                             const control::ModelDescription& model) {
  EvalInput input;
  if (options.ids_file.empty()) {
    const std::string text =
        options.text ? *options.text : TRY(read_input_file(options.text_file, kTextBytesMax));
    HostInstance instance(loop);
    control::Tokens tokens = TRY(instance.call<control::Tokens>(
        control::Tokenize{.text = text, .parse_special = true, .add_bos = model.add_bos}));
    input.ids = std::move(tokens.ids);
  } else {
    input.ids = TRY(read_ids(options.ids_file, model.vocabulary_size));
  }
  if (!options.mask_file.empty()) {
    input.mask = TRY(read_mask(options.mask_file, input.ids.size()));
  }
  if (!options.positions_file.empty()) {
    input.positions = TRY(read_positions(options.positions_file, input.ids.size()));
  }
  return input;
}

void tell(const Score& score, double duration_s, cli::OutputStyle style) {
  const std::size_t count = score.argmax.size();
  if (style == cli::OutputStyle::Json) {
    print(dump_json(nlohmann::json{{"tokens", count},
                                   {"mean_nll", score.mean()},
                                   {"perplexity", std::exp(score.mean())},
                                   {"nll", score.nll},
                                   {"argmax", score.argmax},
                                   {"seconds", duration_s}}) +
          "\n");
    return;
  }
  print("tokens      " + std::to_string(count) + "\nmean_nll    " + decimal(score.mean(), 6) +
        "\nperplexity  " + decimal(std::exp(score.mean()), 4) + "\nseconds     " +
        decimal(duration_s, 2) + "\n");
}

Result<void> evaluate(const cli::EvalOptions& options) {
  const SteadyClock clock;
  const std::unique_ptr<Machine> machine = TRY(Machine::build(options.engine, clock));
  const control::ModelDescription& model = machine->model();
  HostLoop loop(machine->control(), machine->answers(), machine->wakeup());
  const EvalInput input = TRY(read_input(options, loop, model));
  const std::size_t count = input.ids.size();

  std::optional<NpyWriter> writer;
  if (!options.logits_file.empty()) {
    writer.emplace(TRY(NpyWriter::create(options.logits_file, {count, model.vocabulary_size})));
  }
  const cli::Terminal terminal = cli::Terminal::standard_error();
  cli::Progress progress(terminal, clock, "tokens");
  const std::uint64_t begin_ns = clock.now_ns();
  Score score;
  Scorer scorer(loop, model, input, options.chunk);
  const RowSink sink = [&](const std::vector<float>& logits) -> Result<void> {
    const std::size_t next = score.argmax.size() + 1;
    score.add(logits, next < count ? std::optional(input.ids[next]) : std::nullopt);
    progress.update(next, count);
    if (writer) TRY(writer->append(logits));
    return {};
  };
  TRY(scorer.run(sink));
  if (writer) TRY(writer->close());
  progress.finish();
  tell(score, static_cast<double>(clock.now_ns() - begin_ns) * 1e-9, options.output);
  return {};
}

}  // namespace

int eval_command(const cli::EvalOptions& options) {
  const Result<void> done = evaluate(options);
  return done.ok() ? cli::number(cli::ExitCode::Ok) : fail(done.error());
}

}  // namespace quire
