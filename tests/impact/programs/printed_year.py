import time


def main():
    print("year", time.localtime().tm_year)  # harmful
