#include "main/verbs/run/run_client.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "main/verbs/shared/output.h"

namespace quire {
namespace {

std::string dump(const nlohmann::json& json) {
  return dump_json(json) + "\n";
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

// The least and the most of all instances, for those that came so far; 0: there was none.
void note_first(std::uint64_t first_ns, std::uint64_t& least_ns, std::uint64_t& most_ns) {
  if (first_ns == 0) return;
  least_ns = least_ns == 0 ? first_ns : std::min(least_ns, first_ns);
  most_ns = std::max(most_ns, first_ns);
}

}  // namespace

void RunClient::print_line(std::size_t number, std::string_view line) {
  cli::TerminalText text = cli::TerminalText::of_standard_output();
  print("[" + std::to_string(number) + "] " + text.add(line) + text.finish() + "\n");
}

void RunClient::print_json(std::size_t number, const char* key, std::string_view text) {
  print(dump({{"event", key}, {"instance", number}, {key, text}}));
}

bool RunClient::heard(InstanceId instance, const service::Said& said) {
  const std::size_t number = number_of(instance);
  std::visit([&](const auto& each) { hear(number, each); }, said);
  return true;
}

void RunClient::hear(std::size_t number, const service::Message& said) {
  if (style_ == cli::OutputStyle::Json) {
    print_json(number, "message", said.bytes);
  } else if (!several_) {
    print(output_.add(said.bytes));
    if (!said.bytes.empty()) last_byte_ = said.bytes.back();
  } else {
    std::string& line = unfinished_lines_[number];
    line += said.bytes;
    for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1)) {
      print_line(number, std::string_view(line).substr(0, end));
    }
  }
}

void RunClient::hear(std::size_t number, const service::LogLine& said) {
  for (const ProgramLog::Line& each : log_.add(number, said)) tell(number, each.text, each.colour);
}

// The reason of an end is printed with the end, and not as a line of the log before it as well.
void RunClient::tell_held(std::size_t number, const std::string& reason) {
  for (const ProgramLog::Line& each : log_.take_held(number, reason)) {
    tell(number, each.text, each.colour);
  }
}

void RunClient::settle() {
  while (const std::optional<std::size_t> number = log_.holder()) tell_held(*number);
}

// If both streams are read together, a line of the log would otherwise continue the line of the
// text.
void RunClient::end_output_line() {
  if (last_byte_ == '\n' || !are_read_together_) return;
  print("\n");
  last_byte_ = '\n';
}

void RunClient::tell(std::size_t number, const std::string& text, cli::Colour colour) {
  end_output_line();
  const std::string prefix = several_ ? "[" + std::to_string(number) + "] " : "";
  print_note(prefix + text, colour);
}

void RunClient::tell_file(std::size_t number, const service::SentPart& part,
                          const std::string* path) {
  if (style_ == cli::OutputStyle::Json) {
    print(dump({{"event", "file"},
                {"instance", number},
                {"file", part.name},
                {"media_type", part.media_type},
                {"bytes", part.file_bytes},
                {"path", path == nullptr ? nlohmann::json() : nlohmann::json(*path)}}));
    return;
  }
  const std::string what = "file " + in_quotes(part.name) + " of " +
                           std::to_string(part.file_bytes) + " bytes (" +
                           printable(part.media_type) + ")";
  if (path == nullptr) {
    tell(number, what + " is not kept: --save-files FOLDER keeps files", cli::Colour::Yellow);
  } else {
    tell(number, what + " is " + *path, cli::Colour::Grey);
  }
}

void RunClient::hear(std::size_t number, const service::SentPart& said) {
  if (!files_) {
    if (said.offset == 0) tell_file(number, said, nullptr);
    return;
  }
  const Result<std::optional<std::string>> path = files_->add(number, several_, said);
  if (!path.ok()) {
    ++lost_file_count_;
    tell(number, "error: " + std::string(path.error().message()), cli::Colour::Red);
  } else if (path.value()) {
    tell_file(number, said, &*path.value());
  }
}

void RunClient::hear(std::size_t number, const service::DroppedFile& said) {
  if (files_ && files_->drop(number, said.file) > 0) {
    tell(number, "the program gave up a file that was not complete", cli::Colour::Yellow);
  }
}

void RunClient::file_skipped(InstanceId instance, const std::string& path) {
  tell(number_of(instance),
       "the program dropped " + path + " before all of it was sent; the rest is not",
       cli::Colour::Yellow);
}

int RunClient::exit_code() const {
  if (failed_count_ > 0) return cli::number(cli::ExitCode::GuestFailed);
  const bool lacks_some = lost_file_count_ + detached_count_ > 0;
  return cli::number(lacks_some ? cli::ExitCode::Failed : cli::ExitCode::Ok);
}

std::string RunClient::subject(std::size_t number) const {
  return several_ ? "instance " + std::to_string(number) : "the program";
}

void RunClient::detached(InstanceId instance, const std::string& why) {
  const std::size_t number = number_of(instance);
  ++detached_count_;
  if (style_ == cli::OutputStyle::Json) {
    print(dump({{"event", "detached"}, {"instance", number}, {"message", why}}));
  }
  tell_held(number);
  end_output_line();
  print_error(subject(number) + " goes on without this client: " + printable(why));
}

// A program's result is bytes, and may be long; --json has all of it.
void RunClient::tell_result(std::size_t number, const std::string& result) {
  constexpr std::size_t kToldBytesMax = 2000;
  const std::string_view begin = std::string_view(result).substr(0, kToldBytesMax);
  const std::size_t valid_bytes = utf8_valid_bytes(begin);
  const bool is_cut = begin.size() < result.size();
  const bool is_text = valid_bytes == begin.size() || (is_cut && begin.size() - valid_bytes < 4);
  std::string text = is_text ? printable_lines(std::string(begin.substr(0, valid_bytes))) : "";
  if (!is_text) text = counted(result.size(), "byte") + " that are not text";
  if (is_text && is_cut) text += "... (" + counted(result.size(), "byte") + "; --json has all)";
  tell(number, "result: " + text, cli::Colour::Grey);
}

void RunClient::tell_failure(std::size_t number, const service::End& end) {
  std::string text;
  if (end.kind == service::EndKind::LimitExceeded && !end.message.empty()) {
    // The message begins with the name of the limit, which it says with its value.
    const bool is_named = !end.limit.empty() && end.message.starts_with(end.limit + ": ");
    text = "exceeded its limit " + end.limit + ": " +
           (is_named ? end.message.substr(end.limit.size() + 2) : end.message);
  } else if (end.kind != service::EndKind::Finished) {
    text = service::end_kind_name(end.kind);
    if (!end.limit.empty()) text += " (" + end.limit + ")";
    if (!end.message.empty()) text += ": " + end.message;
  } else if (end.message.empty()) {
    text = "ended with exit code " + std::to_string(end.exit_code);
  } else {
    text = "ended: " + end.message;
  }
  end_output_line();
  print_error(subject(number) + " " + text);
}

void RunClient::hear(std::size_t number, const service::Ended& said) {
  const service::End& end = said.end;
  const bool well = end.kind == service::EndKind::Finished && end.exit_code == 0;
  if (const std::size_t count = files_ ? files_->drop_all(number) : 0; count > 0) {
    tell(number, std::to_string(count) + " files that were not complete are not kept",
         cli::Colour::Yellow);
  }
  if (auto rest = unfinished_lines_.extract(number); !rest.empty() && !rest.mapped().empty()) {
    print_line(number, rest.mapped());
  }
  print(output_.finish());
  // The next output, here or in a shell, begins a line of its own.
  if (!several_ && style_ == cli::OutputStyle::Text && last_byte_ != '\n') {
    print("\n");
    last_byte_ = '\n';
  }
  tell_held(number, well ? "" : end.message);
  add_to_totals(end);
  if (!end.result.empty() && style_ == cli::OutputStyle::Text) tell_result(number, end.result);
  if (!well) {
    failed_count_ += 1;
    if (!is_interrupted_ || end.kind != service::EndKind::Killed) tell_failure(number, end);
  }
  if (style_ != cli::OutputStyle::Json) return;
  print(dump({{"event", "end"},
              {"instance", number},
              {"end", service::end_kind_name(end.kind)},
              {"exit_code", end.exit_code},
              {"limit", end.limit},
              {"error", end.message},
              {"result", end.result},
              {"seconds", seconds(end.duration_ns)},
              {"first_message_s", seconds(end.first_message_ns)},
              {"first_token_s", seconds(end.first_token_ns)},
              {"guest_cpu_s", seconds(end.cpu_ns)},
              {"asked_tokens", end.asked_token_count},
              {"computed_tokens", end.computed_token_count},
              {"found_tokens", end.found_token_count},
              {"opened_tokens", end.opened_token_count},
              {"page_count_max", end.page_count_max},
              {"children_asked_tokens", end.children_asked_token_count},
              {"children_computed_tokens", end.children_computed_token_count},
              {"children_found_tokens", end.children_found_token_count},
              {"children_opened_tokens", end.children_opened_token_count}}));
}

void RunClient::add_to_totals(const service::End& end) {
  totals_.instance_count += 1;
  totals_.asked_token_count += end.asked_token_count;
  totals_.computed_token_count += end.computed_token_count;
  totals_.found_token_count += end.found_token_count;
  totals_.opened_token_count += end.opened_token_count;
  totals_.children_asked_token_count += end.children_asked_token_count;
  totals_.children_computed_token_count += end.children_computed_token_count;
  totals_.children_found_token_count += end.children_found_token_count;
  totals_.children_opened_token_count += end.children_opened_token_count;
  totals_.page_count_max = std::max(totals_.page_count_max, end.page_count_max);
  totals_.duration_ns_max = std::max(totals_.duration_ns_max, end.duration_ns);
  note_first(end.first_message_ns, totals_.first_message_ns, totals_.first_message_ns_max);
  note_first(end.first_token_ns, totals_.first_token_ns, totals_.first_token_ns_max);
}

std::string totals_text(const RunClient::Totals& totals, double duration_s) {
  const std::uint64_t children_count = totals.children_computed_token_count;
  const std::uint64_t opened_count = totals.opened_token_count + totals.children_opened_token_count;
  const bool has_model = totals.computed_token_count + totals.found_token_count + children_count +
                             totals.children_found_token_count + opened_count >
                         0;
  const std::string instances =
      totals.instance_count > 1 ? "; " + counted(totals.instance_count, "instance") : "";
  if (!has_model) {
    return "done in " + decimal(duration_s * 1e3, duration_s < 0.01 ? 1 : 0) +
           " ms, no token computed" + instances;
  }
  // The rate is that of a program together with its children.
  const auto tokens = static_cast<double>(totals.computed_token_count + children_count);
  const std::string of_children = totals.instance_count > 1 ? "their children" : "its children";
  std::string text = counted(totals.computed_token_count, "token") + " computed, ";
  if (children_count > 0)
    text += "and " + std::to_string(children_count) + " by " + of_children + ", ";
  text += decimal(duration_s > 0 ? tokens / duration_s : 0.0, 1) + " tokens/s";
  if (totals.first_token_ns > 0) {
    text += ", first token after " + decimal(static_cast<double>(totals.first_token_ns) * 1e-6, 0) +
            " ms";
  }
  // Instances share pages: what each held at most cannot be added up.
  const bool is_of_all = totals.pool_page_count_max.has_value() || totals.instance_count == 1;
  text += "; at most " +
          counted(totals.pool_page_count_max.value_or(totals.page_count_max), "page") +
          (is_of_all ? " held" : " held by one instance");
  text += ", " + std::to_string(totals.found_token_count) + " of " +
          counted(totals.asked_token_count, "token") + " found in cache";
  if (totals.children_asked_token_count > 0) {
    text += ", and " + std::to_string(totals.children_found_token_count) + " of " +
            std::to_string(totals.children_asked_token_count) + " of " + of_children;
  }
  if (opened_count > 0) text += "; " + std::to_string(opened_count) + " opened from a snapshot";
  return text + instances;
}

nlohmann::json totals_json(const RunClient::Totals& totals, double duration_s) {
  return {{"event", "totals"},
          {"instances", totals.instance_count},
          {"asked_tokens", totals.asked_token_count},
          {"computed_tokens", totals.computed_token_count},
          {"found_tokens", totals.found_token_count},
          {"opened_tokens", totals.opened_token_count},
          {"children_asked_tokens", totals.children_asked_token_count},
          {"children_computed_tokens", totals.children_computed_token_count},
          {"children_found_tokens", totals.children_found_token_count},
          {"children_opened_tokens", totals.children_opened_token_count},
          {"page_count_max", totals.pool_page_count_max.value_or(totals.page_count_max)},
          {"first_token_s", static_cast<double>(totals.first_token_ns) * 1e-9},
          {"first_token_s_max", static_cast<double>(totals.first_token_ns_max) * 1e-9},
          {"first_message_s", static_cast<double>(totals.first_message_ns) * 1e-9},
          {"first_message_s_max", static_cast<double>(totals.first_message_ns_max) * 1e-9},
          {"seconds", duration_s}};
}

}  // namespace quire
