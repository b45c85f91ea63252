"""Rows with a lifetime: the store knows which one was changed longest ago, also after it was loaded."""

from __future__ import annotations

from random import Random

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.lifetimes import ExpiringStore
from penstock.kernels.serdes import StringSerde


def made() -> ExpiringStore:
    return ExpiringStore(Cells("rows"), StringSerde(), StringSerde(), TaskState())


def test_the_oldest_row_is_that_of_a_model_before_and_after_loading() -> None:
    random = Random(7)
    store, model = made(), dict[str, int]()
    for step in range(2000):
        key, time = f"k{random.randrange(50)}", random.randrange(-1000, 1000)
        value = None if random.random() < 0.3 else "v"
        store.put(key, value, time)
        model.pop(key, None)
        if value is not None:
            model[key] = time
        if step % 100 == 0:
            loaded = made()
            loaded.cells.load(store.cells.snapshot())
            loaded.loaded()
            store = loaded
        oldest = store.oldest()
        assert (oldest is None) == (not model)
        if oldest is not None:
            assert oldest[1] == min(model.values())
            assert model[store.key_of(oldest[0])] == oldest[1]
