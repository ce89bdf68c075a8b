// A program saves its context; another run of it, in a new process, goes on where it was.
#include "end_to_end/support.h"

namespace quire::test {
namespace {

// keep --prompt TEXT [--save NAME] [--open NAME]: twelve tokens after the text.
constexpr const char* kProgram = R"(#include "quire/quire.h"
using namespace quire;
struct Options {
  std::string save;
  std::string open;
  std::string prompt;
  void read(OptionReader& in) {
    in.text("save", save, "Keep the context under this name");
    in.text("open", open, "Go on with the context of this name");
    in.text("prompt", prompt, "What to append");
  }
};
Task<> program(Options given) {
  const Model model = co_await Model::open();
  Context context = given.open.empty() ? co_await Context::create(model)
                                       : co_await Context::open(model, given.open);
  if (!given.prompt.empty()) co_await context.append_text(given.prompt);
  GenerateOptions options;
  options.max_tokens = 12;
  options.ignore_stop_tokens = true;
  Generator generator = context.generate(options);
  while (const std::optional<Piece> piece = co_await generator.next()) {
    co_await session::send(piece->text);
  }
  if (!given.save.empty()) co_await context.save(given.save);
}
QUIRE_MAIN(program)
)";

TEST(EndToEndSnapshots, AProgramGoesOnInAnotherProcessWhereItSaved) {
  QUIRE_NEEDS_DEFAULT_MODEL();
  TemporaryFolder folder;
  const std::string wasm = folder.file("keep.wasm");
  const ProcessResult built = run_quire({"build", folder.write("keep.cpp", kProgram), "-o", wasm});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const std::string store = folder.file("store");
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", wasm, "--model", default_model, "--kv-pages", "64",
                                         "--store", store, "--"});
    return run_quire(arguments);
  };
  const std::string prompt = "The first programs that people wrote for computers were lists of";
  const std::string more = " And then, as so often, somebody";

  const ProcessResult first = run({"--prompt", prompt, "--save", "story"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const ProcessResult second = run({"--open", "story", "--prompt", more, "--save", "longer"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const ProcessResult again = run({"--open", "story", "--prompt", more});
  EXPECT_EQ(again.out, second.out);

  const nlohmann::json list = output_json(run_quire({"kv", "list", "--store", store, "--json"}));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["name"], "longer");
  EXPECT_GT(list[0]["tokens"].get<int>(), list[1]["tokens"].get<int>());

  // A name that is taken is refused, with a code that a script can see; so is a name that is not
  // there.
  EXPECT_EQ(run({"--prompt", prompt, "--save", "story"}).exit_code, 4);
  const ProcessResult missing = run({"--open", "nobody"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_NE(missing.err.find("nobody"), std::string::npos) << missing.err;
  EXPECT_EQ(run_quire({"kv", "verify", "--store", store}).exit_code, 0);
}

}  // namespace
}  // namespace quire::test
