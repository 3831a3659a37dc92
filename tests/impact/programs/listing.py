import glob
import os
from pathlib import Path

from boundary import log, send


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    send(",".join(os.path.basename(each) for each in glob.glob(f"{here}/s*.py")))  # harmful
    log(len(open(os.__file__).read()))  # harmless
    log(len(os.listdir(here)))  # harmless
    send(",".join(each for each in os.listdir(here) if each.startswith("s")))  # harmful
    send(",".join(each.stem for each in Path(here).iterdir()))  # harmful
