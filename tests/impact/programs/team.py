import os

from boundary import log, send


def main():
    send("team " + os.environ.get("TEAM", "none"))  # harmful
    log(os.getenv("DEBUG"))  # harmless
