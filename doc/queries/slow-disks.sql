SELECT host, cache_dir, count, p50_ms, p99_ms
FROM disks_by_host WHERE part = 'block_service' AND direction = 'in' ORDER BY p99_ms DESC;
