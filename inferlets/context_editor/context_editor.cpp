// context_editor: replaces or deletes a span of a text that was computed already, computes only what
// depends on it, and reports how far the logits are from those of the whole text computed anew.
#include <cmath>

#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption text{
      "Anna moved to Oslo in May. She likes the sea, works in a bakery by the station, and gets up "
      "at "
      "four. On Sundays she swims. The city that Anna lives in is"};
  std::string find = "Oslo";
  std::string replace = "Rome";
  std::uint32_t recompute = 0;
  GenerateOptions generate = {.max_tokens = 16};

  void read(OptionReader& in) {
    text.read(in);
    in.text("find", find, "What is replaced: the first place where the text has it");
    in.text("replace", replace, "What stands there then; empty: nothing");
    in.number("recompute", recompute, "Tokens after the span that are computed anew");
    in.generation(generate);
  }
};

using Tokens = std::vector<std::uint32_t>;

// The text before the span, the span, what replaces it, and the text after it.
struct Edit {
  Tokens before, span, insert, after;
};
// The part of the old context that stays, by slots: all but [begin, end) and the last token.
struct Plan {
  std::size_t begin = 0, end = 0, last = 0;
  std::size_t anew = 0;   // How many tokens after the span are computed again, but the last,
  std::size_t after = 0;  // and at which position the first of them stands.
};
struct Outcome {
  Numbers logits;
  std::string text = {};
};

Task<Edit> edit_of(Model model, std::string text, const Options& options) {
  const std::size_t at = options.find.empty() ? std::string::npos : text.find(options.find);
  const std::size_t end = at + options.find.size();
  if (at == std::string::npos || end == text.size()) {
    co_await fail(ErrorCode::NotFound, "the text has no \"" + options.find + "\" before its end");
  }
  co_return Edit{co_await model.tokenize(text.substr(0, at), {.begin_of_text = true}),
                 co_await model.tokenize(options.find), co_await model.tokenize(options.replace),
                 co_await model.tokenize(text.substr(end))};
}

Tokens joined(const Tokens& a, const Tokens& b, const Tokens& c) {
  Tokens out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

// The last token is always computed again, for its output. Where all tokens after the span are, or
// what replaces the span is longer, they move to follow it; else they keep their positions.
Plan plan_of(const Edit& edit, std::size_t recompute) {
  Plan plan{.begin = edit.before.size()};
  const std::size_t span_end = plan.begin + edit.span.size();
  const std::size_t rest = edit.after.size() - 1;
  const bool moves = edit.insert.size() > edit.span.size() || recompute >= rest;
  plan.anew = moves ? rest : recompute;
  plan.after = moves ? plan.begin + edit.insert.size() : span_end;
  plan.end = span_end + plan.anew;
  plan.last = span_end + rest;
  return plan;
}

Result<void> hide(const Queue& queue, const KvPages& pages, const Plan& plan,
                  std::size_t page_size) {
  for (std::size_t i = 0; i < pages.count(); ++i) {
    std::vector<std::uint8_t> visible(page_size);
    for (std::size_t slot = 0; slot < page_size; ++slot) {
      const std::size_t at = i * page_size + slot;
      visible[slot] = at < plan.begin || (at >= plan.end && at != plan.last) ? 1 : 0;
    }
    TRY(mask_kvpage(queue, pages[i], visible));
  }
  return {};
}

// The same text, computed as if it had been written so.
Task<Outcome> computed_anew(Model model, Tokens tokens, GenerateOptions generate) {
  Context context = co_await Context::create(model);
  co_await context.append(tokens);
  ContextOutputs outputs = co_await context.forward();
  Outcome whole{.logits = co_await get_logits(context.queue(), outputs.embeds[0])};
  co_await std::move(outputs.passed);
  whole.text = (co_await context.generate(generate).collect()).text;
  co_return whole;
}

Task<Outcome> edited(Context context, Edit edit, Plan plan, GenerateOptions generate) {
  const Model model = context.model();
  const Queue queue = context.queue();
  const std::size_t page_size = model.info().page_size;
  const SharedPages old = co_await context.pages();
  co_await hide(queue, old.pages, plan, page_size);
  const std::size_t most = edit.insert.size() + plan.anew + 1 + generate.max_tokens;
  const KvPages own = co_await KvPages::allocate(queue, (most + page_size - 1) / page_size);
  const Embeds output = co_await Embeds::allocate(queue, 1);
  std::vector<std::int32_t> seen = old.pages.handles();
  seen.insert(seen.end(), own.handles().begin(), own.handles().end());
  const auto read = [&](std::span<const std::uint32_t> tokens, std::size_t position) {
    return forward_tokens(
        queue, tokens, static_cast<std::uint32_t>(position),
        {.input_pages = seen, .output_pages = own.handles(), .output_embeds = output.handles()});
  };
  const std::span<const std::uint32_t> rest = edit.after;
  if (!edit.insert.empty()) co_await co_await read(edit.insert, plan.begin);
  if (plan.anew > 0) co_await co_await read(rest.first(plan.anew), plan.after);
  std::size_t position = plan.after + rest.size() - 1;
  co_await co_await read(rest.last(1), position);
  Outcome outcome{.logits = co_await get_logits(queue, output[0])};
  Drawer drawer(generate.rule(), generate.seed);
  StopRules rules(generate.stop_options(model.info()));
  while (!rules.ended()) {
    const Draws next = co_await draw_tokens(model, queue, output.handles(), drawer);
    const Tokens token(1, next.tokens.at(0).token);
    if (!rules.accept_token(token[0])) break;
    outcome.text += rules.accept_bytes(co_await model.detokenize(token));
    co_await co_await read(token, ++position);
  }
  outcome.text += rules.finish();
  co_return outcome;
}

Task<> program(Options options) {
  Context context = co_await Context::create();
  const Model model = context.model();
  const Edit edit = co_await edit_of(model, co_await options.text.text(), options);
  co_await context.append(joined(edit.before, edit.span, edit.after));
  co_await context.flush();
  const Plan plan = plan_of(edit, options.recompute);
  const Outcome ours = co_await edited(std::move(context), edit, plan, options.generate);
  const Tokens tokens = joined(edit.before, edit.insert, edit.after);
  const Outcome whole = co_await computed_anew(model, tokens, options.generate);
  double most = 0.0;
  for (std::size_t i = 0; i < whole.logits.values.size(); ++i) {
    most = std::max(most, std::abs(double{ours.logits.values[i]} - double{whole.logits.values[i]}));
  }
  const std::size_t count = edit.insert.size() + plan.anew + 1;
  co_await session::send("edited: " + ours.text + "\nanew:   " + whole.text + "\n[" +
                         std::to_string(count) + " tokens computed instead of " +
                         std::to_string(edit.insert.size() + edit.after.size()) +
                         "; logits differ by at most " + std::to_string(most) + "]\n");
}

QUIRE_MAIN(program)
