"""What can go wrong before a provider answers."""


class ProviderError(RuntimeError):
    """The provider did not start, or stopped too early."""


class ScriptError(ValueError):
    """A script or a fault is not spelt as it must be; the text is one line with the remedy."""
