// agent_swarm: agents that discuss a question. Each is a program of its own with a context of its own;
// they speak by messages: the chair broadcasts, and the members push their replies to a queue.
#include "quire/quire.h"

using namespace quire;

struct Options {
  PromptOption prompt{"Should our village build a bridge or run a ferry?"};
  std::vector<std::string> roles = {"an engineer", "a fisherman", "a treasurer"};
  std::uint32_t rounds = 2;
  std::string url, swarm, role;
  GenerateOptions reply = {.max_tokens = 40};

  void read(OptionReader& in) {
    prompt.read(in);
    in.texts("agent", roles, "The role of an agent; may be given several times");
    in.number("rounds", rounds, "How often each agent speaks", {1, 1000});
    in.text("url", url, "A page that each agent reads before each reply (--allow-http)");
    in.text("swarm", swarm, "The name of the swarm, which the chair gives to its agents");
    in.text("role", role, "The role, which the chair gives to its agents");
    in.generation(reply);
  }
};

// An agent. Its context goes on from round to round: each costs the tokens of its message and reply.
Task<> member(Options options) {
  const messaging::Subscription topic = co_await messaging::subscribe(options.swarm);
  Context context = co_await Context::create();
  context.system("You are " + options.role + ". Give your opinion in one sentence.");
  co_await context.flush();
  co_await messaging::push(options.swarm, options.role);  // It is ready to listen.
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::string said = co_await topic.next();
    context.user(said + (options.url.empty() ? "" : (co_await http::get(options.url)).body));
    const Generation reply = co_await context.generate(options.reply);
    co_await messaging::push(options.swarm, options.role + " says: " + reply.text + "\n");
    options.reply.seed += 1;
  }
  co_await runtime::set_result(std::to_string(context.token_count()));
}

// Ends with an error if the agent does, which ends the discussion too.
Task<> watch(Child agent, std::string role) {
  const ChildEnd end = co_await agent.wait();
  if (end.kind != ChildEndKind::Finished || end.exit_code != 0) {
    co_await fail(ErrorCode::Unavailable, "the agent \"" + role + "\" ended: " + end.message);
  }
  runtime::log(LogLevel::Info, role + " holds " + end.result + " tokens");
}

// The replies of `count` agents, in an order that does not depend on which of them was faster.
Task<std::string> replies(std::string swarm, std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(co_await messaging::pull(swarm));
  std::ranges::sort(all);
  std::string joined;
  for (const std::string& each : all) joined += each;
  co_return joined;
}

Task<> discuss(Options options) {
  co_await replies(options.swarm, options.roles.size());  // All agents listen.
  const std::string question = co_await options.prompt.text();
  std::string said = question;
  std::string minutes;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    co_await messaging::broadcast(options.swarm, said);
    said = co_await replies(options.swarm, options.roles.size());
    co_await session::send(said);
    minutes += said;
  }
  Context chair = co_await Context::create();
  chair.user(minutes + "Decide in one sentence: " + question);
  co_await session::send("decision: " + (co_await chair.generate(options.reply)).text + "\n");
}

Task<> program(Options options) {
  if (options.swarm.empty() != options.role.empty()) {
    co_await fail(ErrorCode::InvalidArgument,
                  "--swarm and --role are for agents: the chair gives both");
  }
  if (!options.role.empty()) co_return co_await member(std::move(options));
  options.swarm = "swarm " + std::to_string(runtime::instance_id());
  std::vector<Task<>> tasks;
  for (const std::string& role : options.roles) {
    std::vector<std::string> words = {"--swarm", options.swarm, "--role", role};
    for (const std::string& each : co_await runtime::arguments()) words.push_back(each);
    tasks.push_back(watch(co_await Child::launch({.arguments = words}), role));
  }
  tasks.push_back(discuss(std::move(options)));
  co_await gather(std::move(tasks));
}

QUIRE_MAIN(program)
