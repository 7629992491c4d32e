"""Events are pure functions of seed, number and time, and spread over their keys."""

from collections import Counter

import pytest

from jobs.load import events


@pytest.mark.parametrize("schema", sorted(events.SCHEMAS))
def test_the_same_arguments_give_the_same_event_and_another_seed_another(schema: str) -> None:
    def stream(seed: int) -> list[events.Event]:
        return [events.make_event(schema, seed, number, 1000) for number in range(20)]

    assert stream(1) == stream(1)
    assert stream(1) != stream(2)


@pytest.mark.parametrize("schema", sorted(events.SCHEMAS))
def test_every_event_carries_its_number_and_its_time(schema: str) -> None:
    fields = events.make_event(schema, 1, 42, 1700000000123).fields
    assert (fields["sequence"], fields["event_time"]) == (42, 1700000000123)


def test_a_third_of_the_ads_events_are_views() -> None:
    types = Counter(
        events.make_event("ads", 7, number, 0).fields["event_type"] for number in range(9000)
    )
    assert types["view"] == pytest.approx(3000, rel=0.1)


def test_every_ad_and_every_lookup_key_occurs() -> None:
    ads = {events.make_event("ads", 3, number, 0).key for number in range(20_000)}
    keys = {events.make_event("enrichment", 3, number, 0).key for number in range(20_000)}
    assert (len(ads), len(keys)) == (events.ADS, events.KEYS)


def test_the_distance_of_a_car_only_grows() -> None:
    car = [
        events.make_event("cars", 1, number, 0).fields["distance"]
        for number in range(5, 1000, events.CARS)
    ]
    assert car == sorted(set(car))


@pytest.mark.parametrize(
    ("ad", "campaign"), [("ad-0", "campaign-0"), ("ad-9", "campaign-0"), ("ad-999", "campaign-99")]
)
def test_ten_ads_make_a_campaign(ad: str, campaign: str) -> None:
    assert events.campaign_of(ad) == campaign
