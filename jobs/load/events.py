"""The events that the demo jobs read: each is a pure function of the seed, the sequence number and the time."""

from collections.abc import Callable
from dataclasses import dataclass

ADS = 1000
CARS = 100
KEYS = 1000
EVENT_TYPES = ("view", "click", "purchase")

Fields = dict[str, str | int | float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A record for Kafka; its fields hold `sequence` and `event_time` (ms) in every schema."""

    key: str
    fields: Fields


def make_event(schema: str, seed: int, sequence: int, event_time: int) -> Event:
    """Make the event of this number; the same arguments always give the same event."""
    key_name, fields = SCHEMAS[schema](scramble(seed, sequence), sequence)
    return Event(
        key=str(fields[key_name]), fields={**fields, "event_time": event_time, "sequence": sequence}
    )


def scramble(seed: int, sequence: int) -> int:
    """Mix two numbers into 64 even bits (splitmix64, Steele et al. 2014): as random as this needs, and stateless."""
    mask = (1 << 64) - 1
    mixed = (seed * 0xD1342543DE82EF95 + (sequence + 1) * 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return mixed ^ (mixed >> 31)


def campaign_of(ad_id: str) -> str:
    """Know the campaign of an ad, as the job's static table does."""
    return f"campaign-{int(ad_id.removeprefix('ad-')) // 10}"


def _ad(bits: int, _sequence: int) -> tuple[str, Fields]:
    event_type = EVENT_TYPES[(bits >> 32) % len(EVENT_TYPES)]
    return "ad_id", {"ad_id": f"ad-{bits % ADS}", "event_type": event_type}


def _car(bits: int, sequence: int) -> tuple[str, Fields]:
    """Cars report in turn; what a car has driven rises with its reports."""
    speed = 50 + (bits % 1500) / 10
    return "car_id", {
        "car_id": f"car-{sequence % CARS}",
        "speed": speed,
        "distance": sequence // CARS * 30.0,
    }


def _lookup(bits: int, _sequence: int) -> tuple[str, Fields]:
    return "key", {"key": f"key-{bits % KEYS}"}


SCHEMAS: dict[str, Callable[[int, int], tuple[str, Fields]]] = {
    "ads": _ad,
    "cars": _car,
    "enrichment": _lookup,
}
