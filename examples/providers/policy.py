"""Refuses commits with a rule that accepts everything from everywhere."""

import sys

from espalier import Provider, Refused

provider = Provider("policy")


@provider.on_change("/acme-firewall:firewall/rule", priority=10)
def check(commit):
    accepting = {change.target.rpartition("/")[0] for change in commit.changes or []
                 if change.target.endswith("/action") and change.value == "accept"}
    limited = {change.target.rpartition("/")[0] for change in commit.changes or []
               if change.target.endswith(("/source", "/port")) and change.operation != "delete"}
    for rule in sorted(accepting - limited):
        raise Refused("a rule that accepts needs a source or a port", path=rule, app_tag="policy")


provider.run(sys.argv[1])
