// hierarchical_attention: reads a document of nested sections, in which a token sees its own section
// and those above it. The question after the document sees everything.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption document{
      "Prices in the harbor, for an hour:\n# Boats\nEvery boat needs a license.\n"
      "## Rowing boats\nA rowing boat costs 4 pounds.\n"
      "## Sailing boats\nA sailing boat costs 30 pounds.\n"
      "# Fishing\nFishing is free from the pier.\n"};
  std::string question = "A rowing boat costs";
  GenerateOptions generate = {.max_tokens = 32, .stop = {"\n"}};

  void read(OptionReader& in) {
    document.read(in);
    in.text("question", question, "What is asked after the document");
    in.generation(generate);
  }
};

struct Section {
  std::size_t level = 0;   // The number of # before its heading.
  std::size_t parent = 0;  // The section above it.
};

// The whole document, in one pass under a mask.
Task<Context> read(Model model, std::string document) {
  std::vector<Section> sections(1);
  std::vector<std::uint32_t> tokens;
  std::vector<std::size_t> places;  // places[i] is the section of tokens[i].
  for (std::size_t at = 0, end = 0; at < document.size(); at = end) {
    end = std::min(document.find('\n', at), document.size() - 1) + 1;
    const std::string line = document.substr(at, end - at);
    if (const std::size_t level = std::min(line.find_first_not_of('#'), line.size()); level > 0) {
      std::size_t parent = sections.size() - 1;
      while (sections[parent].level >= level) parent = sections[parent].parent;
      sections.push_back({level, parent});
    }
    const auto more = co_await model.tokenize(line, {.begin_of_text = at == 0});
    tokens.insert(tokens.end(), more.begin(), more.end());
    places.resize(tokens.size(), sections.size() - 1);
  }
  const std::uint32_t page_size = model.info().page_size;
  const auto page_count = static_cast<std::uint32_t>((tokens.size() + page_size - 1) / page_size);
  std::vector<std::uint8_t> mask(tokens.size() * page_count * page_size);
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    for (std::size_t column = 0; column <= row; ++column) {
      std::size_t above = places[row];
      while (above > places[column]) above = sections[above].parent;
      mask[row * page_count * page_size + column] = above == places[column] ? 1 : 0;
    }
  }
  const Queue queue = co_await Queue::create(model);
  const KvPages pages = co_await KvPages::allocate(queue, page_count);
  const ForwardArguments arguments = {.output_pages = pages.handles(), .mask = mask};
  co_await co_await forward_tokens(queue, tokens, 0, arguments);
  co_return co_await Context::from_pages(model, queue, pages.handles(), tokens);
}

Task<> program(Options options) {
  const Model model = co_await Model::open();
  Context context = co_await read(model, co_await options.document.text());
  co_await context.append_text(options.question);
  const Generation answer = co_await context.generate(options.generate).stream(session::send);
  co_await session::send("\n[" + std::to_string(answer.log_probability) + " nats]\n");
}

QUIRE_MAIN(program)
