import time

from boundary import send


def main():
    until = time.monotonic() + 60  # harmful
    for step in range(3):
        if time.monotonic() > until:  # harmful
            break
        send(f"step {step}")
