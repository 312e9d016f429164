"""netconf_client against a served store."""

import sys

from netconf_client.connect import connect_ssh
from netconf_client.error import RpcError
from netconf_client.ncclient import Manager

HOST, PORT, USER, PASSWORD = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"


def config(content):
    return f'<config xmlns="{BASE}"><c xmlns="urn:m">{content}</c></config>'


def connect():
    return Manager(connect_ssh(host=HOST, port=PORT, username=USER, password=PASSWORD), timeout=30)


with connect() as one:
    one.edit_config(config("<title>é</title>"), target="candidate")
    one.commit()
    assert "é" in "".join(one.get_config(source="running").data_ele.itertext())
    one.edit_config(config("<title>two</title>"), target="candidate")
    one.commit(confirmed=True, confirm_timeout=100)
    one.commit()
    data = one.get_data(datastore="ds:running")
    assert b"two" in data.data_xml, data.data_xml
    # Many requests before the first reply: replies have the order of requests.
    for number in range(50):
        one.edit_config(config(f"<e><k>k{number}</k></e>"), target="running")
    assert one.get_config(source="running").data_xml.decode().count("<k>") == 50
    with connect() as two:
        one.lock(target="running")
        try:
            two.lock(target="running")
            raise AssertionError("locked twice")
        except RpcError as error:
            assert error.tag == "lock-denied", error
        one.unlock(target="running")
    one.create_subscription()
    one.edit_config(config("<title>three</title>"), target="running")
    notification = one.take_notification(True)
    while b"netconf-config-change" not in notification.notification_xml:
        notification = one.take_notification(True)
print("done")
