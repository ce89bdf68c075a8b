#!/usr/bin/env python3
"""agent_swarm: agents are programs of their own that speak by messages, and recompute nothing between them."""
import re

import harness

QUESTION = "{}: shall we keep the pages of this program, or compute them again?"
AGENTS = ("an engineer", "a fisherman", "a treasurer")


class AgentSwarmTest(harness.ProgramTest):

    def run_with(self, rounds, question, *arguments):
        return self.run_program("agent_swarm", "--rounds", rounds, "--max-tokens", 8, "--ignore-eos", *arguments,
                                QUESTION.format(question))

    def test_each_agent_is_a_program_and_speaks_in_each_round(self):
        ran = self.run_with(3, "First")
        for agent in AGENTS:
            self.assertIn(agent + " holds ", ran.err)  # It is what the agent set as its result.
            self.assertEqual(ran.out.count(agent + " says: "), 3)
        self.assertEqual(ran.out.count("decision: "), 1)

    def test_agents_hear_one_another(self):
        # From the second round on, an agent's text depends on the other agents.
        alone, both = (self.run_with(2, "Second", *arguments).out.split("decision: ")[0]
                       for arguments in (["--agent", "a baker"], ["--agent", "a baker", "--agent", "a smith"]))
        said_alone, said_with = ([part.split("a smith says: ")[0] for part in out.split("a baker says: ")[1:]]
                                 for out in (alone, both))
        self.assertEqual(said_alone[0], said_with[0])
        self.assertNotEqual(said_alone[1], said_with[1])

    def test_an_agent_computes_no_token_of_its_context_twice(self):
        ran = self.run_with(4, "Third")
        held = [int(count) for count in re.findall(r"holds (\d+) tokens", ran.err)]
        self.assertEqual(len(held), len(AGENTS))
        # The chair asked for its own tokens. The token that an agent draws last is not computed.
        wanted = ran.asked + sum(held) - len(held)
        self.assertGreaterEqual(ran.cost.computed + ran.cost.found, wanted)
        self.assertLessEqual(ran.cost.computed + ran.cost.found, wanted + 4 * len(AGENTS))


if __name__ == "__main__":
    harness.main()
