// Verbs about the page store, without a model.
#include "cli/verb.h"

namespace quire::cli {
namespace {

constexpr Choice<PagePolicyChoice> kTracePolicies[] = {{"default", PagePolicyChoice::Default},
                                                       {"lru", PagePolicyChoice::Lru},
                                                       {"s3-fifo", PagePolicyChoice::S3Fifo}};
constexpr Choice<bool> kHints[] = {{"none", false}, {"future", true}};

}  // namespace

Verb add_bench_pages(CLI::App& bench) {
  auto options = std::make_shared<BenchPagesOptions>();
  Rows rows(bench, "pages", "Times of the page store's own work; with --trace, its hit rate");
  rows.add({
      Flag{"--trace", "FILE", &options->trace,
           "Requests as JSON lines with timestamp and hash_ids, or as runs (tests/traces); may be "
           "gzipped"}
          .needs("--capacity"),
      Flag{"--capacity", "N", &options->capacity, "Blocks that the store holds",
           whole_within(1, 1 << 26)}
          .needs("--trace"),
      Flag{"--policy", "", one_of(options->policy, "eviction policy", kTracePolicies),
           "Who is evicted: default, lru or s3-fifo"}
          .needs("--trace"),
      Flag{"--hints", "", one_of(options->hints_from_future, "source of hints", kHints),
           "What programs say: none, or future (will_resume of what the trace asks for again, done "
           "of the rest)"}
          .needs("--trace"),
      Flag{"--from", "P", &options->from,
           "Count requests from this share of the trace on; those before warm the store",
           real_within(0.0, 1.0)}
          .needs("--trace"),
      Flag{"--to", "P", &options->to, "Up to this share", real_within(0.0, 1.0)}.needs("--trace"),
      Flag{"--cold", "", &options->is_cold_start, "Start with an empty store at --from"}.needs(
          "--trace"),
      json(options->output),
  });
  return rows.verb(R"(Examples:
  quire-bench pages --json
  quire-bench pages --trace tests/traces/mooncake_synthetic.txt --capacity 5000
  quire-bench pages --trace trace.jsonl.gz --capacity 10000 --hints future --json)",
                   [options]() -> Result<Request> {
                     if (options->from < options->to) return Request(*options);
                     return Error(ErrorCode::InvalidArgument, "--from lies below --to");
                   });
}

}  // namespace quire::cli
