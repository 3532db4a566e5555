"""Receipts: which deliveries of an MQTT session are in the inbox, and which devices have lost something.

A broker that did not see our confirmation delivers a message again, under the same packet id and with the flag DUP.
It is the same message if the last one with that id had the same device and payload. The flag alone does not tell: a
message that was on its way when the connection broke has it too. Nor does the content: a sensor at rest sends the same
bytes again and again.

Everything known here follows from the inbox: from the head of its newest segment, and the arrivals since.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from rondo.live.feeds.inbox import Arrival

_MOST_IDS = 8192  # more than are ever on their way at once: we ask for at most 1,000


class MqttDelivery(NamedTuple):
    """A message as a broker delivers it; with an empty device, the note that a new session began."""

    device: str
    payload: bytes
    arrived_s: float
    packet_id: int = 0  # 0 where the broker wants no confirmation
    is_again: bool = False
    connection: int = 0  # the number of the connection that it came by


class Receipts:
    """What is known of deliveries that have come to the disk."""

    def __init__(self, head: bytes = b"", tail: Iterable[Arrival] = ()) -> None:
        known = json.loads(head) if head else {}
        self._digests = OrderedDict((int(id), digest) for id, digest in known.get("digests", {}).items())
        self._devices: set[str] = set(known.get("devices", ()))
        self._bereft: set[str] = set(known.get("bereft", ()))  # lost something, and have sent nothing since
        for arrival in tail:
            self._note(arrival)

    def head(self) -> bytes:
        """All of it, for the head of a segment."""
        known = {"digests": self._digests, "devices": sorted(self._devices), "bereft": sorted(self._bereft)}
        return json.dumps(known).encode()

    @property
    def n_devices(self) -> int:
        return len(self._devices)

    def arrival(self, delivery: MqttDelivery) -> Arrival | None:
        """What is to be appended for it; None where that was done before."""
        device, payload, id = delivery.device, delivery.payload, delivery.packet_id
        if delivery.is_again and id and self._digests.get(id) == _digest(device, payload):
            return None
        arrival = Arrival(device, payload, delivery.arrived_s, device in self._bereft, id)
        self._note(arrival)
        return arrival

    def _note(self, arrival: Arrival) -> None:
        if not arrival.device:  # what the broker had kept for us is gone, and so are its packet ids
            self._bereft = set(self._devices)
            self._digests.clear()
            return
        self._devices.add(arrival.device)
        self._bereft.discard(arrival.device)
        if arrival.tag:
            self._digests.pop(arrival.tag, None)  # the newest last
            self._digests[arrival.tag] = _digest(arrival.device, arrival.payload)
            if len(self._digests) > _MOST_IDS:
                self._digests.popitem(last=False)


def _digest(device: str, payload: bytes) -> str:
    return hashlib.blake2b(device.encode() + b"\0" + payload, digest_size=8).hexdigest()
