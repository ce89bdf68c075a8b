#include "main/commands/run_client.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "main/commands/output.h"

namespace quire {
namespace {

std::string dump(const nlohmann::json& json) {
  return dump_json(json) + "\n";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.emplace_back(text);
  return lines;
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

double seconds_between(std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) * 1e-9 : 0.0;
}

}  // namespace

void RunClient::print_line(std::size_t number, std::string_view line) {
  print("[" + std::to_string(number) + "] " + std::string(line) + "\n");
}

void RunClient::print_json(std::size_t number, const char* key, std::string_view text) {
  print(dump({{"instance", number}, {key, text}}));
}

bool RunClient::message(lifecycle::InstanceId instance, std::string_view bytes) {
  const std::size_t number = programs_.number_of(instance);
  if (style_ == cli::OutputStyle::Json) {
    print_json(number, "message", bytes);
  } else if (!several_) {
    print(bytes);
    if (!bytes.empty()) last_byte_ = bytes.back();
  } else {
    std::string& line = unfinished_lines_[number];
    line += bytes;
    for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1)) {
      print_line(number, std::string_view(line).substr(0, end));
    }
  }
  return true;
}

bool RunClient::log(lifecycle::InstanceId instance, lifecycle::LogSource source,
                    lifecycle::LogLevel level, std::string_view line) {
  const std::size_t number = programs_.number_of(instance);
  const bool is_log = source == lifecycle::LogSource::Log;
  if (is_log && level == lifecycle::LogLevel::Error) {
    held_errors_[number].emplace_back(line);
    return true;
  }
  tell_held(number);
  const bool loud = level >= lifecycle::LogLevel::Warning;
  tell(number, (is_log ? "log: " : "") + std::string(line),
       loud ? cli::Colour::Yellow : cli::Colour::Grey);
  return true;
}

void RunClient::tell_held(std::size_t number) {
  const auto held = held_errors_.extract(number);
  if (held.empty()) return;
  for (const std::string& line : held.mapped()) tell(number, "log: " + line, cli::Colour::Yellow);
}

void RunClient::settle() {
  while (!held_errors_.empty()) tell_held(held_errors_.begin()->first);
}

// The reason of an end is printed with the end, and not as a line of the log before it as well.
void RunClient::drop_reason(std::size_t number, const std::string& reason) {
  const auto held = held_errors_.find(number);
  if (held == held_errors_.end() || reason.empty()) return;
  std::vector<std::string>& lines = held->second;
  const std::vector<std::string> wanted = lines_of(reason);
  if (wanted.size() > lines.size()) return;
  const auto begin = lines.end() - static_cast<std::ptrdiff_t>(wanted.size());
  if (std::equal(begin, lines.end(), wanted.begin())) lines.erase(begin, lines.end());
}

// Where both streams are one terminal, a line of the log would else go on behind the text.
void RunClient::end_output_line() {
  if (last_byte_ == '\n' || !is_one_terminal_) return;
  print("\n");
  last_byte_ = '\n';
}

void RunClient::tell(std::size_t number, const std::string& text, cli::Colour colour) {
  end_output_line();
  const std::string prefix = several_ ? "[" + std::to_string(number) + "] " : "";
  std::fprintf(stderr, "%s\n", terminal_.paint(prefix + text, colour).c_str());
}

void RunClient::tell_file(std::size_t number, const hostcalls::FilePart& part,
                          const std::string* path) {
  if (style_ == cli::OutputStyle::Json) {
    print(dump({{"instance", number},
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

bool RunClient::file(lifecycle::InstanceId instance, const hostcalls::FilePart& part) {
  const std::size_t number = programs_.number_of(instance);
  if (!files_) {
    if (!part.is_dropped && part.offset == 0) tell_file(number, part, nullptr);
    return true;
  }
  if (part.is_dropped) {
    if (files_->drop(number, part.file) > 0) {
      tell(number, "the program gave up a file that was not complete", cli::Colour::Yellow);
    }
    return true;
  }
  const Result<std::optional<std::string>> path = files_->add(number, several_, part);
  if (!path.ok()) {
    ++lost_file_count_;
    tell(number, "error: " + std::string(path.error().message()), cli::Colour::Red);
  } else if (path.value()) {
    tell_file(number, part, &*path.value());
  }
  return true;
}

void RunClient::file_skipped(lifecycle::InstanceId instance, const std::string& path) {
  tell(programs_.number_of(instance),
       "the program dropped " + path + " before all of it was sent; the rest is not",
       cli::Colour::Yellow);
}

int RunClient::exit_code() const {
  if (failed_count_ > 0) return cli::number(cli::ExitCode::GuestFailed);
  return cli::number(lost_file_count_ > 0 ? cli::ExitCode::Failed : cli::ExitCode::Ok);
}

void RunClient::tell_failure(std::size_t number, const lifecycle::EndRecord& record) {
  std::string text;
  if (record.kind != lifecycle::EndKind::Finished) {
    text = lifecycle::end_kind_name(record.kind);
    if (!record.limit.empty()) text += " (" + record.limit + ")";
    if (!record.message.empty()) text += ": " + record.message;
  } else if (record.message.empty()) {
    text = "ended with exit code " + std::to_string(record.exit_code);
  } else {
    text = "ended: " + record.message;
  }
  end_output_line();
  print_error((several_ ? "instance " + std::to_string(number) : "the program") + " " + text);
}

// The least and the most of all instances, for those that came so far.
void RunClient::note_first(std::uint64_t launched_ns, std::uint64_t at_ns, std::uint64_t& least_ns,
                           std::uint64_t& most_ns) {
  if (at_ns == 0) return;
  const std::uint64_t first_ns = at_ns - launched_ns;
  least_ns = least_ns == 0 ? first_ns : std::min(least_ns, first_ns);
  most_ns = std::max(most_ns, first_ns);
}

bool RunClient::ended(lifecycle::InstanceId instance, const lifecycle::EndRecord& record) {
  const std::size_t number = programs_.number_of(instance);
  const bool well = record.kind == lifecycle::EndKind::Finished && record.exit_code == 0;
  if (const std::size_t count = files_ ? files_->drop_all(number) : 0; count > 0) {
    tell(number, std::to_string(count) + " files that were not complete are not kept",
         cli::Colour::Yellow);
  }
  if (auto rest = unfinished_lines_.extract(number); !rest.empty() && !rest.mapped().empty()) {
    print_line(number, rest.mapped());
  }
  // What follows, here or in a shell, begins a line of its own.
  if (!several_ && style_ == cli::OutputStyle::Text && last_byte_ != '\n') {
    print("\n");
    last_byte_ = '\n';
  }
  drop_reason(number, well ? "" : record.message);
  tell_held(number);
  totals_.instance_count += 1;
  programs_.note(instance, record.statistics);
  totals_.asked_token_count += record.statistics.asked_token_count;
  totals_.computed_token_count += record.statistics.computed_token_count;
  totals_.found_token_count += record.statistics.found_token_count;
  totals_.page_count_max =
      std::max<std::uint64_t>(totals_.page_count_max, record.statistics.page_count_max);
  note_first(record.launched_ns, record.first_message_ns, totals_.first_message_ns,
             totals_.first_message_ns_max);
  note_first(record.launched_ns, record.first_token_ns, totals_.first_token_ns,
             totals_.first_token_ns_max);
  if (!well) {
    failed_count_ += 1;
    if (!is_interrupted_ || record.kind != lifecycle::EndKind::Killed) tell_failure(number, record);
  }
  if (style_ != cli::OutputStyle::Json) return true;
  print(dump({{"instance", number},
              {"end", lifecycle::end_kind_name(record.kind)},
              {"exit_code", record.exit_code},
              {"limit", record.limit},
              {"error", record.message},
              {"result", record.result},
              {"seconds", seconds_between(record.launched_ns, record.ended_ns)},
              {"first_message_s", seconds_between(record.launched_ns, record.first_message_ns)},
              {"first_token_s", seconds_between(record.launched_ns, record.first_token_ns)},
              {"guest_cpu_s", static_cast<double>(record.cpu_ns) * 1e-9},
              {"asked_tokens", record.statistics.asked_token_count},
              {"computed_tokens", record.statistics.computed_token_count},
              {"found_tokens", record.statistics.found_token_count},
              {"page_count_max", record.statistics.page_count_max}}));
  return true;
}

std::string totals_text(const RunClient::Totals& totals, double duration_s) {
  const bool has_model = totals.computed_token_count > 0 || totals.found_token_count > 0;
  const std::string instances =
      totals.instance_count > 1 ? "; " + counted(totals.instance_count, "instance") : "";
  if (!has_model) {
    return "done in " + decimal(duration_s * 1e3, duration_s < 0.01 ? 1 : 0) +
           " ms, no token computed" + instances;
  }
  const auto tokens = static_cast<double>(totals.computed_token_count);
  std::string text = counted(totals.computed_token_count, "token") + " computed, " +
                     decimal(duration_s > 0 ? tokens / duration_s : 0.0, 1) + " tokens/s";
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
  return text + instances;
}

nlohmann::json totals_json(const RunClient::Totals& totals, double duration_s) {
  return {{"instances", totals.instance_count},
          {"asked_tokens", totals.asked_token_count},
          {"computed_tokens", totals.computed_token_count},
          {"found_tokens", totals.found_token_count},
          {"page_count_max", totals.pool_page_count_max.value_or(totals.page_count_max)},
          {"first_token_s", static_cast<double>(totals.first_token_ns) * 1e-9},
          {"first_token_s_max", static_cast<double>(totals.first_token_ns_max) * 1e-9},
          {"first_message_s", static_cast<double>(totals.first_message_ns) * 1e-9},
          {"first_message_s_max", static_cast<double>(totals.first_message_ns_max) * 1e-9},
          {"seconds", duration_s}};
}

}  // namespace quire
