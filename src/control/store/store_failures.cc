#include "control/store/store_failures.h"

#include <utility>
#include <variant>

namespace quire::store {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A failure of the machine, and not the answer to what a program asked.
bool is_failure(ErrorCode code) {
  return code == ErrorCode::Io || code == ErrorCode::Corrupted;
}

}  // namespace

void StoreFailures::tell_operator(const Error& error) {
  if (!tell_ || !is_failure(error.code())) return;
  const std::uint64_t now_ns = clock_.now_ns();
  if (told_ns_ != 0 && now_ns - told_ns_ < kTellIntervalNs) {
    ++untold_count_;
    return;
  }
  std::string text(error.message());
  if (untold_count_ > 0) {
    text += " (and " + std::to_string(untold_count_) + " failures since the line before)";
  }
  told_ns_ = now_ns;
  untold_count_ = 0;
  tell_(text);
}

Error StoreFailures::for_programs(Error error) {
  tell_operator(error);
  std::string text = replaced(std::string(error.message()), folder_ + "/", "");
  return Error(error.code(), replaced(std::move(text), folder_, "the store"));
}

template <typename T>
void StoreFailures::hide_places(Result<T>& result) {
  if (!result.ok()) result = for_programs(std::move(result).take_error());
}

DiskAnswer StoreFailures::for_programs(DiskAnswer answer) {
  hide_places(answer.body);
  if (!answer.body.ok()) return answer;
  DiskAnswerBody& body = answer.body.value();
  if (auto* read = std::get_if<PagesRead>(&body)) {
    for (Result<PageRecord>& page : read->pages) hide_places(page);
  } else if (auto* cached = std::get_if<CachedRead>(&body)) {
    for (Result<CachedPage>& page : cached->pages) hide_places(page);
  } else if (auto* put = std::get_if<PagesPut>(&body)) {
    for (PutPage& page : put->pages) hide_places(page.outcome);
  }
  return answer;
}

}  // namespace quire::store
