"""`prove` refutes no exact rule of `rules`, `lowering` and `hdl`, and a page says of each why it is not proved."""

from __future__ import annotations

import pytest

from tests.support.profiles import some_of
from tests.testing.proof.library_rules import PAGE, exact_rules, read, said_of, written

SAID = read()


def test_the_page_names_all_exact_rules_and_no_others():
    assert [*SAID] == [*exact_rules()]
    assert len(SAID) > 100


def test_the_page_gives_a_reason_for_all_that_are_not_proved():
    verdicts = {row.verdict for row in SAID.values()}
    assert verdicts <= {"proved", "proved of values", "proved for samples", "unknown"}
    assert all(bool(row.reason) == (row.verdict in ("unknown", "proved for samples")) for row in SAID.values())


def test_the_page_is_as_it_would_be_written():
    assert PAGE.read_text() == written(SAID)


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("name", some_of([*exact_rules()], 8))
def test_the_page_says_what_is_proved(name):
    assert said_of(name) == SAID[name]
