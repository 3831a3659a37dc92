"""The exceptions of the provider."""


class ProviderError(RuntimeError):
    """The provider did not start, or a setting is out of range."""


class ScriptError(ValueError):
    """A script or a fault is invalid. The message is one line."""
