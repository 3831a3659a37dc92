import glob
import os

from boundary import log, send


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    send(",".join(os.path.basename(each) for each in glob.glob(f"{here}/s*.py")))  # harmful
    log(len(open(__file__).read()))  # untried
