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
    "kill",
    "pause",
    "split",
    "split_off",
    "cut_one_way",
    "cut_client",
    "kill_leader",
    "restart_cleanly",
)
POWER_KINDS: Final = ("cut_power", "cut_power", "all_lose_power")


class Faults:
    def __init__(
        self,
        world: World,
        network: Network,
        plan: ClusterPlan,
        nodes: Mapping[int, ClusterNode],
        rules: ClusterRules,
        cut_client: Callable[[], None],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._random = world.random
        self._network = network
        self._plan = plan
        self._nodes = nodes
        self._rules = rules
        self._cut_client_now = cut_client
        self._faulty = False
        self._kinds = KINDS + (POWER_KINDS if plan.power_cuts else ())

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

    def _kill(self, node: ClusterNode) -> None:
        node.kill()
        self._rules.died(node.node_id)
        self._later(lambda: self._start(node))

    def _kill_leader(self, node: ClusterNode) -> None:
        leaders = [each for each in self._nodes.values() if each.leads_something]
        self._kill(self._random.choice(leaders or [node]))

    def _cut_power(self, node: ClusterNode) -> None:
        node.cut_power()
        self._rules.died(node.node_id)
        self._later(lambda: self._start(node))

    def _all_lose_power(self, _: ClusterNode) -> None:
        for node in self._nodes.values():
            self._cut_power(node)

    def _restart_cleanly(self, node: ClusterNode) -> None:
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
