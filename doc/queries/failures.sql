SELECT host, hour, failed, requests, 1e2 * failed / requests AS failed_pct, lost_records
FROM hours_by_host WHERE failed > 0 ORDER BY failed_pct DESC;
