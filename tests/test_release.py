"""What has to be true of a checkout that becomes a release. `make release-check` runs these tests, and those of the wheel."""

import re
import tomllib
from pathlib import Path

import autochron

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_in_both_places():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert autochron.__version__ == project["version"]


def test_the_changelog_begins_with_what_is_unreleased_or_with_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = re.escape(autochron.__version__)
    assert re.fullmatch(rf"\[Unreleased\]|\[{version}\] - \d{{4}}-\d\d-\d\d", headings[0]), headings[0]
    releases = [heading for heading in headings if heading != "[Unreleased]"]
    assert [h for h in releases if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", h)] == []
