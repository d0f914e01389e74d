"""`python -m remora` is the `remora` command."""

from remora.cli.main import main

if __name__ == "__main__":
    main()
