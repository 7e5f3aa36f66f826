SELECT host,
    avg(CASE WHEN day < DATE '2026-11-24' THEN p99_ms END) AS before_ms,
    avg(CASE WHEN day >= DATE '2026-11-24' THEN p99_ms END) AS since_ms,
    avg(CASE WHEN day >= DATE '2026-11-24' THEN p99_ms END) / avg(CASE WHEN day < DATE '2026-11-24' THEN p99_ms END) AS times,
    max(lost_records) AS lost_records
FROM days_by_host GROUP BY host ORDER BY times DESC;
