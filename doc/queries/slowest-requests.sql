SELECT r.host, r.class, r.outcome, r.server, r.total_ns / 1e6 AS total_ms, sum(i.service_ns) / 1e6 AS disk_ms
FROM requests_ended r
LEFT JOIN ios i ON r.host = i.host AND r.ring = i.ring AND r.kid = i.kid AND r.xid = i.xid
GROUP BY r.host, r.ring, r.kid, r.xid, r.time_ns, r.class, r.outcome, r.server, r.total_ns
ORDER BY total_ms DESC LIMIT 10;
