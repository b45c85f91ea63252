"""How this node reaches other nodes: through listeners like its own, with the credentials that are set for
them."""

from __future__ import annotations

from penstock.security.client_settings import ClientSettings
from penstock.security.listener_settings import ListenerSettingsError, client_of_listener
from penstock.settings import BrokerSettings
from penstock.settings.errors import SettingError


def to_brokers(settings: BrokerSettings) -> ClientSettings:
    """By the inter-broker listener. SettingError when its settings do not let this node in."""
    if settings.is_alone or not settings.client_listeners:
        return ClientSettings()  # there is no other broker, or none that a controller asks
    return _through(settings, settings.inter_broker_listener, settings.sasl_mechanism_inter_broker_protocol)


def to_controllers(settings: BrokerSettings) -> ClientSettings:
    """By the first of `controller.listener.names`."""
    if not settings.controller_listener_names:
        return ClientSettings()
    name = settings.controller_listener_names[0].upper()
    return _through(settings, name, settings.sasl_mechanism_controller_protocol)


def _through(settings: BrokerSettings, listener: str, mechanism: str) -> ClientSettings:
    protocol = dict(settings.listener_security_protocol_map).get(listener, "PLAINTEXT")
    try:
        return client_of_listener(settings.given, listener, protocol, mechanism)
    except ListenerSettingsError as error:
        raise SettingError(
            f"listener {listener} ({protocol}): {error}",
            setting=error.setting,
            value=None,
            allowed="credentials by which nodes reach each other",
        ) from None
