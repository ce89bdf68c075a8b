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
  const bool loud = level >= lifecycle::LogLevel::Warning;
  const std::string mark = source == lifecycle::LogSource::Log ? "log: " : "";
  tell(programs_.number_of(instance), mark + std::string(line),
       loud ? cli::Colour::Yellow : cli::Colour::Grey);
  return true;
}

void RunClient::tell(std::size_t number, const std::string& text, cli::Colour colour) const {
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

void RunClient::file_skipped(lifecycle::InstanceId instance, const std::string& path) const {
  tell(programs_.number_of(instance),
       "the program dropped " + path + " before all of it was sent; the rest is not",
       cli::Colour::Yellow);
}

int RunClient::exit_code() const {
  if (failed_count_ > 0) return cli::number(cli::ExitCode::GuestFailed);
  return cli::number(lost_file_count_ > 0 ? cli::ExitCode::Failed : cli::ExitCode::Ok);
}

void RunClient::tell_failure(std::size_t number, const lifecycle::EndRecord& record) {
  std::string text = lifecycle::end_kind_name(record.kind);
  if (!record.limit.empty()) text += " (" + record.limit + ")";
  if (!record.message.empty()) text += ": " + record.message;
  if (record.kind == lifecycle::EndKind::Finished) {
    text = "ended with exit code " + std::to_string(record.exit_code) +
           (record.message.empty() ? "" : ": " + record.message);
  }
  std::fprintf(stderr, "%s instance %zu %s\n", terminal_.paint("error:", cli::Colour::Red).c_str(),
               number, text.c_str());
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
  if (!several_ && style_ == cli::OutputStyle::Text && last_byte_ != '\n') print("\n");
  totals_.instance_count += 1;
  programs_.note(instance, record.statistics);
  totals_.asked_token_count += record.statistics.asked_token_count;
  totals_.computed_token_count += record.statistics.computed_token_count;
  totals_.found_token_count += record.statistics.found_token_count;
  totals_.page_count_max += record.statistics.page_count_max;
  if (record.first_message_ns != 0) {
    const std::uint64_t first = record.first_message_ns - record.launched_ns;
    totals_.first_message_ns =
        totals_.first_message_ns == 0 ? first : std::min(totals_.first_message_ns, first);
    totals_.first_message_ns_max = std::max(totals_.first_message_ns_max, first);
  }
  if (!well) {
    failed_count_ += 1;
    tell_failure(number, record);
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
              {"guest_cpu_s", static_cast<double>(record.cpu_ns) * 1e-9},
              {"asked_tokens", record.statistics.asked_token_count},
              {"computed_tokens", record.statistics.computed_token_count},
              {"found_tokens", record.statistics.found_token_count},
              {"page_count_max", record.statistics.page_count_max}}));
  return true;
}

std::string totals_text(const RunClient::Totals& totals, double duration_s) {
  const auto tokens = static_cast<double>(totals.computed_token_count);
  std::string text = std::to_string(totals.computed_token_count) + " tokens, " +
                     decimal(duration_s > 0 ? tokens / duration_s : 0.0, 1) +
                     " tokens/s, first after " +
                     decimal(static_cast<double>(totals.first_message_ns) * 1e-6, 0) + " ms; " +
                     std::to_string(totals.page_count_max) + " pages used, " +
                     std::to_string(totals.found_token_count) + " of " +
                     std::to_string(totals.asked_token_count) + " tokens found in cache";
  if (totals.instance_count > 1) {
    text += "; " + std::to_string(totals.instance_count) + " instances";
  }
  return text;
}

nlohmann::json totals_json(const RunClient::Totals& totals, double duration_s) {
  return {{"instances", totals.instance_count},
          {"asked_tokens", totals.asked_token_count},
          {"computed_tokens", totals.computed_token_count},
          {"found_tokens", totals.found_token_count},
          {"page_count_max", totals.page_count_max},
          {"first_message_s", static_cast<double>(totals.first_message_ns) * 1e-9},
          {"first_message_s_max", static_cast<double>(totals.first_message_ns_max) * 1e-9},
          {"seconds", duration_s}};
}

}  // namespace quire
