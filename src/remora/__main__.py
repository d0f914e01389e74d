"""Entry point of `python -m remora`."""

from remora.cli.main import main

if __name__ == "__main__":
    main()
