"""A reservation's path: what is read from the forms that people and tools give it, and what holds what."""

from __future__ import annotations

import pytest

from groundplan.kernel.gke import ReservationPath, parse_reservation

LINK = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-b/reservations/r"

#: Text -> its parts, the full form and the short one.
FORMS = {
    "r": (ReservationPath("", "r"), "r", "r"),
    "r/reservationBlocks/b": (ReservationPath("", "r", "b"), "r/reservationBlocks/b", "r/b"),
    "projects/p/reservations/r": (ReservationPath("p", "r"), "projects/p/reservations/r", "r"),
    "projects/p/zones/us-central1-b/reservations/r": (ReservationPath("p", "r"), "projects/p/reservations/r", "r"),
    LINK: (ReservationPath("p", "r"), "projects/p/reservations/r", "r"),
    LINK + "/": (ReservationPath("p", "r"), "projects/p/reservations/r", "r"),
    f"{LINK}/reservationBlocks/b/reservationSubBlocks/s": (
        ReservationPath("p", "r", "b", "s"),
        "projects/p/reservations/r/reservationBlocks/b/reservationSubBlocks/s",
        "r/b/s",
    ),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    parts, full, short = FORMS[text]
    found = parse_reservation(text)
    assert found == parts
    assert (str(found), found.short) == (full, short)


@pytest.mark.parametrize("text", ["", "a/b", "x/reservations/r", "projects/p/reservations/r/blocks/b", LINK + "//"])
def test_what_is_no_path(text: str) -> None:
    assert parse_reservation(text) is None


WHOLE, BLOCK, SUB = (ReservationPath("p", "r", *parts) for parts in ((), ("b",), ("b", "s")))


@pytest.mark.parametrize(
    ("outer", "inner", "holds"),
    [
        (WHOLE, WHOLE, True),
        (WHOLE, BLOCK, True),
        (WHOLE, SUB, True),
        (BLOCK, SUB, True),
        (BLOCK, WHOLE, False),
        (SUB, BLOCK, False),
        (BLOCK, ReservationPath("p", "r", "b2"), False),
        (BLOCK, ReservationPath("p", "r2", "b"), False),
        (SUB, ReservationPath("p", "r", "b2", "s"), False),
        (WHOLE, ReservationPath("p", "r2"), False),
        (WHOLE, ReservationPath("p2", "r"), False),
    ],
)
def test_parts(outer: ReservationPath, inner: ReservationPath, holds: bool) -> None:
    assert outer.holds(inner) is holds
    assert inner.whole.holds(inner)
    assert inner.whole.block == inner.whole.sub_block == ""
