"""Each technique twice: the arguments of the program, and the same logic as a client of llama-server.

Both have the same prompts, branches and calls, and each text has the same count of tokens. The model's words may
differ: the two engines round differently, and draw from other random numbers.
"""
import asyncio
import dataclasses
import json
import math
from typing import Any, Awaitable, Callable

from http_client import HttpClient
from llama import Chat, Llama

TEMPERATURE = {"temperature": 0.8, "top_k": 40}
SAMPLING = ("--temperature", "0.8", "--top-k", "40", "--ignore-eos")


@dataclasses.dataclass(frozen=True)
class Task:
    """The task of one client. No two tasks have the same number, so no cache knows the question."""
    number: int
    tool_url: str = ""


@dataclasses.dataclass(frozen=True)
class Technique:
    name: str
    program: str  # Of inferlets/, or of guests/ here.
    arguments: Callable[[Task], list[str]]
    client: Callable[[Llama, HttpClient, Task], Awaitable[Any]]
    generated: int  # Tokens that the model writes in a run, on both sides; 0: as many as the answer needs.
    what: str
    calls: int = 0  # Of the tool.
    size: int = 0   # What a suite varies: calls, depth or optimizations.


def words(*values: Any) -> list[str]:
    return [str(each) for each in values]


RIDDLE = ("Case {number}: a farmer with a wolf, a goat and {cabbages} cabbages stands at a river. The boat carries the "
          "farmer and one more thing. How many crossings bring all to the other side?")
REPORT = (
    "Report {number}. The lighthouse at the northern end of the bay was built on a rock in 1811, after the loss of "
    "three ships in one winter. Its keepers lit oil lamps by hand, and kept food for months of storm. It has needed no "
    "keeper since 1988. The lamp is now electric. The harbor authority wants to sell the tower, while the town wants "
    "to keep it open to visitors in summer.")


def riddle(task: Task) -> str:
    return RIDDLE.format(number=task.number, cabbages=task.number % 90 + 7)


def report(task: Task) -> str:
    return REPORT.format(number=task.number)


def text_completion(tokens: int = 32) -> Technique:
    """The plain answer, which shows by how much the engines differ."""

    async def client(llama: Llama, _: HttpClient, task: Task) -> str:
        chat = Chat(llama)
        chat.user(riddle(task))
        return await chat.write(tokens)

    def arguments(task: Task) -> list[str]:
        return words("--chat", "--ignore-eos", "--max-tokens", tokens, riddle(task))

    return Technique("text_completion", "text_completion", arguments, client, tokens, f"one answer of {tokens} tokens")


# ---- Deliberate prompting.

def tree_of_thought(depth: int = 2, width: int = 3, keep: int = 2, step: int = 16, answer: int = 16) -> Technique:

    async def branch(thought: Chat, seed: int) -> Chat:
        # Requests of their own: with n_cmpl the server computes more, because branches then take the first free
        # slots, which hold other thoughts.
        fork = thought.fork()
        await fork.write(step, seed=seed, **TEMPERATURE)
        return fork

    async def judged(thought: Chat) -> tuple[float, Chat]:
        judge = thought.fork()
        judge.user("Does this lead to the right answer? Say sure, maybe or never.")
        probable = await judge.next_tokens(20)
        shares = {text.strip(): probability for text, probability in reversed(probable)}
        return shares.get("sure", 0.0) + 0.5 * shares.get("maybe", 0.0), thought

    async def client(llama: Llama, _: HttpClient, task: Task) -> str:
        thoughts = [Chat(llama, "Work towards an answer to: " + riddle(task))]
        for level in range(depth):
            for each in thoughts:
                each.user("Take the next step, in one sentence.")
            grown = await asyncio.gather(*(branch(each, level * width + i) for each in thoughts for i in range(width)))
            ranked = sorted(await asyncio.gather(*map(judged, grown)), key=lambda each: -each[0])
            thoughts = [thought for _, thought in ranked[:keep]]
        thoughts[0].user("Now give the final answer.")
        return await thoughts[0].write(answer)

    def arguments(task: Task) -> list[str]:
        return words("--depth", depth, "--width", width, "--keep", keep, "--max-tokens", step, "--answer-tokens", answer,
                     *SAMPLING, riddle(task))

    count = sum(width * min(keep, width ** level) for level in range(depth))
    return Technique("tree_of_thought", "tree_of_thought", arguments, client, count * step + answer,
                     f"{count} thoughts of {step} tokens in {depth} levels, each judged; an answer of {answer}")


def recursion_of_thought(depth: int = 3, divide: int = 16, answer: int = 8,
                         name: str = "recursion_of_thought") -> Technique:

    async def solve(call: Chat, question: str, level: int) -> str:
        known = ""
        if level < depth:
            call.user("Write two simpler questions that this question consists of: " + question)
            text = await call.write(divide)
            middle = len(text) // 2
            parts = [solve(call.fork(), part, level + 1) for part in (text[:middle], text[middle:])]
            known = "".join(part + "\n" for part in await asyncio.gather(*parts))
        call.user(known + "Answer in one sentence: " + question)
        return await call.write(answer)

    async def client(llama: Llama, _: HttpClient, task: Task) -> str:
        return await solve(Chat(llama, "You give short and true answers."), riddle(task), 0)

    def arguments(task: Task) -> list[str]:
        return words("--depth", depth, "--divide-tokens", divide, "--answer-tokens", answer, riddle(task))

    calls = 2 ** (depth + 1) - 1
    return Technique(name, "recursion", arguments, client, calls // 2 * divide + calls * answer,
                     f"{calls} calls to depth {depth}; {divide} tokens to divide, {answer} to answer", size=depth)


@dataclasses.dataclass(eq=False)
class Thought:
    """A thought of a graph, and those that it saw, in order."""
    ask: str
    tokens: list[int]
    seen: list["Thought"]

    def lineage(self) -> list["Thought"]:
        return [*self.seen, self]


FIRST, MERGE = "What does it say?", "Sum up what you said."


def graph_levels(thoughts: int) -> list[int]:
    levels = [thoughts]
    while levels[-1] > 1:
        levels.append((levels[-1] + 1) // 2)
    return levels


def graph_of_thought(thoughts: int = 4, tokens: int = 24) -> Technique:

    async def first(text: Chat) -> list[Thought]:
        text.user(FIRST)
        forks = await text.branches(thoughts, tokens, **TEMPERATURE)
        return [Thought(FIRST, fork.parts[len(text.parts):], []) for fork in forks]

    async def merge(text: Chat, parents: list[Thought], seed: int) -> Thought:
        seen = list(dict.fromkeys(each for parent in parents for each in parent.lineage()))
        chat = text.fork()
        for each in seen:
            chat.user(each.ask)
            chat.answered(each.tokens)
        chat.user(MERGE)
        chat.begin_answer()
        begin = len(chat.parts)
        await chat.write(tokens, seed=seed, **TEMPERATURE)
        return Thought(MERGE, chat.parts[begin:], seen)

    async def client(llama: Llama, _: HttpClient, task: Task) -> None:
        text = Chat(llama)
        text.user("Read this text: " + report(task))
        text.add("assistant", "I have read it.")
        level = await first(text.fork())
        for count in graph_levels(thoughts)[1:]:
            pairs = [[level[2 * i], level[(2 * i + 1) % len(level)]] for i in range(count)]
            level = await asyncio.gather(*(merge(text, pair, i) for i, pair in enumerate(pairs)))

    def arguments(task: Task) -> list[str]:
        return words("--thoughts", thoughts, "--max-tokens", tokens, *SAMPLING, report(task))

    count = sum(graph_levels(thoughts))
    return Technique("graph_of_thought", "graph_of_thought", arguments, client, count * tokens,
                     f"{count} thoughts of {tokens} tokens, merged two by two")


def skeleton_of_thought(points: int = 4, point: int = 8, text: int = 24) -> Technique:

    async def expand(chat: Chat, said: str) -> str:
        chat.user("Write two sentences about this point: " + said)
        return await chat.write(text)

    async def client(llama: Llama, _: HttpClient, task: Task) -> list[str]:
        chat = Chat(llama)
        chat.user(f"{riddle(task)} Answer with a list of {points} short points.")
        skeleton = await chat.write(points * point)
        part = len(skeleton) // points
        return await asyncio.gather(*(expand(chat.fork(), skeleton[i * part:(i + 1) * part]) for i in range(points)))

    def arguments(task: Task) -> list[str]:
        return words("--points", points, "--point-tokens", point, "--text-tokens", text, riddle(task))

    return Technique("skeleton_of_thought", "skeleton", arguments, client, points * (point + text),
                     f"a skeleton of {points * point} tokens, {points} texts of {text}")


def beam_search(width: int = 3, tokens: int = 16) -> Technique:

    async def client(llama: Llama, _: HttpClient, task: Task) -> list[int]:
        beams: list[tuple[float, list[int]]] = [(0.0, [])]
        for _ in range(tokens):
            answers = await asyncio.gather(*(
                llama.complete([riddle(task), *ids], 1, n_probs=width) for _, ids in beams))
            beams = sorted(((total + each["logprob"], ids + [each["id"]])
                            for (total, ids), answer in zip(beams, answers)
                            for each in answer["completion_probabilities"][0]["top_logprobs"]), reverse=True)[:width]
        return beams[0][1]

    def arguments(task: Task) -> list[str]:
        return words("--width", width, "--max-tokens", tokens, "--ignore-eos", riddle(task))

    return Technique(f"beam_search_{width}", "beam_search", arguments, client, 1 + width * (tokens - 1),
                     f"{width} beams of {tokens} tokens")


# ---- Agents.

TOOLS = ("Answer in steps. After each step you read what a tool returns. The tool knows the ferries, bridges and roads "
         "of the county: how many people and wagons they carry in an hour, what a ride costs, when they are closed, "
         "and who owns them. It answers one question at a time, in one sentence, and knows nothing of the weather.")
CODE = ("You answer by writing JavaScript. After each block of code you read what it printed. The code may call "
        "ferry(name), bridge(name) and road(name), which return objects with the members people, wagons, cost and "
        "owner. It has no other functions, neither a clock nor files, and it prints by console.log.")


def tool_agent(name: str, calls: int, step: int, answer: int, posts: bool) -> Technique:
    system = CODE if posts else TOOLS

    async def client(llama: Llama, tools: HttpClient, task: Task) -> str:
        chat = Chat(llama, system)
        chat.user(riddle(task))
        for _ in range(calls):
            text = await chat.write(step)
            chat.user(await (tools.post("/", text) if posts else tools.get()))
        return await chat.write(answer)

    def arguments(task: Task) -> list[str]:
        return words("--system", system, "--url", task.tool_url, "--calls", calls, "--step-tokens", step,
                     "--answer-tokens", answer, *(["--post"] if posts else []), riddle(task))

    return Technique(name, "tool_agent", arguments, client, calls * step + answer,
                     f"{calls} steps of {step} tokens, a call after each; an answer of {answer}", calls, calls)


def agent_react() -> Technique:
    return tool_agent("agent_react", calls=8, step=12, answer=16, posts=False)


def agent_codeact() -> Technique:
    return tool_agent("agent_codeact", calls=8, step=16, answer=16, posts=True)


def agent_of_calls(calls: int, tokens: int = 96) -> Technique:
    """So many calls, and always as many tokens: what one more call costs."""
    step = tokens // (calls + 1)
    return tool_agent(f"agent_{calls}", calls, step, tokens - calls * step, posts=False)


def agent_swarm(rounds: int = 8, tokens: int = 8) -> Technique:
    roles = ("a baker", "a fisherman", "a smith", "a treasurer")
    question = "Shall we build a bridge or run a ferry? "

    async def reply(agent: Chat, role: str, said: str, tools: HttpClient, seed: int) -> str:
        agent.user(said + await tools.get())
        return f"{role} says: {await agent.write(tokens, seed=seed)}\n"

    async def client(llama: Llama, tools: HttpClient, task: Task) -> str:
        agents = [(Chat(llama, f"You are {role}. Give your opinion in one sentence."), role) for role in roles]
        said, minutes = question + riddle(task), ""
        for i in range(rounds):
            replies = await asyncio.gather(*(reply(agent, role, said, tools, i) for agent, role in agents))
            said = "".join(sorted(replies))
            minutes += said
        chair = Chat(llama)
        chair.user(minutes + "Decide in one sentence: " + question + riddle(task))
        return await chair.write(tokens)

    def arguments(task: Task) -> list[str]:
        agents = [word for role in roles for word in ("--agent", role)]
        return words(*agents, "--rounds", rounds, "--max-tokens", tokens, "--ignore-eos", "--url", task.tool_url,
                     question + riddle(task))

    calls = len(roles) * rounds
    return Technique("agent_swarm", "agent_swarm", arguments, client, (calls + 1) * tokens,
                     f"{len(roles)} agents speak {rounds} times, {tokens} tokens and a call each; a decision", calls)


# ---- The workflow of stacked optimizations.

def documents(line_count: int) -> str:
    """Returns the text that the model reads about its tools. 32 calls are about 1,400 tokens."""
    places = ("bridge", "ferry", "road", "harbor", "market", "museum", "mill", "school")
    verbs = ("find", "list", "count", "compare")
    lines = [f"{verb}_{place}(name, day): a call that can {verb} each {place} of the county on a day; it returns the "
             f"name, the owner, the cost and the hours of the {place}." for verb in verbs for place in places]
    return "The tools of the county. A call is a line.\n" + "\n".join(lines[:line_count]) + "\n\n"


OPTIMIZATIONS = {"none": [], "share": ["--share"], "share, overlap": ["--share", "--overlap"],
                 "share, overlap, drop": ["--share", "--overlap", "--drop"]}


def stacked(optimizations: str, calls: int = 6, call: int = 12, answer: int = 48, lines: int = 32) -> Technique:
    text = documents(lines)

    async def client(llama: Llama, tools: HttpClient, task: Task) -> str:
        parts: list[Any] = [f"{text}Question: {riddle(task)}\n"]
        parts += (await llama.complete(parts, calls * call))["tokens"]
        results = await asyncio.gather(*(tools.get() for _ in range(calls)))
        parts.append("\n" + "".join(each + "\n" for each in results) + "Answer:")
        return (await llama.complete(parts, answer))["content"]

    def arguments(task: Task) -> list[str]:
        return words("--documents", text, "--url", task.tool_url, "--calls", calls, "--call-tokens", call,
                     "--answer-tokens", answer, *OPTIMIZATIONS[optimizations], riddle(task))

    return Technique(optimizations, "stacked", arguments, client, calls * call + answer,
                     f"{calls} calls of {call} tokens after the documents; an answer of {answer}", calls)


# ---- A grammar.

SCHEMA = json.dumps({
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 24},
                   "built": {"type": "integer", "minimum": 1000, "maximum": 2100},
                   "number": {"type": "integer", "minimum": 0, "maximum": 999999},
                   "electric": {"type": "boolean"}, "for_sale_by": {"type": "string", "maxLength": 32}},
    "required": ["name", "built", "number", "electric", "for_sale_by"], "additionalProperties": False})
INSTRUCTIONS = "Find the values in the text. Give each as its schema says."


def json_extract() -> Technique:

    async def client(llama: Llama, _: HttpClient, task: Task) -> Any:
        chat = Chat(llama, f"{INSTRUCTIONS}\nJSON schema of the answer:\n{SCHEMA}")
        chat.user(report(task))
        chat.begin_answer()
        answer = await llama.complete(chat.parts, 1024, json_schema=json.loads(SCHEMA), ignore_eos=False)
        return json.loads(answer["content"])

    def arguments(task: Task) -> list[str]:
        return words("--schema", SCHEMA, report(task))

    return Technique("json_extract", "json_extract", arguments, client, 0, "an object of five members by its schema")


# Techniques that are measured in the same rounds. The client of llama-server does the logic of the first of a group.
SUITES: dict[str, Callable[[], list[list[Technique]]]] = {
    "techniques": lambda: [[each] for each in (
        text_completion(), tree_of_thought(), recursion_of_thought(), graph_of_thought(), skeleton_of_thought(),
        beam_search(3), beam_search(5), agent_react(), agent_codeact(), agent_swarm(), json_extract())],
    "calls": lambda: [[agent_of_calls(count)] for count in (0, 1, 2, 4, 8, 16, 32)],
    "depth": lambda: [[recursion_of_thought(depth, name=f"depth_{depth}")] for depth in (1, 2, 3, 4, 5)],
    "stacked": lambda: [[stacked(each) for each in OPTIMIZATIONS]],
    "small": lambda: [[each] for each in (
        text_completion(4), tree_of_thought(1, 2, 1, 4, 4), recursion_of_thought(1, 4, 4), graph_of_thought(2, 4),
        skeleton_of_thought(2, 4, 4), beam_search(2, 3), tool_agent("agent_react", 2, 4, 4, posts=False),
        tool_agent("agent_codeact", 2, 4, 4, posts=True), agent_swarm(1, 4), json_extract(),
        stacked("none", 2, 4, 4, lines=2), stacked("share, overlap, drop", 2, 4, 4, lines=2))],
}
