// grammars NUMBER: compiles a grammar that is new, steps a matcher of it, and does so again until
// it is ended. It holds as many grammars as a program may. The programs of one test have different
// numbers.
#include <array>

#include "quire/quire.h"
using namespace quire;
namespace {
constexpr std::size_t kHeldCount = 63;  // One more while the next is compiled.
constexpr int kMaskCount = 8;

std::string schema_of(const std::string& name) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int member = 0; member < 40; ++member) {
    const std::string key = name + "_" + std::to_string(member);
    schema += (member == 0 ? "\"" : ",\"") + key + R"(":{"anyOf":[{"enum":["a)" + key + R"(","b)" +
              key + R"("]},{"type":"number"},{"type":"string","pattern":"^[a-z]{2,)" +
              std::to_string(10 + member) + R"(}$"}]})";
  }
  return schema + "}}";
}

Task<> program(std::vector<std::string> arguments) {
  const Model model = co_await Model::open();
  std::array<Grammar, kHeldCount> held;
  for (std::size_t count = 0;; ++count) {
    const std::string name =
        "m" + (arguments.empty() ? "" : arguments[0]) + "x" + std::to_string(count);
    Grammar& grammar = held[count % kHeldCount];
    grammar = Grammar();
    grammar = co_await Grammar::json_schema(model, schema_of(name));
    const Matcher matcher = co_await grammar.matcher();
    for (int mask = 0; mask < kMaskCount; ++mask) {
      co_await matcher.token_mask();
      const std::vector<std::uint32_t> forced = co_await matcher.forced();
      if (!forced.empty()) co_await matcher.accept(forced);
    }
  }
}
}  // namespace
QUIRE_MAIN(program)
