#pragma once
// ScriptedGuest: a program that is a script of host calls, drawn from a seed, instead of Wasm.
//
// It calls the same table of host functions as Wasm does, on a byte array that is its memory, and
// is parked where it waits. It notes each request with the expected outcome, and compares when the
// future is ready. It works out the next token of a context with the naive model
// (control/naive_model.h), token by token. So a token that was lost, doubled, or given to another
// program cannot go unnoticed.
//
// Programs differ in what they like to do (Role). Each stops by itself: after its operations it
// takes the outcomes that are still to come, and ends.
//
// Thread   the world's.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "application/sandbox/fake_runtime.h"
#include "base/result.h"
#include "simulation/guest_objects.h"
#include "simulation/town.h"

namespace quire::simulation {

struct FakeServer;

enum class Role : std::uint8_t { Writer, Pager, Messenger, Parent, Fetcher, Mixed };
inline constexpr std::uint32_t kRoleCount = 6;
const char* role_name(Role role);

class ScriptedGuest final : public sandbox::FakeGuest, private GuestObjects {
 public:
  ScriptedGuest(Town& town, Role role) : town_(town), role_(role) {}
  ~ScriptedGuest() override;

  sandbox::FakeAction step(sandbox::FakeHost& host) override;

  // One thing that a guest may do; a line of the table in scripted_guest.cc.
  struct Operation {
    const char* name;
    std::uint32_t weights[kRoleCount];
    void (ScriptedGuest::*act)();
    bool is_without_states = false;  // Models with states refuse it.
  };

 private:
  // The result of a future: bytes, or the error.
  struct Taken {
    std::optional<ErrorCode> error;
    std::string bytes;
    bool ok() const { return !error.has_value(); }
  };
  using Then = std::function<void(const Taken&)>;
  // Surely: it becomes ready whatever other programs do, so the guest may wait without a limit.
  enum class Comes : std::uint8_t { Surely, Perhaps };
  struct Pending {
    std::int32_t future = 0;
    const char* what = "";
    Comes comes = Comes::Surely;
    std::uint64_t asked_ns = 0;
    Then then;
    std::function<void()> dropped;
  };
  // Calls. `import` is "interface.name"; arguments as Wasm passes them.
  sandbox::FakeHost::Outcome invoke(const char* import,
                                    std::initializer_list<std::int64_t> arguments);
  std::int64_t call(const char* import, std::initializer_list<std::int64_t> arguments);
  // An error that no guest that does what this one does may get is a finding.
  bool check(const char* import, std::int64_t value, std::initializer_list<ErrorCode> allowed = {});
  std::int64_t put_bytes(std::string_view bytes);
  template <typename T>
  std::int64_t put_list(const std::vector<T>& values);
  std::string last_error();
  // Made for one call or generation, and dropped after it; 0 where there is none.
  std::int64_t make_rule(std::int32_t queue, double temperature);
  void drop_rule(std::int64_t rule);
  std::string own_name() const;
  void find(const std::string& what);

  // Futures. False where the call had none: what was to be done then happened not.
  bool expect(const char* what, std::int64_t future, Comes comes, Then then,
              std::function<void()> dropped = {}, std::initializer_list<ErrorCode> allowed = {});
  void take_ready();
  void take(Pending pending);
  void drop_pending(std::size_t index);
  bool is_allowed(ErrorCode code, std::initializer_list<ErrorCode> allowed) const;
  bool compute_failed(const char* what, const Taken& taken);

  sandbox::FakeAction begin();
  sandbox::FakeAction go_on();
  sandbox::FakeAction wait();
  sandbox::FakeAction finish();
  void after_wait(std::int32_t result);
  void operate();

  // scripted_contexts.cc
  Queue* some_queue();
  void create_queue();
  void destroy_queue();
  void synchronize();
  Context* look_for_context(bool wants_still);
  Context* some_context(bool wants_still);  // The same, and something is done with it.
  ContextKey add_context(Context context);
  void create_context();
  void append();
  void flush();
  void sample();
  void forward();
  void fork();
  void rewind();
  void truncate();
  void drop_range();
  void splice();
  void reserve();
  void drop_context();
  void hint();
  void save();
  void read_note(std::int32_t context, const std::string& wanted);
  void open();
  void list_snapshots();
  void generate();
  void read_generation();
  void stop_generation();
  void forget_generations_of(ContextKey key);
  void expect_counters(const char* what, ContextKey key, std::int64_t future,
                       const test::Content& after, bool computes);
  // The most probable tokens of an output; nothing: it is not known.
  void expect_top(const char* what, std::int64_t future, std::optional<std::uint64_t> output);
  std::uint32_t some_tokens(std::vector<std::uint32_t>& tokens);
  using Edit = std::function<void(test::Content&, std::uint32_t written)>;
  void edit(const char* what, ContextKey key, std::int64_t future, Edit apply,
            std::initializer_list<ErrorCode> allowed);
  bool disk_failed(const char* what, const Taken& taken, std::initializer_list<ErrorCode> allowed);
  void take_tokens(std::uint32_t key, const Taken& taken);

  // scripted_pages.cc
  void create_run();
  void extend_run();
  void export_run();
  void import_pages();
  void take_pages();
  void make_context_of_run();
  void receive_pages(const char* what, Run run, std::int64_t future, std::uint32_t count,
                     ErrorCode allowed);
  void list_exports();
  void unexport();
  void drop_run();
  Run* some_run(bool wants_own);
  bool allocate(const Run& run, const char* import, std::uint32_t count,
                std::vector<std::int32_t>& handles);
  void read_on(std::uint32_t key, std::uint32_t token_count);
  std::int64_t begin_pass(std::int32_t queue, const std::vector<std::int32_t>& pages,
                          std::uint32_t read_count, const std::vector<std::int32_t>& inputs,
                          std::int32_t output, const std::string& adapter);

  // scripted_slots.cc
  void copy_run();
  void copy_slots(std::uint32_t key, std::int32_t from, std::int32_t to, std::uint32_t begin,
                  std::uint32_t end);
  void mask_run();
  void draw_token(std::int32_t queue, std::int32_t embed, std::optional<std::uint64_t> output);

  // scripted_tails.cc
  Tail tail_of(const Context& context);
  Context* some_settled_context();
  ContextKey key_of(const Context& context) const;
  void look_at_context();
  void commit_pages();
  void release_pages();
  void truncate_tail();
  void cut_tail(const char* what, const Context& context, std::int64_t future, const Tail& tail,
                std::uint32_t left);

  // scripted_draws.cc
  void verify_drafts();
  void compile_grammar();
  void check_fits(std::int32_t grammar, const std::string& source);
  void match(std::int32_t grammar, const std::string& source);
  void look_at_token_kinds();

  // scripted_adapters.cc
  AdapterChoice some_adapters(std::uint32_t model);
  void operate_adapters();
  void use_adapters();
  void look_at_adapters();
  OpenedModel open_model(std::uint32_t model);
  bool has_queue(std::int32_t handle) const;
  std::uint64_t set_of_queue(std::int32_t handle) const;
  PassAdapter some_adapter_of_pass(const Run& run);
  LoadedThen loaded_for(const test::Content& content, std::uint32_t model) const;
  bool lacks_adapters(const Taken& taken, const LoadedThen& loaded);
  void ask_for_absent_adapters(std::int64_t model, std::int64_t queue);

  // scripted_models.cc
  void refuses(const char* import, std::initializer_list<std::int64_t> arguments);
  std::string text_of(const char* import, std::initializer_list<std::int64_t> before);
  void look_at_models();
  void ask_for_absent_traits();
  void detokenize();
  void read_vocabulary();

  // scripted_uploads.cc
  std::string some_body();
  void post();
  void upload();
  void drop_exchange(std::int32_t exchange);
  void write_upload(std::int32_t exchange, const FakeServer* server, std::string body,
                    std::size_t done);
  void read_answer(std::int32_t exchange, const FakeServer* server, std::string body);

  // scripted_store.cc
  void list_keys();
  void check_keys(const Taken& taken, const std::string& after, std::set<std::string> wanted,
                  std::int64_t count_max);
  void count_up();
  void keep_and_delete();
  void delete_value(const std::string& key, std::int64_t version);
  void put_count(const std::string& key, std::uint64_t count, std::int64_t expected);

  // scripted_files.cc
  void send_file();
  void write_file();
  void receive_file();
  void read_file();

  // scripted_company.cc: other programs, and the outside.
  void say();
  void listen();
  void log();
  void set_result();
  void sleep();
  void look_around();
  void tokenize();
  void subscribe();
  void broadcast();
  void read_subscription();
  void unsubscribe();
  void push();
  void pull();
  void launch();
  void listen_to_child();
  void speak_to_child();
  void wait_for_child();
  void kill_child();
  ErrorCode timeout_after_jump() const;
  void fetch();
  void stream();
  void read_stream(std::int32_t exchange, const FakeServer* server, std::string so_far);
  void use_stale_handle();
  void abandon();
  static const std::vector<Operation>& operations();

  Town& town_;
  const Role role_;
  sandbox::FakeHost* host_ = nullptr;
  Dice dice_{0};
  bool has_begun_ = false;
  InstanceNumber instance_ = 0;
  TenantNumber tenant_ = 0;
  std::uint32_t drop_count_ = 0;   // Of the town's.
  std::uint32_t value_count_ = 0;  // Put by keep_and_delete.
  std::uint32_t depth_ = 0;        // Of launches above this one.
  std::uint32_t operations_left_ = 0;
  bool has_lent_ = false;  // To a child: what is left may be too little.
  std::vector<std::int32_t> models_;
  std::vector<Queue> queues_;
  std::map<ContextKey, Context> contexts_;
  ContextKey next_context_ = 1;
  std::map<std::uint32_t, Run> runs_;
  std::uint32_t next_run_ = 1;
  std::map<std::uint32_t, Generation> generations_;
  std::uint32_t next_generation_ = 1;
  std::map<std::uint32_t, Subscription> subscriptions_;
  std::uint32_t next_subscription_ = 1;
  std::map<std::uint32_t, File> outgoing_;
  std::map<std::uint32_t, File> incoming_;
  std::uint32_t next_file_ = 1;
  bool awaits_file_ = false;
  std::map<std::uint32_t, Child> children_;
  std::uint32_t next_child_ = 1;
  std::uint64_t message_count_ = 0;  // Broadcast or pushed.
  std::uint32_t listener_count_ = 0;
  bool gave_back_ = false;       // A message to a subscription, perhaps beyond its mailbox's limit.
  std::set<std::string> heard_;  // Of its client, or parent.
  std::vector<Pending> pending_;
  std::vector<std::int32_t> stale_;  // Handles that stand for nothing any more.

  // The wait under way.
  std::vector<std::int32_t> awaited_;
  std::uint64_t wait_began_ns_ = 0;
  std::int64_t wait_limit_ns_ = -1;
  std::uint32_t bytes_end_ = 0;  // Of what was put into memory for the next call.
};

}  // namespace quire::simulation
