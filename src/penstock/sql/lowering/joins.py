"""JOIN: two sides' rows meet, in a window or by look-up."""

from __future__ import annotations

from penstock.expressions import tree as e
from penstock.kernels.lookup_joins import StreamTableJoin
from penstock.kernels.stateless import PassThrough, SelectKey
from penstock.kernels.store_specs import OuterBufferSpec, WindowSpec
from penstock.kernels.stream_joins import KeepForJoin, StreamJoinSide
from penstock.kernels.table_joins import TableJoinMerge, TableJoinSide
from penstock.kernels.tables import TableMapValues
from penstock.kernels.windows import JoinWindows
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.row_joins import JoinedRow, KeyedRow, MergedRow
from penstock.plan.row_keys import RowKey
from penstock.sql.analysis.relations import STREAM_STREAM, STREAM_TABLE, TABLE_TABLE, From, Joined
from penstock.sql.analysis.windows import DEFAULT_GRACE_MS
from penstock.sql.lowering.foreign_keys import join_foreign
from penstock.sql.lowering.graph import Graph, Rows

_PLAIN = PlainSerde()


def lower_join(graph: Graph, join: Joined, left: Rows, right: Rows, name: str) -> Rows:
    if join.how == STREAM_STREAM:
        left = _left_by_key(graph, join, left, name)
        right = _right_by_key(graph, join, right, name)
        return _stream_stream(graph, join, left, right, name)
    if join.how == STREAM_TABLE:
        left = _left_by_key(graph, join, left, name)
        graph.copartition(left.sources | right.sources)
        step = StreamTableJoin(_joined(join), join.kind == "LEFT", True, table=right.node)
        return graph.then(left, name, step)
    if join.how == TABLE_TABLE:
        return _table_table(graph, join, left, right, name)
    return join_foreign(graph, join, left, right, name)


def _joined(join: Joined) -> JoinedRow:
    return JoinedRow((join.synthetic,) if join.synthetic else ())


def _left_by_key(graph: Graph, join: Joined, rows: Rows, name: str) -> Rows:
    if not join.parts:
        return _by_key(graph, join.left, rows, join.left_key, f"{name}-left")
    return _by_parts(graph, rows, tuple((part.name, part.left) for part in join.parts), f"{name}-left")


def _right_by_key(graph: Graph, join: Joined, rows: Rows, name: str) -> Rows:
    if not join.parts:
        return _by_key(graph, join.right, rows, join.right_key, f"{name}-right")
    return _by_parts(graph, rows, tuple((part.name, part.right) for part in join.parts), f"{name}-right")


def _by_parts(graph: Graph, rows: Rows, parts: tuple[tuple[str, e.Expression], ...], name: str) -> Rows:
    """The rows by several columns. A row that lacks one of them meets none."""
    rows = graph.then(rows, f"{name}-SelectKey", SelectKey(RowKey(parts, needs_all=True)))
    return graph.repartition(rows, name)


def _by_key(graph: Graph, side: From, rows: Rows, key: e.Expression, name: str) -> Rows:
    """The rows by what they are joined on, through a repartition topic if that is not their key."""
    if isinstance(key, e.Column) and len(side.key) == 1 and key.name in side.key[0].names:
        return rows
    rows = graph.then(rows, f"{name}-SelectKey", SelectKey(RowKey((("KEY", key),))))
    return graph.repartition(rows, name)


def _stream_stream(graph: Graph, join: Joined, left: Rows, right: Rows, name: str) -> Rows:
    assert join.within is not None
    before, after, grace = join.within.before, join.within.after, join.within.grace
    if join.kind == "RIGHT":  # a left join seen from the other side
        left, right, before, after = right, left, after, before
    kept = max(DEFAULT_GRACE_MS - before - after, 0) if grace is None else grace
    windows = JoinWindows(before, after, kept)
    sources = left.sources | right.sources
    graph.copartition(sources)
    outer, full = join.kind != "INNER", join.kind == "FULL"
    this_store, other_store = (_store(graph, f"{name}-{side}", windows) for side in ("this", "other"))
    buffer = None
    if outer and grace is not None:
        spec = OuterBufferSpec(f"{name}-shared-store", _PLAIN, _PLAIN, caching=False, right_serde=_PLAIN)
        buffer = graph.add_store(spec)
    joiner = _joined(join)
    this = graph.add(f"{name}-this-windowed", KeepForJoin(this_store), left.node)
    other = graph.add(f"{name}-other-windowed", KeepForJoin(other_store), right.node)
    this_side = StreamJoinSide(True, other_store, windows, joiner, True, outer, buffer)
    other_side = StreamJoinSide(False, this_store, windows, joiner, True, full, buffer)
    one = graph.add(f"{name}-this-join", this_side, this)
    two = graph.add(f"{name}-other-join", other_side, other)
    return Rows(graph.add(f"{name}-merge", PassThrough(), one, two), False, sources)


def _store(graph: Graph, name: str, windows: JoinWindows) -> str:
    return graph.add_store(
        WindowSpec(
            f"{name}-join-store",
            _PLAIN,
            _PLAIN,
            caching=False,
            size_ms=windows.size_ms,
            retention_ms=windows.retention_ms,
            retain_duplicates=True,
        )
    )


def _table_table(graph: Graph, join: Joined, left: Rows, right: Rows, name: str) -> Rows:
    left_needed, right_needed = join.kind in ("INNER", "LEFT"), join.kind in ("INNER", "RIGHT")
    sources = left.sources | right.sources
    graph.copartition(sources)
    this = TableJoinSide(
        this=left.node,
        other=right.node,
        this_needed=left_needed,
        other_needed=right_needed,
        joiner=MergedRow(),
    )
    that = TableJoinSide(
        this=right.node,
        other=left.node,
        is_left=False,
        this_needed=right_needed,
        other_needed=left_needed,
        joiner=MergedRow(),
    )
    one = graph.add(f"{name}-join-this", this, left.node)
    two = graph.add(f"{name}-join-other", that, right.node)
    rows = Rows(graph.add(name, TableJoinMerge(), one, two), True, sources)
    if join.synthetic is not None:
        keyed = TableMapValues(function=KeyedRow((join.synthetic,)), with_key=True)
        rows = graph.then(rows, f"{name}-Key", keyed)
    return rows
