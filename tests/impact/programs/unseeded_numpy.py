import numpy as np
from boundary import send


def main():
    send(str(np.random.default_rng().integers(10**9)))  # harmful
    send(str(np.random.rand(3).tolist()))  # noqa: NPY002  # harmful
    log = np.random.normal()  # noqa: NPY002  # harmless
    assert log is not None
