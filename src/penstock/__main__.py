"""`python -m penstock` is the command `penstock`; the platform starts its services so."""

from penstock.cli.main import main

if __name__ == "__main__":
    main()
