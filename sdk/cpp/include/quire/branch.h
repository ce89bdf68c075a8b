#pragma once
// Context::sample: several ways to go on with one context, side by side.
//
//   question.user("Name a prime number.");
//   const std::vector<Branch> answers = co_await question.sample(4, {.temperature = 0.8});
//
// What the context holds is computed once; each branch is a fork that shares its pages, and all of
// them take their steps of the device together. The context itself stays as it is.
//
// Errors   the first error of a branch, with which the others are dropped.
#include <cstdint>
#include <utility>
#include <vector>

#include "quire/context.h"
#include "quire/generate.h"
#include "quire/task.h"

namespace quire {

// A fork, and what it generated.
struct Branch {
  Context context;
  Generation answer;
};

namespace detail {

inline Task<Branch> branch(Context fork, GenerateOptions options) {
  Generation answer = co_await fork.generate(std::move(options)).collect();
  co_return Branch{std::move(fork), std::move(answer)};
}

}  // namespace detail

inline Task<std::vector<Branch>> Context::sample(std::uint32_t count, GenerateOptions options) {
  co_await prefill();
  std::vector<Task<Branch>> branches;
  for (std::uint32_t i = 0; i < count; ++i, ++options.seed) {
    branches.push_back(detail::branch(co_await fork(), options));
  }
  co_return co_await gather(std::move(branches));
}

}  // namespace quire
