"""The record of a trace that is whole in memory."""

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
        """Return the envelope of a seq.

        Raises:
            KeyError: there is none.
        """
        candidates = self._envelopes[seq - 1 : seq]  # a shortcut: mostly the seqs have no gaps
        for envelope in candidates if candidates and candidates[0].seq == seq else self._envelopes:
            if envelope.seq == seq:
                return envelope
        raise KeyError(seq)

    def find(self, name: str, nth: int) -> Envelope | None:
        """Return the envelope of an address, or None."""
        for envelope in self._envelopes:
            if envelope.nth == nth and envelope.name == name:
                return envelope
        return None

    def names(self) -> Collection[str]:
        """Return the names of the crossings."""
        return {envelope.name for envelope in self._envelopes}

    def sites(self) -> Collection[str]:
        """Return the sites that rules are for, each once, in order of first start."""
        return dict.fromkeys([site_of_rule(envelope) for envelope in self._envelopes])

    def boundaries(self) -> Sequence[Crossed]:
        """Return the boundaries that were crossed: each name, kind and site once, in order of first start."""
        if self._boundaries is not None:
            return self._boundaries
        counts: dict[tuple[str, Kind, str, str], int] = {}
        for envelope in self._envelopes:
            key = (envelope.name, envelope.kind, envelope.site, site_of_rule(envelope))
            counts[key] = counts.get(key, 0) + 1
        self._boundaries = [
            Crossed(name, kind, site, count, rule) for (name, kind, site, rule), count in counts.items()
        ]
        return self._boundaries

    def parents(self, names: Collection[str], kinds: Collection[str], after: int | None = None) -> set[int]:
        """Return the seqs of crossings that enclose others, at any depth.

        Args:
            names, kinds: count enclosed crossings of these.
            after: count enclosed crossings with a higher seq, too; None counts none for their seq.
        """
        parent_of = {
            envelope.seq: envelope.parent for envelope in self._envelopes if envelope.parent is not None
        }
        parents: set[int] = set()
        for envelope in self._envelopes if parent_of else ():
            if envelope.parent is None:
                continue
            if (
                envelope.name in names
                or envelope.kind in kinds
                or (after is not None and envelope.seq > after)
            ):
                parent: int | None = envelope.parent
                while parent is not None and parent not in parents:
                    parents.add(parent)
                    parent = parent_of.get(parent)
        return parents


def site_of_rule(envelope: Envelope) -> str:
    """Return the site that the rule of a crossing is for.

    A function that was passed as an argument is woven by the rule of the function that it was passed to.
    """
    return envelope.site if envelope.meta == b"{}" else ruled_site(envelope.site, envelope.meta)


def ruled_site(site: str, meta: bytes) -> str:
    """Return the site that the rule of a crossing is for, by the crossing's site and `meta`."""
    if b'"passed":' not in meta:
        return site
    passed_at: str = decode(meta).get("passed", site)
    return passed_at
