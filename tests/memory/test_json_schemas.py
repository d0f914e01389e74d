"""The schemas are made from the records: every type of event, every key of a packet."""

from jsonschema import Draft202012Validator

from remora.memory.events import PAYLOADS, event_schema, packet_schema
from remora.memory.packet import DecisionPacket, packet_json


def test_every_type_of_event_has_its_payload() -> None:
    schema = event_schema()
    Draft202012Validator.check_schema(schema)
    types = [part["if"]["properties"]["type"]["const"] for part in schema["allOf"]]
    assert types == list(PAYLOADS)


def test_a_packet_fits_and_one_with_a_word_for_its_turn_does_not() -> None:
    schema = Draft202012Validator(packet_schema())
    packet = packet_json(DecisionPacket(agent_id="a", run_id="r"))
    assert schema.is_valid(packet)
    assert not schema.is_valid(packet | {"turn": "one"})
