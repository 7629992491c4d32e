"""Which measurements are of the same program."""

from dataclasses import replace

from sluice.core.profiling.keys import key_of
from sluice.core.profiling.records import Run, Start
from tests.support.jobs import NOW, job
from tests.unit.core.profiling.profiles import JOB, KEY, ONE, TWO, driver, point

OF_ONE = replace(KEY, digest=ONE)
OF_TWO = replace(KEY, digest=TWO)
RENAMED = replace(OF_ONE, image="shop/clicks:stable")


def test_one_digest_is_one_program_whatever_its_tag() -> None:
    assert OF_ONE.agrees_with(RENAMED)
    assert RENAMED.agrees_with(OF_ONE)


def test_another_digest_under_the_same_tag_is_another_program() -> None:
    assert not OF_ONE.agrees_with(OF_TWO)


def test_where_a_digest_is_not_known_the_declared_image_tells() -> None:
    for known in (OF_ONE, OF_TWO, KEY):
        assert KEY.agrees_with(known)
        assert known.agrees_with(KEY)
    assert not KEY.agrees_with(RENAMED)
    assert not RENAMED.agrees_with(KEY)


def test_the_same_digest_in_another_configuration_or_from_another_end_is_something_else() -> None:
    assert not OF_ONE.agrees_with(replace(OF_ONE, configuration="0"))
    assert not OF_ONE.agrees_with(replace(OF_ONE, start=Start.LATEST))
    assert not OF_ONE.agrees_with(None)


def test_the_driver_of_a_job_tells_the_digest_behind_its_tag() -> None:
    assert key_of(JOB, driver=driver()) == OF_ONE
    assert key_of(JOB, driver=driver(digest=None)) == KEY == key_of(JOB)


def test_the_driver_of_another_image_or_of_a_former_job_tells_nothing() -> None:
    other = job(application={"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"})
    assert key_of(JOB, driver=driver(document=other.document)).digest is None
    assert key_of(JOB, driver=driver(document=None)).digest is None
    assert key_of(JOB, driver=driver(document={"application": "odd"})).digest is None
    assert key_of(JOB, driver=driver(owner_uid="uid-of-a-former-one")).digest is None


def test_an_image_that_is_declared_by_its_digest_is_known_without_a_driver() -> None:
    application = {"image": f"shop/clicks@{ONE}", "mainFile": "/opt/clicks.py"}
    pinned = job(application=application, executors={"min": 1, "max": 4})
    assert key_of(pinned).digest == ONE
    assert key_of(pinned, driver=driver(pinned, TWO)).digest == ONE
    assert key_of(pinned).agrees_with(OF_ONE)


def test_points_that_were_taken_over_by_the_name_alone_go_when_the_digest_is_known() -> None:
    former, own = replace(point(1, 1000), at=NOW.replace(year=2020)), point(2, 1900)
    run = Run(key=KEY, began=NOW, points=(former, own))
    assert run.with_digest(None) == run
    assert run.with_digest(ONE) == Run(key=OF_ONE, began=NOW, points=(own,))


def test_points_that_were_taken_over_by_their_digest_stay() -> None:
    former = replace(point(1, 1000), at=NOW.replace(year=2020))
    run = Run(key=OF_ONE, began=NOW, points=(former,))
    assert run.with_digest(ONE) == run
