"""scrapli_netconf against a served store, with asyncssh and with the ssh of the system."""

import asyncio
import sys

from scrapli_netconf.driver import AsyncNetconfDriver, NetconfDriver

HOST, PORT, USER, PASSWORD = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"


def device(transport):
    return {
        "host": HOST,
        "port": PORT,
        "auth_username": USER,
        "auth_password": PASSWORD,
        "auth_strict_key": False,
        "transport": transport,
        "timeout_socket": 20,
        "timeout_transport": 30,
        "timeout_ops": 30,
    }


def config(content):
    return f'<config xmlns="{BASE}"><c xmlns="urn:m">{content}</c></config>'


async def with_asyncssh():
    async with AsyncNetconfDriver(**device("asyncssh")) as session:
        reply = await session.edit_config(config=config("<title>asyncssh</title>"), target="candidate")
        assert not reply.failed, reply.result
        assert not (await session.commit()).failed
        reply = await session.get_config(source="running")
        assert "asyncssh" in reply.result, reply.result


def with_system():
    session = NetconfDriver(**device("system"))
    session.open()
    reply = session.lock(target="candidate")
    assert not reply.failed, reply.result
    reply = session.edit_config(config=config("<title>system</title>"), target="candidate")
    assert not reply.failed, reply.result
    assert not session.validate(source="candidate").failed
    assert not session.commit().failed
    assert not session.unlock(target="candidate").failed
    assert "system" in session.get_config(source="running").result
    assert session.edit_config(config=config("<none/>"), target="candidate").failed
    session.close()


asyncio.run(with_asyncssh())
with_system()
print("done")
