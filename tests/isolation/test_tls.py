"""CA certificates are loaded when a connection needs them, and not before."""

import _ssl
import ssl

import certifi
import pytest

from autochron.isolation import tls

USES = {
    "wrap_bio": lambda context: context.wrap_bio(
        ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost"
    ),
    "cert_store_stats": lambda context: context.cert_store_stats(),
    "get_ca_certs": lambda context: context.get_ca_certs(),
}


@pytest.fixture
def deferring(monkeypatch):
    """Put off loading for this test alone."""
    for name in ("load_verify_locations", *tls._NEEDING):
        monkeypatch.setattr(ssl.SSLContext, name, getattr(ssl.SSLContext, name))
    tls.defer_ca_loading()
    tls.defer_ca_loading()  # a second call changes nothing


def loaded(context):
    return _ssl._SSLContext.cert_store_stats(context)["x509_ca"]


@pytest.mark.parametrize("use", USES)
def test_the_certificates_are_loaded_with_the_first_use(use, deferring):
    context = ssl.create_default_context(cafile=certifi.where())
    assert loaded(context) == 0
    USES[use](context)
    with open(certifi.where(), encoding="utf-8") as file:
        assert loaded(context) == file.read().count("BEGIN CERTIFICATE")


def test_what_is_passed_as_data_or_is_missing_is_not_put_off(deferring, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(FileNotFoundError):
        context.load_verify_locations(str(tmp_path / "missing.pem"))
    with open(certifi.where(), encoding="utf-8") as file:
        context.load_verify_locations(cadata=file.read())
    assert loaded(context) > 0
