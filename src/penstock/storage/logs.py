"""All logs of a broker, over all its log directories: opened, created, deleted, kept in order and closed.

Threads may call it. A log itself is touched under that log's lock only, and never while the lock of this
module is held. A directory that fails goes offline with its logs; the others serve on. What stands in a
directory beside the logs is described in `penstock.storage.directory`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from penstock.clock import Clock
from penstock.protocol.topic_partition import TopicPartition
from penstock.settings.topic import TopicSettings
from penstock.storage.directory import (
    DELETE_SUFFIX,
    STRAY_SUFFIX,
    UNKNOWN_BROKER_EPOCH,
    LogDirectory,
    Offsets,
)
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption, ForeignDirectory, LogDirFailure, NoSpace, StorageError
from penstock.storage.log import PRODUCER_EXPIRATION_MS, Log
from penstock.storage.meta import Meta, id_of, new_id, read_meta, read_topic_id, write_meta, write_topic_id
from penstock.storage.together import Together, one_by_one
from penstock.storage.warm import WarmSegments

DEFAULT_NODE_ID = 1
CHECKPOINT_INTERVAL_MS = 5000
RETENTION_CHECK_INTERVAL_MS = 5 * 60 * 1000

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


class Logs:
    """The logs of one broker, by topic and partition."""

    def __init__(
        self,
        disk: Disk,
        dirs: Sequence[str],
        clock: Clock,
        *,
        random: Random,
        node_id: int = DEFAULT_NODE_ID,
        cluster_id: str | None = None,
        retention_check_interval_ms: int = RETENTION_CHECK_INTERVAL_MS,
        checkpoint_interval_ms: int = CHECKPOINT_INTERVAL_MS,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        verifying: bool = True,
        together: Together = one_by_one,
    ) -> None:
        """`together` opens and closes logs: after an unclean stop, and in a clean one, most of the time is
        waiting for the disk."""
        if not dirs:
            raise ValueError("a broker needs at least one log directory")
        self._disk = disk
        self._clock = clock
        self._random = random
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._producer_expiration_ms = producer_expiration_ms
        self._verifying = verifying
        self._together = together
        self._retention_interval_s = retention_check_interval_ms / 1000
        self._checkpoint_interval_s = checkpoint_interval_ms / 1000
        self._directories = [LogDirectory(disk, path) for path in dirs]
        self._warm = WarmSegments()
        # Guards what follows. No log's lock is taken while it is held.
        self._lock = threading.Lock()
        self._logs: dict[TopicPartition, Log] = {}
        self._topic_ids: dict[TopicPartition, bytes | None] = {}
        self._doomed: list[str] = []
        # Logs in directories that could not be opened; they must not be made anew elsewhere.
        self._offline: dict[TopicPartition, LogDirFailure] = {}
        self._unlisted: LogDirFailure | None = None
        # The housekeeper writes checkpoints, and so does a cut of a log: one at a time.
        self._checkpoint_lock = threading.Lock()
        # Whether every log was opened. Before that what the checkpoints say of the others must stand.
        self._complete = False
        self._checkpointed_at = self._retained_at = clock.monotonic()

    @property
    def cluster_id(self) -> str:
        """The cluster that the directories belong to; known once they are open."""
        assert self._cluster_id is not None
        return self._cluster_id

    @property
    def directory_ids(self) -> tuple[bytes, ...]:
        """Of those that serve: a disk that was replaced has another."""
        return tuple(id_ for directory, id_ in self._known_ids() if directory.failure is None)

    @property
    def failed_ids(self) -> tuple[bytes, ...]:
        """Of the directories that have failed, as far as they are known."""
        return tuple(id_ for directory, id_ in self._known_ids() if directory.failure is not None)

    def _known_ids(self) -> Iterator[tuple[LogDirectory, bytes]]:
        for directory in self._directories:
            if directory.directory_id is not None:
                yield directory, directory.directory_id

    def on_failure(self, tell: Callable[[], None]) -> None:
        """Call `tell` whenever a directory fails; it must do little, and lock nothing."""
        for directory in self._directories:
            directory.on_failure = tell

    @property
    def directories(self) -> Sequence[LogDirectory]:
        """Every directory of `log.dirs`, those that have failed among them."""
        return self._directories

    def failures(self) -> list[LogDirFailure]:
        """Why directories are offline."""
        return [directory.failure for directory in self._directories if directory.failure is not None]

    def all(self) -> dict[TopicPartition, Log]:
        """Every log that is open, or was until its directory failed."""
        with self._lock:
            return dict(self._logs)

    # Opening

    def open_directories(self) -> None:
        """Own every directory, and learn how its last owner left it. No log is opened yet."""
        self._with_directories(self._enter)

    def open_logs(
        self, settings_of: Callable[[str], TopicSettings], only: str | None = None
    ) -> dict[TopicPartition, Log]:
        """Open every log that is not open, or those of one topic; `settings_of` gives a topic's settings.

        What recovery may do depends on them: a compacted log has gaps that another must not have.
        """
        self._with_directories(lambda directory: self._open_directory(directory, settings_of, only))
        self._complete |= only is None
        return self.all()

    def _with_directories(self, action: Callable[[LogDirectory], None]) -> None:
        """Do it in each directory that serves. One where it fails is lost; LogDirFailure when all are."""
        try:
            for directory in self._directories:
                if directory.failure is None:
                    self._do_or_lose(directory, action)
            if len(self.failures()) == len(self._directories):
                raise self.failures()[0].again()
        except BaseException:
            for directory in self._directories:
                directory.release()
            raise

    def _do_or_lose(self, directory: LogDirectory, action: Callable[[LogDirectory], None]) -> None:
        try:
            action(directory)
        except (BlockingIOError, ForeignDirectory):
            # Another broker's directory is no broken disk: that goes all the way up.
            raise
        except (OSError, StorageError) as error:
            self._lose(directory, directory.fail(error))

    def _enter(self, directory: LogDirectory) -> None:
        directory.acquire()
        self._join(directory)
        directory.inspect()
        for leftover in directory.leftovers():
            self._disk.remove_tree(leftover)
        directory.cleaned.load(directory.log_names())

    def _lose(self, directory: LogDirectory, failure: LogDirFailure) -> None:
        """Remember what was in a directory that cannot be opened, as far as that is known."""
        _log.error("%s", failure)
        try:
            self._offline.update(dict.fromkeys(directory.log_names(), failure))
        except OSError:
            self._unlisted = failure

    def _join(self, directory: LogDirectory) -> None:
        """Make sure that the directory is ours, and say so in a new one."""
        meta = read_meta(self._disk, directory.path)
        if meta is None:
            self._cluster_id = self._cluster_id or new_id(self._random)
            meta = Meta(self._cluster_id, self._node_id, new_id(self._random))
            write_meta(self._disk, directory.path, meta)
            directory.directory_id = id_of(meta.directory_id)
            return
        self._cluster_id = self._cluster_id or meta.cluster_id
        if (meta.cluster_id, meta.node_id) != (self._cluster_id, self._node_id):
            raise ForeignDirectory(
                f"{directory.path} belongs to node {meta.node_id} of cluster {meta.cluster_id}, "
                f"not to node {self._node_id} of {self._cluster_id}"
            )
        directory.directory_id = id_of(meta.directory_id)

    def _open_directory(
        self, directory: LogDirectory, settings_of: Callable[[str], TopicSettings], only: str | None
    ) -> None:
        known = self.all()
        wanted = [
            name
            for name in directory.log_names()
            if only in (None, name[0]) and (name not in known or known[name].directory is not directory)
        ]
        twice = known.keys() & set(wanted)
        if twice:
            raise Corruption(directory.path, 0, f"logs that another directory has too: {sorted(twice)}")
        settings = {topic: settings_of(topic) for topic in {name[0] for name in wanted}}
        opened: dict[TopicPartition, Log] = {}
        topic_ids: dict[TopicPartition, bytes | None] = {}

        def open_one(name: TopicPartition) -> None:
            opened[name] = log = self._open(
                directory,
                name,
                settings[name[0]],
                clean=directory.left_clean,
                offsets=directory.left_offsets.get(name, Offsets(0, 0, 0)),
            )
            topic_ids[name] = read_topic_id(self._disk, log.path)

        self._together([partial(open_one, name) for name in wanted])
        with self._lock:
            self._logs.update(opened)
            self._topic_ids.update(topic_ids)

    def _open(
        self,
        directory: LogDirectory,
        name: TopicPartition,
        settings: TopicSettings,
        *,
        clean: bool,
        offsets: Offsets,
    ) -> Log:
        log = Log.open(
            self._disk,
            directory.log_path(*name),
            settings,
            self._clock,
            clean=clean,
            recovery_point=offsets.recovery_point,
            log_start_offset=offsets.log_start_offset,
            random=self._random,
            directory=directory,
            warm=self._warm,
            producer_expiration_ms=self._producer_expiration_ms,
            verifying=self._verifying,
            sparse=name in directory.cleaned,
        )
        log.on_cut = lambda: self._after_cut(directory, name, log.log_end_offset)
        log.on_gap = lambda: directory.cleaned.add(name)
        return log

    def _after_cut(self, directory: LogDirectory, name: TopicPartition, end_offset: int) -> None:
        directory.cleaned.cut(name, end_offset)
        self._checkpoint(directory)

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Go on under another `producer.id.expiration.ms`, in every log."""
        self._producer_expiration_ms = expiration_ms
        for log in self.all().values():
            with log.lock:
                log.producers.expiration_ms = expiration_ms

    def verify_transactions(self, verifying: bool) -> None:
        """Go on under another `transaction.partition.verification.enable`, in every log."""
        self._verifying = verifying
        for log in self.all().values():
            with log.lock:
                log.producers.verifying = verifying

    def keep_starts(self, logs: Iterable[Log]) -> set[LogDirectory]:
        """Make durable where these logs begin now; gives the directories that failed meanwhile."""
        failed = set()
        for directory in {log.directory for log in logs}:
            try:
                self._checkpoint(directory)
            except (LogDirFailure, NoSpace) as failure:
                _log.error("%s", failure)
                failed.add(directory)
        return failed

    def space(self, directory: LogDirectory) -> tuple[int, int]:
        """Bytes of the directory's volume, all and usable; -1 for both when the disk does not say."""
        try:
            return self._disk.space(directory.path)
        except OSError:
            return -1, -1

    # Creating and deleting

    def get(self, topic: str, partition: int) -> Log | None:
        with self._lock:
            return self._logs.get(TopicPartition(topic, partition))

    def get_or_create(
        self,
        topic: str,
        partition: int,
        topic_id: bytes,
        settings: TopicSettings,
        *,
        directory_id: bytes | None = None,
        is_new: bool = False,
    ) -> Log:
        """The log of this partition under these settings; one of a deleted topic of that name goes first. See
        `create` for how it is made."""
        name = TopicPartition(topic, partition)
        with self._lock:
            log = self._logs.get(name)
            known_id = self._topic_ids.get(name)
        if log is not None and known_id not in (None, topic_id):
            self.delete(topic, partition)
            log = None
        if log is None:
            return self.create(topic, partition, topic_id, settings, directory_id=directory_id, is_new=is_new)
        with log.lock:
            log.reconfigure(settings)
            if known_id is None:
                self._remember_id(log, name, topic_id)
        return log

    def create(
        self,
        topic: str,
        partition: int,
        topic_id: bytes,
        settings: TopicSettings,
        *,
        directory_id: bytes | None = None,
        is_new: bool = False,
    ) -> Log:
        """A new log, in the directory of that id, or in the one with the fewest partitions. Where a directory
        cannot be opened, the log may be in there already, unless it `is_new` or was in another."""
        name = TopicPartition(topic, partition)
        directory = self._with_id(directory_id)
        failure = self._offline.get(name, None if is_new else self._unlisted)
        if directory is None and failure is not None:
            raise failure.again()
        directory = directory or self._emptiest()
        path = directory.log_path(topic, partition)
        assert not self._disk.exists(path), "every log was opened"
        with directory.guard(may_be_full=True):
            try:
                log = self._open(directory, name, settings, clean=True, offsets=Offsets(0, 0, 0))
                self._remember_id(log, name, topic_id)
            except OSError:
                self._disk.remove_tree(path)
                raise
        with self._lock:
            assert name not in self._logs
            self._logs[name] = log
        return log

    def _with_id(self, directory_id: bytes | None) -> LogDirectory | None:
        """The directory of this id, if it serves."""
        for directory, id_ in self._known_ids():
            if id_ == directory_id and directory.failure is None:
                return directory
        return None

    def _emptiest(self) -> LogDirectory:
        online = [directory for directory in self._directories if directory.failure is None]
        if not online:
            raise self.failures()[0].again()
        with self._lock:
            partitions = [log.directory for log in self._logs.values()]
        return min(online, key=partitions.count)

    def _remember_id(self, log: Log, name: TopicPartition, topic_id: bytes) -> None:
        write_topic_id(self._disk, log.path, topic_id)
        with self._lock:
            self._topic_ids[name] = topic_id

    def delete(self, topic: str, partition: int) -> None:
        """Take the log away; its files go with the next `tick`. Nothing happens when there is none."""
        doomed = self._move_away(topic, partition, DELETE_SUFFIX)
        if doomed is not None:
            with self._lock:
                self._doomed.append(doomed)

    def set_aside(self, topic: str, partition: int, why: str) -> None:
        """Take a log out of service that does not belong here. Its files stay, under a name that says so."""
        stray = self._move_away(topic, partition, STRAY_SUFFIX)
        if stray is not None:
            _log.warning("the log of %s-%d is set aside as %s: %s", topic, partition, stray, why)

    def warn_of_strays(self) -> None:
        """Say how many logs stand aside: they take space, and only a person can tell whether to delete
        them."""
        for directory in self._directories:
            strays = directory.strays() if directory.failure is None else []
            if strays:
                size = sum(self._size_bytes(path) for path in strays)
                _log.warning(
                    "%d logs stand aside in %s, in directories that end with %s, and take %d bytes; nothing "
                    "reads them any more",
                    *(len(strays), directory.path, STRAY_SUFFIX, size),
                )

    def _size_bytes(self, path: str) -> int:
        return sum(self._disk.size(os.path.join(path, name)) for name in self._disk.list_dir(path))

    def _move_away(self, topic: str, partition: int, suffix: str) -> str | None:
        with self._lock:
            log = self._logs.pop(TopicPartition(topic, partition), None)
            self._topic_ids.pop(TopicPartition(topic, partition), None)
        if log is None or log.directory.failure is not None:
            return None
        path = log.directory.aside_path(topic, partition, self._random.randbytes(16).hex(), suffix)
        with log.lock, log.directory.guard():
            log.move(path)
            self._disk.sync_dir(log.directory.path)
            log.directory.cleaned.drop(TopicPartition(topic, partition))
        return path

    # Housekeeping

    def tick(self) -> None:
        """Flush what was rolled, delete what has expired, write checkpoints. Called every second."""
        self._remove_doomed()
        for log in self.all().values():
            if log.directory.failure is None:
                self._attempt(log, self._flush)
        now = self._clock.monotonic()
        if now - self._retained_at >= self._retention_interval_s:
            self._retained_at = now
            self._retain()
        if now - self._checkpointed_at >= self._checkpoint_interval_s:
            self._checkpointed_at = now
            self._checkpoint_all()

    def _flush(self, log: Log) -> None:
        with log.to_read:
            late = self._clock.now_ms() - log.flushed_at_ms >= log.settings.flush_ms
            unflushed = log.unflushed(active=late)
        if unflushed.segments:
            # The disk takes its time: the lock is not held meanwhile.
            log.sync(unflushed)
            with log.to_read:
                log.flushed(unflushed)

    def _retain(self) -> None:
        shortened = []
        for log in self.all().values():
            if log.directory.failure is None:
                with log.lock:
                    if self._attempt(log, Log.expire):
                        shortened.append(log)
        if shortened and not self._checkpoint_all():
            # The new beginning of a log is durable before the old one is gone: on a full disk, which has no
            # room for checkpoints before something is deleted, by the name of its first segment alone.
            for log in shortened:
                self._attempt(log, Log.sync_names)
        for log in shortened:
            self._attempt(log, Log.remove_expired)

    def _remove_doomed(self) -> None:
        with self._lock:
            doomed, self._doomed = self._doomed, []
        for path in doomed:
            try:
                self._disk.remove_tree(path)
            except OSError as error:
                # It has left the names of logs already; the next start tries again.
                _log.warning("%s cannot be removed: %s", path, error)

    def _checkpoint_all(self) -> bool:
        """Write the checkpoints of every directory; whether all have been written."""
        written = True
        for directory in self._directories:
            if directory.failure is None:
                try:
                    self._checkpoint(directory)
                except (LogDirFailure, NoSpace) as failure:
                    _log.error("%s", failure)
                    written = False
        return written

    def _checkpoint(self, directory: LogDirectory) -> None:
        if not self._complete:
            return
        with self._checkpoint_lock:
            offsets = {
                name: Offsets(log.recovery_point, log.high_watermark, log.log_start_offset)
                for name, log in self.all().items()
                if log.directory is directory
            }
            with directory.guard(may_be_full=True):
                directory.write_checkpoints(offsets)

    def _attempt(self, log: Log, action: Callable[[Log], Result]) -> Result | None:
        """Housekeeping goes on when one directory fails in the middle of it."""
        try:
            return action(log)
        except NoSpace as error:
            _log.warning("%s", error)
        except StorageError as error:
            _log.error("%s", log.directory.fail(error))
        return None

    @property
    def left_broker_epoch(self) -> int:
        """Under which epoch this broker stopped cleanly; unknown when any directory was not left so."""
        epochs = {directory.left_broker_epoch for directory in self._directories}
        return epochs.pop() if len(epochs) == 1 else UNKNOWN_BROKER_EPOCH

    def close(self, broker_epoch: int = UNKNOWN_BROKER_EPOCH) -> None:
        """The clean shutdown: every log closed and durable, and each sound directory marked so. Logs that
        were never opened are as the last owner left them. No epoch is left behind when a directory failed:
        a broker that comes back without it has lost replicas, whatever the others say (KIP-966)."""
        self._remove_doomed()
        self._together([partial(self._close, log) for log in self.all().values()])
        self._checkpoint_all()
        if self.failures():
            broker_epoch = UNKNOWN_BROKER_EPOCH
        for directory in self._directories:
            try:
                if directory.failure is None and self._complete:
                    directory.mark_clean(broker_epoch)
                elif directory.failure is None and directory.left_clean:
                    directory.mark_clean(directory.left_broker_epoch)
            except OSError as error:
                _log.error("%s", directory.fail(error))
            directory.release()

    def _close(self, log: Log) -> None:
        if log.directory.failure is None:
            with log.lock:
                self._attempt(log, Log.close)
