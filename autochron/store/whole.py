"""A trace that is whole in memory, as a record to replay."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec.json import decode

from autochron.model import Crossed, Envelope, Kind, Trace


class WholeRecord:
    """The record of a trace that has been read."""

    is_whole = True

    def __init__(self, trace: Trace) -> None:
        self.header = trace.header
        self.footer = trace.footer
        self.size = len(trace.envelopes)
        self._envelopes = trace.envelopes
        self._boundaries: list[Crossed] | None = None

    def __iter__(self) -> Iterator[Envelope]:
        """Return the envelopes in order of start."""
        return iter(self._envelopes)

    def get(self, seq: int) -> Envelope:
        """Return one envelope; KeyError where there is none."""
        near = self._envelopes[seq - 1 : seq]  # mostly they are numbered without a gap
        for envelope in near if near and near[0].seq == seq else self._envelopes:
            if envelope.seq == seq:
                return envelope
        raise KeyError(seq)

    def find(self, name: str, nth: int) -> Envelope | None:
        """Return the envelope of an address."""
        for envelope in self._envelopes:
            if envelope.nth == nth and envelope.name == name:
                return envelope
        return None

    def names(self) -> Collection[str]:
        """Return the names of the crossings."""
        return {each.name for each in self._envelopes}

    def sites(self) -> Collection[str]:
        """Return where: the sites that rules are for, each once, in order of first start."""
        return dict.fromkeys([ruled(each) for each in self._envelopes])

    def boundaries(self) -> Sequence[Crossed]:
        """Return what was crossed: each name, kind and site once, in order of first start."""
        if self._boundaries is not None:
            return self._boundaries
        counts: dict[tuple[str, Kind, str, str], int] = {}
        for envelope in self._envelopes:
            key = (envelope.name, envelope.kind, envelope.site, ruled(envelope))
            counts[key] = counts.get(key, 0) + 1
        self._boundaries = [
            Crossed(name, kind, site, count, rule) for (name, kind, site, rule), count in counts.items()
        ]
        return self._boundaries

    def parents(self, names: Collection[str], kinds: Collection[str], after: int | None = None) -> set[int]:
        """Return the seqs of what encloses, at any depth, a crossing of one of these names or kinds, or a later one."""
        above = {each.seq: each.parent for each in self._envelopes if each.parent is not None}
        found: set[int] = set()
        for each in self._envelopes if above else ():
            if each.parent is None:
                continue
            if each.name in names or each.kind in kinds or (after is not None and each.seq > after):
                parent: int | None = each.parent
                while parent is not None and parent not in found:
                    found.add(parent)
                    parent = above.get(parent)
        return found


def ruled(envelope: Envelope) -> str:
    """Return the site that a rule is for: what was passed as an argument is woven where it was passed to."""
    return envelope.site if envelope.meta == b"{}" else ruled_by(envelope.site, envelope.meta)


def ruled_by(site: str, meta: bytes) -> str:
    """Return the site that a rule is for, of a crossing at a site and with such a `meta`."""
    if b'"passed":' not in meta:
        return site
    passed: str = decode(meta).get("passed", site)
    return passed
