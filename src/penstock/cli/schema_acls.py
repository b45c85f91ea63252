"""`sr-acl-cli`: the registry's own access control entries, with the options of Confluent's tool."""

from __future__ import annotations

import click

from penstock.cli.logs import log_to_stderr
from penstock.settings.sources import read_properties

LOCAL: str = "127.0.0.1:9092"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", required=True, metavar="FILE", help="The registry's own properties.")
@click.option("--add", "action", flag_value="add", help="Add entries.")
@click.option("--remove", "action", flag_value="remove", help="Remove entries.")
@click.option("--list", "action", flag_value="list", help="List all entries.")
@click.option("-s", "--subject", metavar="SUBJECT", help="For operations on subjects; * for all.")
@click.option("-p", "--principal", multiple=True, metavar="USER", help="A user; * for all.")
@click.option("-o", "--operation", multiple=True, metavar="OPERATION", help="Several with colons; * for all.")
def sr_acl_cli(
    config: str,
    action: str | None,
    subject: str | None,
    principal: tuple[str, ...],
    operation: tuple[str, ...],
) -> None:
    """Who may do what with subjects: the entries of a registry with its own authorizer.

    They are kept in the topic of confluent.schema.registry.acl.topic, else in that of the schemas with _acl
    behind it.
    """
    log_to_stderr("warning")
    from penstock.client.errors import ClientError
    from penstock.registry.settings import read_settings
    from penstock.registry.subject_acls import change, entries_of, entries_topic
    from penstock.web.door_settings import take_door_settings

    if action is None:
        raise click.UsageError("Give one of --add, --remove and --list.")
    words = [word for each in operation for word in each.split(":") if word]
    if action != "list" and not (principal and words):
        raise click.UsageError("Give --principal and --operation.")
    try:
        wanted = entries_of(principal, subject, words)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _, left = take_door_settings(read_properties(config))
    topic = entries_topic(read_settings(LOCAL, left))
    try:
        topic.start()
        if action != "list":
            change(topic, wanted, is_there=action == "add")
        for each in sorted(topic.view.state.known) if action == "list" else wanted:
            click.echo(f"principal={each.principal} subject={each.subject or '-'} operation={each.operation}")
    except ClientError as error:
        raise click.ClickException(str(error)) from error
    finally:
        topic.close()


def main() -> None:
    sr_acl_cli(prog_name="sr-acl-cli")
