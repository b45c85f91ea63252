"""What goes wrong in a simulated cluster: processes are killed and stopped, machines lose power, the network
is cut one way or both, leaders fail when they have just begun. Everything passes, and comes again until
`end`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from penstock.testing.simulation.cluster.network import Network
from penstock.testing.simulation.cluster.node import ClusterNode
from penstock.testing.simulation.cluster.plan import ClusterPlan
from penstock.testing.simulation.cluster.rules import ClusterRules
from penstock.testing.simulation.world import World

KINDS: Final = (
    "kill",
    "kill_leader",
    "kill_leader",
    "pause",
    "pause_leader",
    "split",
    "split_off",
    "split_off_leader",
    "pause_others",
    "cut_one_way",
    "cut_client",
    "restart_cleanly",
)
END_MS: Final = 120.0
"""Within this time a transaction is prepared, and has its markers."""
POWER_KINDS: Final = ("cut_power", "vanish", "stand_last", "all_lose_power")


class Faults:
    def __init__(
        self,
        world: World,
        network: Network,
        plan: ClusterPlan,
        nodes: Mapping[int, ClusterNode],
        rules: ClusterRules,
        cut_client: Callable[[], None],
        all_in_sync: Callable[[], bool],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._random = world.random
        self._network = network
        self._plan = plan
        self._nodes = nodes
        self._rules = rules
        self._cut_client_now = cut_client
        self._all_in_sync = all_in_sync
        self._faulty = False
        self._lost_power: ClusterNode | None = None  # and may lack what it had, until it is in sync again
        self._leaderships = 0
        power = POWER_KINDS if plan.flush else POWER_KINDS[:-1]
        self._kinds = KINDS + (power if plan.power_cuts else ())

    def begin(self) -> None:
        self._faulty = True
        self._later_fault()

    def end(self) -> None:
        """No more, and everybody lives."""
        self._faulty = False
        self._network.faulty = False
        self._network.heal()
        for node in self._nodes.values():
            self._start(node)
            node.go_on()

    def _later_fault(self) -> None:
        self._world.after(self._random.expovariate(1 / self._plan.fault_every_ms), self._fault)

    def _fault(self) -> None:
        if not self._faulty:
            return
        kind = self._random.choice(self._kinds)
        self.counts[kind] += 1
        node = self._nodes[self._random.choice(sorted(self._nodes))]
        getattr(self, f"_{kind}")(node)  # one of the methods below
        self._later_fault()

    def _later(self, action: Callable[[], None]) -> None:
        def unless_over() -> None:
            if self._faulty:
                action()

        self._world.after(self._random.uniform(0, self._plan.fault_lasts_ms), unless_over)

    def _start(self, node: ClusterNode) -> None:
        if not node.is_up:
            node.start()

    def look(self) -> None:
        """After every step: who has just begun to lead may fail at once."""
        leaderships = self._rules.leaderships
        if leaderships > self._leaderships and self._faulty and self._random.random() < self._plan.deposed:
            node = self._nodes[self._rules.last_leader]
            self.counts["deposed"] += 1
            fail = self._random.choice((self._kill, self._split_off, self._pause, self._cut_one_way))
            self._soon(lambda: fail(node))
        self._leaderships = leaderships

    def at_an_end(self) -> None:
        """A transaction is about to end: a leader may die over it."""
        if self._faulty and self._random.random() < self._plan.deposed:
            self.counts["at_an_end"] += 1
            node = self._nodes[self._plan.broker_ids[0]]
            delay_ms = self._random.uniform(0, END_MS)
            self._world.after(delay_ms, lambda: self._kill_leader(node) if self._faulty else None)

    def _may_die(self) -> bool:
        """Without flushing, somebody else's death could be one too many."""
        lost = self._lost_power
        # Before it has registered, images still show it in sync as it was in its last life.
        if lost is not None and lost.has_registered and self._all_in_sync():
            self._lost_power = None
        return self._plan.flush or self._lost_power is None

    def _kill(self, node: ClusterNode) -> None:
        if not self._may_die():
            return
        node.kill()
        self._rules.died(node.node_id)
        self._later(lambda: self._start(node))

    def _a_leader(self, otherwise: ClusterNode) -> ClusterNode:
        leaders = [each for each in self._nodes.values() if each.leads_something]
        return self._random.choice(leaders or [otherwise])

    def _kill_leader(self, node: ClusterNode) -> None:
        self._kill(self._a_leader(node))

    def _pause_leader(self, node: ClusterNode) -> None:
        self._pause(self._a_leader(node))

    def _split_off_leader(self, node: ClusterNode) -> None:
        self._split_off(self._a_leader(node))

    def _cut_power(self, node: ClusterNode) -> None:
        if not self._plan.flush:
            if not self._may_die() or not self._all_in_sync():
                return
            self._lost_power = node
        node.cut_power()
        self._rules.died(node.node_id)
        self._later(lambda: self._start(node))

    def _vanish(self, node: ClusterNode) -> None:
        """What it sent last arrives when it lives again."""
        self._split_off(node)
        self._soon(lambda: self._cut_power(node))

    def _stand_last(self, node: ClusterNode) -> None:
        """A leader is left alone, and fails."""
        leader = self._a_leader(node)
        self._pause_others(leader)
        self._soon(lambda: self._cut_power(leader))

    def _soon(self, action: Callable[[], None]) -> None:
        self._world.after(self._random.expovariate(1 / 100), lambda: action() if self._faulty else None)

    def _all_lose_power(self, _: ClusterNode) -> None:
        for node in self._nodes.values():
            self._cut_power(node)

    def _restart_cleanly(self, node: ClusterNode) -> None:
        if not self._may_die():
            return

        def stopped() -> None:
            self._rules.died(node.node_id)
            if self._faulty:
                self._later(lambda: self._start(node))
            else:
                self._start(node)

        node.shut_down(stopped)

    def _pause(self, node: ClusterNode) -> None:
        node.pause()
        self._later(node.go_on)

    def _pause_others(self, node: ClusterNode) -> None:
        leader = self._a_leader(node)
        for other in self._plan.broker_ids:
            if other != leader.node_id:
                self._pause(self._nodes[other])

    def _split(self, _: ClusterNode) -> None:
        hosts = [node.name for node in self._nodes.values()]
        self._random.shuffle(hosts)
        size = self._random.randrange(1, len(hosts))
        self._network.split(hosts[:size], hosts[size:])
        self._later(self._network.heal)

    def _split_off(self, node: ClusterNode) -> None:
        """From the others; clients still hear it."""
        self._network.split([node.name], [other.name for other in self._nodes.values() if other is not node])
        self._later(self._network.heal)

    def _cut_one_way(self, node: ClusterNode) -> None:
        for other in self._nodes.values():
            if other is not node and self._random.random() < 0.7:
                ends = (node.name, other.name)
                self._network.cut(*self._random.choice([ends, ends[::-1]]))
        self._later(self._network.heal)

    def _cut_client(self, _: ClusterNode) -> None:
        self._cut_client_now()
