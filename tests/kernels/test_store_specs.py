"""What a store may be asked to be."""

from __future__ import annotations

import pytest

from penstock.kernels.serdes import StringSerde
from penstock.kernels.store_specs import SessionSpec, WindowSpec

S = StringSerde()


def test_a_window_store_that_forgets_a_window_before_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match=r"store seen keeps windows for 5000 ms.* at least .* 10000 ms"):
        WindowSpec("seen", S, S, size_ms=10_000, retention_ms=5_000)
    with pytest.raises(ValueError, match="store seen"):
        SessionSpec("seen", S, S, retention_ms=-1)
    WindowSpec("seen", S, S, size_ms=10_000, retention_ms=10_000)
