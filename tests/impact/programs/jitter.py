import random
import time

from boundary import send


def main():
    time.sleep(0.01 * random.uniform(0, 1))  # harmless
    send("work")
