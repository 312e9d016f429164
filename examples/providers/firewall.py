"""Writes the rules of the running configuration to a file for nftables, after every commit that changes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from espalier import Provider

server, rules_file = sys.argv[1], Path(sys.argv[2])
version_file = rules_file.with_suffix(".version")
espalier = os.environ.get("ESPALIER", "espalier")

provider = Provider("firewall")
# After a restart, the program gets what changed since the last version that it handled.
if version_file.exists():
    provider.resume_from(int(version_file.read_text()))
provider.pushed_state("/acme-firewall:firewall/state")


def write_rules() -> int:
    """Writes the file anew from the running configuration; returns the number of rules."""
    command = [espalier, "get", "/acme-firewall:firewall/rule", "--json", "--server", server]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    rules = json.loads(answer.stdout or "{}").get("acme-firewall:rule", [])
    lines = ["table inet acme {", "  chain input {"]
    for rule in rules:
        source = f"ip saddr {rule['source']} " if "source" in rule else ""
        port = f"tcp dport {rule['port']} " if "port" in rule else ""
        lines.append(f"    {source}{port}{rule.get('action', 'drop')} comment \"{rule['name']}\"")
    lines += ["  }", "}", ""]
    temporary = rules_file.with_suffix(".new")
    temporary.write_text("\n".join(lines))
    temporary.replace(rules_file)
    return len(rules)


@provider.on_commit("/acme-firewall:firewall/rule")
def committed(commit):
    write_rules()
    version_file.write_text(str(commit.version))
    state = {"loaded-version": str(commit.version)}
    provider.push("/acme-firewall:firewall/state", {"acme-firewall:firewall": {"state": state}})


@provider.operation("/acme-firewall:reload", timeout=30)
def reload(call):
    return {"rules": write_rules()}


provider.run(server)
