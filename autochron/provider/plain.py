"""The endpoints without a conversation: embeddings and file upload."""

import base64
import email.parser
import email.policy
import random
import struct
from email.message import EmailMessage

from autochron.provider import generators
from autochron.provider.conversation import BadRequestError, Json

_DIMENSIONS = 16


def embeddings(request: Json, rng: random.Random) -> Json:
    """Return the response body of embeddings: a random vector for each input, as floats or in base64.

    Raises:
        BadRequestError: the request has no input.
    """
    argument = request.get("input")
    # A list of integers is one input in tokens.
    is_single = isinstance(argument, str) or (
        isinstance(argument, list) and all(isinstance(part, int) for part in argument)
    )
    inputs = [argument] if is_single else argument
    if not isinstance(inputs, list) or not inputs:
        raise BadRequestError("'input' must be a string or a list")
    size = int(request.get("dimensions") or _DIMENSIONS)
    vectors = [[rng.uniform(-1, 1) for _ in range(size)] for _ in inputs]
    packed = request.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if packed else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = len(str(inputs)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request.get("model", "loopback"), "data": data, "usage": usage}


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def upload(body: bytes, content_type: str, rng: random.Random) -> Json:
    """Return the response body of a file upload. The file is not stored.

    Args:
        body: a multipart form with the fields `file` and `purpose`.
        content_type: the request's content type, with the boundary.
        rng: the source of randomness.

    Raises:
        BadRequestError: the form lacks a field.
    """
    # Not starlette's form(): it needs python-multipart, one more package for one endpoint.
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    # Not BytesParser: it replaces \r\n by \n within a binary file.
    parser = email.parser.BytesFeedParser(EmailMessage, policy=email.policy.HTTP)
    parser.feed(head + body)
    form = parser.close()
    parts = {
        part.get_param("name", header="content-disposition"): part for part in form.walk() if part is not form
    }
    file, purpose = parts.get("file"), parts.get("purpose")
    if file is None or purpose is None:
        raise BadRequestError("a multipart form with 'file' and 'purpose' is required")
    size = len(_payload(file))
    ids = {
        "id": f"file-{generators.token(rng)}",
        "object": "file",
        "bytes": size,
        "created_at": 1_780_000_000,
    }
    return {
        **ids,
        "filename": file.get_filename(),
        "purpose": _payload(purpose).decode(),
        "status": "processed",
    }


def _payload(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""
