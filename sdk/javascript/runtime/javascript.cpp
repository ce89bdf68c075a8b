// javascript: the runtime of scripts in JavaScript and TypeScript. It is a program whose memory is
// kept as init() leaves it: QuickJS-ng with the SDK's modules evaluated. run() reads the script of
// the instance and runs it.
//
//   init()            once, when the runtime is built. It makes no call of the host.
//   compile()         the byte code of the script, in an instance that does nothing else
//   run()             the program; as in C++, 0 or the number of the error that ended it
//   quire_options()   the JSON schema of the options that the script declares, or null
#include <quickjs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "context_members.h"
#include "draft_calls.h"
#include "embedded_sources.h"
#include "engine.h"
#include "low_members.h"
#include "missing_export.h"
#include "platform_calls.h"
#include "raw_calls.h"
#include "script.h"
#include "script_options.h"
#include "serve_calls.h"
#include "tool_calls.h"
#include "undeclared_options.h"

namespace quire::javascript {
namespace {

// All that an instance has; the memory that is kept holds it.
struct Runtime {
  Engine engine;
  Platform platform;
  ScriptModules modules{kEmbeddedSources};
};
Runtime* the_runtime = nullptr;  // Made by init().
bool has_clocks = false;         // The clocks of the host may be asked: not in init().

void define_native(JSContext* js, Runtime& runtime) {
  const Value native(js, JS_NewObject(js));
  define_platform(js, native.get(), runtime.platform);
  define_models(js, native.get());
  define_contexts(js, native.get());
  define_drafts(js, native.get());
  define_generators(js, native.get());
  define_low_level(js, native.get());
  define_tools(js, native.get());
  define_services(js, native.get());
  define_serve(js, native.get());
  const Value raw(js, JS_NewObject(js));
  define_raw(js, raw.get());
  define_members(js, raw.get(), raw.get(), {function<"raw.result", raw::result>()});
  JS_DefinePropertyValueStr(js, native.get(), "raw", JS_DupValue(js, raw.get()), JS_PROP_C_W_E);
  runtime.platform.native = native;
  JSModuleDef* module =
      JS_NewCModule(js, "quire:native", [](JSContext* context, JSModuleDef* made) {
        JSValue value = JS_DupValue(context, the_runtime->platform.native.get());
        return JS_SetModuleExport(context, made, "default", value);
      });
  JS_AddModuleExport(js, module, "default");
}

// An error here is a mistake in the SDK: the build of the runtime fails with a trap.
void load_sdk(Runtime& runtime, const char* name) {
  JSContext* js = runtime.engine.js();
  const Value promise(js, JS_LoadModule(js, "", name));
  const Result<Value> loaded = runtime.engine.wait_for(promise);
  if (loaded.ok()) return;
  std::fprintf(stderr, "%s: %s\n", name, loaded.error().message.c_str());
  __builtin_trap();
}

// Makes room for the names of a script. QuickJS links all names anew when its table of them is
// full, and an instance that does so copies most pages that hold names.
void reserve_names(JSContext* js) {
  constexpr int kNameCount = 2048;
  std::vector<JSAtom> names;
  for (int i = 0; i < kNameCount; ++i) {
    names.push_back(JS_NewAtom(js, ("a name of a script " + std::to_string(i)).c_str()));
  }
  for (const JSAtom each : names) JS_FreeAtom(js, each);
}

void begin() {
  if (the_runtime != nullptr) return;
  the_runtime = new Runtime;
  Engine& engine = the_runtime->engine;
  engine.use(the_runtime->modules);
  engine.keep_intrinsics();
  define_native(engine.js(), *the_runtime);
  for (const char* name :
       {"quire:library/errors.js", "quire:library/platform.js", "quire:library/quire.js",
        "quire:library/raw.js", "quire:library/endpoint.js", "quire:library/typescript.js"}) {
    // A build without sucrase has no typescript.js.
    if (the_runtime->modules.source(name) != nullptr) load_sdk(*the_runtime, name);
  }
  reserve_names(engine.js());
  JS_RunGC(engine.runtime());
  // A collection writes to each object, and so makes each instance copy the whole image. The next
  // one is for an instance that has allocated half as much again.
  JSMemoryUsage usage;
  JS_ComputeMemoryUsage(engine.runtime(), &usage);
  const auto bytes = static_cast<std::size_t>(usage.malloc_size);
  JS_SetGCThreshold(engine.runtime(), bytes + bytes / 2);
}

// Takes what is free between the blocks of the heap. Instances map the memory copy-on-write, so
// what each one allocates should lie together after the image, and not in gaps on pages that it
// would otherwise only read.
void fill_gaps() {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  constexpr std::size_t kSmallest = 8;
  const void* const end = sbrk(0);
  for (std::size_t bytes = kLargest; bytes >= kSmallest;
       bytes = bytes > 512 ? bytes / 2 : bytes - 8) {
    while (true) {
      void* volatile gap = std::malloc(bytes);
      if (gap >= end) {
        std::free(gap);
        break;
      }
    }
  }
}

// How much memory the instance may have; what is left for the SDK's C++ when JavaScript has all it
// may get. The host ends an instance that asks for more, so sbrk() refuses it before, and
// JavaScript has an exception.
constexpr std::size_t kMemoryLeftBytes = std::size_t{8} << 20;
std::size_t memory_bytes_max = SIZE_MAX;

void limit_memory(Engine& engine) {
  const Result<std::string> limits = runtime::limits();
  if (!limits.ok()) return;
  const std::string lines = "\n" + limits.value();
  const std::string name = "\nmemory_bytes_max ";
  const std::size_t at = lines.find(name);
  if (at == std::string::npos) return;
  const double most = std::strtod(lines.c_str() + at + name.size(), nullptr);
  if (most >= 4294967296.0) return;
  memory_bytes_max = static_cast<std::size_t>(most);
  const std::size_t left = std::min(kMemoryLeftBytes, memory_bytes_max / 4);
  engine.limit_memory(memory_bytes_max - left);
}

Result<void> prepare(Runtime& runtime) {
  has_clocks = true;
  Engine& engine = runtime.engine;
  JS_UpdateStackTop(engine.runtime());
  limit_memory(engine);
  std::uint64_t seed = 0;
  TRY(runtime::random(std::as_writable_bytes(std::span(&seed, 1))));
  runtime.platform.random = sampling::Random(seed);
  const Value began(
      engine.js(), JS_Call(engine.js(), runtime.platform.on_begin.get(), JS_UNDEFINED, 0, nullptr));
  runtime.modules.use(TRY(Script::read()));
  return {};
}

// The namespace of the script's module, which is evaluated then.
Result<Value> load_script(Runtime& runtime) {
  JSContext* js = runtime.engine.js();
  const Value promise(js, JS_LoadModule(js, "", runtime.modules.script().entry.c_str()));
  if (promise.is_exception()) return runtime.engine.error_of(Value(js, JS_GetException(js)));
  return runtime.engine.wait_for(promise);
}

// The options that the script declares, undefined if it declares none. Those before a call of the
// host that was refused count.
Result<Value> declared_options(Runtime& runtime) {
  const Result<Value> script = load_script(runtime);
  if (script.ok()) return script.value().member("options");
  if (!runtime.engine.was_refused()) return script.error();
  JSContext* js = runtime.engine.js();
  Value declared = runtime.engine.exported_by_entry("options");
  if (!declared.is_exception()) return declared;
  JS_FreeValue(js, JS_GetException(js));
  return script.error();
}

Error thrown(Engine& engine) {
  return engine.error_of(Value(engine.js(), JS_GetException(engine.js())));
}

Result<Value> options_of(Engine& engine, const Value& script,
                         const std::vector<std::string>& words) {
  JSContext* js = engine.js();
  const Value declared = script.member("options");
  if (declared.is_undefined()) return Value(js, undeclared_options(js, words));
  ScriptOptions options;
  if (options.declare(js, declared.get()) != nullptr) return thrown(engine);
  TRY(options.parse(words));
  Value values(js, options.values(js));
  if (values.is_exception()) return thrown(engine);
  return values;
}

Task<> handled(Engine& engine, Function handler, serve::Request request, Value options) {
  JSContext* js = engine.js();
  std::vector<Value> arguments;
  arguments.emplace_back(js, to_js(js, std::make_shared<serve::Request>(request)));
  arguments.emplace_back(js, to_js(js, std::make_shared<serve::Response>(request.response())));
  arguments.push_back(std::move(options));
  co_await engine.call(std::move(handler), std::move(arguments));
}

Result<void> serve_request(Engine& engine, Value handler, Value options) {
  serve::Request request = TRY(serve::Request::open());
  Task<> handling = handled(engine, Function{std::move(handler)}, request, std::move(options));
  const Value promise(engine.js(),
                      engine.promise(serve::detail::answer(request, std::move(handling))));
  TRY(engine.wait_for(promise));
  return {};
}

// The function that answers requests: the export `serve`, or one for the method `fetch` of the
// default export. Undefined: the script is not an endpoint.
Result<Value> handler_of(Runtime& runtime, const Value& script) {
  Value handler = script.member("serve");
  const Value exported = script.member("default");
  const bool has_fetch = !handler.is_function() && !exported.is_function() &&
                         JS_IsObject(exported.get()) && exported.member("fetch").is_function();
  if (!has_fetch) return handler;
  JSContext* js = runtime.engine.js();
  JSValueConst argument = exported.get();
  Value made(js, JS_Call(js, runtime.platform.endpoint_maker.get(), JS_UNDEFINED, 1, &argument));
  if (made.is_exception()) return thrown(runtime.engine);
  return made;
}

// Sets the result of the program to the value that it returned, if it returned one.
Result<void> keep_result(Engine& engine, const Value& value) {
  if (value.is_undefined()) return {};
  return runtime::set_result(TRY(result_text(engine, value)));
}

// Logs what was under way when the program ended. The timers of the platform itself, such as that
// of AbortSignal.timeout, are not counted.
void log_unfinished(Runtime& runtime) {
  JSContext* js = runtime.engine.js();
  const Value counted(js, JS_Call(js, runtime.platform.on_end.get(), JS_UNDEFINED, 0, nullptr));
  double timer_count = 0.0;
  if (JS_IsNumber(counted.get())) JS_ToFloat64(js, &timer_count, counted.get());
  const auto shown = [](std::size_t count, const char* what) {
    if (count == 0) return std::string();
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  const std::size_t call_count = runtime.engine.pending_count();
  const auto timers = static_cast<std::size_t>(timer_count);
  if (call_count + timers == 0) return;
  const std::string calls = shown(call_count, "call");
  runtime::log(LogLevel::Debug, calls + (call_count > 0 && timers > 0 ? " and " : "") +
                                    shown(timers, "timer") +
                                    (call_count + timers == 1 ? " was" : " were") +
                                    " not done when the program ended, and " +
                                    (call_count + timers == 1 ? "is" : "are") + " dropped");
}

Result<void> run_program(Runtime& runtime, const Value& program, const Value& options) {
  Engine& engine = runtime.engine;
  JSValueConst argument = options.get();
  const Value returned(engine.js(),
                       JS_Call(engine.js(), program.get(), JS_UNDEFINED, 1, &argument));
  if (returned.is_exception()) return thrown(engine);
  const Value value = TRY(engine.wait_for(engine.then_as_promise(returned)));
  TRY(keep_result(engine, value));
  log_unfinished(runtime);
  return {};
}

Result<void> run_script(Runtime& runtime) {
  Engine& engine = runtime.engine;
  const std::vector<std::string> words = TRY(runtime::arguments());
  TRY(prepare(runtime));
  runtime.modules.use(TRY(ByteCode::read()));
  const Value script = TRY(load_script(runtime));
  const Value options = TRY(options_of(engine, script, words));
  const Value program = script.member("default");
  const Value handler = TRY(handler_of(runtime, script));
  if (handler.is_function() && (!program.is_function() || serve::Request::open().ok())) {
    return serve_request(engine, handler, options);
  }
  if (program.is_function()) return run_program(runtime, program, options);
  return Error{ErrorCode::InvalidArgument,
               runtime.modules.script().entry +
                   " exports no program: export default async function program(options) { ... }; "
                   "an endpoint is export async function serve(request, response) { ... }, or "
                   "export default { fetch(request) { ... } }"};
}

// The lines of the stack that are of the script, if they are more than one.
std::string frames_of(Engine& engine, const Value& exception) {
  std::string frames = script_frames(shown_text_of(engine.js(), exception.member("stack").get()));
  if (std::ranges::count(frames, '\n') < 2) return "";
  frames.pop_back();
  return frames;
}

// "top.ts:2: the message of the exception".
std::string reason_of(Engine& engine, const Error& error) {
  const Value exception = engine.exception_of(error);
  const std::string place = engine.place_of(exception);
  return (place.empty() ? "" : place + ": ") + error.message;
}

// The last error of the log is why the program ended.
std::int32_t report(Runtime& runtime, const Error& error) {
  Engine& engine = runtime.engine;
  const Value exception = engine.exception_of(error);
  std::string why = error.text();
  if (!exception.is_undefined()) {
    const std::string frames = frames_of(engine, exception);
    if (!frames.empty()) runtime::log(LogLevel::Warning, frames);
    if (!engine.is_quire_error(exception)) why = engine.described(exception);
    const std::string place = engine.place_of(exception);
    if (const auto missing = MissingExport::of(why, runtime.modules)) {
      why = missing->text(engine);
    } else if (!place.empty()) {
      why = place + ": " + why;
    }
  }
  runtime::log(LogLevel::Failure, why);
  return static_cast<std::int32_t>(error.code);
}

}  // namespace
}  // namespace quire::javascript

extern "C" {
QUIRE_EXPORT("init") void init();
void init() {
  quire::javascript::begin();
  quire::javascript::fill_gaps();
}

QUIRE_EXPORT("run") std::int32_t run();
std::int32_t run() {
  using namespace quire::javascript;
  begin();
  const quire::Result<void> outcome = run_script(*the_runtime);
  return outcome.ok() ? 0 : report(*the_runtime, outcome.error());
}

// The byte code of all files of the script, for instances of this runtime. What cannot be compiled
// has none, so that the instance that runs it reports why. Nothing of the script is evaluated.
QUIRE_EXPORT("compile") std::int32_t compile();
std::int32_t compile() {
  using namespace quire::javascript;
  begin();
  Runtime& runtime = *the_runtime;
  JS_UpdateStackTop(runtime.engine.runtime());
  quire::Result<Script> script = Script::read();
  if (!script.ok()) return static_cast<std::int32_t>(script.error().code);
  runtime.modules.use(std::move(script).take());
  ByteCode::Files files;
  for (const auto& [path, source] : runtime.modules.script().files) {
    quire::Result<std::string> code = runtime.engine.byte_code(path);
    if (code.ok()) files.emplace(path, std::move(code).take());
  }
  const quire::Result<void> written = ByteCode::write(files);
  return written.ok() ? 0 : static_cast<std::int32_t>(written.error().code);
}

// Null: the script declares none. If they cannot be read, the log has the reason, and the function
// traps: a warning if a call of the host is why, an error if the script cannot be evaluated.
QUIRE_EXPORT("quire_options") const char* quire_options();
const char* quire_options() {
  using namespace quire::javascript;
  begin();
  static std::string schema;
  Engine& engine = the_runtime->engine;
  if (!prepare(*the_runtime).ok()) return nullptr;
  engine.expect_refusals();
  const auto refuse = [&](const quire::Error& error) {
    using quire::LogLevel;
    quire::runtime::log(engine.was_refused() ? LogLevel::Warning : LogLevel::Failure,
                        reason_of(engine, error));
    __builtin_trap();
  };
  const quire::Result<Value> declared = declared_options(*the_runtime);
  if (!declared.ok()) refuse(declared.error());
  if (declared.value().is_undefined()) return nullptr;
  ScriptOptions options;
  if (options.declare(engine.js(), declared.value().get()) != nullptr) refuse(thrown(engine));
  schema = options.schema();
  return schema.c_str();
}

// The C library grows the memory by it.
void* __real_sbrk(std::intptr_t bytes);
void* __wrap_sbrk(std::intptr_t bytes) {
  const std::size_t now = __builtin_wasm_memory_size(0) * 65'536;
  const std::size_t most = quire::javascript::memory_bytes_max;
  if (bytes > 0 && (now > most || static_cast<std::size_t>(bytes) > most - now)) {
    errno = ENOMEM;
    return reinterpret_cast<void*>(-1);
  }
  return __real_sbrk(bytes);
}

// QuickJS asks for the time when it makes a context, which init() does. The linker gives it these.
int __real_clock_gettime(clockid_t clock, struct timespec* time);
int __wrap_clock_gettime(clockid_t clock, struct timespec* time) {
  if (quire::javascript::has_clocks) return __real_clock_gettime(clock, time);
  *time = {};
  return 0;
}
int __wrap_gettimeofday(struct timeval* time, void*) {
  struct timespec now = {};
  const int failed = __wrap_clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = static_cast<suseconds_t>(now.tv_nsec / 1000);
  return failed;
}
}
