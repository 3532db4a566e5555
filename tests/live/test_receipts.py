"""A delivery that comes again is known, by its id and what is in it."""

from __future__ import annotations

from rondo.live.feeds.inbox import Arrival
from rondo.live.feeds.receipts import MqttDelivery, Receipts


def delivery(id: int, payload: bytes, *, again: bool = False, device: str = "a") -> MqttDelivery:
    return MqttDelivery(device, payload, 0.0, id, again)


def test_a_delivery_is_known_by_its_id_and_content() -> None:
    receipts = Receipts()
    arrivals = [receipts.arrival(delivery(id, b"x")) for id in (1, 2)]
    for known in (receipts, Receipts(b"", [a for a in arrivals if a]), Receipts(receipts.head())):
        assert known.arrival(delivery(1, b"x", again=True)) is None
        assert known.arrival(delivery(1, b"y", again=True)) is not None  # it was on its way when the connection broke
        assert known.arrival(delivery(3, b"x", again=True)) is not None
        assert known.arrival(delivery(2, b"x")) is not None  # the id is used again


def test_ids_of_a_forgotten_session_mean_nothing() -> None:
    receipts = Receipts(b"", [Arrival("a", b"x", 0.0, tag=1), Arrival("", b"session", 0.0)])
    again = receipts.arrival(delivery(1, b"x", again=True))
    assert again is not None
    assert again.is_after_loss
    first = Receipts(receipts.head()).arrival(delivery(2, b"x"))
    assert first is not None
    assert not first.is_after_loss


def test_only_so_many_ids_are_kept() -> None:
    receipts = Receipts()
    for i in range(70_000):
        receipts.arrival(delivery(i % 65_535 + 1, b"%d" % i))
    assert len(receipts.head()) < 1 << 19
    assert receipts.arrival(delivery(69_999 % 65_535 + 1, b"69999", again=True)) is None
