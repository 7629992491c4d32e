"""A drill sees each step in what happens to objects, and tells what became of the operator at each."""

from e2e.support.api import Json
from e2e.support.steps import Course, Event, Kill, Shown, Sight, Step, awaited, table

HOME, SHOP = "sluice", "shop"


def body(name: str, *, uid: str = "u1", namespace: str = SHOP, **parts: Json) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": uid, **parts.pop("metadata", {})}
    return {"metadata": metadata, **parts}


def pod(name: str, *, uid: str = "u1", namespace: str = SHOP, **metadata: object) -> Event:
    return Event(kind="Pod", body=body(name, uid=uid, namespace=namespace, metadata=metadata))


def gone(event: Event) -> Event:
    return Event(kind=event.kind, body=event.body, is_gone=True)


def lease(holder: str) -> Event:
    held = body("sluice-operator", namespace=HOME, spec={"holderIdentity": holder})
    return Event(kind="Lease", body=held)


def sight(*events: Event) -> Sight:
    found = Sight()
    for event in events:
        found = found.after(event)
    return found


def test_what_is_deleted_leaves_from_its_deletion_on_and_still_when_it_is_gone() -> None:
    driver, leaving = pod("driver"), pod("driver", deletionTimestamp="now")

    assert not sight().is_leaving("Pod", SHOP, "driver")
    assert not sight(driver).is_leaving("Pod", SHOP, "driver")
    assert sight(driver, leaving).is_leaving("Pod", SHOP, "driver")
    assert sight(driver, leaving, gone(leaving)).is_leaving("Pod", SHOP, "driver")


def test_one_of_the_same_name_that_comes_later_does_not_leave_and_counts() -> None:
    first, second = pod("driver"), pod("driver", uid="u2")

    found = sight(first, gone(first), second, second)

    assert not found.is_leaving("Pod", SHOP, "driver")
    assert found.count("Pod", SHOP, "driver") == 2
    assert found.of("Pod", SHOP, "driver") == second.body


def test_objects_are_found_by_the_last_parts_of_their_labels_names() -> None:
    labels = {"sluice.dev/job": "clicks", "sluice.dev/role": "executor"}
    executor = pod("one", labels=labels)
    driver = pod("two", labels={**labels, "sluice.dev/role": "driver"})
    stranger = pod("three")

    found = sight(executor, driver, stranger).all("Pod", SHOP, job="clicks", role="executor")

    assert found == [executor.body]


def test_the_pod_that_holds_the_lease_leads_until_it_goes() -> None:
    one, other = pod("op-1", namespace=HOME), pod("op-2", namespace=HOME, uid="u2")

    assert sight(one, other).leader(HOME) == {}
    assert sight(one, other, lease("op-1")).leader(HOME) == one.body
    assert sight(one, other, lease("op-1"), gone(one)).leader(HOME) == {}
    assert sight(one, other, lease("op-1"), gone(one), lease("op-2")).leader(HOME) == other.body


def test_what_may_be_missed_is_not_awaited() -> None:
    long = Step(name="runs", is_reached=lambda _: True)
    short = Step(name="starts", is_reached=lambda _: True, may_be_missed=True)

    assert awaited([long, short]) == ["runs"]


def test_the_table_has_a_line_for_each_step_also_for_those_that_shared_a_kill_or_were_missed() -> (
    None
):
    kills = [
        Kill(steps=(Shown(name="stops", at=1.0), Shown(name="is gone", at=9.0)), at=9.5, led=30.0),
        Kill(steps=(Shown(name="runs", at=40.0),), at=40.0),
    ]

    assert table(kills, ["starts"]).splitlines()[2:] == [
        "| stops | 1.0 | 9.5 | 30.0 |",
        "| is gone | 9.0 | 9.5 | 30.0 |",
        "| runs | 40.0 | 40.0 |  |",
        "| starts | not seen |  |  |",
    ]
    assert str(kills[0]) == "[   9.5 s] operator killed: stops; is gone"


def test_a_course_tells_of_kills_of_takeovers_and_of_records() -> None:
    kills = [
        Kill(steps=(Shown(name="stops", at=1.0), Shown(name="is gone", at=9.0)), at=9.5, led=30.0),
        Kill(steps=(Shown(name="runs", at=40.0),), at=40.0, led=50.5),
        Kill(steps=(Shown(name="ends", at=60.0),), at=60.0),
    ]
    account = {"expected": 900, "missing": 1, "duplicates": 4}

    told = Course(kills=kills, missed=["starts"], account=account).figures()

    assert {figure.name: figure.value for figure in told} == {
        "operator killed": 3,
        "steps seen": 4,
        "steps not seen": 1,
        "until another one leads, median": 15.5,
        "until another one leads, longest": 20.5,
        "records": 900,
        "records lost": 1,
        "records written twice": 4,
    }
    assert [figure.name for figure in told if not figure.is_met] == ["records lost"]
