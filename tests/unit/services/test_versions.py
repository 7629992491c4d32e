"""What is told late of an object changes nothing."""

from sluice.services.versions import REMEMBERED, Versions


def told(version: int | None, uid: str = "a") -> dict[str, str]:
    """The metadata of an object."""
    return {"uid": uid} if version is None else {"uid": uid, "resourceVersion": str(version)}


def test_the_same_version_is_taken_in_again_and_an_older_one_is_not() -> None:
    versions = Versions()
    assert versions.see(told(9))
    assert versions.see(told(9))
    assert versions.see(told(10))
    assert not versions.see(told(9))
    assert versions.see(told(9, uid="b"))


def test_what_has_gone_never_comes_back_and_one_of_its_name_does() -> None:
    versions = Versions()
    versions.lose(told(None))
    assert not versions.see(told(99))
    assert versions.see(told(1, uid="b"))


def test_what_went_to_a_watch_as_its_label_did_is_there_again_when_it_has_it_back() -> None:
    versions = Versions()
    versions.lose(told(12))
    assert not versions.see(told(12))
    assert versions.see(told(13))
    assert versions.see(told(13))


def test_memory_of_what_has_gone_is_bounded_and_keeps_the_newest() -> None:
    versions = Versions()
    for number in range(REMEMBERED + 1):
        versions.lose(told(None, uid=str(number)))
    assert versions.see(told(1, uid="0"))
    assert not versions.see(told(1, uid="1"))
    assert not versions.see(told(1, uid=str(REMEMBERED)))
