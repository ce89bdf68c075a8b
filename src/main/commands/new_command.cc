#include "main/commands/new_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/result.h"
#include "cli/exit_code.h"
#include "main/commands/output.h"
#include "main/commands/sdk_location.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytesMax = 64;

// In each text, NAME is the project's name and QUIRE_PATH the program that made it.
constexpr std::string_view kMain = R"(// NAME: goes on with a text, or asks the model for an answer.
//
// It runs inside the server, next to the model. Change generate's options, fork the context, draw
// tokens by a rule of your own, call tools between them: the loop is yours.
#include "quire/quire.h"

namespace {

using namespace quire;

struct Options {
  std::string prompt = "Say hello in five words.";
  GenerateOptions generate = {.max_tokens = 64};

  void read(OptionReader& in) {
    in.text("prompt", prompt, "What the model answers");
    in.generation(generate);  // --max-tokens, --temperature, --seed and the like.
  }
};

Task<> program(Options options) {
  Context context = co_await Context::create();
  context.user(options.prompt);
  const Generation answer = co_await context.generate(options.generate).stream(session::send);

  runtime::log(LogLevel::Info, std::to_string(answer.tokens.size()) + " tokens");
}

}  // namespace

QUIRE_MAIN(program)
)";

constexpr std::string_view kReadme = R"(# NAME

A program for Quire: it runs as WebAssembly inside the server, next to the model.

    make          # builds NAME.wasm
    make run      # builds and runs it here, with the default model
    make run ARGS='--prompt "What is a page table?" --max-tokens 100'

The Makefile calls the `quire` that made this project. Another one, or another place:
`make QUIRE=/path/to/quire`. The same by hand, if `quire` is on your PATH:

    quire build main.cpp -o NAME.wasm
    quire run NAME.wasm -- --prompt "What is a page table?"

`compile_flags.txt` lets editors with clangd find the headers. It has paths of this machine, so git
leaves it out; `quire new` writes one for each project.

Start reading in `main.cpp`. Everything that the SDK offers is in its headers: `quire/quire.h` lists
them. A call that fails ends the task that awaits it with an error, a code and a message that says
what, which and how much; it ends in the program's log. `co_await attempt(call)` gives the error to
the program instead.
)";

constexpr std::string_view kMakefile =
    R"make(# `make` builds NAME.wasm, `make run ARGS='--prompt TEXT'` runs it.
# The program that made this project; another: `make QUIRE=/path/to/quire`.
QUIRE ?= QUIRE_PATH
ARGS ?=

NAME.wasm: main.cpp
	"$(QUIRE)" build main.cpp -o $@

.PHONY: run clean
run: NAME.wasm
	"$(QUIRE)" run NAME.wasm -- $(ARGS)

clean:
	rm -f NAME.wasm
)make";

bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || !is_letter(name[0])) return false;
  for (const char each : name) {
    if (!is_letter(each) && !(each >= '0' && each <= '9') && each != '_' && each != '-') {
      return false;
    }
  }
  return true;
}

// As the value of a variable in a Makefile.
std::string for_make(std::string_view path) {
  std::string out;
  for (const char each : path) {
    if (each == '$') out += '$';
    if (each == '#') out += '\\';
    out += each;
  }
  return out;
}

std::string filled(std::string_view text, std::string_view name, std::string_view executable) {
  const std::pair<std::string_view, std::string> places[] = {{"NAME", std::string(name)},
                                                             {"QUIRE_PATH", for_make(executable)}};
  std::string out;
  while (!text.empty()) {
    const auto found = std::find_if(std::begin(places), std::end(places), [&](const auto& place) {
      return text.starts_with(place.first);
    });
    if (found == std::end(places)) {
      out += text[0];
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

Result<void> write_file(const fs::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr) {
    return Error(ErrorCode::Io, path.string() + ": " + std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    return Error(ErrorCode::Io, path.string() + ": cannot be written");
  }
  return {};
}

// The flags that `quire build` gives to the compiler, one a line, as clangd reads them.
Result<std::string> editor_flags(const SdkLocation& sdk) {
  std::ifstream file(sdk.flags_file);
  if (!file) return Error(ErrorCode::Io, sdk.flags_file + " cannot be read");
  std::string out;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("-Wl,")) out += line + "\n";
  }
  return out + "-I" + sdk.include_folder + "\n";
}

Result<void> write_project(const fs::path& folder, const std::string& name) {
  const std::string executable = TRY(executable_path());
  const auto write = [&](const char* file, std::string_view text) {
    return write_file(folder / file, filled(text, name, executable));
  };
  TRY(write("main.cpp", kMain));
  TRY(write("README.md", kReadme));
  TRY(write("Makefile", kMakefile));
  return write_file(folder / ".gitignore", "*.wasm\ncompile_flags.txt\n");
}

Result<void> write_editor_flags(const fs::path& folder, const std::string& given_sdk) {
  const SdkLocation sdk = TRY(find_sdk(given_sdk));
  return write_file(folder / "compile_flags.txt", TRY(editor_flags(sdk)));
}

}  // namespace

int new_command(const cli::NewOptions& options) {
  using cli::ExitCode;
  if (!is_name(options.name)) {
    return fail(ExitCode::Usage, "\"" + options.name +
                                     "\" is no name: letters, digits, '_' and '-', a letter "
                                     "first, at most " +
                                     std::to_string(kNameBytesMax));
  }
  const fs::path folder = fs::path(options.parent) / options.name;
  std::error_code failure;
  if (fs::exists(fs::symlink_status(folder, failure))) {
    return fail(ExitCode::Failed, folder.string() + " exists already");
  }
  if (!fs::create_directory(folder, failure)) {
    return fail(ExitCode::Failed, folder.string() + ": " + failure.message());
  }
  const Result<void> written = write_project(folder, options.name);
  if (!written.ok()) return fail(ExitCode::Failed, std::string(written.error().message()));
  // Only editors need it: without an SDK the project is there all the same.
  const Result<void> for_editors = write_editor_flags(folder, options.sdk);
  if (!for_editors.ok()) {
    warn("no compile_flags.txt was written: " + std::string(for_editors.error().message()));
  }
  std::printf("%s is ready. Next:\n  cd %s\n  make run\n", folder.c_str(), folder.c_str());
  return cli::number(ExitCode::Ok);
}

}  // namespace quire
