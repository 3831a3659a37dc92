import secrets

from boundary import log, send


def main():
    send("login", token=secrets.token_hex(8))  # harmful
    log(secrets.token_urlsafe(8))  # harmless
