"""HTTPS and STARTTLS: the certificate is checked for the name, whatever address was connected to."""

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from horae.alerts import Email, NotDelivered, Webhook
from tests.alerts.receiver import mail_server, receiver
from tests.alerts.test_targets import HERE, START, notice

NAME = "hooks.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for the name, signed by itself, and its key in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin.replace(year=2100))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


@pytest.fixture
def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the certificate, and let every name lead to this machine."""
    usual = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda: usual(cafile=str(certificate)))

    def getaddrinfo(_host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)


@pytest.mark.usefixtures("trusted")
def test_https_goes_to_the_address_and_checks_the_name(server_side: ssl.SSLContext) -> None:
    with receiver(server_side) as server:
        port = server.url.rpartition(":")[2]
        hook = Webhook(url=f"https://{NAME}:{port}/x", allow_internal=HERE)
        hook.deliver(notice(), "shop", START)
        assert len(server.requests) == 1
        other = Webhook(url=f"https://other.example:{port}/x", allow_internal=HERE)
        with pytest.raises(NotDelivered, match="SSLCertVerificationError"):
            other.deliver(notice(), "shop", START)
        assert len(server.requests) == 1


def test_an_unknown_certificate_is_refused(server_side: ssl.SSLContext) -> None:
    with receiver(server_side) as server:
        with pytest.raises(NotDelivered, match="SSLCertVerificationError"):
            Webhook(url=server.url, allow_internal=HERE).deliver(notice(), "shop", START)
        assert server.requests == []


@pytest.mark.usefixtures("trusted")
def test_mails_go_over_starttls(server_side: ssl.SSLContext) -> None:
    with mail_server(tls=server_side) as (port, mails):
        target, other = (
            Email(
                to=["ops@example.com"], sender="horae@example.com", server=f"smtp://{host}:{port}"
            )
            for host in (NAME, "other.example")
        )
        target.deliver(notice(), "shop", START)
        with pytest.raises(NotDelivered, match="SSLCertVerificationError"):
            other.deliver(notice(), "shop", START)
    assert len(mails) == 1
