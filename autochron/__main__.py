"""`python -m autochron` is `autochron`."""

from autochron.cli import main

if __name__ == "__main__":
    main()
