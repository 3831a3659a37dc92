"""The cases of the matrix of verdicts: small agents that did harm, each with fixes, a crash and an unrelated edit."""

from tests.incidents.cases import files, flows, libraries, memory, shapes, sqlite

CASES = {
    case.name: case for module in (sqlite, libraries, files, memory, flows, shapes) for case in module.CASES
}
