"""ncclient against a served store: what its users do with any server."""

import sys
import time
from datetime import datetime, timezone

from ncclient import manager
from ncclient.operations import RPCError
from ncclient.xml_ import to_ele

HOST, PORT, USER, PASSWORD = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"


def connect():
    return manager.connect(
        host=HOST,
        port=PORT,
        username=USER,
        password=PASSWORD,
        hostkey_verify=False,
        allow_agent=False,
        look_for_keys=False,
        timeout=30,
    )


def config(content):
    return f'<config xmlns="{BASE}"><c xmlns="urn:m">{content}</c></config>'


def running(session):
    return session.get_config(source="running").data_xml


def tag_of(call):
    try:
        call()
    except RPCError as error:
        return error.tag
    raise AssertionError("there is no error")


one = connect()
assert "urn:ietf:params:netconf:base:1.1" in one.server_capabilities
assert ":candidate" in one.server_capabilities
assert ":with-defaults" in one.server_capabilities

# Get and edit, with characters of all kinds.
one.edit_config(target="running", config=config("<title>x &lt; y é 😀</title><e><k>a</k><v>1</v></e>"))
assert "x &lt; y é 😀" in running(one), running(one)
one.edit_config(
    target="running",
    config=config(f'<e xmlns:nc="{BASE}" nc:operation="delete"><k>a</k></e>'),
)
assert "<k>" not in running(one)
assert tag_of(lambda: one.edit_config(target="running", config=config("<e><k>a</k><v>300</v></e>"))) == "invalid-value"

# A candidate.
with one.locked("candidate"):
    one.discard_changes()
    one.edit_config(target="candidate", config=config("<title>candidate</title>"))
    one.validate("candidate")
    one.commit()
assert "candidate" in running(one)

# A lock conflict between two sessions.
two = connect()
assert one.session_id != two.session_id
one.lock("running")
try:
    two.lock("running")
    raise AssertionError("locked twice")
except RPCError as error:
    assert error.tag == "lock-denied", error
    assert one.session_id in error.info, error.info
one.unlock("running")
two.lock("running")
two.unlock("running")

# A confirmed commit is rolled back after its time, or kept.
one.edit_config(target="candidate", config=config("<title>unconfirmed</title>"))
one.commit(confirmed=True, timeout="1")
assert "unconfirmed" in running(two)
deadline = time.monotonic() + 20
while "unconfirmed" in running(two):
    assert time.monotonic() < deadline
    time.sleep(0.2)
one.discard_changes()
one.edit_config(target="candidate", config=config("<title>confirmed</title>"))
one.commit(confirmed=True, timeout="100", persist="token")
two.commit(persist_id="token")
assert "confirmed" in running(two)

# Past events, then those that follow.
start = "2020-01-01T00:00:00Z"
two.create_subscription(start_time=start)
seen = []
while not any("replayComplete" in text for text in seen):
    notification = two.take_notification(timeout=20)
    assert notification is not None
    seen.append(notification.notification_xml)
assert any("netconf-config-change" in text for text in seen), seen
one.edit_config(target="running", config=config("<title>notified</title>"))
while "netconf-config-change" not in seen[-1]:
    notification = two.take_notification(timeout=20)
    assert notification is not None
    seen.append(notification.notification_xml)
assert "rpc-reply" in two.get_config(source="running").xml

# Every schema.
state = one.get().data_ele
schemas = state.findall(f".//{{{MONITORING}}}schema")
assert schemas
for schema in schemas:
    text = one.get_schema(
        schema.findtext(f"{{{MONITORING}}}identifier"),
        version=schema.findtext(f"{{{MONITORING}}}version"),
    ).data
    assert "module" in text

# A session of another one is ended.
one.kill_session(two.session_id)
deadline = time.monotonic() + 20
while two.connected:
    assert time.monotonic() < deadline
    time.sleep(0.1)
assert tag_of(lambda: one.kill_session(one.session_id)) == "invalid-value"

# An operation that no module has.
assert tag_of(lambda: one.dispatch(to_ele('<nothing xmlns="urn:nothing"/>'))) == "operation-not-supported"

one.close_session()
again = connect()
assert "notified" in running(again)
again.close_session()
print("done")
