import uuid

from boundary import send


def main():
    send("pay", key=str(uuid.uuid4()))  # harmful
