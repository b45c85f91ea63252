"""`penstock completion bash|zsh|fish`: the lines that let a shell complete commands and options."""

from __future__ import annotations

import click

HOW = {
    "bash": 'eval "$(penstock completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(penstock completion zsh)" in ~/.zshrc',
    "fish": "penstock completion fish > ~/.config/fish/completions/penstock.fish",
}


@click.command(epilog="\n\n".join(f"{shell}: {line}" for shell, line in HOW.items()))
@click.argument("shell", type=click.Choice(sorted(HOW)))
def completion(shell: str) -> None:
    """Print the code that completes `penstock` in SHELL."""
    from click.shell_completion import get_completion_class

    from penstock.cli.main import NAME, root

    made = get_completion_class(shell)
    assert made is not None, shell
    click.echo(made(root, {}, NAME, f"_{NAME.upper()}_COMPLETE").source())
