SELECT site, server, requests, wait_p50_ms, connect_p50_ms, share_pct
FROM servers_by_site ORDER BY wait_p50_ms DESC;
