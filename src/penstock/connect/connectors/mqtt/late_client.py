"""A client of MQTT that confirms a message when it is told to, with quality of service 2, too.

With 2 a broker forgets the message itself as soon as it has the first answer (PUBREC). paho sends that answer
before it hands the message over, so a process that died between the two lost the message. Its broker then
waited for the last answer (PUBCOMP) for ever, and sent nothing more once it waited for enough of them. Here
`ack` sends the first answer, and the last one follows by itself. The methods that are replaced are paho's
own and not part of its interface: tests/connectors/test_mqtt.py notices when they change.
"""

from __future__ import annotations

import struct

from paho.mqtt.client import Client
from paho.mqtt.enums import MQTTErrorCode


class LateClient(Client):  # type: ignore[misc]
    """Made with `manual_ack`."""

    def ack(self, mid: int, qos: int) -> MQTTErrorCode:
        return super()._send_pubrec(mid) if qos == 2 else super().ack(mid, qos)

    def _send_pubrec(self, mid: int) -> MQTTErrorCode:
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def _handle_publish(self) -> MQTTErrorCode:
        result = super()._handle_publish()
        with self._in_message_mutex:
            received = list(self._in_messages.values())  # of quality 2: paho keeps it until PUBREL
            self._in_messages.clear()
        for message in received:
            self._handle_on_message(message)
        return result

    def _handle_pubrel(self) -> MQTTErrorCode:
        (mid,) = struct.unpack("!H", bytes(self._in_packet["packet"][:2]))
        return self._send_pubcomp(mid)
