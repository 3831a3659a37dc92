# Every target works first in a fresh clone: it makes .venv as needed. PYTHON= names the interpreter (3.11 to 3.15).
PY := .venv/bin/python
# anyio's plugin imports trio in each worker, and no test uses it.
PYTEST_ARGS ?= -n auto -p no:anyio

.PHONY: test demo check bench study frameworks pythons pythons-test docs docs-links release release-check lock clean venv

test: check
	$(PY) -m pytest $(PYTEST_ARGS)

demo: venv
	@$(PY) -m incidents.demo

check: venv
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy $(wildcard autochron bench docs/commands.py incidents/*.py mutation/*.py)
	$(PY) -c 'from importlinter.cli import lint_imports_command as main; main()' --no-cache
	$(PY) -m codespell_lib

bench: venv
	$(PY) -m bench

# The mutation study of the twelve incidents, and the tables of mutation/README.md.
study: venv
	$(PY) -m pip install -qq --disable-pip-version-check --no-deps -r requirements-packs.txt
	$(PY) -m mutation

# `frameworks`, `pythons-test` and `release` take longer than a build may. Each writes what came of it, with the date, to
# tests/results; the build has a smoke of each: the tests of tests/packs and tests/frameworks marked slow, the folders that .ci/run
# names, and tests/release.
# `frameworks` makes a venv of each framework on Python 3.11 and 3.12 in the user's cache: the first time it takes an hour.
frameworks: venv
	$(PY) -m pip install -qq --disable-pip-version-check --no-deps -r requirements-packs.txt
	$(PY) -m pytest $(PYTEST_ARGS) --thorough --results frameworks tests/packs tests/rules/test_packs.py tests/frameworks

# What Debian has of the newer Pythons, in the user's cache: half a minute.
pythons:
	.ci/pythons

# Every test on every Python that is here, and the table of docs/pythons.md: two hours.
pythons-test: pythons
	WHOLE=1 PYTEST_ADDOPTS="--results pythons" .ci/run; $(PY) -m bench.pythons --write docs/pythons.md

# Build, check and try a release on every supported Python, by pip, pipx and uv: a quarter of an hour. Nothing is uploaded. It refuses
# a tree with changes, and a machine that lacks a Python, unless RELEASE_ARGS='--without 3.15' says so.
release: venv
	@sh .ci/venv .venv-release requirements-release.txt
	.venv-release/bin/python .ci/release.py $(RELEASE_ARGS)

# The checks of it that need no other Python: the metadata, the wheel, the action, the hook, the forms.
release-check: check
	$(PY) -m pytest --thorough $(PYTEST_ARGS) tests/test_release.py tests/release tests/cli/test_wheel.py

# The site of docs/, in build/docs. Warnings are errors. Once .venv-docs is there, it needs no network.
docs:
	@sh .ci/venv .venv-docs requirements-docs.txt
	.venv-docs/bin/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

# The links that lead elsewhere, each with the pages that have it. Nothing is fetched.
docs-links: venv
	@$(PY) -m tests.docs.links

lock: venv
	$(PY) .ci/lock.py

clean:
	rm -rf .venv .venv-3.* .venv-docs .venv-release build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv:
	@sh .ci/venv .venv
