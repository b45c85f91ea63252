"""The pictures of docs/performance.md are those of its newest evidence."""

from __future__ import annotations

import pytest

from benchmarks.plots import DOCS, PICTURES, Picture, draw, newest_evidence, series, table

EVIDENCE = """
### Produce

| case | MB/s P | MB/s K | P/K |
|---|---:|---:|---:|
| 100 B, none, 1 connection, batch 1 KB | 23 | 14 | 1.67 |
| 100 B, none, 1 connection, batch 16 KB | 340 | 149 | 2.27 |
| 100 B, none, 1 connection, batch 100 KB | 593 | 232 | 2.55 |
| 100 B, none, 1 connection, batch 1 MB | 466 | 222 | 2.10 |
| 1000 B, none, 1 connection, batch 1 MB | 1,057 | 324 | 3.27 |

### Consume
"""


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.file)
def test_a_committed_picture_is_drawn_from_the_newest_evidence(picture: Picture) -> None:
    assert (DOCS / "images" / picture.file).read_text() == draw(picture, newest_evidence().read_text())


def test_a_line_has_the_ratios_of_its_batch_sizes_in_order() -> None:
    assert series(table(EVIDENCE, "Produce")) == {"1 connection, none": [1.67, 2.27, 2.55, 2.1]}
