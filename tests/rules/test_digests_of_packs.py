"""The digest of a pack's text changes with what its rules record, and with nothing else."""

import pytest

from autochron.rules.digest import digest_text

PACK = '[pack]\nname = "desk"\n\n[[boundary]]\nid = "desk.ask"\nkind = "model"\n'


@pytest.mark.parametrize(
    ("more", "is_same"),
    [
        ("# a comment\n\n", True),
        ('telemetry = ["desk.stats"]\n', True),
        ('declared = ["request.tools.*"]\n', True),
        ('results = ["request.messages.*"]\n', True),
        ('tools = ["response.calls.*.name"]\n', False),
        ("observe = true\n", False),
    ],
)
def test_a_line_counts_if_it_changes_what_is_recorded(more, is_same):
    assert (digest_text(PACK + more) == digest_text(PACK)) is is_same
