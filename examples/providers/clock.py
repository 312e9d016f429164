"""Serves the clock and the uptime of this machine as operational state."""

import datetime
import sys
import time

from espalier import Provider

provider = Provider("clock")


@provider.state("/acme-firewall:system", timeout=2, cache=1)
def system(call):
    now = datetime.datetime.now(datetime.timezone.utc)
    uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    return {"acme-firewall:system": {"now": now.isoformat(), "uptime": str(uptime)}}


provider.run(sys.argv[1])
