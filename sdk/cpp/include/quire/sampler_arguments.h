#pragma once
// The arguments --temperature, --top-k, --top-p, --min-p and --seed of a program, checked as the
// host checks what it draws with.
//
//   ArgumentNames names = {.values = {"prompt"}};
//   add_sampler_names(names);
//   const Arguments arguments = co_await Arguments::parse(command_line, names);
//   options.sampler = co_await sampler_arguments(arguments, {.temperature = 0.8});
//
// Errors   invalid-argument names the argument, its range and what was given.
#include <optional>
#include <string>

#include "quire/arguments.h"
#include "quire/generate.h"
#include "quire/result.h"
#include "quire/sampling.h"

namespace quire {

inline void add_sampler_names(ArgumentNames& names) {
  names.values.insert(names.values.end(), {"temperature", "top-k", "top-p", "min-p", "seed"});
}

// `otherwise` has the numbers of the arguments that were not given.
inline Result<SamplerOptions> sampler_arguments(const Arguments& arguments,
                                                const SamplerOptions& otherwise = {}) {
  SamplerOptions options;
  options.temperature = TRY(arguments.number("temperature", otherwise.temperature));
  options.top_k = TRY(arguments.count("top-k", otherwise.top_k));
  options.top_p = TRY(arguments.number("top-p", otherwise.top_p));
  options.min_p = TRY(arguments.number("min-p", otherwise.min_p));
  options.seed = TRY(arguments.integer("seed", otherwise.seed));
  const std::optional<sampling::OutOfRange> wrong = sampling::out_of_range(options);
  if (!wrong) return options;
  std::string name = wrong->name;
  for (char& each : name) each = each == '_' ? '-' : each;
  return Error{ErrorCode::InvalidArgument,
               "--" + name + " must be " + wrong->range + ", not " + arguments.text(name)};
}

inline void use_sampler(const SamplerOptions& sampler, GenerateOptions& into) {
  into.temperature = sampler.temperature;
  into.top_k = sampler.top_k;
  into.top_p = sampler.top_p;
  into.min_p = sampler.min_p;
  into.seed = sampler.seed;
}

}  // namespace quire
