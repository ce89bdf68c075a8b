#pragma once
// Random programs over every operation of the page store, and every mistake a program can make,
// beside a naive model (naive_model.h). Several guests of two tenants, on the simulated device and
// disk.
//
// To add an operation, write a method that does it and names its outcome, and a line in
// page_program_tables.cc. A test that runs programs asks coverage() whether each line was reached.
//
// A guest's commands are issued as they come. Their expected answers are noted, and compared when
// the answers are there. In a pool that may run out, or on a device that loses passes or pages, an
// answer may also be that error; the model then asks what was done (after_compute).
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "control/harness.h"
#include "control/naive_model.h"
#include "control/page_program_knobs.h"

namespace quire::control {

class PageProgram {
 public:
  PageProgram(const Knobs& knobs, std::uint64_t seed);

  void run();
  // How often each operation, each mistake and each tier was met; a name for each, zero where not.
  static Coverage no_coverage();
  void add_coverage(Coverage& coverage) const;

 private:
  struct Chain {
    ObjectId id{};
    test::Content content{};
    std::uint32_t queued = 0;
    bool is_known = true;  // `queued` is certain: nothing failed since.
    std::uint32_t length() const { return content.length(); }
    std::uint32_t written() const { return length() - queued; }
  };
  // A handle. What several share is never written again, so that each may have a copy.
  struct Page {
    ObjectId id{};
    std::vector<test::Slot> slots{};   // None: it stands for no page.
    std::vector<std::uint8_t> view{};  // mask_kvpage.
    test::Sequence tokens{};           // Of a context's page: from its first slot on.
    bool is_shared = false;
    bool is_there() const { return !slots.empty(); }
  };
  struct Export {
    std::vector<Page> pages{};
    bool is_public = false;
    InstanceId exporter{};
  };
  struct Held {
    std::uint32_t index = 0;  // In the context.
    Page page{};
  };
  enum class EmbedKind : std::uint8_t { Empty, Token, Output, Failed };
  struct Embed {
    ObjectId id{};
    EmbedKind kind = EmbedKind::Empty;
    std::uint32_t position = 0;
    std::uint64_t value = 0;  // The token's input, or the output.
    ErrorCode error{};        // Failed: why.
  };
  struct Guest {
    InstanceId id{};
    TenantId tenant{};
    ObjectId queue{};
    bool may_export_publicly = false;
    std::vector<Chain> chains{};
    std::vector<Page> pages{};
    std::vector<Embed> embeds{};
  };
  struct Expected {
    enum class Kind : std::uint8_t { Output, Computed, Edited, Refused, Done };
    InstanceId guest{};
    FutureId future{};
    Kind kind = Kind::Done;
    test::Content content{};               // Computed, Edited: of the context.
    std::uint64_t output = 0;              // Output.
    std::uint32_t seq_len = 0;             // Computed, Edited.
    ErrorCode code = ErrorCode::Internal;  // Refused.
  };
  struct Saved {
    Chain chain;
    std::uint64_t expires_unix_ms = 0;
    std::string note = {};
  };
  struct Operation {
    const char* name;
    std::uint32_t weight;
    void (PageProgram::*act)(Guest& guest);
    bool notes_itself = false;  // When it came to what it is for.
  };
  // page_program_tables.cc
  static std::vector<Operation> operations();  // On contexts and snapshots,
  static std::vector<Operation> by_hand();     // and on pages.
  static std::vector<Operation> mistakes();

  static constexpr std::size_t kContextsMax = 6;       // Of one guest,
  static constexpr std::size_t kHandlesMax = 6;        // and its handles of pages.
  static constexpr std::uint32_t kExportsMax = 2;      // Of one tenant,
  static constexpr std::uint32_t kExportPagesMax = 3;  // and their pages.

  // page_program.cc: choices, the engine's turns, and what is compared.
  Harness::Options options();
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  template <typename T>
  T& some(std::vector<T>& all) {
    return all[below(static_cast<std::uint32_t>(all.size()))];
  }
  void act();
  void note(const std::string& what, std::uint64_t count = 1) { coverage_[what] += count; }
  Guest& some_guest();
  Guest start_guest(const InstanceLimits& limits = {});
  Chain& some_chain(Guest& guest);
  test::Sequence some_tokens();
  bool has_quota() const { return knobs_.tenant_bytes_max < Knobs{}.tenant_bytes_max; }
  bool is_fallible() const { return knobs_.page_count < 32 || may_lose(); }
  void settle();
  void settle_with(InstanceId owner, FutureId future);
  void check();
  void check_one(const Expected& each);
  void expect(const Guest& guest, FutureId future, const Chain& chain, Expected::Kind kind);
  void expect_output(const Guest& guest, FutureId future, std::uint64_t output);
  void expect_refusal(const Guest& guest, FutureId future, ErrorCode code);
  void expect_done(const Guest& guest, FutureId future);
  // Sends it and waits.
  FutureId settled(InstanceId owner, CommandBody body);
  // Sends and waits too. Returns the error; nothing if it went well.
  std::optional<ErrorCode> outcome(InstanceId owner, CommandBody body);
  void end_all();
  void note_statistics();
  void new_machine();
  // The machine stops and starts again on the same disk, on which `edit` was done meanwhile.
  void start_again(const std::function<void()>& edit);

  // page_program_tiers.cc: what is lost, and where pages are.
  using Failure = std::function<std::optional<Error>(const inference::Batch&, std::size_t index)>;
  Failure failing(std::uint32_t percent, const char* what);
  void add_tiers(Harness::Options& options);
  // Passes, or what contexts had on a tier.
  bool may_lose() const;
  // Whatever was asked of a context: what it gave up must come back first.
  bool is_loss(ErrorCode code) const;
  void note_loss(const Error& error);
  bool was_lost(const Guest& guest, FutureId future, bool is_right);
  void note_tiers();

  // page_program_contexts.cc
  void append(Guest& guest);
  void flush(Guest& guest);
  void flush_all(Guest& guest);
  void flush(const Guest& guest, Chain& chain);
  void forward(Guest& guest);
  void after_compute(const Guest& guest, Chain& chain);
  void fork(Guest& guest);
  void truncate(Guest& guest);
  void rewind(Guest& guest);
  void rewind(Guest& guest, Chain& chain);
  void drop_range(Guest& guest);
  void splice(Guest& guest);
  void use_adapters(Guest& guest);
  void make_adapters();
  static std::uint64_t digest_of(const ChosenAdaptersRef& set);
  void use_working_pages(Guest& guest);
  void hint(Guest& guest);
  void drop(Guest& guest);
  void end(Guest& guest);
  void step(Guest& guest);
  void begin_step(Guest& guest);
  void weigh(Guest& guest);
  static void add(Chain& chain, const test::Sequence& tokens);

  // page_program_pages.cc
  Page new_page(ObjectId id) const;
  Page& some_page(Guest& guest);
  void alloc_pages(Guest& guest);
  void write_page(Guest& guest);
  void dealloc_pages(Guest& guest);
  void mask_page(Guest& guest);
  void embed_text(Guest& guest);
  void embed_text(Guest& guest, Embed& embed, std::uint32_t position);
  void renew_embed(Guest& guest);
  void forward_pages(Guest& guest);
  void get_next_dist(Guest& guest);
  struct Pass;
  Pass some_pass(Guest& guest);
  void issue_pass(Pass pass);
  std::optional<ErrorCode> refusal_of(const Pass& pass) const;
  void take_pass(Pass& pass);

  // page_program_shares.cc
  void note_outcome(const std::string& what, std::optional<ErrorCode> wanted);
  void foretell(const Guest& guest, FutureId future, const char* what,
                std::optional<ErrorCode> wanted);
  std::optional<ErrorCode> refusal_of(const CopyPage& copy, const Page& from, const Page& to) const;
  void copy_page(Guest& guest);
  std::string new_export_name() { return "export " + std::to_string(below(4)); }
  std::string some_export_name();
  std::string some_foreign_name(const Guest& guest);
  const Export* find_export(TenantId tenant, const std::string& name) const;
  std::optional<ErrorCode> refusal_of(const Guest& guest, const ExportPages& wanted,
                                      const std::vector<Page*>& pages) const;
  void export_pages(Guest& guest);
  void import_pages(Guest& guest);
  void unexport_pages(Guest& guest);
  void list_exports(Guest& guest);
  void unexport_all();
  std::vector<Held> held_pages(const Chain& chain) const;
  void share_context(Guest& guest);
  void take_handles(Guest& guest, const std::vector<ObjectId>& ids, std::vector<Page> pages);
  void check_shared(const Guest& guest, FutureId future, const std::vector<std::uint32_t>& indices);
  std::vector<const Page*> some_run(Guest& guest);
  std::optional<ErrorCode> refusal_of(const std::vector<const Page*>& run,
                                      std::uint32_t token_count) const;
  void make_from_pages(Guest& guest);

  // page_program_snapshots.cc
  void save(Guest& guest);
  void open(Guest& guest);
  void remove(Guest& guest);
  void list(Guest& guest);
  void restart(Guest& guest);
  std::optional<ErrorCode> open_alone(TenantId tenant, const std::string& name, const Chain& saved);
  void expire();
  void damage(const char* what, bool while_open,
              const std::function<void(std::vector<std::byte>&)>& edit);
  void cut_short(Guest& guest);
  void flip_bits(Guest& guest);
  void change_version(Guest& guest);
  void shrink_while_open(Guest& guest);
  void fail_disk(Guest& guest,
                 const std::function<store::SimulatedFault(const store::SimulatedCall&)>& inject);
  void fill_disk(Guest& guest);
  void fail_write(Guest& guest);
  void make_read_only(Guest& guest);

  // page_program_mistakes.cc
  void refused(const Guest& guest, CommandBody body, ErrorCode code);
  void refuse_context(const Guest& guest, ObjectId context);
  void refuse_page(const Guest& guest, ObjectId page);
  void refuse_embed(const Guest& guest, ObjectId embed);
  void mistake(const InstanceLimits& limits,
               const std::function<void(const Guest&, ObjectId context)>& act);
  void mistake_in_edit(ContextEditKind kind, std::uint32_t count, ErrorCode code,
                       const InstanceLimits& limits = {});
  void commit_partial_page(Guest& guest);
  void truncate_beyond_tail(Guest& guest);
  void release_beyond_tail(Guest& guest);
  void truncate_beyond_pages(Guest& guest);
  void rewind_beyond_end(Guest& guest);
  void drop_beyond_end(Guest& guest);
  void splice_beyond_end(Guest& guest);
  void splice_across_models(Guest& guest);
  void reserve_beyond_quota(Guest& guest);
  void reserve_beyond_pool(Guest& guest);
  void alloc_beyond_quota(Guest& guest);
  void alloc_beyond_pool(Guest& guest);
  void embeds_beyond_quota(Guest& guest);
  void contexts_beyond_quota(Guest& guest);
  void pages_beyond_quota(Guest& guest);
  void from_pages_beyond_quota(Guest& guest);
  void export_wrongly(Guest& guest);
  void share_across_models(Guest& guest);
  void use_foreign_handles(Guest& guest);
  void use_stale_handles(Guest& guest);
  void use_handles_of_another_kind(Guest& guest);
  void use_bad_names(Guest& guest);
  void open_foreign_snapshot(Guest& guest);

  const Knobs knobs_;
  std::mt19937_64 random_;
  // Sets of adapters that guests use, the first of which is none.
  std::vector<ChosenAdaptersRef> sets_;
  std::vector<std::shared_ptr<const inference::Adapter>> adapters_;
  store::SimulatedFileSystem files_;
  std::uint64_t wall_ms_ = 1'000'000;
  std::optional<Harness> machine_;
  std::vector<Guest> guests_;
  std::vector<Expected> expected_;
  bool has_disk_failed_ = false;  // With pages of a tier on it, since the machine's start.
  std::map<std::pair<TenantId, std::string>, Saved> snapshots_;
  std::map<std::pair<TenantId, std::string>, Export> exports_;
  Coverage coverage_;
};

}  // namespace quire::control
