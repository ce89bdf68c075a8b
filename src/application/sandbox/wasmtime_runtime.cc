#include "application/sandbox/wasmtime_runtime.h"

#if __has_include(<wasmtime.h>)
#include <quire_engines.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "application/sandbox/child_compiler.h"
#include "application/sandbox/compiled_code_cache.h"
#include "application/sandbox/epoch_ticker.h"
#include "application/sandbox/pool_plan.h"
#include "application/sandbox/script_bundle.h"
#include "application/sandbox/script_runtimes.h"
#include "application/sandbox/script_workbench.h"
#include "application/sandbox/wasmtime_config.h"
#include "application/sandbox/wasmtime_handles.h"
#include "application/sandbox/wasmtime_instance.h"
#include "base/check.h"

namespace quire::sandbox {
namespace {

constexpr std::size_t kInstanceBytesMax = 1u << 20;  // wasmtime's own record of an instance.
// Nothing of a slot's memory stays resident when its guest has ended. The first bytes of a C++
// program's memory are the end of its stack, of which a launch writes the other end: one page.
constexpr std::size_t kMemoryKeptBytes = 0;
// The first bytes of a slot's table stay: they are overwritten, which is cheaper than giving the
// pages back and faulting them in for the next guest.
constexpr std::size_t kTableKeptBytes = 8u << 10;
// The part of a slot's stack that stays; host calls run on it too. Deep recursion would keep 0.5 MB
// for each slot else.
constexpr std::size_t kStackKeptBytes = 16u << 10;

// Winch's code is cut where a loop or a function begins, Cranelift's before each operation on a
// memory or a table too. One of all of a memory takes some 5 ms, so that many in a row would hold
// the engine up for hours. What compilers of C++ make has 32 in a function at most.
constexpr std::uint32_t kQuickBulkOperationCountMax = 48;

std::string describe(const PoolPlan& plan, const WasmtimeOptions& options) {
  return "wasmtime " WASMTIME_VERSION " cranelift speed reservation=" +
         std::to_string(plan.memory_reservation_bytes) +
         " guard=" + std::to_string(plan.memory_guard_bytes) +
         " memory=" + std::to_string(options.memory_bytes_max) +
         " stack=" + std::to_string(kWasmStackBytesMax) +
         (options.traps_tell_lines ? " lines" : "");
}

CodeLayout layout_of(const PoolPlan& plan) {
  return {plan.memory_reservation_bytes, plan.memory_guard_bytes};
}

void set_pool(wasm_config_t* config, const PoolPlan& plan, const WasmtimeOptions& options) {
  const WasmPoolingConfig pool(wasmtime_pooling_allocation_config_new());
  wasmtime_pooling_allocation_config_total_core_instances_set(pool.get(), plan.instance_count);
  wasmtime_pooling_allocation_config_total_memories_set(pool.get(), plan.instance_count);
  wasmtime_pooling_allocation_config_total_tables_set(pool.get(), plan.instance_count);
  wasmtime_pooling_allocation_config_total_stacks_set(pool.get(), plan.instance_count);
  wasmtime_pooling_allocation_config_max_memories_per_module_set(pool.get(), 1);
  wasmtime_pooling_allocation_config_max_tables_per_module_set(pool.get(), 1);
  wasmtime_pooling_allocation_config_table_elements_set(pool.get(),
                                                        options.table_element_count_max);
  wasmtime_pooling_allocation_config_max_memory_size_set(pool.get(), options.memory_bytes_max);
  wasmtime_pooling_allocation_config_max_core_instance_size_set(pool.get(), kInstanceBytesMax);
  // A slot whose last guest was of the same module needs no new mapping of its image.
  wasmtime_pooling_allocation_config_max_unused_warm_slots_set(pool.get(), plan.instance_count);
  wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(pool.get(), kMemoryKeptBytes);
  wasmtime_pooling_allocation_config_table_keep_resident_set(pool.get(), kTableKeptBytes);
  wasmtime_pooling_allocation_config_async_stack_keep_resident_set(pool.get(), kStackKeptBytes);
  quire_config_resets_stacks(config);
  wasmtime_pooling_allocation_strategy_set(config, pool.get());
}

WasmEngine make_engine(const PoolPlan& plan, const WasmtimeOptions& options, Effort effort) {
  const TrapLines lines = options.traps_tell_lines ? TrapLines::Yes : TrapLines::No;
  wasm_config_t* config = new_compiler_config(layout_of(plan), effort, lines);  // The engine's.
  set_pool(config, plan, options);
  return WasmEngine(wasm_engine_new_with_config(config));
}

void define(wasmtime_linker_t* linker, const HostFunction& function) {
  const WasmFunctionType type = function_type(function.signature);
  auto* environment = const_cast<HostFunction*>(&function);
  const WasmError error(function.suspends
                            ? wasmtime_linker_define_async_func(
                                  linker, function.module, std::strlen(function.module),
                                  function.name, std::strlen(function.name), type.get(),
                                  &WasmtimeInstance::call_suspending_host, environment, nullptr)
                            : wasmtime_linker_define_func_unchecked(
                                  linker, function.module, std::strlen(function.module),
                                  function.name, std::strlen(function.name), type.get(),
                                  &WasmtimeInstance::call_host, environment, nullptr));
  QUIRE_CHECK(error == nullptr, "the table offers each import once");
}

// A compiler, the pool for what it compiled, and the imports on offer.
struct Tier {
  Tier(WasmEngine compiler, Effort what, std::span<const HostFunction> functions)
      : effort(what), engine(std::move(compiler)), linker(wasmtime_linker_new(engine.get())) {
    for (const HostFunction& function : functions) define(linker.get(), function);
  }

  const Effort effort;
  const WasmEngine engine;
  const WasmLinker linker;
};

class WasmtimeRuntime final : public WasmRuntime {
 public:
  // `quick` and `child` may be null.
  WasmtimeRuntime(std::span<const HostFunction> functions, const WasmtimeOptions& options,
                  const PoolPlan& plan, std::optional<CompiledCodeCache> cache,
                  std::unique_ptr<const Tier> best, std::unique_ptr<const Tier> quick,
                  std::unique_ptr<ChildCompiler> child, std::unique_ptr<EpochTicker> ticker)
      : functions_(functions),
        options_(options),
        plan_(plan),
        cache_(std::move(cache)),
        best_(std::move(best)),
        quick_(std::move(quick)),
        child_(std::move(child)),
        ticker_(std::move(ticker)) {}

  Result<std::shared_ptr<const Program>> compile(std::span<const std::byte> wasm, Effort effort,
                                                 Origin origin) override {
    const std::string_view bytes(reinterpret_cast<const char*>(wasm.data()), wasm.size());
    if (const auto script = TRY(find_script(bytes))) return compile_script(*script, effort);
    const ModuleSummary summary = TRY(check_module(wasm, functions_, options_.module));
    if (summary.bulk_operation_count > kQuickBulkOperationCountMax) effort = Effort::Best;
    Digest key{};
    if (cache_) {
      key = cache_->key(wasm);
      if (WasmModule cached = load_cached(key)) return link(*best_, std::move(cached), summary);
    }
    if (origin == Origin::Client && child_ != nullptr) {
      return compile_in_child(wasm, effort, key, summary);
    }
    if (effort == Effort::Quick && quick_ != nullptr) {
      // Cranelift may compile a module that Winch cannot.
      Result<WasmModule> module = compile_module(quick_->engine.get(), wasm);
      if (module.ok()) return link(*quick_, std::move(module).take(), summary);
    }
    WasmModule module = TRY(compile_module(best_->engine.get(), wasm));
    if (cache_) keep(key, module.get());
    return link(*best_, std::move(module), summary);
  }

  void prepare() override {
    if (child_ != nullptr) child_->prepare();
  }

  void stop_compiling() override {
    if (child_ != nullptr) child_->stop();
  }

  Result<std::unique_ptr<Instance>> instantiate(std::shared_ptr<const Program> program,
                                                void* host_state,
                                                const InstanceOptions& options) override {
    auto own = std::dynamic_pointer_cast<const WasmtimeProgram>(std::move(program));
    QUIRE_CHECK(own != nullptr, "compiled by this runtime");
    InstanceOptions bounded = options;
    bounded.memory_bytes_max = std::min(options.memory_bytes_max, options_.memory_bytes_max);
    TRY(check_first_memory(own->summary().memory_pages_min << 16, bounded.memory_bytes_max));
    return std::unique_ptr<Instance>(
        std::make_unique<WasmtimeInstance>(*ticker_, std::move(own), host_state, bounded));
  }

  std::uint32_t instance_count_max() const override { return plan_.instance_count; }
  std::uint64_t module_bytes_max() const override { return options_.module.module_bytes_max; }

 private:
  using OwnProgram = std::shared_ptr<const WasmtimeProgram>;

  struct LoadedRuntime {
    ScriptRuntime runtime;
    OwnProgram program;
    std::mutex mutex;  // Of the workbench: one script at a time.
    std::unique_ptr<ScriptWorkbench> workbench;
  };

  static Result<std::shared_ptr<const Program>> link(
      const Tier& tier, WasmModule module, const ModuleSummary& summary,
      std::shared_ptr<const Script> script = nullptr) {
    const Effort effort = script == nullptr ? tier.effort : script->effort;
    wasmtime_instance_pre_t* pre = nullptr;
    const WasmError error(wasmtime_linker_instantiate_pre(tier.linker.get(), module.get(), &pre));
    if (error != nullptr) {
      return Error(ErrorCode::InvalidArgument,
                   "the module cannot be linked: " + message_of(error.get()));
    }
    return std::shared_ptr<const Program>(
        std::make_shared<const WasmtimeProgram>(tier.engine.get(), effort, std::move(module),
                                                WasmInstancePre(pre), summary, std::move(script)));
  }

  // The code is that of the runtime, which all its scripts share; the script is data. The first
  // instances of what a client brings read the source, so that they need not wait for byte code.
  Result<std::shared_ptr<const Program>> compile_script(std::string_view bytes, Effort effort) {
    TRY(check_module_bytes(bytes.size(), options_.module.module_bytes_max));
    const ScriptBundle bundle = TRY(read_script_bundle(bytes));
    LoadedRuntime* runtime = TRY(runtime_of(bundle));
    auto* shared = const_cast<wasmtime_module_t*>(runtime->program->module());
    WasmModule module(wasmtime_module_clone(shared));
    const ModuleSummary& summary = runtime->program->summary();
    Script script{std::string(bytes), "", Effort::Best};
    if (summary.makes_byte_code && effort == Effort::Quick) script.effort = Effort::Quick;
    if (summary.makes_byte_code && effort == Effort::Best) {
      script.byte_code = byte_code_of(*runtime, bytes);
    }
    return link(*best_, std::move(module), summary,
                std::make_shared<const Script>(std::move(script)));
  }

  // Loaded when the first of its scripts comes, on that thread; another one waits for it.
  Result<LoadedRuntime*> runtime_of(const ScriptBundle& bundle) {
    const std::lock_guard lock(runtimes_.mutex);
    for (const auto& each : runtimes_.loaded) {
      if (each->runtime.runs(bundle)) return each.get();
    }
    const ScriptRuntime runtime = TRY(find_runtime(options_.runtimes_folder, bundle));
    Result<OwnProgram> loaded = load_runtime(runtime);
    if (!loaded.ok()) {
      return std::move(loaded).take_error().while_("the runtime " + runtime.title());
    }
    runtimes_.loaded.push_back(std::make_unique<LoadedRuntime>());
    LoadedRuntime& added = *runtimes_.loaded.back();
    added.runtime = runtime;
    added.program = std::move(loaded).take();
    return &added;
  }

  // Empty where it cannot be made: then each instance reads the source, and reports what is wrong
  // with it.
  std::string byte_code_of(LoadedRuntime& runtime, std::string_view script) {
    const std::lock_guard lock(runtime.mutex);
    if (runtime.workbench == nullptr) {
      Result<std::unique_ptr<ScriptWorkbench>> opened = ScriptWorkbench::open(runtime.runtime);
      if (!opened.ok()) return "";
      runtime.workbench = std::move(opened).take();
    }
    Result<std::string> code = runtime.workbench->byte_code(script);
    return code.ok() ? std::move(code).take() : "";
  }

  Result<OwnProgram> load_runtime(const ScriptRuntime& runtime) {
    const std::string wasm = TRY(read_runtime_module(runtime));
    const auto bytes = std::as_bytes(std::span(wasm));
    const ModuleSummary summary = TRY(check_module(bytes, functions_));
    TRY(check_first_memory(summary.memory_pages_min << 16, options_.memory_bytes_max));
    wasmtime_module_t* raw = nullptr;
    const WasmError error(
        wasmtime_module_deserialize_file(best_->engine.get(), runtime.code_file.c_str(), &raw));
    Result<std::shared_ptr<const Program>> program =
        error == nullptr
            ? link(*best_, WasmModule(raw), summary)
            // Code for another machine, or for other limits, is made here, and kept as any other.
            : compile(bytes, Effort::Best, Origin::Operator);
    if (!program.ok()) return std::move(program).take_error();
    return std::static_pointer_cast<const WasmtimeProgram>(std::move(program).take());
  }

  Result<std::shared_ptr<const Program>> compile_in_child(std::span<const std::byte> wasm,
                                                          Effort effort, const Digest& key,
                                                          const ModuleSummary& summary) {
    const CompiledCode code = TRY(child_->compile(wasm, effort));
    const Tier* tier = code.effort == Effort::Best ? best_.get() : quick_.get();
    if (tier == nullptr) {
      return Error(ErrorCode::Unavailable, "the compiler's process gave code of another compiler");
    }
    Result<WasmModule> module = load(*tier, code.file);
    if (!module.ok()) return std::move(module).take_error();
    if (cache_ && tier->effort == Effort::Best) {
      const std::uint64_t code_bytes = TRY(code.file.bytes());
      const MappedBytes bytes = TRY(MappedBytes::map(code.file.descriptor(), code_bytes));
      (void)cache_->store(key, bytes.bytes());
    }
    return link(*tier, std::move(module).take(), summary);
  }

  // The code is mapped, not copied: of what a program never runs nothing is resident, beyond the
  // file. The module has a descriptor of its own.
  static Result<WasmModule> load(const Tier& tier, const MemoryFile& code) {
    wasmtime_module_t* raw = nullptr;
    const WasmError error(
        wasmtime_module_deserialize_file(tier.engine.get(), code.path().c_str(), &raw));
    if (error == nullptr) return WasmModule(raw);
    return Error(ErrorCode::Unavailable,
                 "compiled code that does not fit this process: " + message_of(error.get()));
  }

  WasmModule load_cached(const Digest& key) {
    const std::optional<MemoryFile> code = cache_->find(key);
    if (!code) return nullptr;
    Result<WasmModule> module = load(*best_, *code);
    return module.ok() ? std::move(module).take() : nullptr;  // Of another machine: compiled again.
  }

  // A cache that cannot be written to costs the next start its time; the module runs all the same.
  void keep(const Digest& key, const wasmtime_module_t* module) {
    wasm_byte_vec_t code{};
    const WasmError error(wasmtime_module_serialize(const_cast<wasmtime_module_t*>(module), &code));
    if (error != nullptr) return;
    (void)cache_->store(key, std::as_bytes(std::span(code.data, code.size)));
    wasm_byte_vec_delete(&code);
  }

  const std::span<const HostFunction> functions_;
  const WasmtimeOptions options_;
  const PoolPlan plan_;
  const std::optional<CompiledCodeCache> cache_;
  const std::unique_ptr<const Tier> best_;
  const std::unique_ptr<const Tier> quick_;
  const std::unique_ptr<ChildCompiler> child_;  // Of clients' modules.
  struct {
    std::mutex mutex;
    std::vector<std::unique_ptr<LoadedRuntime>> loaded;  // None goes before the engine.
  } runtimes_;                                           // Of scripts: one for each language.
  const std::unique_ptr<EpochTicker> ticker_;            // Last: its thread uses the engines.
};

}  // namespace

Result<std::unique_ptr<WasmRuntime>> make_wasmtime_runtime(std::span<const HostFunction> functions,
                                                           const WasmtimeOptions& options) {
  const PoolPlan plan = TRY(plan_pool(options.instance_count_max, options.memory_bytes_max,
                                      options.address_space_bytes_max));
  std::optional<CompiledCodeCache> cache;
  if (!options.cache_folder.empty()) {
    cache = TRY(CompiledCodeCache::open(options.cache_folder, describe(plan, options)));
  }
  auto best = std::make_unique<const Tier>(make_engine(plan, options, Effort::Best), Effort::Best,
                                           functions);
  std::unique_ptr<const Tier> quick;
  CompilerSetup setup;
  setup.best = layout_of(plan);
  if (options.has_quick) {
    // The first pool is reserved by now. Whose memories would be smaller is not worth having.
    const Result<PoolPlan> second = plan_pool(plan.instance_count, options.memory_bytes_max,
                                              options.address_space_bytes_max - plan.total_bytes);
    if (second.ok() && second.value().instance_count == plan.instance_count) {
      quick = std::make_unique<const Tier>(make_engine(second.value(), options, Effort::Quick),
                                           Effort::Quick, functions);
      setup.quick = layout_of(second.value());
      setup.has_quick = 1;
    }
  }
  std::unique_ptr<ChildCompiler> child;
  if (!options.compiler_command.empty()) {
    child = std::make_unique<ChildCompiler>(options.compiler_command, setup, options.compile);
    child->prepare();
  }
  std::unique_ptr<EpochTicker> ticker = TRY(EpochTicker::start(
      [best = best->engine.get(), quick = quick == nullptr ? nullptr : quick->engine.get()] {
        wasmtime_engine_increment_epoch(best);
        if (quick != nullptr) wasmtime_engine_increment_epoch(quick);
      }));
  return std::unique_ptr<WasmRuntime>(
      std::make_unique<WasmtimeRuntime>(functions, options, plan, std::move(cache), std::move(best),
                                        std::move(quick), std::move(child), std::move(ticker)));
}

}  // namespace quire::sandbox

#else  // A build without the Wasm engine; FakeRuntime is what it can run.

namespace quire::sandbox {

Result<std::unique_ptr<WasmRuntime>> make_wasmtime_runtime(std::span<const HostFunction>,
                                                           const WasmtimeOptions&) {
  return Error(ErrorCode::NotSupported, "this build has no Wasm engine (QUIRE_WASM=OFF)");
}

}  // namespace quire::sandbox
#endif
