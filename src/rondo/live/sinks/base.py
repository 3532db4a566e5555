"""Sink: what every place that labels, events and alarms are sent to can do; it takes batches, and confirms them.

A sink never keeps the stream waiting. It takes a batch when it is ready for one, sends it in its own time, tries again
for as long as it takes, and says how many of its batches have arrived. It holds no more than the few batches that it
has taken: everything else stays in the files of the run (`rondo.live.sinks.delivery`).

The kind of a sink is the `SINK` of a module in `rondo.live.sinks`, or of another package that names it as an entry
point:

    [project.entry-points."rondo.sinks"]
    amqp = "my_package.amqp_sink:SINK"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from rondo.errors import SettingError
from rondo.live import sinks
from rondo.live.address import scheme_of
from rondo.registry import Registry
from rondo.wording import near_match

GROUP = "rondo.sinks"
MessageType = Literal["label", "event", "alarm"]


class SinkMessage(NamedTuple):
    """One label, event or alarm as JSON, and what it is about."""

    device: str
    type: MessageType
    text: str


class Sink(Protocol):
    """Where messages go."""

    @property
    def problem(self) -> str | None:
        """What keeps it from sending now, in one line; None where nothing does."""

    @property
    def n_refused(self) -> int:
        """Messages that the other side will never take: they count as confirmed, and are not sent again."""

    @property
    def waits_at_end(self) -> bool:
        """Whether the end of a run waits as long as it takes, as for a pipe that someone reads."""

    def is_ready(self) -> bool:
        """Whether it takes another batch now."""

    def send(self, batch: Sequence[SinkMessage]) -> None:
        """Take a batch; returns at once."""

    def n_confirmed(self) -> int:
        """How many of its batches have arrived, counted in the order they were taken."""

    def close(self) -> None:
        """Let go of what is open; batches that are not confirmed are given up."""


@dataclass(frozen=True)
class SinkKind:
    """A kind of sink, declared once: its name, the addresses it takes, and how it is opened.

    `address` and `help` are what `rondo stream --help` shows. `open` refuses what cannot work (a missing package, an
    address that is none); a server that does not answer is no reason to refuse.
    """

    name: str
    address: str
    help: str
    matches: Callable[[str], bool]
    open: Callable[[str], Sink]
    order: int = 0


def sink_kinds() -> tuple[SinkKind, ...]:
    """All kinds, those of other packages first."""
    return tuple(Registry(SinkKind, (sinks.__name__,), GROUP).values())


def sink_help() -> str:
    """What `--sink` takes, for its help.

    >>> print(sink_help())  # doctest: +ELLIPSIS
    Where labels, events and alarms are sent, beside the files. -: ...
    """
    kinds = " ".join(f"{kind.address}: {kind.help}." for kind in sink_kinds())
    return f"Where labels, events and alarms are sent, beside the files. {kinds} May be repeated."


def open_sink(where: str) -> Sink:
    """The sink that `--sink` names."""
    kind = next((kind for kind in sink_kinds() if kind.matches(where)), None)
    if kind is not None:
        return kind.open(where)
    addresses = [kind.address for kind in sink_kinds()]
    schemes = [address.partition("://")[0] for address in addresses if "://" in address]
    near = near_match(scheme_of(where) or where, schemes)
    hint = f"did you mean {near}://?" if near else f"it takes {', '.join(addresses)}"
    shown = where.rpartition("@")[2]  # a password in an address is not repeated
    raise SettingError(f"--sink {shown}: there is no such sink; {hint}")


def shown_sink(where: str) -> str:
    """A sink as logs and files name it: the path of a web page may be a secret.

    >>> shown_sink("-"), shown_sink("mqtt://host/topic"), shown_sink("https://hooks.example.com/T0/B1/x9")
    ('stdout', 'mqtt://host/topic', 'https://hooks.example.com/...')
    """
    if scheme_of(where) in ("http", "https"):
        return "/".join(where.split("/")[:3]) + "/..."
    return "stdout" if where == "-" else where


def has_scheme(*schemes: str) -> Callable[[str], bool]:
    """For `SinkKind.matches`: whether an address has one of these schemes."""
    return lambda where: scheme_of(where) in schemes
