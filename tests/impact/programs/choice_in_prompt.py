import random

from boundary import send


def main():
    send(random.choice(["be kind", "be brief", "be bold"]))  # harmful
