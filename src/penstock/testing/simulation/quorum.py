"""A quorum of voters and an observer in one thread, from one seed: proposals, faults, the properties of Raft
after every turn, and peace at the end, in which everybody must agree and go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from penstock.raft.messages import Request, Response
from penstock.raft.voters import VoterSet
from penstock.records.record import Record, encode_batch
from penstock.testing.simulation.quorum_network import QuorumNetwork
from penstock.testing.simulation.quorum_node import QuorumNode
from penstock.testing.simulation.quorum_rules import Broken, Entry, QuorumRules
from penstock.testing.simulation.world import World

PROPOSE_MS: Final = 30.0
FAULT_MS: Final = 200.0
FAULT_LASTS_MS: Final = (60.0, 400.0)
SNAPSHOT_MS: Final = 400.0
CHANGE_VOTERS_MS: Final = 150.0
DEPOSED: Final = (0.2, 0.9)
DEPOSED_WITHIN_MS: Final = (20.0, 200.0)
PEACE_MS: Final = 3_000.0
FAULTS: Final = ("kill", "cut_power", "all_lose_power", "pause", "split", "cut_one_way", "resign", "deposed")


@dataclass(frozen=True)
class QuorumOutcome:
    """What a run came to; equal for equal seeds."""

    seed: int
    voters: int
    steps: int
    epochs: int
    committed: int
    acknowledged: int
    snapshots: int
    installed: int
    voter_changes: int
    faults: tuple[tuple[str, int], ...]


class QuorumRun:
    """One run. `run` raises an AssertionError when anything does not hold; `elapsed_ms` says when that
    was."""

    def __init__(self, seed: int, *, changing_voters: bool = False) -> None:
        """With `changing_voters`, nodes become voters and observers while everything else goes on."""
        self._seed = seed
        self._changing_voters = changing_voters
        self._world = World(seed)
        self._random = self._world.random
        count = self._random.choice([1, 3, 3, 3, 5, 5])
        self._voters = frozenset(range(1, count + 1))
        self._network = QuorumNetwork(self._world, self._deliver)
        self._rules = QuorumRules()
        self._nodes = {
            node_id: QuorumNode(self._world, node_id, self._voters, self._network.send, self._check)
            for node_id in [*sorted(self._voters), count + 1]
        }
        self._faulty = True
        # Each seed has its own kind of weather.
        self._deposed = self._random.choice(DEPOSED)
        self._deposed_within_ms = self._random.choice(DEPOSED_WITHIN_MS)
        self._fault_lasts_ms = self._random.choice(FAULT_LASTS_MS)
        self._proposed: list[tuple[QuorumNode, int, int, Entry]] = []
        self._acknowledged: dict[int, Entry] = {}
        self._counts: Counter[str] = Counter()

    @property
    def elapsed_ms(self) -> float:
        return self._world.monotonic() * 1000

    def run(self, duration_ms: float) -> QuorumOutcome:
        for node in self._nodes.values():
            self._start(node)
        self._world.after(PROPOSE_MS, self._propose)
        self._world.after(FAULT_MS, self._fault)
        self._world.after(SNAPSHOT_MS, self._snapshot)
        if self._changing_voters:
            self._world.after(CHANGE_VOTERS_MS, self._change_voters)
        self._world.run(duration_ms, _nothing)
        self._make_peace()
        self._rules.check_acknowledged(self._acknowledged)
        return self._outcome()

    def _outcome(self) -> QuorumOutcome:
        faults = tuple(sorted((name, count) for name, count in self._counts.items() if name in FAULTS))
        return QuorumOutcome(
            self._seed,
            len(self._voters),
            self._world.steps,
            len(self._rules.leaders),
            len(self._rules.committed),
            len(self._acknowledged),
            self._counts["snapshot"],
            sum(node.installed for node in self._nodes.values()),
            self._counts["voter_change"],
            faults,
        )

    # Nodes and what they say

    def _start(self, node: QuorumNode) -> None:
        if node.raft is None:
            self._rules.restarted(node)
            node.start()

    def _deliver(self, message: Request | Response) -> None:
        self._nodes[message.destination].receive(message)

    def _check(self, node: QuorumNode) -> None:
        epochs = len(self._rules.leaders)
        self._rules.check(node)
        if len(self._rules.leaders) > epochs and self._random.random() < self._deposed:
            self._world.after(self._random.uniform(0, self._deposed_within_ms), lambda: self._depose(node))
        assert node.raft is not None
        for proposal in list(self._proposed):
            proposer, epoch, next_offset, entry = proposal
            if proposer is not node:
                continue
            if not node.raft.is_leader or node.raft.epoch != epoch:
                self._proposed.remove(proposal)
            elif node.raft.high_watermark >= next_offset:
                self._acknowledged[entry.base_offset] = entry
                self._proposed.remove(proposal)

    def _propose(self) -> None:
        leaders = [node for node in self._nodes.values() if node.raft is not None and node.raft.is_leader]
        node = self._random.choice(leaders or list(self._nodes.values()))
        self._counts["value"] += 1
        records = [
            Record(None, b"%d-%d" % (self._counts["value"], part))
            for part in range(1 + self._counts["value"] % 3)
        ]
        if (proposed := node.propose(bytes(encode_batch(records)))) is not None:
            epoch, next_offset = proposed
            entry = self._rules.entry_ending_at(node, next_offset)
            self._proposed.append((node, epoch, next_offset, entry))
            self._check(node)
        self._world.after(self._random.expovariate(1 / PROPOSE_MS), self._propose)

    def _snapshot(self) -> None:
        node = self._random.choice(list(self._nodes.values()))
        self._counts["snapshot"] += node.snapshot()
        self._world.after(self._random.expovariate(1 / SNAPSHOT_MS), self._snapshot)

    def _change_voters(self) -> None:
        """Ask each node that believes to lead to let another node join or leave."""
        changed = self._random.choice(list(self._nodes))
        for node in self._nodes.values():
            if node.raft is not None and node.raft.is_leader:
                ids = node.raft.state.voters ^ {changed}
                self._counts["voter_change"] += bool(ids) and node.change_voters(VoterSet.of_ids(ids))
        self._world.after(self._random.expovariate(1 / CHANGE_VOTERS_MS), self._change_voters)

    # Faults

    def _fault(self) -> None:
        if not self._faulty:
            return
        kind = self._random.choice(FAULTS[:-1])
        self._counts[kind] += 1
        getattr(self, f"_{kind}")(self._random.choice(list(self._nodes.values())))  # one of the methods below
        self._world.after(self._random.expovariate(1 / FAULT_MS), self._fault)

    def _kill(self, node: QuorumNode) -> None:
        node.kill()
        self._later(lambda: self._start(node))

    def _cut_power(self, node: QuorumNode) -> None:
        node.cut_power()
        self._later(lambda: self._start(node))

    def _all_lose_power(self, _: QuorumNode) -> None:
        for node in self._nodes.values():
            self._cut_power(node)

    def _pause(self, node: QuorumNode) -> None:
        node.pause()
        self._later(node.go_on)

    def _split(self, _: QuorumNode) -> None:
        nodes = list(self._nodes)
        self._random.shuffle(nodes)
        size = self._random.randrange(1, len(nodes))
        self._network.split(nodes[:size], nodes[size:])
        self._later(self._network.heal)

    def _cut_one_way(self, node: QuorumNode) -> None:
        for other in self._nodes:
            if other != node.node_id and self._random.random() < 0.7:
                self._network.cut(*self._random.choice([(node.node_id, other), (other, node.node_id)]))
        self._later(self._network.heal)

    def _depose(self, node: QuorumNode) -> None:
        """A leader fails when it has just begun: then logs differ most."""
        if self._faulty:
            kind = self._random.choice(("kill", "cut_power", "split_off"))
            self._counts["deposed"] += 1
            getattr(self, f"_{kind}")(node)

    def _split_off(self, node: QuorumNode) -> None:
        self._network.split([node.node_id], [other for other in self._nodes if other != node.node_id])
        self._later(self._network.heal)

    def _resign(self, node: QuorumNode) -> None:
        node.resign()

    def _later(self, action: object) -> None:
        assert callable(action)
        self._world.after(self._random.uniform(0, self._fault_lasts_ms), action)

    # The end

    def _make_peace(self) -> None:
        """No more faults: within a bounded time there is a leader, and everybody has all that is
        committed."""
        self._faulty = False
        self._network.faulty = False
        self._world.run(self._fault_lasts_ms, _nothing)
        self._network.heal()
        before = self._rules.end
        self._world.run(PEACE_MS, _nothing)
        if self._rules.end <= before:
            raise Broken(f"liveness: nothing was committed in {PEACE_MS} ms of peace")
        behind = [
            node.node_id
            for node in self._nodes.values()
            if node.raft is None or node.replayed.offset < before
        ]
        if behind:
            raise Broken(f"liveness: nodes {behind} have not caught up with {before}")


def _nothing() -> None:
    """The rules are checked by each node's own turn."""
